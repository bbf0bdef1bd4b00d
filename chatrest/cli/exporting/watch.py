"""Updates of the progress display during a run: on a terminal, in a log, or nowhere."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol, Self, final

from ...session import AsyncSession
from .. import streams
from .snapshot import Monitor, Snapshot

_INTERVAL: Final = 0.25
"""Seconds between two updates."""


class Display(Protocol):
    """A progress display, used as a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def show(self, snapshot: Snapshot) -> None:
        """Show `snapshot` in place of the last one."""


@final
class NullDisplay:
    """A display that shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        """Ignore `snapshot`."""


def display_of(out: str, *, quiet: bool) -> Display:
    """Return the display for standard error: lines on a terminal, else a log; with `quiet`, no output."""
    if quiet:
        return NullDisplay()
    if streams.is_terminal("stderr") and os.environ.get("TERM", "dumb") != "dumb":
        from .terminal import TerminalDisplay  # rich is slow to import

        return TerminalDisplay(out)
    from .log import LogDisplay

    return LogDisplay()


@asynccontextmanager
async def live_display(monitor: Monitor, display: Display, session: AsyncSession) -> AsyncIterator[None]:
    """Update `display` four times a second during the block; a failing terminal does not stop the block."""
    task = asyncio.current_task()
    assert task is not None

    def update() -> None:
        display.show(monitor.snapshot(session.pools.values(), stopping=task.cancelling() > 0))

    async def update_regularly() -> None:
        with suppress(OSError):  # a closed terminal does not end the export
            while True:
                update()
                await asyncio.sleep(_INTERVAL)

    updates = asyncio.create_task(update_regularly())
    try:
        yield
    finally:
        updates.cancel()
        with suppress(asyncio.CancelledError):
            await updates
