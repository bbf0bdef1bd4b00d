"""Pages as rows: the bytes as served, and the few members that decide where a record belongs."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.replies.decode import ManyRecords
from chatrest._core.replies.rows import UNKNOWN, Row, lines_of, row_of, rows
from chatrest._core.send import AsRows
from chatrest._models.meta import Position
from chatrest._resources.agents import Agents
from chatrest._resources.messages import Messages
from chatrest.errors import ReplyUnreadableError
from tests.core.replies.documented import GOOD, PAGE, TEXT, body
from tests.support.cases import TOO_DEEP, loop_over
from tests.support.session_double import Sender

DEEP = b"[" * TOO_DEEP + b"]" * TOO_DEEP
ODD = [
    b'"7"', b"7", b"-7", b"0", b'""', b"null", b"true", b"1.5", b"1.0", b"[1]", b"{}", b"NaN", b"-Infinity",
    b"9" * 60, b"9" * 5000, b'"\\ud800"', b'"\xff\xfe"', b'"a\\u0000b"', '"é\u2028\x85"'.encode(), b'"a\\nb"',
    b'"aGVsbG8="', b'[{"a":1},{"id":"2"}]', b"1e999", DEEP, b'{"a":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP,
]  # fmt: skip
NAMES = ["id", "id", "uid", "sender", "receiver", "receiverType", "sentAt", "//line", "//place", "metadata"]
BREAKS = [b"", b" ", b"\n", b"\r", b"\r\n\t"]


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """A record whose members are of any kind, in any order, perhaps twice, perhaps over several lines."""
    space = draw(st.sampled_from(BREAKS))
    members = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(ODD)), max_size=5))
    members_json = [b'"' + name.encode() + b'":' + space + value for name, value in members]
    whole = b"{" + space + (b"," + space).join(members_json) + space + b"}"
    return draw(st.sampled_from([whole, whole, whole, *ODD]))


def one_line(record: bytes) -> bytes:
    return record.replace(b"\n", b" ").replace(b"\r", b" ")


def keepable(text: str) -> str:
    return "" if any("\ud800" <= each <= "\udfff" for each in text) else text


def test_a_page_is_read_as_the_few_members_and_the_exact_bytes() -> None:
    served = body(GOOD)
    page = rows(served)
    assert page.raw is served
    assert page.meta == PAGE(served).meta
    assert page.repairs == ()
    assert [json.loads(bytes(row.raw)) for row in page.items] == GOOD
    row = page.items[0]
    assert (row.id, row.sender, row.receiver, row.receiver_type) == ("1001", "alice", "bob", "user")
    assert (row.sent_at, row.uid) == (1700000000, "")


@given(
    st.lists(records(), max_size=4), st.sampled_from(BREAKS), st.booleans(), st.sampled_from(["", "\ufeff"])
)
def test_rows_have_the_ids_of_messages_and_the_served_bytes(
    served: list[bytes], space: bytes, first: bool, mark: str
) -> None:
    meta = b'"meta":{"cursor":{"id":5,"affix":"append"}}'
    data = b'"data":' + space + b"[" + space + (space + b"," + space).join(served) + space + b"]"
    page = mark.encode() + b"{" + b",".join([meta, data] if first else [data, meta]) + b"}" + space
    listing = rows(page)
    assert [row.id for row in listing.items] == [keepable(item.id) for item in PAGE(page).items]
    assert [bytes(row.raw) for row in listing.items] == list(map(one_line, served))
    assert listing.meta.cursor == Position("append", 5)
    assert listing.raw is page


def test_the_lines_of_rows_are_their_records() -> None:
    items = rows(b'{"data":[{"id":"7"},{"id":"8","x":[1]}],"meta":{}}').items
    assert lines_of(items) == b'{"id":"7"}\n{"id":"8","x":[1]}\n'
    assert lines_of(items[1:]) == b'{"id":"8","x":[1]}\n'
    assert lines_of([]) == b""


@given(st.lists(records(), max_size=3))
def test_a_row_decodes_like_a_record_of_a_page(served: list[bytes]) -> None:
    """A row that was written is read again: a record with another id would be taken for a new one."""
    page = rows(b'{"data":[' + b",".join(served) + b"]}")
    assert [row_of(row.raw) for row in page.items] == page.items


@given(st.lists(records(), min_size=1, max_size=3))
def test_every_value_of_a_row_can_be_stored_in_a_database(served: list[bytes]) -> None:
    for row in rows(b'{"data":[' + b",".join(served) + b"]}").items:
        assert -(2**63) <= row.sent_at < 2**63
        for text in (row.id, row.uid, row.sender, row.receiver, row.receiver_type):
            assert text.encode().decode() == text


@pytest.mark.parametrize("served", [b'{"data":{}}', b'{"data":[]}', b'{"data":\n[ ]}'])
def test_an_empty_page_has_no_rows(served: bytes) -> None:
    assert rows(served).items == []


@loop_over(
    "served",
    [b"", b"[]", b"<html>", b'{"data":null}', b"{}", b'{"data":{"a":1}}', b'{"data":["a\nb"]}',
     b'{"data":[1],"meta":"x"}', b'{"data":[{"id":"7"}'],
)  # fmt: skip
def test_rows_refuse_the_pages_that_messages_refuse(served: bytes) -> None:
    for read in (PAGE, rows):
        with pytest.raises(ReplyUnreadableError):
            read(served)


@loop_over(
    ("changes", "name", "value"),
    [({"id": 77}, "id", "77"), ({"id": 10**30}, "id", str(10**30)), ({"id": True}, "id", ""),
     ({"id": None}, "id", ""), ({"id": ["1"]}, "id", ""), ({"sender": 5}, "sender", ""),
     ({"receiver": None}, "receiver", ""), ({"receiverType": {}}, "receiver_type", ""),
     ({"uid": 5}, "uid", "5"), ({"uid": "\ud800"}, "uid", ""), ({"sender": "\ud800"}, "sender", ""),
     ({"sentAt": "5"}, "sent_at", UNKNOWN), ({"sentAt": None}, "sent_at", UNKNOWN),
     ({"sentAt": True}, "sent_at", UNKNOWN), ({"sentAt": 1.5}, "sent_at", UNKNOWN),
     ({"sentAt": 10**30}, "sent_at", UNKNOWN), ({"sentAt": -(2**63) - 1}, "sent_at", UNKNOWN),
     ({"sentAt": 2**63 - 1}, "sent_at", 2**63 - 1), ({"sentAt": 0}, "sent_at", 0)],
)  # fmt: skip
def test_a_member_of_an_odd_type_is_empty_and_the_others_are_read(
    changes: dict[str, Any], name: str, value: Any
) -> None:
    row = row_of(json.dumps({**TEXT, "uid": "carol", **changes}).encode())
    good = Row("1002", "carol", "alice", "bob", "user", 1700000000, row.raw)
    setattr(good, name, value)
    assert row == good


def test_a_member_named_like_the_bytes_is_ignored() -> None:
    for value in ('"aGVsbG8="', '"no base64"', "null", "[1]", '"\\ud800"'):
        raw = f'{{"id":"7","//line":{value}}}'.encode()
        assert [bytes(row.raw) for row in rows(b'{"data":[' + raw + b"]}").items] == [raw]


@loop_over("raw", [b"", b"{", b"null", b"[]", b'"7"', b'{"id":"7"', b'{"id":"7"}{"id":"8"}'])
def test_bytes_that_are_no_record_are_a_row_without_values(raw: bytes) -> None:
    assert row_of(raw) == Row(line=raw)


async def test_a_list_of_another_form_is_read_as_rows_too() -> None:
    served = b'[{"model":"m","other":1},{"model":"n"}]'
    models: Any = await Agents(AsRows(Sender(served))).list_models().collect()
    assert [bytes(row.raw) for row in models] == [b'{"model":"m","other":1}', b'{"model":"n"}']


async def test_a_collection_lists_rows_with_the_same_requests() -> None:
    answers = (body([TEXT], {}), body([TEXT], {}), body([], {}))
    plain, sender = Sender(*answers), Sender(*answers)
    assert await Messages(plain).list_user("bob").collect() == PAGE(body([TEXT])).items
    [row] = await Messages(AsRows(sender)).list_user("bob").collect()
    assert isinstance(row, Row)
    assert json.loads(bytes(row.raw)) == TEXT
    assert len(plain.calls) == 3
    for call, other in zip(plain.calls, sender.calls, strict=True):
        assert (call.path, call.position) == (other.path, other.position)
        assert call.endpoint.name == other.endpoint.name
    assert isinstance(plain.calls[0].endpoint.reply, ManyRecords)
