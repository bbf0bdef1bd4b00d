"""The file of a database: opened, made, folded into one file, and SQLite's errors as the system's.

| the file                        | what is done when it is opened                              |
|---------------------------------|-------------------------------------------------------------|
| is not there, or empty          | it is made                                                  |
| is damaged, or no database      | it is moved aside, and made                                 |
| is a database of something else | refused, and not touched                                    |

Its full-text index is made, and kept, where this SQLite has FTS5; where it has not, nobody keeps it up to
date, and it is made anew where that is there again.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ...errors import RequestInvalidError
from ..disk import Disk, set_aside
from ..file_names import DATABASE, path_inside
from .sqlite_schema import VERSION, adapt, is_empty, make, marks_of

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
