"""The public function `export`: one run of an export, in a folder, in an object store, or of parts."""

from collections.abc import Sequence
from functools import partial
from os import PathLike

from ..._core.requests.arguments import check
from ...session import AsyncSession
from ..dataset.attachments import AttachmentOptions
from ..fetch.worker_pool import WORKERS
from ..folder.tables import Table
from ..plan.export_plan import Plan
from ..plan.report import Progress, Report
from .folder_run import ExportOptions, export_folder, journal_root, run_at
from .night import has_parts
from .run_parts import export_parts


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
