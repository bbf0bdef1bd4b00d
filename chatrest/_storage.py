"""A journal in one SQLite file: opened, locked and checked, with errors that name the cause.

- One process writes: the file is locked until it is closed. A shared journal has its lock elsewhere.
- Readers get the last commit, also of a writer that was killed, and change nothing. Beside the writer of a
  shared journal they have a transaction of SQLite; else they have no locks, and check `is_unchanged` at last.
- A file that is damaged, foreign or of another version is refused before a byte of it is changed.
- A commit survives a loss of power.
- Threads take turns: a lock is held from BEGIN to COMMIT, and by each query outside of a transaction.
"""

import errno
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeAlias

from .errors import ChatRestError, RequestInvalidError

SETTINGS: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)
"""The errors of sqlite3; the second where SQLite's own message repeats damaged bytes."""
_MISUSE: Final = (sqlite3.ProgrammingError, sqlite3.InterfaceError)
"""A mistake in our code, such as a query of a closed journal: nothing is wrong with the file."""
_SURROUNDINGS: Final = frozenset({
    sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
})  # fmt: skip
"""Errors of the system around a file, and not of its contents."""
REMOVED: Final = "it was removed or replaced while it was being written"
_TIMEOUT: Final = 5.0
"""Seconds for which writer and readers wait while one of them opens or ends the log."""
_LAST_WAIT: Final = 1000
"""Milliseconds for which the end of a writer waits for readers, so that the log can be emptied."""
_WITHOUT_LOCKS: Final = "win32-none" if sys.platform == "win32" else "unix-none"
"""The virtual file system of SQLite that needs no locks and no shared memory."""
_HEADER: Final = """SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
    FROM pragma_application_id, pragma_user_version"""
_VALUES: Final = 500
"""Values of one query: every version of SQLite permits so many."""


class InUseError(RequestInvalidError):
    """Another process is writing to the journal."""


class UnreadableError(ChatRestError):
    """The file is damaged, or is not a journal."""


Marks: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of a journal and of its log: they change with every commit; None for an empty file."""


class Layout(NamedTuple):
    """A kind of journal: its tables, and the words of its errors."""

    owner: str
    """The noun of its writer in errors, such as `export`."""
    schema: str
    """The statements that make its tables, with no `;` inside of one."""
    version: int
    application: int
    """The `application_id` in the file's header."""
    remedy: str
    """The advice in the error of a damaged journal."""
    damage: type[ChatRestError] = UnreadableError
    """The error of a damaged journal."""


class JournalFile:
    """An open journal; used with `with`, or closed. Closing drops a transaction that is not committed.

    Every operation raises `InUseError` if another process is writing it, the layout's error if it is damaged,
    `RequestInvalidError` if it cannot be opened or is another file, and OSError if the disk fails.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        begin: Callable[[sqlite3.Connection], object] | None,
        *,
        is_shared: bool = False,
    ) -> None:
        """Open a journal for writing; for reading if `begin` is None.

        `begin` adds the first rows of a new journal, in the transaction that makes its tables. With
        `is_shared` others may read while it is written, and the caller excludes other writers; for a reader
        it means that a writer may be there.
        """
        self.path = path
        self._is_shared = is_shared
        self._marks: Marks | None = marks_of(path)
        self.lock: threading.RLock = threading.RLock()
        """Guards the connection: held from BEGIN to COMMIT, so that a transaction has one thread."""
        self._layout = layout
        with self._held():
            self._db: sqlite3.Connection = (
                self._open_for_reading() if begin is None else self._open_for_writing(begin)
            )
        # One in memory has no file.
        self._status = path.stat() if begin is not None and path.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            # Beside a reader SQLite leaves all commits in the log.
            if self._is_shared and self._status is not None:
                with suppress(*FAULTS):
                    self._db.execute(f"PRAGMA busy_timeout={_LAST_WAIT}")
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._db.close()

    def is_unchanged(self) -> bool:
        """Return True if the files have not changed since they were opened: all reads were of one commit."""
        return self._marks is None or marks_of(self.path) == self._marks

    def check_integrity(self) -> None:
        """Raise the layout's error if SQLite finds damage. Reads the complete file."""
        with self._held():
            _check_integrity(self._db)

    def check_in_place(self) -> None:
        """Raise OSError if the file was removed or replaced since it was opened."""
        if self._status is not None:
            check_in_place(self.path, self._status)

    def write_snapshot(self, path: Path) -> None:
        """Write all commits to a new file, page by page: an unchanged page has the same place in each."""
        with self._held(), closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous=OFF")
            self._db.backup(copy)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block to the disk at its end, or none of them after an error or a cancel.

        A transaction of another thread waits for its end. One inside of another raises RuntimeError.
        """
        with self._held():
            self._begin()
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._forget()
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _forget(self) -> None:
        """Forget all that a subclass remembers of the tables: a transaction is rolled back."""

    def _begin(self) -> None:
        if self._db.in_transaction:
            raise RuntimeError(f"{self.path}: a transaction was begun inside of another one")
        self._db.execute("BEGIN IMMEDIATE")

    def _all(self, sql: str, *values: Any) -> list[Any]:
        with self._held():
            return self._db.execute(sql, values).fetchall()

    def _fetched(self, rows: sqlite3.Cursor, most: int) -> list[Any]:
        """Return the next rows of a query, for a generator: the connection is held only during this call."""
        with self._held():
            return rows.fetchmany(most)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the connection, and translate SQLite's errors; no generator may yield inside."""
        with self.lock:
            try:
                yield
            except _MISUSE:
                raise
            except FAULTS as error:
                raise self._failure(error) from None

    def _failure(self, error: Exception) -> ChatRestError | OSError:
        code, owner = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF, self._layout.owner
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return InUseError(f"{self.path}: another {owner} is writing here")
        if code == sqlite3.SQLITE_CANTOPEN:
            return _permission_error(self.path) or RequestInvalidError(f"{self.path}: {error}")
        if code == sqlite3.SQLITE_FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if code in _SURROUNDINGS:
            return OSError(f"{self.path}: {error}")
        return self._damage(f"is damaged, or is no {owner}'s journal: {error}")

    def _damage(self, fault: str) -> ChatRestError:
        return self._layout.damage(f"{self.path} {fault}: {self._layout.remedy}")

    def _open_for_writing(self, begin: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
        # One thread at a time writes. Readers of a shared journal keep it waiting when they open a log.
        timeout = _TIMEOUT if self._is_shared else 0
        db = sqlite3.connect(self.path, timeout=timeout, isolation_level=None, check_same_thread=False)
        with _closed_on_error(db):
            if not self._is_shared:
                db.execute("PRAGMA locking_mode=EXCLUSIVE")
            is_new = self._is_new(db)
            if not is_new:
                _check_integrity(db)  # before anything is written, the settings included
            db.executescript(SETTINGS)
            if is_new:  # no journal is ever without its first rows
                db.execute("BEGIN IMMEDIATE")
                for statement in self._layout.schema.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id={self._layout.application}")
                db.execute(f"PRAGMA user_version={self._layout.version}")
                begin(db)
                db.execute("COMMIT")
            if not self._is_shared:
                db.executescript("BEGIN EXCLUSIVE; COMMIT")
        return db

    def _open_for_reading(self) -> sqlite3.Connection:
        """Open it without changing anything, and without making a file beside it; begin a transaction.

        A journal without a log is read as an immutable file, as SQLite would make a log. A shared one with a
        log is read as SQLite does it beside a writer. Any other is read without locks and with the log's
        index in memory, which needs no permission to write.
        """
        log = log_of(self.path)
        has_log = log.exists() and log.stat().st_size > 0
        options = "mode=ro" if has_log else "immutable=1"
        if has_log and self._is_shared:
            self._marks = None
        elif has_log:
            options += f"&vfs={_WITHOUT_LOCKS}"
        uri = f"{self.path.absolute().as_uri()}?{options}"
        db = sqlite3.connect(uri, uri=True, timeout=_TIMEOUT, isolation_level=None)
        with _closed_on_error(db):
            if self._marks is not None:
                db.execute("PRAGMA locking_mode=EXCLUSIVE")  # the index of the log is in memory then
            db.execute("BEGIN")
            if self._is_new(db):
                raise UnreadableError(f"{self.path} is empty, and no {self._layout.owner}'s journal")
        return db

    def _is_new(self, db: sqlite3.Connection) -> bool:
        """Return True for an empty file; raises `RequestInvalidError` for a file of another kind."""
        application, version, tables = db.execute(_HEADER).fetchone()
        if not tables and not version:
            return True
        layout = self._layout
        if (application, version) != (layout.application, layout.version):
            raise RequestInvalidError(f"{self.path} is no {layout.owner}'s journal, or of another version")
        return False


def sql_in(db: sqlite3.Connection, sql: str, values: Iterable[str | int]) -> Iterator[Any]:
    """Yield the rows of a query that ends in `IN`, for any number of values."""
    rest = iter(values)
    while batch := list(islice(rest, _VALUES)):
        yield from db.execute(f"{sql} ({','.join('?' * len(batch))})", batch)


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def marks_of(path: Path) -> Marks:
    """Return the marks of a journal and its log, which differ after the next commit."""
    return tuple(_mark_of(each) for each in (path, log_of(path)))


def _mark_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else None


def check_in_place(path: Path, status: os.stat_result) -> None:
    """Raise OSError if the file of this status is not at its path: it was removed or replaced."""
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


def _permission_error(path: Path) -> PermissionError | None:
    """Return the error if this user may not read a journal: SQLite only says that it cannot open it."""
    for each in (path, log_of(path)):
        try:
            each.open("rb").close()
        except PermissionError as error:
            return error
        except OSError:
            pass
    return None


def _check_integrity(db: sqlite3.Connection) -> None:
    [result] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise sqlite3.DatabaseError(result)


if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int, *, shared: bool = False) -> bool:
        """Lock a byte far after the end of an open file; return False if another handle has the lock.

        There are no shared locks here.
        """
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

    def try_lock(file: int, *, shared: bool = False) -> bool:
        """Lock an open file or folder until it is closed; return False if another descriptor has the lock.

        Any number may have a `shared` one at a time.
        """
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
