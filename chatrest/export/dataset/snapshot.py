"""The tables and attachments of an export, found and checked: files that are as the manifest says."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from ...cloud.store_errors import ObjectStoreError
from ...errors import ChatRestError
from ..file_names import path_inside
from ..journal import Journal
from ..manifest import Manifest, TableEntry, table_entries
from .tables import ATTACHMENTS, TABLES, read_table

_TABLE_FILE: Final = re.compile(
    rf"({'|'.join((*TABLES, ATTACHMENTS))})/\1\.(ndjson(\.gz|\.zst)?|parquet|sqlite)", re.ASCII
)
_ATTACHMENT_FILE: Final = re.compile(r"files/[0-9a-f]{2}/[0-9a-f]{64}(\.[a-z0-9]{1,10})?", re.ASCII)


FileOpener: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Has a file of the export in its folder within the block."""


class TableFault(NamedTuple):
    """A table or attachment that is not as the manifest says."""

    kind: Literal["manifest", "missing", "size", "damaged"]
    """As `verify` names it."""
    place: str
    text: str


def table_path(folder: Path, name: str) -> Path:
    """Return the path of a table's file in the folder of an export.

    Raises `ChatRestError` for a name that no export writes, and for one that leads out of the folder, which
    may come from somebody else.
    """
    if not _TABLE_FILE.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a table's file")
    return path_inside(folder, name)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_table(folder: Path, entry: TableEntry) -> Path | None:
    """Return the path of a table as the manifest has it; None where no file is so.

    Raises `ChatRestError` for a name that leads out of the folder.
    """
    path = table_path(folder, entry.file)
    return path if _is_as(path, entry.bytes, entry.sha256) else None


def check_tables(
    folder: Path,
    manifest: Manifest,
    present: FileOpener = lambda _: nullcontext(),
    journal: Journal | None = None,
) -> Iterator[TableFault]:
    """Yield what is wrong with tables and attachments: missing files, or others than the manifest says.

    Reads every file once, and changes none. `present` has a file in the folder while it is checked. A run
    that was killed may have replaced a table, and not the manifest: then the `journal` knows it.
    """
    newer = {} if journal is None else {entry.file: entry for entry in table_entries(journal)}
    for entry in manifest.tables:
        with present(entry.file):
            try:
                path = find_table(folder, entry)
                if path is None and (other := newer.get(entry.file)) is not None:
                    path = find_table(folder, other)
                if path is None:
                    yield _fault(folder, entry)
                elif entry.table == ATTACHMENTS:
                    yield from _check_attachments(folder, path, present)
            except ObjectStoreError:
                raise
            except ChatRestError as error:
                yield TableFault("manifest", entry.table, str(error))
            except OSError as error:
                yield TableFault("damaged", entry.file, f"it cannot be read ({error.strerror or error})")


def _is_as(path: Path, size: int, sha256: str) -> bool:
    is_file = path.is_file() and not path.is_symlink()
    return is_file and path.stat().st_size == size and file_hash(path) == sha256


def _fault(folder: Path, entry: TableEntry) -> TableFault:
    path = table_path(folder, entry.file)
    if not path.is_file():
        return TableFault("missing", entry.file, "it is not there")
    if (size := path.stat().st_size) != entry.bytes:
        return TableFault("size", entry.file, f"it has {size:,} bytes, and not {entry.bytes:,}")
    return TableFault("damaged", entry.file, "its checksum is not that of the manifest")


class _Attachment(Struct):
    """The members of a row of `attachments` that say which file it is about."""

    state: str
    file: str = ""
    bytes: int = 0
    sha256: str = ""


def _check_attachments(folder: Path, table: Path, present: FileOpener) -> Iterator[TableFault]:
    """Yield what is wrong with each file of the table `attachments`."""
    checked = set[str]()
    for raw in read_table(table, ATTACHMENTS):
        row = msgspec.json.decode(raw, type=_Attachment)
        if row.state != "stored" or row.file in checked:
            continue
        checked.add(row.file)
        path, name = folder / ATTACHMENTS / row.file, f"{ATTACHMENTS}/{row.file}"
        if not _ATTACHMENT_FILE.fullmatch(row.file) or path.is_symlink() or path.parent.is_symlink():
            yield TableFault("manifest", name, "it is not the file of an attachment, or leads elsewhere")
            continue
        with present(name):
            if not path.is_file():
                yield TableFault("missing", name, "it is not there")
            elif not _is_as(path, row.bytes, row.sha256):
                yield TableFault("damaged", name, "its size or checksum is not that of its row")
