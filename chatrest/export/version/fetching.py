"""The download of a published export into an empty folder, or onto an older copy of the same export."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ...cloud.operations import Operations
from ...cloud.publication import fetch_version, is_same, read_version
from ...cloud.publication_plan import Manifest as Version, PublishedFile
from ...errors import ChatRestError, RequestInvalidError
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL
from ..dataset.tables import ATTACHMENTS
from ..disk import Disk, make_folder
from ..file_names import path_inside
from ..in_thread import in_thread
from ..journal.schema import NAME as JOURNAL
from ..manifest import NAME as MANIFEST
from .export_files import attachment_journal, check_is_export, check_manifest, data_files
from .folder_lock import locked_journal
from .folder_update import (
    STAGING,
    begin_update,
    discard_staging,
    finish_update,
    interrupted_update,
    staging,
)
from .lineage import NAME as LINEAGE, Lineage, decode_lineage
from .results import FetchedVersion, Progress, VersionFile
from .sending import read_published_lineage

_NEEDED: Final = frozenset({MANIFEST, JOURNAL, LINEAGE})
_JOURNALS: Final = frozenset({JOURNAL, f"{ATTACHMENTS}/{ATTACHMENT_JOURNAL}"})


class _Copy(NamedTuple):
    """The state of the folder before."""

    generation: str
    """Of an older copy, or of the version of an update that was interrupted; an empty text for no copy."""
    names: list[str]
    """The files that are the export's."""


async def fetch_folder(store: Operations, folder: Path, *, progress: Progress) -> FetchedVersion:
    """Fetch the published export into `folder`; described at `chatrest.export.fetch`."""
    version = await read_version(store)
    if not version.generation:
        raise RequestInvalidError(f"{store.address} holds no published export")
    lineage = await read_published_lineage(store, version)
    with ExitStack() as stack:
        copy = await in_thread(partial(_examine, folder, stack))
        _check_lineage(folder, store.address, copy, lineage)
        fetched: list[VersionFile] = []
        if copy.generation == lineage.newest and await in_thread(partial(_is_whole, folder, version)):
            discard_staging(folder)
            return _result(store, version, fetched, 0)
        await in_thread(partial(make_folder, Disk(), staging(folder)))

        def add(file: PublishedFile) -> None:
            fetched.append(VersionFile(file.name, file.size))
            progress(fetched[-1])

        def is_present(file: PublishedFile) -> bool:
            return file.name not in _JOURNALS and is_same(file, path_inside(folder, file.name))

        version = await fetch_version(store, staging(folder), is_present=is_present, on_file=add)
        names = [file.name for file in version.files]
        if missing := _NEEDED - {*names}:
            raise ChatRestError(f"{store.address} holds something else than an export: no {min(missing)}")
        lineage = _fetched_lineage(folder)
        _check_lineage(folder, store.address, copy, lineage)
        update = await in_thread(partial(begin_update, folder, lineage.newest, copy.names, names))
        stack.close()  # the journal is removed, and is let go of before another one takes its place
        removed = await in_thread(partial(finish_update, folder, update, names))
    return _result(store, version, fetched, removed)


def _result(store: Operations, version: Version, fetched: list[VersionFile], removed: int) -> FetchedVersion:
    return FetchedVersion(
        address=store.address,
        version=version.generation,
        files=len(version.files),
        fetched=len(fetched),
        fetched_bytes=sum(file.size for file in fetched),
        removed=removed,
    )


def _examine(folder: Path, stack: ExitStack) -> _Copy:
    """Return the state of a folder; the journal of an older copy is held until `stack` is closed.

    Raises `RequestInvalidError` for a folder that holds something else, untouched.
    """
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is no folder: choose another")
    names = [path.name for path in folder.iterdir() if path.name != STAGING] if folder.exists() else []
    if not names:
        return _Copy("", [])
    if (update := interrupted_update(folder)) is not None:
        return _Copy(update.generation, update.names)
    if MANIFEST not in names and JOURNAL not in names:
        raise RequestInvalidError(
            f"folder '{folder}' holds something else than an export, such as {min(names)}, and is not "
            "touched: choose another folder"
        )
    check_is_export(folder)
    journal = stack.enter_context(locked_journal(folder)).reader
    manifest = check_manifest(folder, journal)
    for entry in manifest.files if manifest.finished is not None else ():
        path = path_inside(folder, entry.name)
        if path.is_file() and path.stat().st_size > entry.bytes:
            raise RequestInvalidError(
                f"{path} is newer than {folder / MANIFEST}, and would be overwritten; nothing was changed: "
                "fetch into an empty folder"
            )
    extra = [path.relative_to(folder).as_posix() for path in [attachment_journal(folder)] if path is not None]
    return _Copy(manifest.generation, [*data_files(folder, manifest, journal), *extra])


def _check_lineage(folder: Path, address: str, copy: _Copy, published: Lineage) -> None:
    """Refuse to fetch over anything that the published version does not go on from."""
    if copy.generation and copy.generation not in published.generations:
        raise RequestInvalidError(
            f"the export in folder '{folder}' is no older copy of the version at {address}: it is another "
            "export, or has runs that were not published, which would be lost; nothing was changed: publish "
            "it, or fetch into an empty folder"
        )


def _is_whole(folder: Path, version: Version) -> bool:
    """Return True if a copy of the published generation lacks nothing.

    The journals change when they are opened, and are not compared.
    """
    names = {file.name for file in version.files if not (folder / file.name).is_file()}
    return not names and all(
        file.name in _JOURNALS or is_same(file, path_inside(folder, file.name)) for file in version.files
    )


def _fetched_lineage(folder: Path) -> Lineage:
    for path in (staging(folder) / LINEAGE, folder / LINEAGE):
        if path.is_file():
            return decode_lineage(path.read_bytes(), path)
    raise ChatRestError(f"{folder / LINEAGE} was removed meanwhile")
