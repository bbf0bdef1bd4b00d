"""The progress display of a run, updated four times a second: only where standard error is a terminal."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol, Self, final

from ...export.report import Phase
from ...session import AsyncSession
from .. import streams
from .format import progress_line
from .snapshot import Monitor, Snapshot

LOG_INTERVAL: Final = 10.0
"""Seconds between two plain lines of one phase."""
_INTERVAL: Final = 0.25
"""Seconds between two updates."""


class Display(Protocol):
    """A progress display, used as a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def show(self, snapshot: Snapshot) -> None:
        """Show `snapshot` in place of the last one."""


@final
class LineDisplay:
    """Plain lines on standard error, for a terminal without a cursor: one a phase, and every ten seconds.

    With `write=None` it shows nothing.
    """

    def __init__(self, write: Callable[[str], None] | None = streams.warn) -> None:
        self._write = write
        self._phase = Phase.BEGINNING
        self._written_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        """Write a line if the phase is new or ten seconds have passed."""
        is_due = snapshot.phase != self._phase or snapshot.elapsed - self._written_at >= LOG_INTERVAL
        if self._write is not None and is_due and snapshot.phase is not Phase.BEGINNING:
            self._phase, self._written_at = snapshot.phase, snapshot.elapsed
            self._write(progress_line(snapshot))


def display_of(out: str, *, quiet: bool) -> Display:
    """Return the display for standard error: none with `quiet`, or where it is not a terminal."""
    if quiet or not streams.is_terminal("stderr"):
        return LineDisplay(None)
    if os.environ.get("TERM", "dumb") == "dumb":
        return LineDisplay()
    from .terminal import TerminalDisplay  # rich is slow to import

    return TerminalDisplay(out)


@asynccontextmanager
async def live_display(monitor: Monitor, display: Display, session: AsyncSession) -> AsyncIterator[None]:
    """Update `display` during the block; a failing terminal does not stop the block."""
    task = asyncio.current_task()
    assert task is not None

    async def update_regularly() -> None:
        with suppress(OSError):  # a closed terminal does not end the export
            while True:
                display.show(monitor.snapshot(session.pools.values(), stopping=task.cancelling() > 0))
                await asyncio.sleep(_INTERVAL)

    updates = asyncio.create_task(update_regularly())
    try:
        yield
    finally:
        updates.cancel()
        with suppress(asyncio.CancelledError):
            await updates
