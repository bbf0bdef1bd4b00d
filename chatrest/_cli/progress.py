"""The progress of a command: one line on standard error.

| standard error is | the line                                                                  |
|-------------------|---------------------------------------------------------------------------|
| a terminal        | is updated in place, and removed at the end                               |
| a log             | is written once a minute, and when a phase of an export begins            |
| to be quiet       | is written only while something is wrong, and has been for a minute       |
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

from .._texts import about
from . import streams

LOG_INTERVAL: Final = 60.0  # seconds
_UPDATE_INTERVAL: Final = 0.25


class ProgressLine:
    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._is_live = streams.is_terminal("stderr") and os.environ.get("TERM", "dumb") != "dumb"
        self._clock = clock
        self._written_at = clock()
        self._phase = ""
        self._share_began: dict[str, float] = {}
        self._status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, text: str, phase: str = "", *, is_wrong: bool = False) -> None:
        """Show a text; `phase` is that of an export, and `is_wrong` marks what quiet users hear of, too."""
        now = self._clock()
        if self._quiet and not is_wrong:
            self._written_at = now
        elif self._is_live and not self._quiet:
            self._update(text, now)
        elif (not self._quiet and phase != self._phase) or now - self._written_at >= LOG_INTERVAL:
            self._phase, self._written_at = phase, now
            streams.warn(text)

    def share(self, title: str, done: int, total: int | None) -> None:
        began = self._share_began.setdefault(title, self._clock())
        if not total or not done:
            self.show(f"{title}: {done:,}" if done else title)
            return
        seconds_left = (self._clock() - began) * (total - done) / done
        self.show(f"{title}: {done / total:.0%}, {about(seconds_left)} left")

    def _update(self, text: str, now: float) -> None:
        from rich.text import Text  # slow to import

        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        elif now - self._written_at < _UPDATE_INTERVAL:
            return
        self._written_at = now
        self._status.update(Text(streams.one_line(text)))


@asynccontextmanager
async def regularly(update: Callable[[], None]) -> AsyncIterator[None]:
    """Call `update` four times a second during the block; a terminal that fails does not stop the block."""

    async def update_regularly() -> None:
        with suppress(OSError):
            while True:
                update()
                await asyncio.sleep(_UPDATE_INTERVAL)

    updates = asyncio.create_task(update_regularly())
    try:
        yield
    finally:
        updates.cancel()
        with suppress(asyncio.CancelledError):
            await updates
