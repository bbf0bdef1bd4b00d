"""Shared parts of the tests of databases: an archive without a service, records, and queries."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from chatrest.core.replies.rows import Row, rows
from chatrest.export import Plan
from chatrest.export.message_ids import key_of
from chatrest.export.ownership import Source
from tests import sinks

ALL, ALICE = Source("everything"), Source("user", ("alice",))
PLAN = Plan(format="sqlite", everything=True)
AT = 1_600_000_000
VIEWS = (
    "records", "chat", "conversations", "senders", "messages_per_day", "calls", "attachments", "edits",
)  # fmt: skip


class Export(sinks.Export):
    """A database in a folder, without a service; used with `with`."""

    SOURCES = (ALL, ALICE)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, users=[], everything=True, format="sqlite")
        self.path = folder / "messages.sqlite"

    def commit(self, page_rows: list[Row], source: Source | None = None) -> int:
        """Write rows, and add them to the database."""
        count = super().commit(page_rows, source)
        self.archive.store.seal_all()
        return count

    def edit(self, page_rows: list[Row]) -> int:
        """Let rows take the places of their older versions; return how many did."""
        self.change(page_rows)
        return self.done()

    def finished(self) -> Path:
        self.done()
        return self.path

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """Query the database as another program, while it is open."""
        return asked(self.path, sql, *values)

    def ids(self, **where: int) -> list[str]:
        return [key_of(row) for row in self.archive.scan(**where)]


def asked(path: Path, sql: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql, values).fetchall()


def changed(path: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, values)


def record(number: int, text: str | None = "hello", at: int = AT, **members: Any) -> bytes:
    made = {
        "id": str(number),
        "conversationId": "alice_user_bob",
        "sender": "alice",
        "receiverType": "user",
        "receiver": "bob",
        "category": "message",
        "type": "text",
        "data": {} if text is None else {"text": text},
        "sentAt": at,
        "updatedAt": at,
    }
    return json.dumps(made | members, ensure_ascii=False).encode()


def page(*raws: bytes) -> list[Row]:
    """Return the rows of a reply with these records."""
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def some(first: int, size: int = 10, **members: Any) -> list[Row]:
    return page(*(record(number, f"text {number}", **members) for number in range(first, first + size)))


ODD = [
    b'{"id":"1","sentAt":1600000000,"data":{"text":"\xff\xfe not UTF-8"}}',
    b'{"id":"2","data":{"text":"half \\ud83d of a pair"},"sender":"\\ud83d","category":"\\uDC00"}',
    b'{"id":3,"sentAt":"1600000000","sender":7,"category":["x"],"type":{},"data":[]}',
    b'{"id":"4","sentAt":true,"receiver":null,"data":{"text":["no text"],"action":"edited"}}',
    b'{"id":"5","score":NaN,"sentAt":1600000000,"data":{"text":"kept"}}',
    b'{"id":"6","sentAt":99999999999999999999999,"editedAt":-5,"deletedAt":1e99,"updatedAt":1e400}',
    b'{"id":"7","deep":' + b"[" * 5000 + b"]" * 5000 + b',"category":"call"}',
    b'{"id":"no number","sentAt":1600000000000}',
    b'{"sentAt":1600000000,"note":"no id"}',
    b'{"id":"8" ,\t"text" : "spaces",  "data":{"text":"nul \\u0000 in it"}}',
    '{"id":"9","data":{"text":"\u2028 e\u0301 😀 line\u0085separators"}}'.encode(),
    b'{"id":"10","sentAt":9223372036854775807,"updatedAt":-9223372036854775808}',
    b'{"id":"11","category":"call","data":{"action":{"deep":[1]},"entities":[]}}',
    b'{"id":"12","category":"call","data":"no object","type":1.5}',
    b'{"id":"13","category":"call","data":{"entities":{"on":{"entity":{"initiatedAt":"soon"}}}}}',
    b'{"id":"14","data":{"attachments":{"0":{"url":"x"}}}}',
    b'{"id":"15","data":{"attachments":"none"}}',
    b'{"id":"16","data":{"attachments":["text",7,null,[],{"url":["x"],"name":"\\u0000"}]}}',
    b'{"id":"17","data":{"attachments":[{"url":"half \\udfff"}]}}',
    b'{"id":"9223372036854775807"}',
    b'{"id":"0018"}',
    b'{"id":"18"}',
    b"null",
    b"[1,2]",
    b'"text"',
    b"{}",
]


def found(path: Path, query: str) -> list[str]:
    sql = "SELECT id FROM messages JOIN messages_fts ON messages_fts.rowid = place WHERE messages_fts MATCH ?"
    return [key for (key,) in asked(path, f"{sql} ORDER BY number", query)]
