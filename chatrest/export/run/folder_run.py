"""A run in one folder, or in an object store by way of a working folder: open, read, tables, report, publish.

A run that fails leaves a line in the log of runs, too. After a run of a part of the plan the manifest keeps
what the earlier run of the whole plan has claimed. The parts of an export have the same options.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Final

from msgspec import Struct, structs

from ..._cloud.address import is_address
from ..._core.requests.arguments import check, check_count
from ..._struct_help import NamedFields
from ..._threads import in_thread
from ...errors import ChatRestError, RequestInvalidError
from ...session import AsyncSession
from ..dataset.attachments import AttachmentOptions
from ..dataset.dataset_run import Dataset
from ..fetch.part_run import PartRun
from ..fetch.source_list import sent_by
from ..fetch.worker_pool import WORKERS
from ..folder.export_folder import ExportFolder, RemoteFiles
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import NAME as MANIFEST, Manifest, find_undamaged
from ..folder.run_log import append_run
from ..folder.tables import Table, tables_of
from ..plan.export_plan import Plan
from ..plan.file_names import local_path
from ..plan.message_ids import number
from ..plan.report import NextRun, Phase, Progress, Report
from ..store.disk import Disk
from .export_run import Run


class ExportOptions(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """The options of `chatrest.export.export` that a folder and each part of many have, as it describes them.

    Raises `RequestInvalidError` where a value is wrong.
    """

    tables: Sequence[Table] = ()
    attachments: bool | AttachmentOptions = False
    only: bool = False
    change_plan: bool = False
    recheck: int | None = None
    workers: int = WORKERS

    def __post_init__(self) -> None:
        for name in ("only", "change_plan"):
            check(isinstance(getattr(self, name), bool), name, getattr(self, name), "True or False")
        if self.only and self.change_plan:
            raise RequestInvalidError("only = True: the plan stays as it is then: expected no change_plan")
        check_count("workers", self.workers)
        fits = isinstance(self.attachments or False, bool | AttachmentOptions)
        check(fits, "attachments", self.attachments, "True, False or AttachmentOptions")
        fits = self.recheck is None or (type(self.recheck) is int and self.recheck > 0)
        check(fits, "recheck", self.recheck, "a whole number of seconds from 1, or None")

    def check(self, session: AsyncSession, plan: object) -> None:
        """Refuse a session or a plan that do not go together with these, before anything is written."""
        check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
        if session.sender.acting_user is not None:
            raise RequestInvalidError(f"session = {session!r}: expected a session without as_user")
        if (self.only or self.change_plan) and plan is None:
            name = "only" if self.only else "change_plan"
            raise RequestInvalidError(f"{name} = True: expected a plan that names sources, or a window")


DEFAULTS: Final = ExportOptions()


async def run_at(
    out: str | PathLike[str], root: Path | None, shown: Progress, run: Callable[..., Awaitable[Report]]
) -> Report:
    """Call `run` with the folder of an export, and publish it where `out` is an object store's address.

    `root` is the folder of its working copy then, and else None. `run` takes the arguments of `export_folder`
    that depend on it: `folder`, and by name `alongside` and `remote`.
    """
    if root is None:
        return await run(local_path(out))
    from ..remote.store_export import store_export

    async with store_export(str(out), root, progress=shown) as target:
        report = await run(target.folder, alongside=target.publishing, remote=target)
        shown.enter(Phase.PUBLISHING)
        await target.publish()
    report.warnings += target.warnings
    shown.enter(Phase.DONE)
    return report


def place_in(out: str | PathLike[str], name: str) -> Path | str:
    if isinstance(out, str) and is_address(out):
        return f"{out.rstrip('/')}/{name}"
    return local_path(out) / name


def journal_root(out: object, journal: str | PathLike[str] | None) -> Path | None:
    """Return the folder of the working copy of an export in an object store; None for one in a folder.

    Raises `RequestInvalidError` for a wrong address, without the extra `cloud`, and for a `journal` beside a
    folder.
    """
    if isinstance(out, str) and is_address(out):
        from ..._cloud.address import import_obstore
        from ..remote.working_folder import default_root

        import_obstore()
        root = default_root(out)
        return root if journal is None else local_path(journal, "journal")
    check(journal is None, "journal", journal, "None, as out is a folder, which has its own journal")
    return None


async def export_folder(
    session: AsyncSession,
    folder: Path,
    plan: Plan | None = None,
    options: ExportOptions = DEFAULTS,
    *,
    progress: Progress | None = None,
    disk: Disk | None = None,
    alongside: Callable[[ExportFolder], AbstractAsyncContextManager[None]] = lambda _: nullcontext(),
    remote: RemoteFiles | None = None,
    part: PartRun | None = None,
) -> Report:
    """Export into a folder; described at `chatrest.export.export`. It may be that of a `part`.

    `alongside` is entered with the open export while the run reads messages. Data files that are not in the
    folder are looked for in `remote`.
    """
    options.check(session, plan)
    only, tables = options.only, tables_of(options.tables)
    limits = AttachmentOptions() if options.attachments is True else options.attachments or None
    if only and not any((folder / name).is_file() for name in (JOURNAL, MANIFEST)):
        raise RequestInvalidError(
            f"folder '{folder}' is not an export yet: run it once without only=True, which reads a part of "
            "its plan",
            arguments=("only",),
        )
    shown, started, sent = progress or Progress(), session.sender.now(), sent_by(session)
    try:
        opened = partial(
            ExportFolder, folder, None if only else plan, app_id=session.app.app_id,
            change_plan=options.change_plan, disk=disk, remote=remote,
            part="" if part is None else f"{part.part} of {part.parts.parts}",
            started=started,
        )  # fmt: skip
        export = await in_thread(opened, ExportFolder.close)
        with export:
            subset = plan.part_of(export.plan) if only and plan is not None else None
            former = await in_thread(lambda: find_undamaged(folder)) if only else None
            run = Run(
                session, export, shown, workers=options.workers, recheck=options.recheck, only=subset,
                part=part,
            )  # fmt: skip
            dataset = await in_thread(
                lambda: Dataset(export, tables, limits, rechecks=options.recheck is not None)
            )
            report = Report(run=export.journal.run, started=started)

            def note_end() -> None:
                report.finished, report.requests = session.sender.now(), sent_by(session) - sent

            def save() -> None:
                note_end()
                export.note_finished(report if subset is None else _claim(report, former))

            try:
                async with alongside(export):
                    await run.read(report)
                await dataset.add(session, report, shown, save, is_refused=run.is_refused)
            except Exception as error:
                note_end()
                _log_failure(export, run, report, error)
                raise
            await in_thread(lambda: append_run(export.disk, export.folder, report))
    except sqlite3.Error as error:  # a full disk is reported this way, too
        raise OSError(f"{folder}: {error}") from error
    shown.enter(Phase.DONE)
    return report


def _claim(report: Report, former: Manifest | None) -> Report:
    """Return the manifest's report after a run of a part of the plan: the earlier one of the plan.

    An export complete up to an id stays so, unless the run found something wrong.
    """
    claim = structs.replace(report, until=None, reasons=[*report.reasons], failed=[*report.failed])
    if former is None or former.finished is None:
        claim.lacks("an earlier run was interrupted; run the export without only")
        return claim
    claim.until = None if former.until is None else number(former.until)
    for reason in former.reasons:
        if reason not in claim.reasons:
            claim.lacks(reason, former.next_run)
    claim.complete = former.complete and not report.failed and not report.reasons
    return claim


def _log_failure(export: ExportFolder, run: Run, report: Report, error: Exception) -> None:
    reason = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    with suppress(OSError):  # the first error reports a full disk
        export.note_failed(reason)
    report.written, report.complete = run.written, False
    report.lacks(reason, NextRun.after(error))
    with suppress(OSError, ChatRestError):  # the first error says more
        report.messages = sum(export.counts().values())
        append_run(export.disk, export.folder, report)
