"""The tables of the journal, and how it is opened: SQLite, held by one process at a time.

| table     | holds                                                                                     |
|-----------|-------------------------------------------------------------------------------------------|
| meta      | the plan, the app, the generation, by name                                                |
| sources   | every list that is read; the number is its rank among users                               |
| covered   | per source the intervals of ids that were read, each with the position that follows       |
| files     | the files, and how much of each is committed: what is behind that is torn                 |
| blocks    | per file, one after the other: the rows of one source, their ids, the hash of their bytes |
| seen      | per source the ids that its list has shown, a row a batch, merged when a run ends         |
| other_ids | ids that are no numbers of 64 bits: the sources that saw them, the file they are in       |
| rechecks  | sources that are read again, and how far that has come                                    |
| shown     | the ids that the service shows while it is read again                                     |
| changed   | messages that have changed, before they take their places in the files                    |
| deleted   | ids that the service does not show any more; `missing` where the export lacks them, too   |

A page is committed in one transaction: its rows' blocks, the ids that it showed, what it covers. All that is
in the journal is on the disk; what is on the disk and not in the journal never happened.
"""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ...errors import ChatRestError, RequestInvalidError

NAME: Final = "journal.sqlite"
VERSION: Final = 2
SETTINGS: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;"
_SCHEMA: Final = f"""
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources(number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, state TEXT NOT NULL DEFAULT 'open',
    error TEXT, by_time INTEGER NOT NULL DEFAULT 0, proven INTEGER NOT NULL DEFAULT 0,
    asked INTEGER NOT NULL DEFAULT 1);
CREATE TABLE covered(source INTEGER, first INTEGER, last INTEGER NOT NULL, position TEXT NOT NULL,
    PRIMARY KEY(source, first)) WITHOUT ROWID;
CREATE TABLE files(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL COLLATE NOCASE,
    partition_key TEXT NOT NULL, role TEXT NOT NULL, size INTEGER NOT NULL, state TEXT NOT NULL, digest BLOB);
CREATE INDEX files_of_partition ON files(partition_key);
CREATE TABLE blocks(file INTEGER, start INTEGER, size INTEGER NOT NULL, source INTEGER NOT NULL,
    rows INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, since INTEGER NOT NULL,
    until INTEGER NOT NULL, digest BLOB NOT NULL, ids BLOB NOT NULL, other INTEGER NOT NULL,
    PRIMARY KEY(file, start)) WITHOUT ROWID;
CREATE TABLE seen(number INTEGER PRIMARY KEY, source INTEGER NOT NULL, first INTEGER NOT NULL,
    last INTEGER NOT NULL, ids BLOB NOT NULL);
CREATE INDEX seen_of_source ON seen(source);
CREATE TABLE other_ids(key TEXT, source INTEGER, file INTEGER, PRIMARY KEY(key, source)) WITHOUT ROWID;
CREATE TABLE rechecks(source INTEGER PRIMARY KEY, since INTEGER NOT NULL, after INTEGER NOT NULL,
    until INTEGER NOT NULL, position TEXT NOT NULL);
CREATE TABLE shown(number INTEGER PRIMARY KEY, source INTEGER NOT NULL, ids BLOB NOT NULL);
CREATE TABLE changed(id TEXT PRIMARY KEY, number INTEGER, raw BLOB NOT NULL);
CREATE INDEX changed_numbers ON changed(number);
CREATE TABLE deleted(id TEXT PRIMARY KEY, source INTEGER NOT NULL, noticed INTEGER NOT NULL,
    missing INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
PRAGMA user_version={VERSION};
"""
_TABLES: Final = (
    "sources", "covered", "files", "blocks", "seen", "other_ids", "rechecks", "shown", "changed", "deleted",
)  # fmt: skip
GENERATION: Final = "generation"
PREVIOUS_GENERATION: Final = "previous_generation"
FACTS: Final = (
    "SELECT type, name, sql FROM sqlite_master ORDER BY type, name",
    f"SELECT * FROM meta WHERE name NOT IN ('{GENERATION}', '{PREVIOUS_GENERATION}') ORDER BY name",  # noqa: S608
    *(f"SELECT '{table}', * FROM {table} ORDER BY 2, 3" for table in _TABLES),  # noqa: S608
)
"""The statements that give all rows in a fixed order, but for the generation."""
_SURROUNDINGS: Final = frozenset({
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
})  # fmt: skip
"""Errors of the system around a database, and not of what is in it."""
_VALUES: Final = 500
"""Values of one query: every SQLite takes so many."""
FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)
"""The errors of sqlite3; the second where SQLite's own message repeats damaged bytes."""


class InUseError(RequestInvalidError):
    """Another export is writing to the journal."""


class UnreadableError(ChatRestError):
    """The journal is damaged, or is none."""


def open_for_writing(path: Path, begin: Mapping[str, str]) -> sqlite3.Connection:
    """Open a journal, or make one whose meta is `begin`: there is never one without a plan.

    Raises `InUseError` where another process or archive has it, `UnreadableError` where it is damaged,
    `RequestInvalidError` where it is no journal, or of another version, and OSError where the disk fails.
    """
    with _faults(path):
        # The writer is a thread, one at a time.
        db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        with _closed_on_error(db):
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            is_new = _is_new(db, path)
            if not is_new:
                check_integrity(db, path)  # before anything is written, the settings included
            db.executescript(SETTINGS)
            if is_new:
                _make(db, begin)
            db.executescript("BEGIN EXCLUSIVE; COMMIT")
    return db


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Raise the errors of SQLite as those that say whose fault it is."""
    try:
        yield
    except FAULTS as error:
        raise fault_of(path, error) from None


@contextmanager
def _closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a journal without changing anything, and without making a file beside it.

    One that is closed has no `-wal` file: it is read as a file that nobody writes. One that is being written
    has one, and is locked (`InUseError`); one whose run was killed has one, and is copied and read elsewhere,
    as SQLite would make an index of the log beside it.
    """
    log = path.with_name(f"{path.name}-wal")
    with _faults(path):
        if not log.exists():
            return _with_tables(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True), path)
        _check_unlocked(path)
        with TemporaryDirectory(prefix="chatrest-") as folder:
            copy = Path(shutil.copy(path, folder))
            shutil.copy(log, folder)
            return _with_tables(sqlite3.connect(copy), path)  # its files are open then, and need no names


def _with_tables(db: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Return a connection; `UnreadableError` where nothing is in its file."""
    with _closed_on_error(db):
        if _is_new(db, path):
            raise UnreadableError(f"{path} is empty, and no export's journal")
    return db


def _check_unlocked(path: Path) -> None:
    """Raise sqlite3.Error where a process has the journal open for writing."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")  # so that SQLite makes no file, and cannot read a log
        try:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            if is_in_use(error):
                raise


def sql_in(db: sqlite3.Connection, sql: str, values: Iterable[str | int]) -> Iterator[Any]:
    """Yield the rows of a query that ends in `IN`, for any number of values.

    They are values of their own, as in SQLite's JSON a text ends at a NUL.
    """
    rest = iter(values)
    while batch := list(islice(rest, _VALUES)):
        yield from db.execute(f"{sql} ({','.join('?' * len(batch))})", batch)


def check_integrity(db: sqlite3.Connection, path: Path) -> None:
    """Raise `UnreadableError` where SQLite finds the journal to be damaged; reads all of it."""
    [result] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise UnreadableError(f"{path} is damaged: {result}")


def fault_of(path: Path, error: Exception) -> ChatRestError | OSError:
    """Return the error that says whose fault it is that the journal cannot be read or written."""
    if is_in_use(error):
        return InUseError(f"{path}: another export is writing here")
    if primary_code(error) == sqlite3.SQLITE_CANTOPEN:
        return RequestInvalidError(f"{path}: {error}")
    if primary_code(error) in _SURROUNDINGS:
        return OSError(f"{path}: {error}")  # such as a disk that is full
    return UnreadableError(f"{path} is damaged, or is no export's journal: {error}")


def primary_code(error: Exception) -> int:
    """Return SQLite's primary result code of an error; `SQLITE_OK` for an error of something else."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF


def is_in_use(error: Exception) -> bool:
    """Return whether another connection has the database."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Return whether nothing is in it; raises where it is of another version, before it is touched."""
    [version] = db.execute("PRAGMA user_version").fetchone()
    [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 1 and tables:
        raise RequestInvalidError(
            f"{path} is of an export by a version before 0.2, which this one cannot go on with: export into "
            "another folder; what is in this one stays readable"
        )
    if tables and version != VERSION:
        raise RequestInvalidError(f"{path} is no export's journal, or of another version")
    return not tables


def _make(db: sqlite3.Connection, begin: Mapping[str, str]) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.executemany("INSERT INTO meta VALUES(?, ?)", begin.items())
    db.execute("COMMIT")
