"""From bytes to structs: good pages the fast way, any other page without losing a record."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest._core.replies.decode import many
from chatrest._core.replies.rows import rows
from chatrest._models.messages import CallMessage, MediaMessage, Message, TextMessage, UnknownMessage
from chatrest._models.meta import Pagination, Position
from chatrest.errors import ReplyUnreadableError
from tests.core.replies.documented import (
    CALL_MESSAGE,
    CUSTOM,
    GOOD,
    KINDS,
    MEDIA,
    PAGE,
    TEXT,
    body,
    json_values,
    mutants,
    poisoned,
)
from tests.support.cases import TOO_DEEP, loop_over


def test_the_documented_page_is_decoded_without_repairs() -> None:
    served = body(GOOD)
    page = PAGE(served)
    assert page.repairs == ()
    assert page.raw is served
    assert [type(item) for item in page.items] == KINDS
    assert page.meta.pagination == Pagination(0, 5, 100, 1, 1)
    assert page.meta.cursor == Position("prepend", 1001)


@given(
    st.sampled_from([TEXT, MEDIA, CUSTOM]),
    st.fixed_dictionaries(
        {},
        optional={
            "muid": st.none() | st.text(),
            "parentId": st.text(),
            "editedAt": st.none() | st.integers(0, 2**62),
            "tags": st.lists(st.text(), max_size=3),
            "receipts": st.dictionaries(st.text(), st.integers(0, 9), max_size=2),
            "readAt": st.integers(0, 2**62),
            "futureField": st.lists(st.integers(0, 9), max_size=2),
            "sender": st.text(),
            "sentAt": st.integers(-(2**63), 2**63 - 1),
        },
    ),
)
def test_both_ways_agree_whatever_a_good_record_holds(record: dict[str, Any], more: dict[str, Any]) -> None:
    page = PAGE(body([{**record, **more}]))
    assert page.repairs == ()
    assert poisoned([{**record, **more}]) == page.items


@loop_over(
    ("changes", "name", "value", "note"),
    [
        ({"id": 77}, "id", "77", "data[0].id: expected text, got whole number"),
        ({"id": 1}, "id", "1", "data[0].id: expected text, got whole number"),
        ({"id": 0}, "id", "0", "data[0].id: expected text, got whole number"),
        ({"id": 10**30}, "id", str(10**30), "data[0].id: expected text, got whole number"),
        ({"sentAt": "5"}, "sent_at", 5, "data[0].sentAt: expected whole number, got text"),
        ({"sentAt": None}, "sent_at", 0, "data[0].sentAt: expected whole number, got null"),
        ({"sender": None}, "sender", "", "data[0].sender: expected text, got null"),
        ({"parentId": 9}, "parent_id", "9", "data[0].parentId: expected text, got whole number"),
        ({"tags": {}}, "tags", (), "data[0].tags: expected array, got an empty object"),
        ({"tags": "x"}, "tags", msgspec.UNSET, "data[0].tags: expected array, got text"),
        ({"receipts": []}, "receipts", {}, "data[0].receipts: expected object, got an empty array"),
    ],
)
def test_a_field_of_an_odd_type_is_coerced_in_its_typed_message(
    changes: dict[str, Any], name: str, value: Any, note: str
) -> None:
    page = PAGE(body([{**TEXT, **changes}, CALL_MESSAGE]))
    message = page.items[0]
    assert isinstance(message, TextMessage)
    assert getattr(message, name) == value
    assert isinstance(getattr(message, name), type(value))
    assert page.repairs == (note,)
    assert page.items[1] == PAGE(body([CALL_MESSAGE])).items[0]


@loop_over(
    ("record", "reason"),
    [
        (None, "not an object"),
        (5, "not an object"),
        ("x", "not an object"),
        ([], "not an object"),
        ({}, "id"),
        ({**TEXT, "id": None}, "id"),
        ({**TEXT, "id": True}, "id"),
        ({**TEXT, "id": 1.5}, "id"),
        ({**TEXT, "id": ["1"]}, "id"),
        ({**TEXT, "id": {}}, "id"),
        ({**TEXT, "category": "poll"}, "category"),
        ({**TEXT, "category": None}, "category"),
        ({k: v for k, v in TEXT.items() if k != "category"}, "category"),
        ({**TEXT, "category": ["x"]}, "category"),
        ({**TEXT, "sender": {"uid": "alice"}}, "sender"),
        ({**TEXT, "sentAt": "soon"}, "sentAt"),
        ({**TEXT, "data": "hello"}, "data"),
        ({**TEXT, "data": ["x"]}, "data"),
        ({**TEXT, "data": None}, "data"),
        ({**CALL_MESSAGE, "data": {"action": "x"}}, "data.entities"),
        (
            {**CALL_MESSAGE, "data": {**CALL_MESSAGE["data"], "entities": {"by": 5, "on": 5, "for": 5}}},
            "entities.by",
        ),  # type: ignore[dict-item]
    ],
)
def test_a_record_that_fits_no_type_is_returned_unchanged_with_a_reason(record: Any, reason: str) -> None:
    raw = json.dumps(record).encode()
    page = PAGE(b'{"data":[' + json.dumps(TEXT).encode() + b" , " + raw + b"\n]}")
    good, message = page.items
    assert isinstance(good, TextMessage)
    assert isinstance(message, UnknownMessage)
    assert message.raw == raw
    assert reason in message.reason
    assert type(message.id) is str


ODD_BYTES = {
    "a lone surrogate": (rb'"\ud800"', "\ud800"),
    "NaN": (b"NaN", None),
    "an infinity": (b"-Infinity", float("-inf")),
    "a byte that is not UTF-8": (b'"\xff"', "\udcff"),
    "an integer of 60 digits": (b"9" * 60, int("9" * 60)),
    "an integer of 5000 digits": (b"9" * 5000, None),
    "an array too deep": (b"[" * TOO_DEEP + b"]" * TOO_DEEP, None),
    "an object too deep": (b'{"a":' * TOO_DEEP + b"1" + b"}" * TOO_DEEP, None),
    "a number out of range": (b"1e999", float("inf")),
}


@pytest.mark.parametrize("odd", ODD_BYTES)
def test_odd_json_inside_one_record_never_fails_its_page(odd: str) -> None:
    """A user may write any of these into the metadata of a message: the others must stay readable."""
    served, value = ODD_BYTES[odd]
    raw = json.dumps(TEXT).encode().replace(b'{"a": 1}', b'{"a": ' + served + b"}")
    assert served in raw
    good = json.dumps(CALL_MESSAGE).encode()
    page = PAGE(
        b'{"data":[' + b",".join([good, raw, good]) + b'],"meta":{"cursor":{"id":7,"affix":"append"}}}'
    )
    assert [item.id for item in page.items] == ["1001", "1002", "1001"]
    assert isinstance(page.items[0], CallMessage)
    assert page.meta.cursor == Position("append", 7)
    middle = page.items[1]
    if isinstance(middle, UnknownMessage):
        assert middle.raw == raw
    elif value is not None:
        assert middle.data.metadata == {"a": value}  # type: ignore[union-attr]


def test_the_last_of_two_equal_names_counts_on_both_paths() -> None:
    twice = json.dumps(TEXT).replace('"sender": "alice"', '"sender": "x", "sender": "alice"').encode()
    fast = PAGE(b'{"data":[' + twice + b"]}").items
    assert PAGE(b'{"data":[' + twice + b",null]}").items[:1] == fast == PAGE(body([TEXT])).items


@given(st.lists(mutants() | json_values.map(lambda v: json.dumps(v).encode()), min_size=1, max_size=3))
def test_no_record_fails_a_page_or_changes_the_order(records: list[bytes]) -> None:
    good = json.dumps(MEDIA).encode()
    served = (
        b'{"data":[' + b" ,".join([good, *records, good]) + b'],"meta":{"cursor":{"id":5,"affix":"append"}}}'
    )
    page = PAGE(served)
    assert len(page.items) == len(records) + 2
    assert page.raw == served
    assert page.items[0] == page.items[-1] == PAGE(body([MEDIA])).items[0]
    assert page.meta.cursor == Position("append", 5)
    for raw, message in zip(records, page.items[1:-1], strict=True):
        assert type(message.id) is str
        if isinstance(message, UnknownMessage):
            assert message.raw == raw
            assert message.reason
        else:
            assert str(json.loads(raw.decode("utf-8", "surrogateescape"))["id"]) == message.id
        repr(message)


@pytest.mark.parametrize(
    "broken", [b"[" * TOO_DEEP, b'{"a":' * TOO_DEEP + b"1" + b"}" * (TOO_DEEP - 2), b'{"a":"' * TOO_DEEP]
)
def test_a_page_cut_off_in_deep_nesting_is_unreadable(broken: bytes) -> None:
    for read in (PAGE, rows):
        with pytest.raises(ReplyUnreadableError):
            read(b'{"data":[{"id":"1","metadata":' + broken)


def numbered(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with numbers for its ids."""
    ids = {name: int(record[name]) for name in ("id", "parentId") if name in record}
    return {**record, **ids}


def test_number_ids_are_coerced_to_text_with_one_warning() -> None:
    page = PAGE(body([numbered(record) for record in GOOD]))
    assert page.items == PAGE(body(GOOD)).items
    assert [type(item) for item in page.items] == KINDS
    assert page.repairs == (
        "data[*].id: expected text, got whole number (5 records)",
        "data[2].parentId: expected text, got whole number",
    )


def test_rows_of_number_ids_are_those_of_text_ids_and_say_so_once() -> None:
    page = rows(body([numbered(record) for record in GOOD]))
    assert [row.id for row in page.items] == [str(record["id"]) for record in GOOD]
    assert page.repairs == ("data[*].id: expected text, got whole number (5 records)",)


@loop_over(
    ("size", "becomes"), [("12", 12), ("-1", -1), ("0", 0), ("many", UNSET), ("", UNSET), ("1.5", UNSET)]
)
def test_sizes_as_texts_become_numbers_where_they_are_digits(size: str, becomes: Any) -> None:
    files = [{"url": "u", "size": size}, {"url": "v", "size": 3}]
    page = PAGE(body([{**MEDIA, "data": {"attachments": files}}]))
    [message] = page.items
    assert isinstance(message, MediaMessage)
    assert message.data.attachments is not UNSET
    assert [file.size for file in message.data.attachments or ()] == [becomes, 3]
    assert page.repairs == ("data[0].data.attachments[0].size: expected whole number, got text",)


def test_a_page_is_decoded_independently_of_earlier_pages() -> None:
    texts, numbers = body(GOOD), body([numbered(record) for record in GOOD])
    odd = body([numbered(TEXT), None, MEDIA])
    alone = {page: many(Message)(page) for page in (texts, numbers, odd)}
    for page in (numbers, numbers, texts, texts, odd, numbers, odd, texts):
        again = PAGE(page)
        assert (again.items, again.repairs) == (alone[page].items, alone[page].repairs)


sizes = st.none() | st.integers(-5, 2**40) | st.integers(0, 9**30).map(str) | st.text(max_size=3)
records = st.fixed_dictionaries(
    {"id": st.integers() | st.integers().map(str) | st.integers(10**25, 10**40)},
    optional={
        "parentId": st.none() | st.integers() | st.text(max_size=3),
        "data": st.fixed_dictionaries(
            {},
            optional={"attachments": st.lists(st.fixed_dictionaries({"url": st.just("u"), "size": sizes}))},
        ),
    },
)


@given(st.lists(records, max_size=4))
def test_decoded_at_once_or_record_by_record_the_page_is_the_same(changes: list[dict[str, Any]]) -> None:
    served = [{**TEXT, "type": "file", **change} for change in changes]
    at_once = PAGE(body(served))
    singly = PAGE(body([*served, None]))
    assert at_once.items == singly.items[:-1]
    assert at_once.repairs == singly.repairs
    for item in at_once.items:
        assert type(item.id) is str
        assert type(item.parent_id) is not int
