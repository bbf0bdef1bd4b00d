"""The journal of an export at rest: locked, so that no run writes meanwhile, and copied as a snapshot."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from ...errors import RequestInvalidError
from ..journal.reader import JournalReader
from ..journal.schema import FAULTS, NAME, InUseError, fault_of, open_for_writing


class LockedJournal(NamedTuple):
    """The journal of an export, held by this process."""

    reader: JournalReader
    database: sqlite3.Connection

    def write_snapshot(self, target: Path) -> None:
        """Write all that is committed to a new file: the same bytes for the same content."""
        _write_snapshot(self.database, self.reader.path, target)


@contextmanager
def locked_journal(folder: Path) -> Iterator[LockedJournal]:
    """Hold the journal of the export in `folder`; yields it.

    Meanwhile nothing in this process may open the file by itself: the system would end the lock when that is
    closed. Raises `RequestInvalidError` while a run is under way, `ChatRestError` where it is damaged, and
    OSError where the disk fails.
    """
    try:
        database = open_for_writing(folder / NAME, {})
    except InUseError:
        raise RequestInvalidError(
            f"an export is being written to folder '{folder}': wait until it has ended, then run this again"
        ) from None
    with JournalReader(folder / NAME, database) as reader:
        yield LockedJournal(reader, database)


def copy_database(path: Path, target: Path) -> None:
    """Write all that a database has committed to a new file: the same bytes for the same content."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database:
            _write_snapshot(database, path, target)
    except FAULTS as error:
        raise fault_of(path, error) from None


def _write_snapshot(database: sqlite3.Connection, path: Path, target: Path) -> None:
    try:
        database.execute("VACUUM INTO ?", (str(target),))
    except FAULTS as error:
        raise fault_of(path, error) from None
