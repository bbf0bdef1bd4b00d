"""Opens a store's SQLite database: its tables, its version, and who may use it.

One emulator per file: what a store keeps in memory is only right while nobody else writes, so the file
is locked as long as it is open. A crash of the process loses nothing that was answered; the computer's
own may, which a test does not pay for.
"""

import sqlite3
from os import PathLike, fspath
from typing import Final

from ...errors import RequestInvalidError
from .rows import COLUMNS

_VERSION = 1
_SETTINGS: Final = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF"
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE users(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, folded_uid TEXT, folded_name TEXT,
    status TEXT, role TEXT, deactivated INTEGER, updated_at INTEGER, tags TEXT, record BLOB);
CREATE TABLE groups(guid TEXT PRIMARY KEY, record BLOB);
CREATE TABLE blocks(uid TEXT, blocked TEXT, PRIMARY KEY(uid, blocked)) WITHOUT ROWID;
CREATE TABLE tokens(number INTEGER PRIMARY KEY, uid TEXT, scope TEXT, record BLOB);
CREATE INDEX tokens_of_user ON tokens(uid);
CREATE TABLE messages({", ".join(COLUMNS)});
CREATE TABLE records(id INTEGER PRIMARY KEY, record BLOB);
CREATE TABLE places(list TEXT, id INTEGER, place INTEGER, PRIMARY KEY(list, id)) WITHOUT ROWID;
PRAGMA user_version={_VERSION};
COMMIT;
"""


def opened(database: str | PathLike[str] | None) -> sqlite3.Connection:
    """The database at this path, made where there is none; None for one in memory.

    Raises `RequestInvalidError` where the file cannot be opened, is not ours, or is in use.
    """
    path = ":memory:" if database is None else fspath(database)
    try:
        db = sqlite3.connect(path, timeout=0)
    except sqlite3.Error as error:
        raise RequestInvalidError(f"database = {path!r}: {error}") from None
    try:
        _prepare(db)
    except sqlite3.Error as error:
        db.close()
        raise RequestInvalidError(f"database = {path!r}: {error}") from None
    return db


def _prepare(db: sqlite3.Connection) -> None:
    db.executescript(_SETTINGS)
    [version] = db.execute("PRAGMA user_version").fetchone()
    [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 0 and tables == 0:
        db.executescript(_SCHEMA)
    elif version != _VERSION:
        raise sqlite3.DatabaseError("not a store of this emulator, or of another version of it")
    db.executescript("BEGIN EXCLUSIVE; COMMIT")
