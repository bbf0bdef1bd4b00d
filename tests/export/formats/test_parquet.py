"""The Parquet sink's rows: every record to the byte, and what its columns say."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from chatrest.export.formats.parquet import SCHEMA, VERSION, column_values, tables
from chatrest.export.formats.stored_records import SourceLines, raws_of
from tests.support.exported_files import SEPTEMBER, Export, page, served, table
from tests.support.pages import GUIDE

ODD = [
    b'{"id":"1","sentAt":1600000000,"data":{"text":"\xff\xfe not UTF-8"}}',
    b'{"id":"2","data":{"text":"half \\ud83d of a pair"},"sender":"\\ud83d","tags":["\\udc00"]}',
    b'{"id":3,"sentAt":"1600000000","sender":7,"tags":[1],"data":[]}',
    b'{"id":"4","sentAt":true,"receiver":null,"data":{"text":["no text"],"action":"edited"}}',
    b'{"id":"5","score":NaN,"sentAt":1600000000,"data":{"text":"kept"}}',
    b'{"id":"6","sentAt":99999999999999999999999,"editedAt":-5,"deletedAt":1e99}',
    b'{"id":"7","deep":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"id":"no number","sentAt":1600000000000}',
    b'{"sentAt":1600000000,"note":"no id"}',
    b'{"id":"8" ,\t"text" : "spaces",  "data":{"text":"nul \\u0000"}}',
    '{"id":"9","data":{"text":"\u2028 e\u0301 😀 line\u0085separators"}}'.encode(),
    b'{"id":"10","sentAt":253402300800000}',
    b'{"id":"\\ud83d"}',
    b"null",
    b"[1,2]",
    b'"text"',
    b"-0.0",
    b"{}",
    b'{"id":"20","data":{"attachments":{"0":{"url":"x"}},"reactions":"none","mentions":[],"entities":[]}}',
    b'{"id":"21","data":{"attachments":["x",7,null,{"url":["x"],"name":"n","size":"12","extension":1}]}}',
    b'{"id":"22","data":{"attachments":[{"url":"\\udfff","size":99999999999999999999}],"mentions":{"\\ud83d":5}}}',
    b'{"id":"23","category":"call","data":{"entities":{"on":{"entity":{"initiatedAt":"soon","status":3}}}}}',
    b'{"id":"24","category":"call","data":{"entities":{"by":7,"on":[],"for":{"entity":null}}}}',
    b'{"id":"25","data":{"attachments":' + b"[" * 5000 + b"]" * 5000 + b',"reactions":[[{}],{"count":1e9}]}}',
    b'{"id":"26","category":"call","data":{"entities":null,"attachments":null,"reactions":null,"mentions":null}}',
]


def test_records_round_trip_and_members_of_a_wrong_type_are_null(tmp_path: Path) -> None:
    with Export(tmp_path, format="parquet") as out:
        out.add(served(*ODD))
        assert sorted(out.scan()) == sorted(ODD)
        out.done()
        assert sorted(out.scan()) == sorted(ODD)
    assert sorted(raws_of(table(tmp_path), pa.binary())) == sorted(ODD)
    rows = {row["id"]: row for row in table(tmp_path).to_pylist()}
    assert rows["1"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert rows["2"]["text"] == "half \ufffd of a pair"
    assert rows["2"]["tags"] == ["\ufffd"]
    assert [rows["3"][name] for name in ("number", "sent_at", "sender", "tags", "text")] == [
        3, None, "7", ["1"], None,
    ]  # fmt: skip
    assert [rows["4"][name] for name in ("sent_at", "receiver", "text", "action")] == [*[None] * 3, "edited"]
    assert rows["5"]["text"] == "kept"
    assert [rows["6"][name] for name in ("sent_at", "edited_at", "deleted_at")] == [None] * 3
    assert rows["7"]["number"] == 7
    assert rows["no number"]["number"] is None
    assert rows["no number"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert rows["8"]["text"] == "nul \0"
    assert rows["10"]["sent_at"] is None
    assert [rows["20"][name] for name in ("attachments", "reactions", "mentions", "call")] == [None] * 4
    assert [file["name"] for file in rows["21"]["attachments"]] == [None, None, None, "n"]
    assert rows["21"]["attachments"][3]["size"] == 12
    assert rows["22"]["attachments"][0] == dict.fromkeys(("name", "mime_type", "extension", "size")) | {
        "url": "\ufffd"
    }
    assert rows["22"]["mentions"] == [{"uid": "\ufffd", "name": None}]
    assert {name: each for name, each in rows["23"]["call"].items() if each is not None} == {"status": "3"}
    assert rows["24"]["call"] is None
    assert rows["25"]["attachments"] is None or rows["25"]["attachments"][0]["url"] is None
    assert rows["26"]["attachments"] is rows["26"]["call"] is None


def test_nested_members_that_do_not_decode_are_read_nevertheless() -> None:
    """Records that decode at once hold their nested members as bytes, which were not looked at."""
    data = b'{"attachments":[{"url":"\xff","size":1}],"reactions":[{"reaction":"up","count":1e999}]}'
    values = column_values(b'{"id":"1","data":' + data + b"}\n", rows=1)
    assert values["attachments"] == [[("\ufffd", None, None, None, 1)]]
    assert values["reactions"] == [[("up", None)]]


def test_the_columns_of_a_message(tmp_path: Path) -> None:
    message = {
        "id": "12", "conversationId": "alice_user_bob", "sender": "alice", "receiverType": "user",
        "receiver": "bob", "category": "message", "type": "text", "data": {"text": "hi", "resource": "WEB"},
        "sentAt": 1, "updatedAt": 2, "editedAt": 3, "editedBy": "x", "deletedAt": 4, "deletedBy": "y",
        "deliveredAt": 5, "readAt": 6, "tags": ["a", "b"], "parentId": "11", "muid": "m", "more": {},
    }  # fmt: skip
    with Export(tmp_path, format="parquet") as out:
        out.add(served(json.dumps(message).encode()))
        out.done()
    [row] = table(tmp_path).to_pylist()
    assert {name: row.pop(name).timestamp() for name in list(row) if name.endswith("_at")} == {
        "sent_at": 1, "updated_at": 2, "edited_at": 3, "deleted_at": 4, "delivered_at": 5, "read_at": 6,
    }  # fmt: skip
    assert row == {
        "id": "12", "number": 12, "conversation_id": "alice_user_bob", "parent_id": "11", "sender": "alice",
        "receiver": "bob", "receiver_type": "user", "category": "message", "type": "text", "action": None,
        "text": "hi", "tags": ["a", "b"], "edited_by": "x", "deleted_by": "y", "muid": "m",
        "attachments": None, "reactions": None, "mentions": None, "call": None,
        "source_name": "user alice", "raw": json.dumps(message), "raw_bytes": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("compress", "codec"), [(None, "ZSTD"), ("zstd", "ZSTD"), ("gzip", "GZIP"), ("none", "UNCOMPRESSED")]
)
def test_schema_and_codec(tmp_path: Path, compress: Any, codec: str) -> None:
    with Export(tmp_path, format="parquet", compress=compress) as out:
        out.add(page(1))
        out.done()
    [path] = tmp_path.rglob("*.parquet")
    file = pq.ParquetFile(path)
    assert file.schema_arrow.equals(SCHEMA)
    assert file.schema_arrow.metadata[b"chatrest.schema_version"] == b"2"
    group = file.metadata.row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {codec}
    assert not file.schema_arrow.field("raw").nullable
    [number] = [
        group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "number"
    ]
    assert (number.statistics.min, number.statistics.max) == (1, 10)


FILE = {
    "url": "https://example.com/a.png",
    "name": "a.png",
    "mimeType": "image/png",
    "extension": "png",
    "size": 7,
}
CALL = {
    "sessionid": "s1", "type": "audio", "status": "ongoing", "sender": "alice", "receiver": "bob",
    "receiverType": "user", "conversationId": "alice_user_bob", "initiatedAt": 1600000000,
    "joinedAt": 1600000000001, "startedAt": 1600000002, "wsChannel": {"secret": "hush"},
}  # fmt: skip


def columns(tmp_path: Path, **members: Any) -> dict[str, Any]:
    with Export(tmp_path, format="parquet") as out:
        out.add(served(json.dumps({"id": "1", **members}).encode()))
        out.done()
    [row] = table(tmp_path).to_pylist()
    return dict(row)


def test_attachments_reactions_and_mentions(tmp_path: Path) -> None:
    data = {
        "attachments": [FILE, {"url": "x\ud800", "size": "12"}],
        "reactions": [{"reaction": "😀", "count": 2, "reactedByMe": True}],
        "mentions": {"bob": {"uid": "bob", "name": "Bob"}, "eve": {}},
    }
    row = columns(tmp_path, category="message", data=data)
    names = ("url", "name", "mime_type", "extension", "size")
    assert row["attachments"] == [
        dict(zip(names, FILE.values(), strict=True)),
        dict(zip(names, ("x\ufffd", None, None, None, 12), strict=True)),
    ]
    assert row["reactions"] == [{"reaction": "😀", "count": 2}]
    assert row["mentions"] == [{"uid": "bob", "name": "Bob"}, {"uid": "eve", "name": None}]
    assert row["call"] is None


def test_the_call_of_a_call_message(tmp_path: Path) -> None:
    entities = {
        "by": {"entity": {"uid": "alice"}, "entityType": "user"},
        "on": {"entity": CALL, "entityType": "call"},
        "for": {"entity": {"uid": "bob"}, "entityType": "user"},
    }
    row = columns(tmp_path, category="call", data={"action": "ongoing", "entities": entities})
    call = row["call"]
    assert [call.pop(name).timestamp() for name in ("initiated_at", "joined_at", "started_at")] == [
        1600000000, 1600000000.001, 1600000002,
    ]  # fmt: skip
    assert call == {
        "session_id": "s1", "type": "audio", "status": "ongoing", "sender": "alice", "receiver": "bob",
        "receiver_type": "user", "conversation_id": "alice_user_bob", "by_uid": "alice", "for_uid": "bob",
    }  # fmt: skip


TEXT = st.text(st.sampled_from('aé😀\0\n\u2028\ud83d,"\\'), max_size=3)
WHOLE = st.sampled_from([0, 1, 7, -1, 1600000000, 1600000000000, 10**11, 253402300800000, 2**63, 10**30])
ODDITY = st.sampled_from([1.0, 1.5, 1e300, "12", "012", "९", [], {}, [{}], {"a": 1}])
ODD_VALUE = st.one_of(st.none(), st.booleans(), TEXT, WHOLE, ODDITY)


def served_as(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return values that usually have the documented type."""
    return st.integers(0, 5).flatmap(lambda number: value if number else ODD_VALUE)


def an_object(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = {"for_": "for"}
    optional = {names.get(name, name): served_as(value) for name, value in members.items()}
    return st.fixed_dictionaries({}, optional=optional)


A_USER = an_object(uid=TEXT, name=TEXT)
A_CALL = an_object(sessionid=TEXT, status=TEXT, receiverType=TEXT, initiatedAt=WHOLE, startedAt=WHOLE)
ENTITIES = an_object(by=an_object(entity=A_USER), on=an_object(entity=A_CALL), for_=an_object(entity=A_USER))
DATA = an_object(
    text=TEXT,
    action=TEXT,
    attachments=st.lists(served_as(an_object(url=TEXT, mimeType=TEXT, size=WHOLE)), max_size=2),
    reactions=st.lists(served_as(an_object(reaction=TEXT, count=WHOLE)), max_size=2),
    mentions=st.dictionaries(TEXT, served_as(A_USER), max_size=2),
    entities=ENTITIES,
)
MESSAGE = st.tuples(
    st.sampled_from(["1", "012", "x", "9223372036854775807", 5, 10**30]),
    an_object(
        sender=TEXT,
        category=st.just("call"),
        tags=st.lists(TEXT, max_size=2),
        sentAt=WHOLE,
        readAt=WHOLE,
        data=DATA,
    ),
).map(lambda parts: {"id": parts[0], **parts[1]})


def columns_of(*blocks: list[dict[str, Any]]) -> Any:
    lines = ["".join(json.dumps(record) + "\n" for record in block).encode() for block in blocks]
    pieces = [
        SourceLines(1, len(block), raws, "user alice") for block, raws in zip(blocks, lines, strict=True)
    ]
    table = pa.concat_tables(table for piece in pieces for table in tables([piece]))
    table.validate(full=True)
    return table.drop_columns(["raw"])


@settings(max_examples=30)
@given(st.lists(MESSAGE, min_size=1, max_size=4))
def test_the_columns_of_a_record_do_not_depend_on_other_records(messages: list[Any]) -> None:
    refused = [{**message, "score": float("nan")} for message in messages]  # is no JSON: read one by one
    at_once = columns_of(messages)
    assert columns_of(*([message] for message in messages)) == at_once
    assert columns_of(refused) == at_once


def test_the_guide_documents_every_column_with_its_type() -> None:
    page = (GUIDE / "dataset.md").read_text(encoding="utf-8")
    table = page.partition("\n## Columns\n")[2]
    documented = re.findall(
        r"^\| `(\w+)` \| ([^|]+) \|", table.partition("\n\n|")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert list(documented) == [
        (field.name, str(field.type).replace("item: ", "").replace("element: ", "")) for field in SCHEMA
    ]
    assert f"version {VERSION} of the schema" in page
