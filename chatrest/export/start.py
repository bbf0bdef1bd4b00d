"""From arguments to a run: the folder is opened, the run is made, and the manifest is written."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from ..core.arguments import check, check_count
from ..errors import RequestInvalidError
from ..session import AsyncSession
from .archive import Archive
from .disk import Disk
from .in_thread import in_thread
from .manifest import write_finished, write_unfinished
from .plan import Plan
from .progress import Progress
from .report import Report
from .run import Run
from .worker_pool import WORKERS


async def export(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    recheck: int | None = None,
    workers: int = WORKERS,
    progress: Progress | None = None,
    disk: Disk | None = None,
    now: Callable[[], float] = time.time,
) -> Report:
    """Export the messages of `plan` into the folder `out`, or continue the export that is there.

    Reads every source of the plan up to the message that is the app's newest when it begins. Called again for
    the same folder, it reads what is new since. Without a plan it takes the folder's own, or `Plan()` for a
    new folder.

    - `recheck`: read the messages of the last so many seconds again, to find those that were edited or
      deleted. The newest version of a message takes its place in the export; older versions and deleted
      messages are kept.
    - `workers`: how many sources are read at the same time. Memory is needed for about as many pages.
    - `progress`: numbers to watch while it runs.
    - `disk`, `now`: for tests.

    A crash, a kill or a cancel loses only the pages that were not yet on disk: call it again, and it
    continues.

    Returns a report, whose `complete` says whether the export holds all of its plan; `report.failed` lists
    the sources that could not be read to their end. Raises `RequestInvalidError` for a folder that holds
    something else or an export of another plan, `AuthenticationError` where the key is refused, and OSError
    where the disk fails. What is on disk by then stays.
    """
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    check_count("workers", workers)
    if session.sender.acting_user is not None:
        raise RequestInvalidError(
            f"session = {session!r}: allowed is one that acts as nobody; as a user it sees other lists"
        )
    fits = recheck is None or (type(recheck) is int and recheck > 0)
    check(fits, "recheck", recheck, "a whole number of seconds from 1, or None")
    shown, started, sent = progress or Progress(), int(now()), _sent(session)
    try:
        archive = await in_thread(
            lambda: Archive(Path(out), plan, app_id=session.app.app_id, disk=disk), Archive.close
        )
        with archive:
            run = Run(session, archive, shown, workers=workers, recheck=recheck, now=now)
            report = await _run(run, archive, started)
            report.started, report.finished = started, int(now())
            report.requests = _sent(session) - sent
            await in_thread(lambda: write_finished(archive, report))
    except sqlite3.Error as error:  # a disk that is full says it this way, too
        raise OSError(f"{Path(out)}: {error}") from error
    shown.phase = "done"
    return report


async def _run(run: Run, archive: Archive, started: int) -> Report:
    """The run; from its first page to its end, the manifest says that the export is not whole."""
    changed = threading.Event()

    def change() -> None:
        write_unfinished(archive, started, "it is being written, or was interrupted")
        changed.set()

    archive.before_change = change
    try:
        return await run.result()
    except Exception as error:
        if changed.is_set():
            with suppress(OSError):  # a disk that is full is told of by the first error
                write_unfinished(archive, started, str(error))
        raise


def _sent(session: AsyncSession) -> int:
    return sum(pool.sent for pool in session.pools.values())
