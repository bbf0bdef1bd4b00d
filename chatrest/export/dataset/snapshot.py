"""Tables as snapshots: written beside the older ones, and put in their place once the manifest has them.

```
users.ndjson.new written and synced → manifest.json has its hash → users.ndjson.new becomes users.ndjson
```

The manifest is the one moment of change. Before it, a run that is killed leaves the older table, and a file
`.new` that nobody vouches for; after it, the file `.new` is the table, and the next run (`recover`) renames
it. A table whose list could not be read as a whole stays as it was.
"""

import asyncio
import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, final

from ...errors import ChatRestError
from ...session import AsyncSession
from ..disk import Disk, sync_folder
from ..file_names import path_inside
from ..in_thread import in_thread
from ..manifest import TableEntry
from ..plan import Plan
from ..report import Failure
from .table_files import TableWriter, file_name, table_writer
from .table_lists import TableLists, WriteRecords
from .tables import ATTACHMENTS, TABLES, Table

NEW: Final = ".new"
_NAME: Final = re.compile(
    rf"({'|'.join((*TABLES, ATTACHMENTS))})/\1\.(ndjson(\.gz|\.zst)?|parquet|sqlite)", re.ASCII
)


class TableFolder(NamedTuple):
    """The place of the tables: the export's folder, its plan, which sets the format, and the disk."""

    folder: Path
    plan: Plan
    disk: Disk

    def path(self, entry: TableEntry) -> Path:
        """Return the path of a table's file."""
        return table_path(self.folder, entry.file)

    def new_path(self, table: str) -> Path:
        """Return the path of a table that is not in the manifest yet; its folder is made."""
        name = file_name(table, self.plan.format, self.plan.compress or "none")
        path = new_path(table_path(self.folder, name))
        if not path.parent.exists():
            path.parent.mkdir()
            sync_folder(self.disk, self.folder)
        self.disk.remove(path)
        return path

    def writer(self, table: str, path: Path) -> TableWriter:
        """Return a writer of the plan's format."""
        return table_writer(table, path, self.plan.format, self.plan.compress or "none")


def table_path(folder: Path, name: str) -> Path:
    """Return the path of a table's file in the folder of an export.

    Raises `ChatRestError` for a name that no export writes, and for one that leads out of the folder, which
    may come from somebody else.
    """
    if not _NAME.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a table's file")
    return path_inside(folder, name)


def new_path(path: Path) -> Path:
    """Return the path of a table's file before the manifest has it."""
    return path.with_name(path.name + NEW)


@final
class NewTable:
    """One table that is being written, with the count of its rows."""

    def __init__(self, place: TableFolder, table: str) -> None:
        self._place = place
        self._table = table
        self._path = place.new_path(table)
        self._writer = place.writer(table, self._path)
        self._rows = 0

    def add(self, records: list[bytes]) -> None:
        """Write records."""
        self._writer.add(records)
        self._rows += len(records)

    def finish(self, read_at: int) -> TableEntry:
        """Close the file, and return its entry; it survives a loss of power."""
        self._writer.close()
        with self._path.open("rb") as file:
            self._place.disk.sync(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        sync_folder(self._place.disk, self._path.parent)
        name = f"{self._table}/{self._path.name.removesuffix(NEW)}"
        return TableEntry(self._table, name, size, self._rows, digest, read_at)

    def discard(self) -> None:
        """Close and remove the file."""
        with suppress(OSError):
            self._writer.close()
        self._place.disk.remove(self._path)


async def read_tables(
    session: AsyncSession, place: TableFolder, tables: Iterable[Table], now: Callable[[], float]
) -> tuple[list[TableEntry], list[Failure]]:
    """Write a new file for each table beside the older one; return the entries of those that are whole.

    Costs the requests of the lists: one a thousand users or groups, one at least a group for the members and
    a user for the conversations. Memory: the ids of all users and groups, and a page for each list that is
    read at the same time. Raises `AuthenticationError` and OSError; nothing is replaced then.
    """
    lists, entries, failures = TableLists(session), list[TableEntry](), list[Failure]()
    for table in tables:
        new = await in_thread(partial(NewTable, place, table), NewTable.discard)
        try:
            failed = await lists.read(table, _writes_to(new))
            if not failed:
                entries.append(await in_thread(partial(new.finish, int(now()))))
        except BaseException:
            await in_thread(new.discard)
            raise
        if failed:
            await in_thread(new.discard)
        failures += failed
    return entries, failures


def _writes_to(new: NewTable) -> WriteRecords:
    """Return a function that writes records in a thread, those of one reader after those of another."""
    lock = asyncio.Lock()

    async def write(records: list[bytes]) -> None:
        async with lock:
            await in_thread(partial(new.add, records))

    return write


def publish(place: TableFolder, entries: Iterable[TableEntry]) -> None:
    """Put new tables in the place of the older ones; the manifest has their entries already.

    Raises OSError for a table that somebody has removed meanwhile.
    """
    for entry in entries:
        path = place.path(entry)
        if (new := new_path(path)).exists():
            place.disk.replace(new, path)
            sync_folder(place.disk, path.parent)
        elif not path.is_file():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def recover(place: TableFolder, entries: Iterable[TableEntry]) -> None:
    """Finish or take back what a killed run has left: a file `.new` is the table if the manifest has it."""
    for entry in entries:
        path = place.path(entry)
        new = new_path(path)
        if not new.exists():
            continue
        if file_hash(new) == entry.sha256:
            publish(place, [entry])
        else:
            place.disk.remove(new)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
