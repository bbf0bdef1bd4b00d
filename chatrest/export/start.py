"""From arguments to a run: the folder is opened, the run is made, and the manifest is written."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from ..core.arguments import check, check_count
from ..errors import ChatRestError, RequestInvalidError
from ..session import AsyncSession
from .archive import Archive
from .dataset.attachments import AttachmentOptions
from .dataset.dataset import Dataset
from .dataset.tables import Table, check_tables
from .disk import Disk
from .in_thread import in_thread
from .manifest import write_finished, write_unfinished
from .plan import Plan
from .progress import Progress
from .report import Report
from .run import Run
from .run_log import append_run
from .worker_pool import WORKERS


async def export_folder(
    session: AsyncSession,
    folder: Path,
    plan: Plan | None = None,
    *,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    progress: Progress | None = None,
    disk: Disk | None = None,
    now: Callable[[], float] = time.time,
    alongside: Callable[[Archive], AbstractAsyncContextManager[None]] = lambda _: nullcontext(),
) -> Report:
    """Export into a folder; described at `chatrest.export.export`.

    `alongside` is entered with the open archive while the run reads messages.
    """
    limits = AttachmentOptions() if attachments is True else attachments or None
    check_arguments(session, plan, limits, recheck, workers)
    tables = check_tables(tables)
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
                async with alongside(archive):
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


def check_arguments(
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
