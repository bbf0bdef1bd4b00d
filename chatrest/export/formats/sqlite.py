"""SQLite: one database, whose columns, views and full-text index `sqlite_schema` describes.

Rows are committed here before the journal commits their pages. A crash between the two leaves rows that the
journal does not know. They are written once all the same: the ids that are written are those of the database
itself, and a row that is added again takes the place of its older version, which is kept.

While it is written, it has a log beside it (WAL), and others may read it. At the end it is one file again,
and its hash is taken: that costs the reading of all of it, where anything was written. Where a finished
database has another hash when it is opened, somebody has changed it: then none of its ids counts as written,
and all are read again; what it holds stays.

| the file                        | what is done when it is opened                              |
|---------------------------------|-------------------------------------------------------------|
| is not there, or empty          | it is made                                                  |
| is damaged, or no database      | it is moved aside, and made                                 |
| is a database of something else | refused, and not touched                                    |

Its full-text index is made, and kept, where this SQLite has FTS5; where it has not, nobody keeps it up to
date, and it is made anew where that is there again.
"""

import errno
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, Final, final

from ...core.replies.rows import UNKNOWN, Row, row_of
from ...errors import RequestInvalidError
from ..disk import Disk, set_aside, sync_folder
from ..file_names import DATABASE, path_inside
from ..id_set import IdSet
from ..journal import Block, DataFile
from ..message_ids import PageIds, ids_of
from ..ownership import Source
from ..plan import Plan
from ..workspace import LAST, StoredRow, Workspace
from .sqlite_rows import entry
from .sqlite_schema import (
    BY_NUMBER,
    BY_TIME,
    COUNT,
    EDGES,
    UNDATED,
    UNNUMBERED,
    UPSERT,
    VERSION,
    adapt,
    is_empty,
    make,
    marks_of,
)  # fmt: skip

NAME: Final = DATABASE
_PARTITION: Final = "messages"
_FINISHED: Final = b"\x01\x01"
"""The bytes 18 and 19 of the header of a database without a log beside it."""
_BATCH: Final = 500
WAIT: Final = 10.0
"""Seconds that another program may have it for itself, before that is an error."""
_PAUSE: Final = 0.05
_BESIDE: Final = tuple(f"{DATABASE}-{suffix}" for suffix in ("wal", "shm", "journal"))
# EXTRA is FULL, and where there is no log, a commit survives a loss of power all the same.
_SETTINGS: Final = """
PRAGMA synchronous=EXTRA; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=16384;
"""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@final
class DatabaseSink:
    """The sink of `sqlite`."""

    upserts: Final = True

    def __init__(self, plan: Plan, workspace: Workspace) -> None:
        self._plan = plan
        self._workspace = workspace
        self._path = path_inside(workspace.folder, NAME)
        self._connection: sqlite3.Connection | None = None
        self._is_trusted = True
        self._is_logging = False

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None, "recover() comes first"
        return self._connection

    # ── opening ──

    def recover(self) -> None:
        """Open the database, or make it; one that is damaged is moved aside first."""
        self.close()
        try:
            with os_errors(self._path):
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        journal = self._workspace.journal
        marks = {"app": journal["app"] or "", "plan": self._plan.encoded().decode()}
        self._is_trusted = self._has_its_hash()
        self._connection, is_new = open_database(self._workspace.folder, self._workspace.disk, marks)
        # A log was left by a run that did not come to its end.
        if is_new or not self._is_trusted or has_log(self._db):
            self._drop_hash()
        self._note_others()

    def _has_its_hash(self) -> bool:
        """Return False if a finished database is not as it was left."""
        file = self._workspace.journal.open_file(_PARTITION, "part")
        if file is None or file.digest is None or not self._path.exists():
            return True
        with self._path.open("rb") as database:
            if database.read(20)[18:] != _FINISHED:
                return True  # a run had begun, and did not come to its end
            database.seek(0)
            return hashlib.file_digest(database, "sha256").digest() == file.digest

    def _note_others(self) -> None:
        """Note the ids of the database that are no numbers as written, and no others."""
        journal, file = self._workspace.journal, self._file().number
        journal.move_others(file, None)
        rows = (
            self._db.execute("SELECT source, id FROM messages WHERE number IS NULL")
            if self._is_trusted
            else ()
        )
        for source, key in rows:
            journal.write_others(file, source, [key])

    # ── writing ──

    def add(self, number: int, source: Source, rows: list[Row], ids: PageIds | None = None) -> int:
        """Take rows; return how many were not there. One that is there byte for byte changes nothing."""
        with os_errors(self._path):
            self._begin()
            before = self._newest()
            self._db.executemany(UPSERT, map(entry, rows, repeat(number)))
            added = self._newest() - before
            self._db.execute(COUNT, (number, source.key, added))
        self._workspace.journal.write_others(self._file().number, number, (ids or ids_of(rows)).others)
        return added

    def _begin(self) -> None:
        if not self._is_logging:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._is_logging = True
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _newest(self) -> int:
        # Nothing is removed in between, so places are given without gaps, and a difference is a count.
        [newest] = self._db.execute("SELECT max(place) FROM messages").fetchone()
        return int(newest or 0)

    def flush(self) -> None:
        """Commit."""
        if not self._db.in_transaction:
            return
        with os_errors(self._path):
            self._db.execute("COMMIT")
        self._drop_hash()

    def _drop_hash(self) -> None:
        """Drop the hash from the journal: the file is another one now. `finish` notes the new one."""
        file = self._file()
        if file.digest is not None:
            self._workspace.journal.replace_blocks(file.number, ())
            self._workspace.journal.keep_file(file._replace(size=0, digest=None))

    def rollback(self) -> None:
        """Roll back what was not committed."""
        if self._connection is not None and self._connection.in_transaction:
            with os_errors(self._path):
                self._connection.execute("ROLLBACK")

    # ── reading ──

    def scan(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[StoredRow]:
        """Yield the rows of these ids and times, and the rows without either; memory for some hundred."""
        if since > 0:
            yield from self._batches(BY_TIME, since, first=first, last=last)
        else:
            yield from self._batches(BY_NUMBER, first, last=last)
        yield from self._batches(UNNUMBERED, 0)
        yield from self._batches(UNDATED, 0)

    def _batches(self, sql: str, edge: int, **values: int) -> Iterator[StoredRow]:
        place = 0
        while True:
            # No statement stays open between two batches: it would keep the file from being finished.
            with os_errors(self._path):
                rows = self._db.execute(
                    sql, {**values, "edge": edge, "place": place, "size": _BATCH}
                ).fetchall()
            for _, _, source, raw in rows:
                yield StoredRow(row_of(raw), source)
            if len(rows) < _BATCH:
                return
            edge, place, *_ = rows[-1]

    def written_ids(self) -> IdSet:
        """Return the ids of the database; none where somebody has changed it, so that all are read again."""
        if not self._is_trusted:
            return IdSet()
        with os_errors(self._path):
            rows = self._db.execute("SELECT number FROM messages WHERE number > 0")
            return IdSet(number for (number,) in rows)

    def counts(self) -> dict[int, int]:
        """Return the numbers of messages from the database's own table."""
        with os_errors(self._path):
            return dict(
                self._db.execute("SELECT number, messages FROM sources WHERE messages > 0").fetchall()
            )

    # ── the end ──

    def apply_updates(self) -> int:
        """Do nothing: versions are kept when a message is added again."""
        return 0

    def compact(self, least: int, begin: Callable[[], None]) -> int:
        """Do nothing: it is one file."""
        return 0

    def maintain(self) -> None:
        """Do nothing: all that is committed is in its place."""

    def finish(self) -> None:
        """Make it one file, and take its hash; where nothing was written, all is as it was."""
        file = self._file()
        with os_errors(self._path):
            if file.digest is not None and not has_log(self._db):
                return
            fold(self._db)
            self._is_logging = False
            block = self._block(file)
        sync_folder(self._workspace.disk, self._workspace.folder)
        journal = self._workspace.journal
        with journal.transaction():
            journal.replace_blocks(file.number, [block])
            journal.keep_file(file._replace(size=block.size, digest=block.digest))

    def _block(self, file: DataFile) -> Block:
        first, last, since, until, other = self._db.execute(EDGES).fetchone()
        with self._path.open("rb") as database:
            digest = hashlib.file_digest(database, "sha256").digest()
            size = database.tell()
        return Block(
            file=file.number,
            start=0,
            size=size,
            source=0,
            rows=sum(self.counts().values()),
            first=first or 0,
            last=last or 0,
            since=UNKNOWN if since is None else since,
            until=UNKNOWN if since is None else until,
            digest=digest,
            ids=IdSet(),
            other=other,
        )

    def _file(self) -> DataFile:
        journal = self._workspace.journal
        return journal.open_file(_PARTITION, "part") or journal.add_file(NAME, _PARTITION, "part")

    def close(self) -> None:
        """Close the database; what was not committed never happened."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._is_logging = False


# ── the file ──


def open_database(folder: Path, disk: Disk, marks: Mapping[str, str]) -> tuple[sqlite3.Connection, bool]:
    """Open the database of an export, or make it; return it, and whether anything had to be made.

    `marks` are the app and the plan. Raises `RequestInvalidError` where it is of another app or program.
    """
    path = path_inside(folder, DATABASE)
    if not path.exists():
        for name in _BESIDE:  # what is left beside it would be taken for its own
            disk.remove(folder / name)
    db = _sound(path, marks)
    if db is None:
        for name in (*_BESIDE, DATABASE):
            if path_inside(folder, name).exists():
                set_aside(disk, folder, name)
        db = _connected(path)
    try:
        return db, _complete(db, marks)
    except BaseException:
        db.close()
        raise


def fold(db: sqlite3.Connection) -> None:
    """Take the log into the file; waits for others, who must not have it open."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    end = time.monotonic() + WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def has_log(db: sqlite3.Connection) -> bool:
    """Return True if it is written with a log beside it."""
    return bool(db.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as OSError, with the file's name."""
    try:
        yield
    except sqlite3.Error as error:
        raise _fault(path, error) from None  # what SQLite says stands in it


# ── opening ──


def _connected(path: Path) -> sqlite3.Connection:
    # The writer is a thread, one at a time.
    db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        db.executescript(_SETTINGS)
    except BaseException:
        db.close()
        raise
    return db


def _sound(path: Path, marks: Mapping[str, str]) -> sqlite3.Connection | None:
    """Open the file that is there; return None where it is damaged."""
    db: sqlite3.Connection | None = None
    try:
        db = _connected(path)
        if is_empty(db) or _is_sound(db, path, marks):
            return db
    except BaseException as error:
        if not isinstance(error, sqlite3.Error) or _code(error) not in _DAMAGED:
            _close(db)
            raise
    _close(db)
    return None


def _is_sound(db: sqlite3.Connection, path: Path, marks: Mapping[str, str]) -> bool:
    present = marks_of(db)
    if present is None or present.get("app") != marks["app"]:
        raise RequestInvalidError(f"{path} is no database of this export: move it elsewhere")
    [version] = db.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise RequestInvalidError(f"{path} is of another version of this library")
    return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")


def _complete(db: sqlite3.Connection, marks: Mapping[str, str]) -> bool:
    """Make the tables and the index where they are not there yet; return True if any was not."""
    db.execute("BEGIN IMMEDIATE")
    is_new = is_empty(db)
    if is_new:
        make(db, marks)
    is_changed = adapt(db) or is_new
    db.execute("COMMIT" if is_changed else "ROLLBACK")
    return is_changed


def _close(db: sqlite3.Connection | None) -> None:
    if db is not None:
        db.close()


# ── what SQLite says ──


def _fault(path: Path, error: sqlite3.Error) -> OSError:
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if code in _BUSY:
        return OSError(f"{path}: another program is writing to it, or has it open")
    if code in _DAMAGED:
        return OSError(
            f"{path}: it is damaged ({error}); move it elsewhere, and what was in it is read again"
        )
    return OSError(f"{path}: {error}")


def _code(error: sqlite3.Error) -> int:
    code: Any = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return int(code) & 0xFF
