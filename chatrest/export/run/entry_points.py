"""`export`, into a folder or at the address of an object store."""

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from ..._cloud.address import is_address
from ..._core.requests.arguments import check
from ...session import AsyncSession
from ..dataset.attachments import AttachmentOptions
from ..fetch.worker_pool import WORKERS
from ..folder.tables import Table
from ..plan.plan import Plan
from ..plan.report import Phase, Progress, Report
from ..remote.local_path import local_path
from ..store.disk import Disk
from .run import export_folder


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
    workers: int = WORKERS,
    progress: Progress | None = None,
    disk: Disk | None = None,
    now: Callable[[], float] = time.time,
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
      sources exist (a request each). The messages of other sources are kept, and nothing new is read of them.
      The window can become wider, and no narrower.
    - `tables`: any of `users`, `groups`, `members` and `conversations`, which become files beside the
      messages: snapshots that each run reads again, after the messages. Later runs continue with them.
    - `attachments`: also fetch the files that messages link to, with the limits of `AttachmentOptions` or
      with its defaults for True. Later runs continue with it.
    - `recheck`: read the messages of the last so many seconds again, to find those that were edited or
      deleted. The newest version of a message takes its place in the export; older versions and deleted
      messages are kept.
    - `workers`: how many sources are read at the same time. Memory is needed for about as many pages.
    - `journal`: where `out` is the address of an object store, such as `s3://bucket/prefix`: the local folder
      of its working copy, which is made from the store where it is new or older, and which has what is not
      published yet; by default one of the user's own, named by the address.
    - `progress`: numbers to watch while it runs.
    - `disk`, `now`: for tests.

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
    run = partial(
        export_folder, session, plan=plan, tables=tables, attachments=attachments, only=only,
        change_plan=change_plan, recheck=recheck, workers=workers, progress=shown, disk=disk, now=now,
    )  # fmt: skip
    return await run_at(out, journal_root(out, journal), shown, run)


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
        report = await run(target.folder, alongside=target.publishing, remote=target.remote)
        shown.enter(Phase.PUBLISHING)
        await target.publish()
    report.warnings += target.warnings
    shown.enter(Phase.DONE)
    return report


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
