"""`export` and `compact`, of an export in a folder or at the address of an object store."""

import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Final

from ..cloud.address import is_address
from ..core.requests.arguments import check
from ..errors import RequestInvalidError
from ..session import AsyncSession
from .archive import Archive, RemoteFiles
from .dataset.attachments import AttachmentOptions
from .dataset.tables import Table
from .disk import Disk
from .in_thread import in_thread, wait_for
from .local_path import local_path
from .manifest import VERSION, Manifest, find, write_finished, write_unfinished
from .plan import Plan
from .report import Phase, Progress, Report
from .run import export_folder
from .worker_pool import WORKERS

_MERGING: Final = "its files are being merged, or that was interrupted"


async def export(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    journal: str | PathLike[str] | None = None,
    tables: Sequence[Table] = (),
    attachments: bool | AttachmentOptions = False,
    recheck: int | None = None,
    workers: int = WORKERS,
    progress: Progress | None = None,
    disk: Disk | None = None,
    now: Callable[[], float] = time.time,
) -> Report:
    """Export the messages of `plan` into the folder or object store `out`, or continue the export there.

    Reads every source of the plan up to the message that is the app's newest when it begins. Called again for
    the same folder, it reads what is new since. Without a plan it takes the folder's own, or `Plan()` for a
    new folder.

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
        export_folder, session, plan=plan, tables=tables, attachments=attachments, recheck=recheck,
        workers=workers, progress=shown, disk=disk, now=now,
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
    from .remote.store_export import store_export

    async with store_export(str(out), root, progress=shown) as target:
        report = await run(target.folder, alongside=target.publishing, remote=target.remote)
        shown.enter(Phase.PUBLISHING)
        await target.publish()
    report.warnings += target.warnings
    shown.enter(Phase.DONE)
    return report


def compact(
    out: str | PathLike[str], *, journal: str | PathLike[str] | None = None, disk: Disk | None = None
) -> int:
    """Merge the small files of each partition of the export in `out`; return how many files are gone.

    A file is small below 64 MB. A run merges by itself where a partition has more than a few
    of them. Messages, and their ids, stay as they are. Costs the reading and writing of the merged files, and
    memory for a row group or a page; needs no network, but for an export in an object store, which is merged
    in its working copy (`journal`, as for `export`) and published. A crash at any point loses nothing and
    leaves nothing twice: the next run, or the next `compact`, continues with it. `disk` is for tests.

    Raises `RequestInvalidError` for a folder that is no export, for an export whose last run did not come to
    its end or which is being written, and for one that lacks messages: run it again first. Raises
    `ChatRestError` where a file is damaged, OSError where the disk fails, and `ObjectStoreError` where the
    store does.
    """
    if (root := journal_root(out, journal)) is None:
        return compact_folder(local_path(out), disk=disk)
    from .remote.store_export import store_export

    async def merge(root: Path) -> int:
        async with store_export(str(out), root) as target:
            files = await in_thread(partial(compact_folder, target.folder, disk=disk, remote=target.remote))
            if files:
                await target.publish()
        return files

    return wait_for(merge(root))


def journal_root(out: object, journal: str | PathLike[str] | None) -> Path | None:
    """Return the folder of the working copy of an export in an object store; None for one in a folder.

    Raises `RequestInvalidError` for a wrong address, without the extra `cloud`, and for a `journal` beside a
    folder.
    """
    if isinstance(out, str) and is_address(out):
        from ..cloud.address import import_obstore
        from .remote.working_folder import default_root

        import_obstore()
        root = default_root(out)
        return root if journal is None else local_path(journal, "journal")
    check(journal is None, "journal", journal, "None, as out is a folder, which has its own journal")
    return None


# ── merging ──


def compact_folder(folder: Path, *, disk: Disk | None = None, remote: RemoteFiles | None = None) -> int:
    """Merge the small files of the export in a folder; described at `chatrest.export.compact`."""
    manifest = _finished(folder)
    try:
        with Archive(folder, app_id=manifest.app_id, disk=disk, remote=remote) as archive:
            if missing := len(archive.missing()):
                raise RequestInvalidError(
                    f"{folder} lacks {missing:,} messages that were on disk: export into it again first"
                )
            place = archive.folder, archive.disk, archive.journal
            archive.before_change = lambda: write_unfinished(
                *place, manifest.started, _MERGING, is_merging=True
            )
            gone = archive.compact()
            if gone or manifest.version != VERSION:
                write_finished(*place, _report(manifest))
    except sqlite3.Error as error:  # a disk that is full says it this way, too
        raise OSError(f"{folder}: {error}") from error
    return gone


def _finished(folder: Path) -> Manifest:
    manifest = find(folder) if folder.is_dir() else None
    if manifest is None:
        raise RequestInvalidError(f"folder '{folder}' is not an export: it has no manifest.json")
    if manifest.finished is None and not manifest.is_merging:
        raise RequestInvalidError(
            f"the last run of the export in '{folder}' did not come to its end: export into it again first"
        )
    return manifest


def _report(manifest: Manifest) -> Report:
    """Return the result of the last run, for the manifest: a merge changes nothing of it."""
    is_whole = manifest.finished is not None
    return Report(
        complete=manifest.complete,
        reasons=manifest.reasons if is_whole else ["merging its files was interrupted: export into it again"],
        until=None if manifest.until is None else int(manifest.until),
        messages=manifest.messages,
        started=manifest.started,
        finished=manifest.finished or int(time.time()),
    )
