"""A store's SQLite database: its tables, its version, and its lock.

One emulator per file: what a store holds in memory is only right while nobody else writes, so the file
is locked as long as it is open. A crash of the process loses nothing that was answered; a crash of the
computer may, because a test does not pay for that.
"""

import sqlite3
from os import PathLike, fspath
from typing import Final

from ...errors import RequestInvalidError
from .message_index import COLUMNS
from .message_tables import MESSAGE_TABLES

_VERSION = 3
_SETTINGS: Final = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF"
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE users(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, folded_uid TEXT, folded_name TEXT,
    status TEXT, role TEXT, deactivated INTEGER, updated_at INTEGER, tags TEXT, record BLOB,
    created_at INTEGER AS (json_extract(CAST(record AS TEXT), '$.createdAt')));
CREATE TABLE groups(number INTEGER PRIMARY KEY, guid TEXT UNIQUE NOT NULL, record BLOB, password TEXT,
    name TEXT AS (json_extract(CAST(record AS TEXT), '$.name')),
    type TEXT AS (json_extract(CAST(record AS TEXT), '$.type')),
    tags TEXT AS (json_extract(CAST(record AS TEXT), '$.tags')),
    created_at INTEGER AS (json_extract(CAST(record AS TEXT), '$.createdAt')),
    updated_at INTEGER AS (json_extract(CAST(record AS TEXT), '$.updatedAt')),
    members_count INTEGER AS (json_extract(CAST(record AS TEXT), '$.membersCount')));
CREATE TABLE members(number INTEGER PRIMARY KEY, guid TEXT, uid TEXT, scope TEXT, joined_at INTEGER,
    UNIQUE(guid, uid));
CREATE TABLE relations(number INTEGER PRIMARY KEY, kind TEXT, owner TEXT, uid TEXT, at INTEGER,
    UNIQUE(kind, owner, uid));
CREATE TABLE documents(number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, parent TEXT, key TEXT,
    record BLOB, UNIQUE(kind, parent, key));
CREATE TABLE messages({", ".join(COLUMNS)});
CREATE TABLE records(id INTEGER PRIMARY KEY, record BLOB);
CREATE TABLE positions(list TEXT, id INTEGER, position INTEGER, PRIMARY KEY(list, id)) WITHOUT ROWID;
{MESSAGE_TABLES}
PRAGMA user_version={_VERSION};
COMMIT;
"""


def open_database(database: str | PathLike[str] | None) -> sqlite3.Connection:
    """Open the database at this path, and make it where there is none; None for one in memory.

    Raises `RequestInvalidError` where the file cannot be opened, is in use, or is no store of this version.
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
    # SQLite's own lower() knows the letters of ASCII alone.
    db.create_function("casefold", 1, lambda text: text and text.casefold(), deterministic=True)
    [version] = db.execute("PRAGMA user_version").fetchone()
    [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 0 and tables == 0:
        db.executescript(_SCHEMA)
    elif version != _VERSION:
        raise sqlite3.DatabaseError(
            "not a store of this emulator, or of another version of it; use a new file"
        )
    db.executescript("BEGIN EXCLUSIVE; COMMIT")
