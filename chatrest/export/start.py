"""From arguments to a run: the folder is opened, the run is made, and the manifest is written."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike

from ..core.arguments import check, check_count
from ..errors import ChatRestError, RequestInvalidError
from ..session import AsyncSession
from .archive import Archive
from .dataset.attachments import AttachmentOptions
from .dataset.dataset import Dataset
from .dataset.tables import Table, check_tables
from .disk import Disk
from .in_thread import in_thread
from .local_path import local_path
from .manifest import write_finished, write_unfinished
from .plan import Plan
from .progress import Progress
from .report import Report
from .run import Run
from .run_log import append_run
from .worker_pool import WORKERS


async def export(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
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

    - `tables`: any of `users`, `groups`, `members` and `conversations`, which become files beside the
      messages: snapshots that each run reads anew, after the messages. Later runs go on with them.
    - `attachments`: also fetch the files that messages link to, with the limits of `AttachmentOptions` or
      with its defaults for True. Later runs go on with it.
    - `recheck`: read the messages of the last so many seconds again, to find those that were edited or
      deleted. The newest version of a message takes its place in the export; older versions and deleted
      messages are kept.
    - `workers`: how many sources are read at the same time. Memory is needed for about as many pages.
    - `progress`: numbers to watch while it runs.
    - `disk`, `now`: for tests.

    A crash, a kill or a cancel loses only the pages that were not yet on disk: call it again, and it
    continues.

    Returns a report, whose `complete` says whether the export holds all of its plan, and whose `check()`
    raises where it does not; `report.failed` lists the sources that could not be read to their end. Each run
    leaves a line in `runs.jsonl` (`runs(out)`). Raises `RequestInvalidError` for a folder that holds
    something else or an export of another plan, `AuthenticationError` where the key is refused, and OSError
    where the disk fails. What is on disk by then stays.
    """
    limits = AttachmentOptions() if attachments is True else attachments or None
    _check_arguments(session, plan, limits, recheck, workers)
    tables = check_tables(tables)
    folder = local_path(out)
    shown, started, sent = progress or Progress(), int(now()), _sent(session)
    try:
        archive = await in_thread(
            lambda: Archive(folder, plan, app_id=session.app.app_id, disk=disk), Archive.close
        )
        with archive:
            run = Run(session, archive, shown, workers=workers, recheck=recheck, now=now)
            dataset = await in_thread(
                lambda: Dataset(archive, tables, limits, rechecks=recheck is not None, now=now)
            )

            def end() -> tuple[int, int]:
                return int(now()), _sent(session) - sent

            with _logged_failure(archive, Report(started=started), end):
                report = await _run(run, archive, started)
                report.started = started

                def save() -> None:
                    report.finished, report.requests = end()
                    write_finished(archive, report, dataset.entries)

                await dataset.add(session, report, shown, save)
            await in_thread(lambda: append_run(archive.disk, archive.folder, report))
    except sqlite3.Error as error:  # a disk that is full says it this way, too
        raise OSError(f"{folder}: {error}") from error
    shown.phase = "done"
    return report


def _check_arguments(
    session: AsyncSession, plan: object, limits: object, recheck: object, workers: object
) -> None:
    """Refuse wrong arguments of `export` with `RequestInvalidError`, before anything is written."""
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    check_count("workers", workers)
    fits = limits is None or isinstance(limits, AttachmentOptions)
    check(fits, "attachments", limits, "True, False or AttachmentOptions")
    if session.sender.acting_user is not None:
        raise RequestInvalidError(
            f"session = {session!r}: allowed is one that acts as nobody; as a user it sees other lists"
        )
    fits = recheck is None or (type(recheck) is int and recheck > 0)
    check(fits, "recheck", recheck, "a whole number of seconds from 1, or None")


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
                write_unfinished(archive, started, _reason(error))
        raise


@contextmanager
def _logged_failure(archive: Archive, report: Report, end: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Log a run that fails inside of the block; `end` gives the time, and the number of requests by then."""
    try:
        yield
    except Exception as error:
        report.finished, report.requests = end()
        report.reasons.append(_reason(error))
        with suppress(OSError, ChatRestError):  # the first error says more
            report.messages = sum(archive.sink.counts().values())
            append_run(archive.disk, archive.folder, report)
        raise


def _reason(error: Exception) -> str:
    """Return an error as a reason for the manifest and the log of runs."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _sent(session: AsyncSession) -> int:
    return sum(pool.sent for pool in session.pools.values())
