"""The database's full-text search: it finds the newest text, and can be done without."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatrest.export.formats import sqlite_schema
from tests.databases import AT, ODD, VIEWS, Export, asked, changed, found, page, record


def test_search_knows_the_new_text_and_not_the_old_one(opened: Export) -> None:
    opened.commit(page(record(1, "the invoice of March"), record(2, "Grüße aus Köln"), record(3, None)))
    assert found(opened.path, "invoice") == ["1"]
    assert found(opened.path, "grusse OR gruße") == ["2"]
    opened.edit(page(record(1, "the receipt of April"), record(3, "invoice at last")))
    assert found(opened.path, "invoice") == ["3"]
    assert found(opened.path, "receipt") == ["1"]
    opened.edit(page(record(1, None, deletedAt=AT)))
    assert found(opened.path, "receipt OR april") == []
    opened.edit(page(record(1, "back again")))
    assert found(opened.path, "again") == ["1"]
    assert_search_is_whole(opened.path)


def assert_search_is_whole(path: Path) -> None:
    changed(path, "INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 0)")
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_search_outlives_a_vacuum_and_a_deletion(opened: Export) -> None:
    opened.commit(page(*(record(number, f"word{number}") for number in range(1, 50))))
    path = opened.finished()
    changed(path, "DELETE FROM messages WHERE number < 25")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("VACUUM")
    assert found(path, "word30") == ["30"]
    assert found(path, "word3") == []
    assert_search_is_whole(path)


def test_without_fts5_everything_else_works(opened: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_schema, "has_fts5", lambda db: False)
    opened.commit(page(*ODD))
    opened.edit(page(record(1, "edited")))
    for view in VIEWS:
        opened.ask(f"SELECT * FROM {view}")
    assert opened.ask("SELECT count(*) FROM versions") == [(1,)]
    assert opened.ask("SELECT name FROM sqlite_master WHERE name LIKE '%fts%'") == []
    opened.finished()
