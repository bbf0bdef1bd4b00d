"""Exports of many apps in one run: `OUT/app=NAME/` each, with its own limit, some of them at a time.

Many processes share the work as they share that of one app: each app is an export of parts then, of one part
where nobody says otherwise, and each process takes the next part that nobody has.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from ..._core.requests.arguments import check, check_count
from ..._telemetry import LOGGER
from ..._threads import for_each
from ...errors import ChatRestError, ExportIncompleteError
from ...session import AsyncSession
from ..fetch.worker_pool import first_error
from ..plan.app_file import AppExport, check_names
from ..plan.export_plan import Plan
from ..plan.parts import app_name
from .folder_run import journal_root, place_in
from .night import has_parts

if TYPE_CHECKING:  # from the package, which is loaded by the time that anything here runs
    from .. import Progress, Report

AT_ONCE: Final = 4
"""Apps that are exported at the same time."""


class AppResult(Struct):
    """The export of one app within a run of many: its report, or its error."""

    export: AppExport
    folder: Path | str
    """The folder of the app's export, or its address in an object store."""
    progress: "Progress"
    """The numbers of the export while it runs."""
    report: "Report | None" = None
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
    from .. import Progress, export

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
