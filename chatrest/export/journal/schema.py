"""The tables of the journal: SQLite, held by one process at a time.

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

from typing import Final

from ...storage import Layout

NAME: Final = "journal.sqlite"
_SCHEMA: Final = """
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
    missing INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
"""
_OUTDATED: Final = (
    "is of an export by a version before 0.2, which this one cannot go on with: export into another folder; "
    "what is in this one stays readable"
)
LAYOUT: Final = Layout("export", _SCHEMA, version=2, outdated=_OUTDATED)
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
