"""The publication of an export: its files at rest, sent under the lease of the store."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ...cloud.lease import Lease
from ...cloud.operations import Operations
from ...cloud.publication import publish, read_version
from ...cloud.publication_plan import Manifest as Version
from ...errors import ChatRestError, RequestInvalidError
from ..in_thread import in_thread
from ..journal.schema import NAME as JOURNAL
from ..manifest import Manifest
from .export_files import (
    attachment_journal,
    check_complete,
    check_is_export,
    check_manifest,
    check_sizes,
    data_files,
)
from .folder_lock import LockedJournal, copy_database, locked_journal
from .lineage import NAME as LINEAGE, Lineage, decode_lineage, read_lineage, write_lineage
from .results import Progress, PublishResult, VersionFile


async def publish_folder(
    store: Operations, lease: Lease, folder: Path, *, allow_incomplete: bool, progress: Progress
) -> PublishResult:
    """Publish the export in `folder`; described at `chatrest.export.publish`."""
    check_is_export(folder)
    with ExitStack() as stack:
        journal = await in_thread(partial(stack.enter_context, locked_journal(folder)))
        manifest = await in_thread(partial(check_manifest, folder, journal.reader))
        check_complete(folder, manifest, allow_incomplete=allow_incomplete)
        check_sizes(folder, manifest)
        async with lease:
            version = await read_version(store)
            lineage = read_lineage(folder)
            if version.generation:
                published = await read_published_lineage(store, version)
                _check_lineage(folder, store.address, manifest.generation, lineage, published)
            await in_thread(partial(write_lineage, folder, lineage.extended(manifest.generation)))
            with _snapshots(folder) as snapshots:
                files = await in_thread(partial(_files, folder, manifest, journal, snapshots))
                return await _send(store, lease, files, progress)


async def read_published_lineage(store: Operations, version: Version) -> Lineage:
    """Return the lineage of a published version; `ChatRestError` if it is no export's."""
    for file in version.files:
        if file.name == LINEAGE:
            data = (await store.get(file.stored_as)).data
            return decode_lineage(data, f"{LINEAGE} in {store.address}")
    raise ChatRestError(f"{store.address} holds something else than an export: it has no {LINEAGE}")


async def _send(store: Operations, lease: Lease, files: dict[str, Path], progress: Progress) -> PublishResult:
    sent: list[VersionFile] = []

    def add(file: VersionFile) -> None:
        sent.append(file)
        progress(file)

    stats = await publish(store, files, lease, on_file=lambda file: add(VersionFile(file.name, file.size)))
    return PublishResult(
        address=store.address,
        version=stats.generation,
        files=len(files),
        sent=len(sent),
        sent_bytes=sum(file.size for file in sent),
        deleted=stats.deleted,
        warning=lease.warning,
    )


@contextmanager
def _snapshots(folder: Path) -> Iterator[Path]:
    with TemporaryDirectory(prefix="chatrest-") as path:
        yield Path(path)


def _files(folder: Path, manifest: Manifest, journal: LockedJournal, snapshots: Path) -> dict[str, Path]:
    files = data_files(folder, manifest, journal.reader) | {LINEAGE: folder / LINEAGE}
    files[JOURNAL] = snapshots / JOURNAL
    journal.write_snapshot(files[JOURNAL])
    if (path := attachment_journal(folder)) is not None:
        name = path.relative_to(folder).as_posix()
        files[name] = snapshots / "attachments"
        copy_database(path, files[name])
    return files


def _check_lineage(folder: Path, address: str, generation: str, own: Lineage, published: Lineage) -> None:
    """Refuse to publish a copy that does not go on from the published version."""
    if published.newest == generation or published.newest in own.generations:
        return
    elsewhere = "publish it under another address, which loses nothing"
    if generation in published.generations:
        raise RequestInvalidError(
            f"the export in folder '{folder}' is older than the version at {address}: "
            f"`chatrest fetch {address} {folder}` makes it that version; nothing was published"
        )
    if {*own.generations} & {*published.generations}:
        raise RequestInvalidError(
            f"the export in folder '{folder}' and the version at {address} have both gone on from the same "
            f"older version, and publishing one would lose the other: fetch {address} into an empty folder "
            f"and export there, or keep this one and {elsewhere}; nothing was published"
        )
    raise RequestInvalidError(
        f"the version at {address} is of another export than the one in folder '{folder}', or of a copy that "
        f"was published first: {elsewhere}; nothing was published"
    )
