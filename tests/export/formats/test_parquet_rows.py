"""The Parquet sink's rows: every record to the byte, and what its columns say."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chatrest.export.formats.parquet_columns import SCHEMA, raws_of
from chatrest.export.message_ids import key_of
from tests.parquets import SEPTEMBER, Export, page, served, table

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
]


def test_every_record_comes_back_as_it_was_served_whatever_its_shape(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        assert sorted(out.scan()) == sorted(ODD)
        out.done()
        assert sorted(out.scan()) == sorted(ODD)
    assert sorted(raws_of(table(tmp_path))) == sorted(ODD)


def test_an_id_is_what_the_page_said_and_what_has_none_is_told_by_its_bytes(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        out.done()
    found = dict(zip(raws_of(table(tmp_path)), table(tmp_path)["id"].to_pylist(), strict=True))
    assert found == {bytes(row.raw): key_of(row) for row in served(*ODD)}


def test_raw_is_text_for_every_record_and_exact_for_all_that_are_utf_8(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD[:6]))
        out.done()
    for row in table(tmp_path).to_pylist():
        known = ODD[int(row["id"]) - 1]
        if row["id"] == "1":
            assert row["raw_bytes"] == known
            assert json.loads(row["raw"])["data"]["text"] == "\ufffd\ufffd not UTF-8"
        else:
            assert row["raw_bytes"] is None
            assert row["raw"].encode() == known


def test_members_of_a_wrong_type_are_null_and_the_others_of_the_record_are_not(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        out.done()
    found = {row["id"]: row for row in table(tmp_path).to_pylist()}
    assert found["1"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert found["2"]["text"] == "half \ufffd of a pair"
    assert found["2"]["tags"] == ["\ufffd"]
    assert [found["3"][name] for name in ("number", "sent_at", "sender", "tags", "text")] == [3, *[None] * 4]
    assert [found["4"][name] for name in ("sent_at", "receiver", "text", "action")] == [*[None] * 3, "edited"]
    assert found["5"]["text"] == "kept"
    assert [found["6"][name] for name in ("sent_at", "edited_at", "deleted_at")] == [None] * 3
    assert found["7"]["number"] == 7
    assert found["no number"]["number"] is None
    assert found["no number"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert found["8"]["text"] == "nul \0"
    assert found["10"]["sent_at"] is None


def test_the_columns_of_a_message(tmp_path: Path) -> None:
    message = {
        "id": "12", "conversationId": "alice_user_bob", "sender": "alice", "receiverType": "user",
        "receiver": "bob", "category": "message", "type": "text", "data": {"text": "hi", "resource": "WEB"},
        "sentAt": 1, "updatedAt": 2, "editedAt": 3, "editedBy": "x", "deletedAt": 4, "deletedBy": "y",
        "deliveredAt": 5, "readAt": 6, "tags": ["a", "b"], "parentId": "11", "muid": "m", "more": {},
    }  # fmt: skip
    with Export(tmp_path) as out:
        out.commit(served(json.dumps(message).encode()))
        out.done()
    [row] = table(tmp_path).to_pylist()
    assert {name: row.pop(name).timestamp() for name in list(row) if name.endswith("_at")} == {
        "sent_at": 1, "updated_at": 2, "edited_at": 3, "deleted_at": 4, "delivered_at": 5, "read_at": 6,
    }  # fmt: skip
    assert row == {
        "id": "12", "number": 12, "conversation_id": "alice_user_bob", "parent_id": "11", "sender": "alice",
        "receiver": "bob", "receiver_type": "user", "category": "message", "type": "text", "action": None,
        "text": "hi", "tags": ["a", "b"], "edited_by": "x", "deleted_by": "y", "muid": "m",
        "source": "user alice", "raw": json.dumps(message), "raw_bytes": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("compress", "codec"), [(None, "ZSTD"), ("zstd", "ZSTD"), ("gzip", "GZIP"), ("none", "UNCOMPRESSED")]
)
def test_schema_and_codec(tmp_path: Path, compress: Any, codec: str) -> None:
    with Export(tmp_path, compress=compress) as out:
        out.commit(page(1))
        out.done()
    file = pq.ParquetFile(tmp_path / "2020-09.parquet")
    assert file.schema_arrow.equals(SCHEMA)
    group = file.metadata.row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {codec}
    assert not file.schema_arrow.field("raw").nullable
    [number] = [
        group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "number"
    ]
    assert (number.statistics.min, number.statistics.max) == (1, 10)
