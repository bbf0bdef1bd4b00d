"""`verify` finds a journal that is damaged, edited, emptied or of another time, and unknown files."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import verify
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.plan.id_set import IdSet
from tests.damaged_exports import (
    change_journal,
    change_manifest,
    only_problem,
    places_of,
    vouch_for_journal,
)

ROWS = (
    "INSERT INTO rechecks VALUES(1, 5, 5, 5, '[]')",
    "INSERT INTO shown(source, ids) VALUES(1, x'00')",
    "INSERT INTO changed VALUES('5', 5, x'7b7d')",
    "INSERT INTO deleted VALUES('5', 1, 5, 0)",
    f"INSERT INTO foreign_ids(part, ids) VALUES(1, x'{IdSet([5]).to_bytes().hex()}')",
    "INSERT INTO foreign_rows VALUES('5', x'7b7d', 1, 0, 0)",
)
"""Rows of the tables that are empty after a run."""


# ── files that are no part ──


@pytest.mark.parametrize("name", ["x.ndjson", "x.ndjson.gz", "x.parquet", "messages/x.txt"])
def test_files_that_the_manifest_does_not_know(out: Path, name: str) -> None:
    (out / name).write_bytes(b"x")
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("unknown", name)
    assert "keep it" in problem.remedy
    (out / name).write_bytes(b"")
    assert verify(out).ok


def test_what_a_killed_run_left_is_a_note_and_other_files_are_ignored(out: Path) -> None:
    for name in ("manifest.json.new", "README.txt", ".DS_Store"):
        (out / name).write_bytes(b"x")
    (out / "more").mkdir()
    result = verify(out)
    assert result.ok
    assert [note.place for note in result.notes] == [".DS_Store", "manifest.json.new"]


# ── edited rows ──


def columns(out: Path) -> list[tuple[str, str]]:
    """Return (table, column) of all columns of the journal."""
    with closing(sqlite3.connect(out / JOURNAL)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        return [
            (table, name)
            for (table,) in tables.fetchall()
            for _, name, *_ in db.execute(f"PRAGMA table_info({table})")
        ]


def other_value(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case None:
            return 1
        case int():
            return value + 1000
        case str():
            return value + "x"
        case bytes():
            return value + b"\x00"
    raise AssertionError(value)


OF_RUNS = ("news", "edits")


def test_a_change_of_any_column_of_any_table_is_found(out: Path) -> None:
    for sql in ROWS:
        change_journal(out, sql)
    change_manifest(out, deleted=["5"])
    vouch_for_journal(out)
    assert verify(out).ok
    content = (out / JOURNAL).read_bytes()
    # What is told of a run is noted at the next opening: `news` is not of the proof.
    every = [(table, column) for table, column in columns(out) if table not in OF_RUNS]
    assert len(every) > 45
    for table, column in every:
        with closing(sqlite3.connect(out / JOURNAL)) as db, db:
            [value] = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
            sql = f"UPDATE {table} SET {column} = ? WHERE {column} IS ?"
            assert db.execute(sql, (other_value(value), value)).rowcount, (table, column)
        result = verify(out)
        assert {problem.place for problem in result.problems} >= {JOURNAL}, (table, column, result.problems)
        (out / JOURNAL).write_bytes(content)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "UPDATE meta SET value = 'other' WHERE name = 'app'",
            "it is of the app 'other', and",
        ),
        (
            "UPDATE names SET key = 'new' WHERE number = 1",
            "1 message of its list not in the export: new",
        ),
        ("DELETE FROM names", "only in the file"),
        # damage
        ("UPDATE blocks SET rows = 'x'", "is damaged"),
        ("UPDATE blocks SET ids = x'00'", "is damaged"),
        ("UPDATE seen SET ids = 'x'", "is damaged"),
        ("UPDATE sources SET key = 'x' WHERE number = 1", "is damaged"),
        ("UPDATE sources SET key = '[]' WHERE number = 1", "is damaged"),
        ("UPDATE sources SET key = x'ff' WHERE number = 1", "is damaged"),
    ],
)
def test_a_journal_that_contradicts_the_files(out: Path, sql: str, words: str) -> None:
    """Its hash in the manifest is that of the changed rows: what they say is compared."""
    assert change_journal(out, sql)
    vouch_for_journal(out)
    result = verify(out)
    assert not result.ok
    texts = [problem.text for problem in result.problems]
    assert any(words in text for text in texts), texts


def test_ids_that_were_seen_and_are_not_in_the_export(out: Path) -> None:
    with closing(Journal(out / JOURNAL, {})) as journal, journal.transaction():
        journal.see(1, IdSet([5, 600_001, 600_002]))
        [name] = [str(source.source) for source in journal.sources() if source.number == 1]
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("coverage", name)
    assert "2 messages of its list not in the export: 600001, 600002" in problem.text
    assert problem.remedy == f"run `chatrest export {out}` again"

    change_journal(out, "INSERT INTO deleted VALUES('600001', 1, 5, 1), ('600002', 1, 5, 1)")
    vouch_for_journal(out)
    change_manifest(out, missing=["600001", "600002"])
    result = verify(out)
    assert places_of(result) == []
    assert "2 messages seen once, not in the export" in result.notes[0].text


# ── no journal of this export ──


@pytest.mark.parametrize("sql", ["DROP TABLE blocks", "PRAGMA user_version = 9", "DROP INDEX seen_of_source"])
def test_a_journal_with_another_schema(out: Path, sql: str) -> None:
    change_journal(out, sql)
    result = verify(out)
    assert {problem.place for problem in result.problems} == {JOURNAL}


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DELETE FROM meta WHERE name LIKE '%generation'", "it is older than manifest.json"),
        ("UPDATE meta SET value = '9-x' WHERE name = 'generation'", "it does not belong to manifest.json"),
    ],
)
def test_a_journal_of_another_generation(out: Path, sql: str, words: str) -> None:
    change_journal(out, sql)
    problem = only_problem(out)
    assert words in problem.text
    assert problem.remedy == f"run `chatrest export {out}` again"
