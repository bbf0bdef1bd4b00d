"""The database of an export: its tables, its views and its full-text index.

| table        | holds                                                                                  |
|--------------|----------------------------------------------------------------------------------------|
| messages     | the newest version of each message; `place` is the order in which they were written    |
| versions     | older versions, kept by a trigger whenever a message's record changes                  |
| messages_fts | full-text index over `messages.text`, kept by triggers; where SQLite has FTS5          |
| sources      | by `messages.source`: the list that was read, and how many of the messages it wrote    |
| export       | the app and the plan                                                                   |

Columns that end in `_at` are the service's own numbers, seconds or milliseconds. To search:

    SELECT id, text FROM messages JOIN messages_fts ON messages_fts.rowid = place
    WHERE messages_fts MATCH 'invoice' ORDER BY rank;

The views answer frequent questions, so that no one has to know how messages are stored:

| view             | answers                                                                  |
|------------------|--------------------------------------------------------------------------|
| chat             | what was said: messages with times that can be read                      |
| conversations    | where, how much, from when to when, and the last word                    |
| senders          | who, how much, in how many conversations                                 |
| messages_per_day | how much a day                                                           |
| calls            | each call message: action, session, kind, status, times                  |
| attachments      | each file of each message                                                |
| edits            | what was said before, and what is said now                               |
| records          | anything else: `messages`, with `json` for SQLite's JSON functions       |

Columns that end in `_utc` are times as text, whichever unit the service shows them in. A record that is no
JSON, or whose texts are not Unicode, is a row of the views as well; what only its JSON says is null there.
"""

import sqlite3
from collections.abc import Mapping
from typing import Final

from ..file_names import MILLISECONDS
from .sqlite_rows import COLUMNS

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
INSERT INTO messages_fts(rowid, text) SELECT place, text FROM messages WHERE text IS NOT NULL;
"""


def _utc(column: str, function: str = "datetime") -> str:
    seconds = f"CASE WHEN {column} >= {MILLISECONDS} THEN {column} / 1000 ELSE {column} END"
    return f"CASE typeof({column}) WHEN 'integer' THEN {function}({seconds}, 'unixepoch') END"


_CALL: Final = "$.data.entities.on.entity"
_VIEWS: Final = f"""
CREATE VIEW records AS
SELECT *, CASE WHEN is_unicode AND json_valid(raw) THEN raw END AS json FROM messages;

CREATE VIEW chat AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, receiver, receiver_type, category, type,
    text, parent_id, {_utc("edited_at")} AS edited_utc, {_utc("deleted_at")} AS deleted_utc
FROM messages;

CREATE VIEW conversations AS
SELECT talk.conversation_id, messages, {_utc("first_at")} AS first_utc, {_utc("last_at")} AS last_utc,
    last.id AS last_id, last.sender AS last_sender, last.text AS last_text
FROM (
    SELECT conversation_id, count(*) AS messages, min(sent_at) AS first_at, max(sent_at) AS last_at,
        (SELECT place FROM messages AS newer WHERE newer.conversation_id = messages.conversation_id
         ORDER BY sent_at DESC, number DESC LIMIT 1) AS place
    FROM messages WHERE conversation_id IS NOT NULL GROUP BY conversation_id
) AS talk JOIN messages AS last ON last.place = talk.place;

CREATE VIEW senders AS
SELECT sender, messages, conversations, {_utc("first_at")} AS first_utc, {_utc("last_at")} AS last_utc
FROM (
    SELECT sender, count(*) AS messages, count(DISTINCT conversation_id) AS conversations,
        min(sent_at) AS first_at, max(sent_at) AS last_at
    FROM messages WHERE sender IS NOT NULL GROUP BY sender
);

CREATE VIEW messages_per_day AS
SELECT {_utc("sent_at", "date")} AS day, count(*) AS messages, count(DISTINCT sender) AS senders,
    count(DISTINCT conversation_id) AS conversations
FROM messages GROUP BY day;

CREATE VIEW calls AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, receiver, receiver_type, action,
    session_id, kind, status, {_utc("initiated_at")} AS initiated_utc, {_utc("joined_at")} AS joined_utc,
    {_utc("started_at")} AS started_utc
FROM (
    SELECT id, sent_at, conversation_id, sender, receiver, receiver_type,
        json_extract(json, '$.data.action') AS action,
        json_extract(json, '{_CALL}.sessionid') AS session_id,
        json_extract(json, '{_CALL}.type') AS kind,
        json_extract(json, '{_CALL}.status') AS status,
        json_extract(json, '{_CALL}.initiatedAt') AS initiated_at,
        json_extract(json, '{_CALL}.joinedAt') AS joined_at,
        json_extract(json, '{_CALL}.startedAt') AS started_at
    FROM records WHERE category = 'call'
);

CREATE VIEW attachments AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, message_type, attachment,
    json_extract(file, '$.name') AS name, json_extract(file, '$.mimeType') AS mime_type,
    json_extract(file, '$.extension') AS extension, json_extract(file, '$.size') AS size,
    json_extract(file, '$.url') AS url
FROM (
    SELECT records.id, records.sent_at, records.conversation_id, records.sender,
        records.type AS message_type, each.key + 1 AS attachment,
        CASE each.type WHEN 'object' THEN each.value END AS file
    FROM records, json_each(records.json, '$.data.attachments') AS each
    WHERE typeof(each.key) = 'integer'
);

CREATE VIEW edits AS
SELECT messages.id, {_utc("messages.sent_at")} AS sent_utc, conversation_id, sender, old.version,
    datetime(old.kept_at, 'unixepoch') AS noticed_utc, old.text AS before,
    CASE WHEN next.version IS NULL THEN messages.text ELSE next.text END AS after,
    {_utc("deleted_at")} AS deleted_utc
FROM versions AS old JOIN messages ON messages.id = old.id
    LEFT JOIN versions AS next ON next.version = (
        SELECT min(version) FROM versions AS later WHERE later.id = old.id AND later.version > old.version
    );
"""  # noqa: S608
"""The statements that make them."""
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
    return bool(db.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


def make(db: sqlite3.Connection, marks: Mapping[str, str]) -> None:
    """Make the tables and views, and note whose export it is; called inside of a transaction."""
    _run(db, _TABLES + _VIEWS)
    db.execute(f"PRAGMA user_version={VERSION}")
    db.executemany("INSERT INTO export VALUES(?, ?)", marks.items())


def marks_of(db: sqlite3.Connection) -> dict[str, str] | None:
    """Return the app and plan of its export; None if it is no database of an export."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= {"export", "sources", "messages", "versions"}:
        return None
    return dict(db.execute("SELECT name, value FROM export"))


def has_fts5(db: sqlite3.Connection) -> bool:
    [count] = db.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    return bool(count)


def add_search(db: sqlite3.Connection) -> None:
    """Add full-text search where SQLite has it; called inside of a transaction."""
    if has_fts5(db):
        _run(db, _SEARCH)


def _run(db: sqlite3.Connection, script: str) -> None:
    """Execute statements one by one: `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
