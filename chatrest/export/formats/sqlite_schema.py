"""The database of an export: its tables, its full-text index, and what is asked of them here.

| table        | holds                                                                                  |
|--------------|----------------------------------------------------------------------------------------|
| messages     | the newest version of each message; `place` is the order in which they were written    |
| versions     | older versions, kept by a trigger whenever a message's record changes                  |
| messages_fts | full-text index over `messages.text`, kept by triggers; where SQLite has FTS5          |
| sources      | by `messages.source`: the list that was read, and how many of the messages it wrote    |
| export       | the app and the plan                                                                   |

Columns that end in `_at` are the service's own numbers, seconds or milliseconds. The views are in
`database_views`. To search:

    SELECT id, text FROM messages JOIN messages_fts ON messages_fts.rowid = place
    WHERE messages_fts MATCH 'invoice' ORDER BY rank;
"""

import sqlite3
from collections.abc import Mapping
from typing import Final

from .sqlite_rows import COLUMNS
from .sqlite_views import VIEWS

VERSION: Final = 1
_TABLES: Final = """
CREATE TABLE export(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources(number INTEGER PRIMARY KEY, source TEXT NOT NULL, messages INTEGER NOT NULL);
CREATE TABLE messages(
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    number INTEGER,
    conversation_id TEXT,
    sender TEXT,
    receiver TEXT,
    receiver_type TEXT,
    category TEXT,
    type TEXT,
    text TEXT,
    sent_at INTEGER,
    updated_at INTEGER,
    edited_at INTEGER,
    deleted_at INTEGER,
    parent_id TEXT,
    source INTEGER NOT NULL,
    is_unicode INTEGER NOT NULL,
    raw NOT NULL
);
CREATE INDEX messages_of_number ON messages(number);
CREATE INDEX messages_of_time ON messages(sent_at);
CREATE INDEX messages_of_conversation ON messages(conversation_id, sent_at);
CREATE INDEX messages_of_sender ON messages(sender, sent_at);
CREATE TABLE versions(version INTEGER PRIMARY KEY, id TEXT NOT NULL, text TEXT, updated_at INTEGER,
    kept_at INTEGER NOT NULL, raw NOT NULL);
CREATE INDEX versions_of_id ON versions(id);
CREATE TRIGGER messages_keep_versions AFTER UPDATE OF raw ON messages WHEN old.raw IS NOT new.raw BEGIN
    INSERT INTO versions(id, text, updated_at, kept_at, raw)
    VALUES(old.id, old.text, old.updated_at, CAST(strftime('%s', 'now') AS INTEGER), old.raw);
END;
CREATE TRIGGER messages_count_deleted AFTER DELETE ON messages BEGIN
    UPDATE sources SET messages = messages - 1 WHERE number = old.source;
END;
"""
_SEARCH: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts
    USING fts5(text, content='messages', content_rowid='place', tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages WHEN new.text IS NOT NULL BEGIN
    INSERT INTO messages_fts(rowid, text) VALUES(new.place, new.text);
END;
CREATE TRIGGER messages_fts_update AFTER UPDATE OF place, text ON messages
WHEN old.text IS NOT new.text OR old.place IS NOT new.place BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, text)
        SELECT 'delete', old.place, old.text WHERE old.text IS NOT NULL;
    INSERT INTO messages_fts(rowid, text) SELECT new.place, new.text WHERE new.text IS NOT NULL;
END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages WHEN old.text IS NOT NULL BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, text) VALUES('delete', old.place, old.text);
END;
INSERT INTO messages_fts(messages_fts) VALUES('delete-all');
INSERT INTO messages_fts(rowid, text) SELECT place, text FROM messages WHERE text IS NOT NULL;
"""
_NO_SEARCH: Final = """
DROP TRIGGER IF EXISTS messages_fts_insert;
DROP TRIGGER IF EXISTS messages_fts_update;
DROP TRIGGER IF EXISTS messages_fts_delete;
"""
_HAS_SEARCH: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'messages_fts_insert'"


_STORED: Final = """
SELECT {by}, place, source, CAST(raw AS BLOB) FROM messages INDEXED BY {index}
WHERE {where} AND {by} >= :edge AND ({by} > :edge OR place > :place) ORDER BY {by}, place LIMIT :size
"""
BY_NUMBER: Final = _STORED.format(
    by="number", index="messages_of_number", where="number <= :last AND sent_at IS NOT NULL"
)
"""Rows by id; those that tell no time are not among them. It goes on behind `edge` and `place`."""
BY_TIME: Final = _STORED.format(
    by="sent_at", index="messages_of_time", where="number BETWEEN :first AND :last"
)
"""Rows with ids from `first` to `last`, by time."""
UNNUMBERED: Final = _STORED.format(by="place", index="messages_of_number", where="number IS NULL")
"""Rows without a number for an id."""
UNDATED: Final = _STORED.format(
    by="place", index="messages_of_time", where="sent_at IS NULL AND number IS NOT NULL"
)
"""Rows with a number that tell no time."""
EDGES: Final = """
SELECT (SELECT min(number) FROM messages), (SELECT max(number) FROM messages),
    (SELECT min(sent_at) FROM messages), (SELECT max(sent_at) FROM messages),
    EXISTS (SELECT 1 FROM messages WHERE number IS NULL)
        OR EXISTS (SELECT 1 FROM messages WHERE sent_at IS NULL)
"""
"""The first and the last id and time, and whether any row has no number, or tells no time."""


UPSERT: Final = f"""
INSERT INTO messages({", ".join(COLUMNS)}) VALUES({", ".join("?" * len(COLUMNS))})
ON CONFLICT(id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in ("id", "number", "source"))}
WHERE raw IS NOT excluded.raw
"""
COUNT: Final = """
INSERT INTO sources VALUES(?, ?, ?) ON CONFLICT(number) DO UPDATE SET messages = messages + excluded.messages
"""


def is_empty(db: sqlite3.Connection) -> bool:
    """Return True if nothing is in it."""
    return bool(db.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


def make(db: sqlite3.Connection, marks: Mapping[str, str]) -> None:
    """Make the tables and views, and note whose export it is; called inside of a transaction."""
    _run(db, _TABLES + VIEWS)
    db.execute(f"PRAGMA user_version={VERSION}")
    db.executemany("INSERT INTO export VALUES(?, ?)", marks.items())


def marks_of(db: sqlite3.Connection) -> dict[str, str] | None:
    """Return the app and plan of its export; None where it is no database of an export."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= {"export", "sources", "messages", "versions"}:
        return None
    return dict(db.execute("SELECT name, value FROM export"))


def has_fts5(db: sqlite3.Connection) -> bool:
    """Return True if SQLite has full-text search."""
    [count] = db.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    return bool(count)


def adapt(db: sqlite3.Connection) -> bool:
    """Let the full-text index be kept where that can be done, and nowhere else; return True if that is new.

    Called inside of a transaction.
    """
    has_search, can_search = bool(db.execute(_HAS_SEARCH).fetchone()[0]), has_fts5(db)
    if has_search != can_search:
        _run(db, _SEARCH if can_search else _NO_SEARCH)
    return has_search != can_search


def _run(db: sqlite3.Connection, script: str) -> None:
    """Execute statements one by one: `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
