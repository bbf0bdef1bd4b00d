"""The views of a database, over records of any shape."""

import json
from pathlib import Path

import pytest

from chatrest.database import load
from tests.stored_exports import StoredRuns, record

from .conftest import Database


@pytest.fixture
def filled(database: Database, tmp_path: Path) -> Database:
    rows = [record(number, data=data) for number, data in enumerate([[], {"entities": {"on": 1}}, 7], 10)]
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1, text="one", conversationId="c"), *rows, b"null", b"[1]", b'"text"'])
    load(runs.folder, database.url)
    return database


def row(database: Database, view: str, condition: str) -> dict[str, str]:
    """Return the only row as texts; times without what the two databases show differently."""
    sql = "to_json(each)"
    if database.is_sqlite:
        names = [name for _, name, *_ in database.ask(f"PRAGMA table_info({view})")]
        sql = f"json_object({', '.join(f'{name!r}, {name}' for name in names)})"
    [[value]] = database.ask(f"SELECT {sql} FROM {view} AS each WHERE {condition}")
    values = json.loads(value) if isinstance(value, str) else value
    return {name: str(value)[:19].replace("T", " ") for name, value in values.items() if value is not None}


def test_every_view_has_its_rows_whatever_the_records(filled: Database) -> None:
    counts = [filled.ask(f"SELECT count(*) FROM {view}")[0][0] for view in ("chat", "edits")]
    assert counts == [7, 0]


def test_what_they_answer(filled: Database) -> None:
    chat = row(filled, "chat", "id = '1'")
    assert (chat["text"], chat["sent_utc"]) == ("one", "2020-09-13 13:26:40")
