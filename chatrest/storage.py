"""A journal in one SQLite file: opened, locked, checked, and with errors that say whose fault they are.

- One process writes: the file is locked until it is closed. Readers are refused meanwhile; of a writer that
  was killed they get the last commit.
- A file that is damaged, foreign or of another version is refused before a byte of it is changed.
- What was committed survives a loss of power.
"""

import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType
from typing import Any, Final, NamedTuple, Self

from .errors import ChatRestError, RequestInvalidError

SETTINGS: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;"
FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)
"""The errors of sqlite3; the second where SQLite's own message repeats damaged bytes."""
_SURROUNDINGS: Final = frozenset({
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
})  # fmt: skip
"""Errors of the system around a file, and not of what is in it."""
REMOVED: Final = "it was removed or replaced while it was being written"
_VALUES: Final = 500
"""Values of one query: every SQLite takes so many."""


class InUseError(RequestInvalidError):
    """Another process is writing to the journal."""


class UnreadableError(ChatRestError):
    """The journal is damaged, or is none."""


class Layout(NamedTuple):
    """A kind of journal: its tables, and the words of its errors."""

    owner: str
    """Who writes it, as in `export`."""
    schema: str
    """The statements that make its tables, with no `;` inside of one."""
    version: int
    application: int = 0
    former: Mapping[tuple[int, int], str] = MappingProxyType({})
    """What to do about one of a former layout, by its application and version."""
    remedy: str = ""
    """What to do about a damaged one."""
    damage: type[ChatRestError] = UnreadableError
    """The error for a damaged one."""


class JournalFile:
    """An open journal; used with `with`, or closed. What was not committed then never happened.

    Raises `InUseError` where another process has it, `UnreadableError` where it is damaged,
    `RequestInvalidError` where it cannot be opened or is something else, and OSError where the disk fails.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        begin: Callable[[sqlite3.Connection], object] | None,
    ) -> None:
        """Open it for writing, and make a new one with what `begin` adds; for reading where that is None."""
        self.path = path
        self._layout = layout
        with self._errors():
            self._db: sqlite3.Connection = self._readable() if begin is None else self._writable(begin)
        # One in memory has no file.
        self._status = path.stat() if begin is not None and path.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it, so that another process can open it."""
        self._db.close()

    def check_integrity(self) -> None:
        """Raise `UnreadableError` where SQLite finds damage; reads the whole journal."""
        with self._errors():
            _check_integrity(self._db)

    def check_in_place(self) -> None:
        """Raise OSError where the file was removed or replaced since it was opened."""
        if self._status is not None:
            check_in_place(self.path, self._status)

    def write_snapshot(self, path: Path) -> None:
        """Write all that is committed to a new file, outside of a transaction.

        Page by page: what has not changed since an earlier snapshot is at the same place.
        """
        with self._errors(), closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous=OFF")
            self._db.backup(copy)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is written inside, or nothing; it is on the disk afterwards."""
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _all(self, sql: str, *values: Any) -> list[Any]:
        with self._errors():
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ChatRestError | OSError:
        """Return the error that says whose fault it is that the journal cannot be read or written."""
        code, owner = _primary_code(error), self._layout.owner
        if _is_in_use(error):
            return InUseError(f"{self.path}: another {owner} is writing here")
        if code == sqlite3.SQLITE_CANTOPEN:
            return RequestInvalidError(f"{self.path}: {error}")
        if code == sqlite3.SQLITE_FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if code in _SURROUNDINGS:
            return OSError(f"{self.path}: {error}")
        remedy = self._layout.remedy and f": {self._layout.remedy}"
        return self._layout.damage(f"{self.path} is damaged, or is no {owner}'s journal: {error}{remedy}")

    # ── opening ──

    def _writable(self, begin: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
        # The writer is a thread, one at a time.
        db = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        with _closed_on_error(db):
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            is_new = self._is_new(db)
            if not is_new:
                _check_integrity(db)  # before anything is written, the settings included
            db.executescript(SETTINGS)
            if is_new:  # there is never one without what it begins with
                db.execute("BEGIN IMMEDIATE")
                for statement in self._layout.schema.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id={self._layout.application}")
                db.execute(f"PRAGMA user_version={self._layout.version}")
                begin(db)
                db.execute("COMMIT")
            db.executescript("BEGIN EXCLUSIVE; COMMIT")
        return db

    def _readable(self) -> sqlite3.Connection:
        """Open it without changing anything, and without making a file beside it.

        One that is closed has no `-wal` file: it is read as a file that no one writes. One that is being
        written has one, and is locked; one whose writer was killed has one, and is copied and read elsewhere,
        as SQLite would make an index of the log beside it.
        """
        path = self.path
        log = path.with_name(f"{path.name}-wal")
        if not log.exists():
            return self._filled(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True))
        _check_unlocked(path)
        with TemporaryDirectory(prefix="chatrest-") as folder:
            copy = Path(shutil.copy(path, folder))
            shutil.copy(log, folder)
            return self._filled(sqlite3.connect(copy))  # its files are open then, and need no names

    def _filled(self, db: sqlite3.Connection) -> sqlite3.Connection:
        """Return a connection; `UnreadableError` where nothing is in its file."""
        with _closed_on_error(db):
            if self._is_new(db):
                raise UnreadableError(f"{self.path} is empty, and no {self._layout.owner}'s journal")
        return db

    def _is_new(self, db: sqlite3.Connection) -> bool:
        """Return whether nothing is in it; raises where it is of another kind, before it is touched."""
        [application] = db.execute("PRAGMA application_id").fetchone()
        [version] = db.execute("PRAGMA user_version").fetchone()
        [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not version:
            return True
        layout = self._layout
        if text := layout.former.get((application, version)):
            raise RequestInvalidError(f"{self.path} {text}")
        if (application, version) != (layout.application, layout.version):
            raise RequestInvalidError(f"{self.path} is no {layout.owner}'s journal, or of another version")
        return False


def sql_in(db: sqlite3.Connection, sql: str, values: Iterable[str | int]) -> Iterator[Any]:
    """Yield the rows of a query that ends in `IN`, for any number of values.

    They are values of their own, as in SQLite's JSON a text ends at a NUL.
    """
    rest = iter(values)
    while batch := list(islice(rest, _VALUES)):
        yield from db.execute(f"{sql} ({','.join('?' * len(batch))})", batch)


def check_in_place(path: Path, status: os.stat_result) -> None:
    """Raise OSError where the file of this status is not the one at its path: it was removed, or replaced."""
    try:
        present = path.stat()
    except FileNotFoundError:
        present = None
    if present is None or (present.st_dev, present.st_ino) != (status.st_dev, status.st_ino):
        raise FileNotFoundError(errno.ENOENT, REMOVED, str(path))


@contextmanager
def _closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _check_unlocked(path: Path) -> None:
    """Raise sqlite3.Error where a process has the journal open for writing."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")  # so that SQLite makes no file, and cannot read a log
        try:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            if _is_in_use(error):
                raise


def _check_integrity(db: sqlite3.Connection) -> None:
    [result] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise sqlite3.DatabaseError(result)


def _primary_code(error: Exception) -> int:
    """Return SQLite's primary result code of an error; `SQLITE_OK` for an error of something else."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF


def _is_in_use(error: Exception) -> bool:
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock a byte far after the end of an open file; return False if another handle has the lock."""
        os.lseek(file, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file or folder until it is closed; return False if another descriptor has the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
