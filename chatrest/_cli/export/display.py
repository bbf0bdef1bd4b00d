"""The progress of a run on standard error: one line, with rates and the remaining time.

| standard error is | the line                                              |
|-------------------|-------------------------------------------------------|
| a terminal        | is updated in place, four times a second              |
| a log             | is written once a minute, and when a new phase begins |
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, TypeAlias

from ...export.plan.report import Phase
from ...export.run.monitor import Monitor, Snapshot, progress_line
from ...session import AsyncSession
from .. import streams

LOG_INTERVAL: Final = 60.0
"""Seconds between two lines of a log about one phase."""
_INTERVAL: Final = 0.25
"""Seconds between two updates."""

Show: TypeAlias = Callable[[Snapshot], None]


class ProgressLog:
    """Lines of a log: one a phase, and one a minute."""

    def __init__(self, write: Callable[[str], None] = streams.warn) -> None:
        self._write = write
        self._phase = Phase.BEGINNING
        self._written_at = 0.0

    def show(self, snapshot: Snapshot) -> None:
        is_due = snapshot.phase != self._phase or snapshot.elapsed - self._written_at >= LOG_INTERVAL
        if is_due and snapshot.phase is not Phase.BEGINNING:
            self._phase, self._written_at = snapshot.phase, snapshot.elapsed
            self._write(progress_line(snapshot))


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[Show]:
    """Yield the function that shows a snapshot on standard error; with `quiet` it shows nothing."""
    if quiet:
        yield lambda _: None
    elif streams.is_terminal("stderr") and os.environ.get("TERM", "dumb") != "dumb":
        with streams.status_line("beginning") as update:
            yield lambda snapshot: update(streams.one_line(progress_line(snapshot)))
    else:
        yield ProgressLog().show


@asynccontextmanager
async def shown_progress(monitor: Monitor, show: Show, session: AsyncSession) -> AsyncIterator[None]:
    """Show the progress during the block; a terminal that fails does not stop the block."""
    task = asyncio.current_task()
    assert task is not None

    async def update_regularly() -> None:
        with suppress(OSError):  # a closed terminal does not end the export
            while True:
                show(monitor.snapshot(session.pools.values(), stopping=task.cancelling() > 0))
                await asyncio.sleep(_INTERVAL)

    updates = asyncio.create_task(update_regularly())
    try:
        yield
    finally:
        updates.cancel()
        with suppress(asyncio.CancelledError):
            await updates
