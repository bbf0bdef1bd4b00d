"""The views of a database, over records of any shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatrest.database import load
from tests.stored import START, StoredRuns, record

from .conftest import Database

VIEWS = (
    "chat", "messages_per_conversation", "messages_per_sender", "messages_per_day", "calls",
    "message_attachments", "edits",
)  # fmt: skip
CALL = {
    "action": "initiated",
    "entities": {"on": {"entity": {"sessionid": "s", "type": "audio", "status": "ended", "initiatedAt": START,
                                   "joinedAt": START * 1000, "startedAt": "soon"}}},
}  # fmt: skip
FILES = [{"url": "https://x", "name": "a.png", "mimeType": "image/png", "extension": "png", "size": 7}, 5]


@pytest.fixture
def filled(database: Database, tmp_path: Path) -> Database:
    odd: list[Any] = [[], {"attachments": {"0": {}}}, {"attachments": [[], None]}, {"entities": {"on": 1}}, 7]
    rows = [record(number, data=data, category="call") for number, data in enumerate(odd, 10)]
    rows += [b"null", b"[1]", b'"text"', b'{"id":"19","data":{"attachments":[{"url":"half \\udfff"}]}}']
    runs = StoredRuns(tmp_path / "out")
    runs.run([
        record(1, text="one", conversationId="c"), record(2, text="two", conversationId="c", sender="bob"),
        record(3, category="call", type="audio", data=CALL), record(4, data={"attachments": FILES}), *rows,
    ])  # fmt: skip
    load(runs.folder, database.url)
    return database


def row(database: Database, view: str, condition: str) -> dict[str, str]:
    """Return the only row as texts; times without what the two databases show differently."""
    sql = "to_json(each)"
    if database.is_sqlite:
        names = [name for _, name, *_ in database.ask(f"PRAGMA table_info({view})")]
        sql = f"json_object({', '.join(f'{name!r}, {name}' for name in names)})"
    [[found]] = database.ask(f"SELECT {sql} FROM {view} AS each WHERE {condition}")
    values = json.loads(found) if isinstance(found, str) else found
    return {name: str(value)[:19].replace("T", " ") for name, value in values.items() if value is not None}


def test_every_view_has_its_rows_whatever_the_records(filled: Database) -> None:
    counts = [filled.ask(f"SELECT count(*) FROM {view}")[0][0] for view in VIEWS]
    assert counts == [13, 2, 2, 3, 6, 5, 0]


def test_what_they_answer(filled: Database) -> None:
    chat = row(filled, "chat", "id = '1'")
    assert (chat["text"], chat["sent_utc"]) == ("one", "2020-09-13 13:26:40")
    talk = row(filled, "messages_per_conversation", "conversation_id = 'c'")
    assert talk == {
        "app": "", "conversation_id": "c", "messages": "2", "first_utc": "2020-09-13 13:26:40",
        "last_utc": "2020-09-13 14:26:40", "last_id": "2", "last_sender": "bob", "last_text": "two",
    }  # fmt: skip
    assert row(filled, "messages_per_sender", "sender = 'bob'")["messages"] == "1"
    assert row(filled, "messages_per_day", "senders = 2")["day"] == "2020-09-13"
    call = row(filled, "calls", "id = '3'")
    assert (call["action"], call["session_id"], call["kind"]) == ("initiated", "s", "audio")
    assert call["initiated_utc"] == call["joined_utc"] == "2020-09-13 12:26:40"
    assert "started_utc" not in call
    file = row(filled, "message_attachments", "id = '4' AND attachment = 1")
    assert (file["name"], file["mime_type"], file["size"]) == ("a.png", "image/png", "7")
