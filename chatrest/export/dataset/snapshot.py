"""Tables as snapshots: written beside the older ones, put in their place once the manifest has them, checked.

```
users.ndjson.new written and synced → manifest.json has its hash → users.ndjson.new becomes users.ndjson
```

The manifest is the one moment of change. Before it, a run that is killed leaves the older table, and a file
`.new` that nobody vouches for; after it, the file `.new` is the table, and the next run (`recover`) renames
it. A table whose list could not be read as a whole stays as it was.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, final

import msgspec
from msgspec import Struct

from ...cloud.store_errors import ObjectStoreError
from ...errors import ChatRestError
from ..disk import Disk, sync_folder
from ..file_names import path_inside
from ..manifest import Manifest, TableEntry
from ..plan import Plan
from .tables import ATTACHMENTS, TABLES, file_name, read_table, table_writer

NEW: Final = ".new"
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


class TableFolder(NamedTuple):
    """The place of the tables: the export's folder, its plan, which sets the format, and the disk."""

    folder: Path
    plan: Plan
    disk: Disk


def table_path(folder: Path, name: str) -> Path:
    """Return the path of a table's file in the folder of an export.

    Raises `ChatRestError` for a name that no export writes, and for one that leads out of the folder, which
    may come from somebody else.
    """
    if not _TABLE_FILE.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a table's file")
    return path_inside(folder, name)


def new_path(path: Path) -> Path:
    """Return the path of a table's file before the manifest has it."""
    return path.with_name(path.name + NEW)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ── writing ──


@final
class NewTable:
    """One table that is being written, with the count of its rows."""

    def __init__(self, place: TableFolder, table: str) -> None:
        plan, disk = place.plan, place.disk
        self._name = file_name(table, plan.format, plan.compress or "none")
        self._path = new_path(table_path(place.folder, self._name))
        self._table, self._disk, self._rows = table, disk, 0
        if not self._path.parent.exists():
            self._path.parent.mkdir()
            sync_folder(disk, place.folder)
        disk.remove(self._path)
        self._writer = table_writer(table, self._path, plan.format, plan.compress or "none")

    def add(self, records: list[bytes]) -> None:
        """Write records."""
        self._writer.add(records)
        self._rows += len(records)

    def finish(self, read_at: int) -> TableEntry:
        """Close the file, and return its entry; it survives a loss of power."""
        self._writer.close()
        with self._path.open("rb") as file:
            self._disk.sync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        sync_folder(self._disk, self._path.parent)
        return TableEntry(self._table, self._name, size, self._rows, digest, read_at)

    def discard(self) -> None:
        """Close and remove the file."""
        with suppress(OSError):
            self._writer.close()
        self._disk.remove(self._path)


def publish(place: TableFolder, entries: Iterable[TableEntry]) -> None:
    """Put new tables in the place of the older ones; the manifest has their entries already.

    Raises OSError for a table that somebody has removed meanwhile.
    """
    for entry in entries:
        path = table_path(place.folder, entry.file)
        if (new := new_path(path)).exists():
            place.disk.replace(new, path)
            sync_folder(place.disk, path.parent)
        elif not path.is_file():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def recover(place: TableFolder, entries: Iterable[TableEntry]) -> None:
    """Finish or take back what a killed run has left: a file `.new` is the table if the manifest has it."""
    for entry in entries:
        new = new_path(table_path(place.folder, entry.file))
        if new.exists() and file_hash(new) == entry.sha256:
            publish(place, [entry])
        else:
            place.disk.remove(new)


# ── checking ──


def check_tables(
    folder: Path, manifest: Manifest, present: FileOpener = lambda _: nullcontext()
) -> Iterator[TableFault]:
    """Yield what is wrong with tables and attachments: missing files, or others than the manifest says.

    Reads every file once, and changes none. `present` has a file in the folder while it is checked.
    """
    for entry in manifest.tables:
        with present(entry.file):
            try:
                path = find_table(folder, entry)
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


def find_table(folder: Path, entry: TableEntry) -> Path | None:
    """Return the path of a table as the manifest has it; None where no file is so.

    A run that was killed between its two last steps has left it under the name with `.new`, which is right.
    Raises `ChatRestError` for a name that leads out of the folder.
    """
    path = table_path(folder, entry.file)
    for each in (path, new_path(path)):
        if _has_size(each, entry.bytes) and file_hash(each) == entry.sha256:
            return each
    return None


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size == size


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
            elif not _has_size(path, row.bytes) or file_hash(path) != row.sha256:
                yield TableFault("damaged", name, "its size or checksum is not that of its row")
