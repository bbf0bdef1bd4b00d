"""The files of an export: what is published, and the checks before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...cloud.address import parse_address
from ...errors import ChatRestError, RequestInvalidError
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL
from ..dataset.table_check import find_table
from ..dataset.tables import ATTACHMENTS
from ..file_names import DATABASE, path_inside
from ..journal.reader import JournalReader
from ..journal.schema import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, Manifest, find
from ..opening import check_folder, file_path
from ..run_log import NAME as RUNS

_REASONS_SHOWN: Final = 3
_FILES: Final = "files"
"""The folder of the attachments themselves, in that of the attachments."""


def check_apart(folder: Path, address: str) -> None:
    """Refuse with `RequestInvalidError` a store in the export's folder, or the folder in the store."""
    parts = parse_address(address)
    out, store = folder.resolve(), Path(parts.prefix).resolve()
    if parts.scheme == "file" and (out.is_relative_to(store) or store.is_relative_to(out)):
        raise RequestInvalidError(
            f"address = '{parts}' and out = '{folder}': one folder is in the other; choose another address"
        )


def check_is_export(folder: Path) -> None:
    """Refuse a folder without a manifest or journal with `RequestInvalidError`."""
    if not (folder / MANIFEST).is_file():
        raise RequestInvalidError(f"folder '{folder}' is not an export: it has no {MANIFEST}")
    journal = folder / JOURNAL
    if not journal.is_file() or not journal.stat().st_size:
        raise RequestInvalidError(
            f"the export in folder '{folder}' has no {JOURNAL}, or an empty one, and cannot be "
            f"continued without it: restore {JOURNAL} and {MANIFEST} from one backup, or export into another "
            "folder"
        )


def check_manifest(folder: Path, journal: JournalReader) -> Manifest:
    """Return the manifest of an export whose journal belongs to it; `RequestInvalidError` for any other."""
    manifest = check_folder(folder, journal)
    if manifest is None:
        find(folder)  # raises the reason
        raise RequestInvalidError(f"folder '{folder}' is not an export: it has no {MANIFEST}")
    return manifest


def check_complete(folder: Path, manifest: Manifest, *, allow_incomplete: bool) -> None:
    """Refuse an export that is not complete, unless that is allowed, with `RequestInvalidError`."""
    if not manifest.complete and not allow_incomplete:
        reasons = "; ".join(manifest.reasons[:_REASONS_SHOWN]) or "it is being written, or was interrupted"
        raise RequestInvalidError(
            f"the export in folder '{folder}' is not complete ({reasons}): run the export again, or allow it "
            "with allow_incomplete (--incomplete)"
        )


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Refuse files of messages that are not as a finished manifest says, by their sizes."""
    log = folder / f"{DATABASE}-wal"
    if log.is_file() and log.stat().st_size:
        raise RequestInvalidError(
            f"{log} holds rows that are not in {DATABASE} yet: close the program that uses the database, or "
            "run the export again"
        )
    for entry in manifest.files if manifest.finished is not None else ():
        path = path_inside(folder, entry.name)
        if not path.is_file() or path.stat().st_size != entry.bytes:
            raise RequestInvalidError(
                f"{path} is not as {MANIFEST} says: `chatrest verify {folder}` tells what is wrong"
            )


def data_files(folder: Path, manifest: Manifest, journal: JournalReader) -> dict[str, Path]:
    """Return the paths of the files that are published as they are, by their names in the folder.

    The manifest is among them; the journals are not, as they need a snapshot. A table that has not taken its
    place yet, as the run was killed, is found under its other name.
    """
    names = {entry.name for entry in manifest.files} | {file.name for file in journal.files() if file.size}
    paths = {name: file_path(folder, name) for name in names}
    for entry in manifest.tables:
        if (path := find_table(folder, entry)) is None:
            raise ChatRestError(
                f"{folder / entry.file} is not as {MANIFEST} says: `chatrest verify {folder}` tells what is "
                "wrong"
            )
        paths[entry.file] = path
    paths |= {path.relative_to(folder).as_posix(): path for path in _attachments(folder)}
    paths |= {name: folder / name for name in (MANIFEST, RUNS)}
    return {name: path for name, path in paths.items() if path.is_file()}


def attachment_journal(folder: Path) -> Path | None:
    """Return the path of the journal of attachments; None where there is none."""
    path = folder / ATTACHMENTS / ATTACHMENT_JOURNAL
    return path if path.is_file() else None


def _attachments(folder: Path) -> Iterator[Path]:
    for path in sorted((folder / ATTACHMENTS / _FILES).rglob("*")):
        if path.is_file():
            yield path_inside(folder, path.relative_to(folder).as_posix())
