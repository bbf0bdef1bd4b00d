"""The public functions `export` and `export_apps`: one run of an export of any kind, or of many apps.

Of many apps each is in `OUT/app=NAME/`, with its own limit, and some are read at a time. Many processes share
them as they share one app: each app is an export of parts then, of one part where nobody says otherwise, and
each process takes the next part that nobody has.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..._core.requests.arguments import check, check_count
from ..._telemetry import LOGGER
from ..._threads import for_each
from ...errors import ChatRestError, ExportIncompleteError
from ...session import AsyncSession
from ..dataset.attachments import AttachmentOptions
from ..fetch.worker_pool import WORKERS, first_error
from ..folder.tables import Table
from ..plan.app_file import AppExport, check_names
from ..plan.export_plan import Plan
from ..plan.parts import app_name
from ..plan.report import Progress, Report
from .folder_run import ExportOptions, export_folder, journal_root, place_in, run_at
from .night import has_parts
from .run_parts import export_parts

AT_ONCE: Final = 4
"""Apps that are exported at the same time."""


async def export(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    journal: str | PathLike[str] | None = None,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    only: bool = False,
    change_plan: bool = False,
    recheck: int | None = None,
    parts: int | None = None,
    part: int | None = None,
    claim: bool = False,
    workers: int = WORKERS,
    progress: Progress | None = None,
) -> Report:
    """Export the messages of `plan` into the folder or object store `out`, or continue the export there.

    Reads every source of the plan up to the message that is the app's newest when it begins. Called again for
    the same folder, it reads what is new since. Without a plan it takes the folder's own, or `Plan()` for a
    new folder. The plan of a folder never changes in silence: sources or a window that differ from it are
    refused, unless one of these says what they mean.

    - `only`: this run reads just the sources of `plan`, which are some of the folder's, or just its window,
      which is within the folder's. The folder's plan stays, and the report says what was not read (`only`,
      `not_read`).
    - `change_plan`: what `plan` gives becomes the folder's plan, once the service has shown that its new
      sources exist (one request per source). The messages of other sources are kept, and nothing new is
      read of them. The window can become wider, and no narrower.
    - `tables`: any of `users`, `groups`, `members`, `conversations`, `bans`, `friends`, `blocks` and
      `reactions`, which become files beside the messages: snapshots that each run reads again, after the
      messages. They are remembered for later runs.
    - `attachments`: also fetch the files that messages link to, with the limits of `AttachmentOptions` or its
      defaults for True. Later runs continue with it.
    - `recheck`: read the messages of the last so many seconds again, to find those that were edited or
      deleted. The newest version of a message takes its place in the export; older versions and deleted
      messages are kept.
    - `parts`: make the export of so many exports, `out/part=00` and so on: each complete in itself, with its
      own journal and proof, so that any number of processes and machines can read it. The users are spread
      over them by a hash, and listed once for all. Their number and the plan never change; a message is in
      one part. Later calls need no number.
    - `part`: of an export of parts, run this one only. Of the processes that do so, one begins a night by
      listing the users, and the last one settles what parts have left one another. `complete` is of this
      part.
    - `claim`: of an export of parts, run the next part that no other process has, until all are read: call
      it in as many processes as you like. A part whose process was killed is free when its lock is gone, or
      its lease has run out.
    - `workers`: how many sources are read at the same time. Memory is needed for about as many pages.
    - `journal`: where `out` is the address of an object store, such as `s3://bucket/prefix`: the local folder
      of its working copy, which is made from the store where it is new or older, and which has what is not
      published yet; by default one of the user's own, named by the address.
    - `progress`: numbers to watch while it runs.

    A crash, a kill or a cancel loses only the pages that were not yet on disk: call it again, and it
    continues.

    Returns a report, whose `complete` says whether the export holds all of its plan, and whose `check()`
    raises where it does not; `report.failed` lists the sources that could not be read to their end. Each run
    leaves a line in `runs.jsonl` (`runs(out)`). Raises `RequestInvalidError` for a folder that holds
    something else or an export of another plan, `AuthenticationError` where the key is refused, OSError where
    the disk fails, and `ObjectStoreError` where the store does or another writer holds it. What is on disk by
    then stays, and readers of a store see its last whole version.
    """
    shown = progress or Progress()
    options = ExportOptions(
        tables=tables, attachments=attachments, only=only, change_plan=change_plan, recheck=recheck,
        workers=workers,
    )  # fmt: skip
    if parts is not None or part is not None or claim or await has_parts(out):
        check(part is None or not claim, "part", part, "None, as claim=True runs a part that is free")
        return await export_parts(
            session, out, plan, options, parts=parts, part=part, claim=claim, journal=journal, progress=shown
        )
    run = partial(export_folder, session, plan=plan, options=options, progress=shown)
    return await run_at(out, journal_root(out, journal), shown, run)


class AppResult(Struct):
    """The export of one app within a run of many: its report, or its error."""

    export: AppExport
    folder: Path | str
    """The folder of the app's export, or its address in an object store."""
    progress: Progress
    """The numbers of the export while it runs."""
    report: Report | None = None
    """None before the end, and for an app that failed."""
    error: Exception | None = None

    @property
    def app_id(self) -> str:
        """The id of the app."""
        return self.export.app.app_id

    def check(self) -> None:
        """Raise what the app failed by, or `ExportIncompleteError`."""
        if self.error is not None:
            raise self.error
        if self.report is None:
            raise ExportIncompleteError("the export is not complete: it did not end")
        self.report.check()


async def export_apps(
    apps: Sequence[AppExport],
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    at_once: int = AT_ONCE,
    journal: str | PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    proxy: str | None = None,
    watch: Callable[[AppResult], object] = lambda run: None,
    **options: Any,
) -> list[AppResult]:
    """Export many apps, each into `out/app=NAME`, or continue the exports that are there.

        from chatrest.export import export_apps, read_apps

        for result in await export_apps(read_apps("apps.toml"), "backups"):
            result.check()

    - `apps`: those of a file (`read_apps`), or `AppExport(app)` of any.
      NAME is that of the file, or else the app's id.
    - `plan`: for apps without a plan. `options` are those of `export`, for each app. With `claim` any number
      of processes export the apps together: call it in each of them.
    - `at_once`: how many apps are exported at the same time. Each app has a session, and so a rate limit, of
      its own; memory is that of so many exports.
    - `journal`: where `out` is the address of an object store, the folder of the working copies, each in
      `journal/app=NAME`; by default folders of the user's own.
    - `headers`, `proxy`: those of all sessions. `watch` is called when an app begins and when it ends.

    An app that fails does not stop the others: its error is in its result. A cancel or a kill loses what it
    would lose of each single export; the same call continues. Raises `RequestInvalidError` for wrong
    arguments, before anything is written.
    """
    fits = len(apps) > 0 and all(isinstance(each, AppExport) for each in apps)
    check(fits, "apps", apps, "a list of AppExport, one at least")
    check_names([app_folder(each) for each in apps], [f"apps[{number}]" for number in range(len(apps))])
    check_count("at_once", at_once)
    root = journal_root(out, journal)
    runs = [AppResult(each, place_in(out, app_folder(each)), Progress()) for each in apps]

    async def work(run: AppResult) -> None:
        watch(run)
        own = dict(options)
        if journal is not None and root is not None:
            own["journal"] = root / app_folder(run.export)
        try:
            async with AsyncSession(
                run.export.app, telemetry=run.progress.heard, headers=headers, proxy=proxy
            ) as session:
                if options.get("claim") and not await has_parts(run.folder):
                    own["parts"] = options.get("parts") or 1
                run.report = await export(
                    session, run.folder, run.export.plan or plan, progress=run.progress, **own
                )
        except Exception as error:
            cause = first_error(error)
            run.error = cause if isinstance(cause, Exception) else error
            if not isinstance(run.error, ChatRestError | OSError):
                LOGGER.exception("the export of app %s failed", run.app_id)
        watch(run)

    # Processes that claim begin with different apps, so that few of them wait for one another.
    first = os.getpid() % len(runs) if options.get("claim") else 0
    await for_each([*runs[first:], *runs[:first]], work, at_once)
    return runs


def app_folder(export: AppExport) -> str:
    """Return the name of an app's folder: `app=` and its name in the file of apps, of one without, its id."""
    return app_name(export.name or export.app.app_id)
