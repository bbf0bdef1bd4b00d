"""The envelope of a list: its meta, and the positions in it that can or cannot be read."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest._core.replies.decode import Listing, many
from chatrest._core.replies.rows import rows
from chatrest._models.meta import Meta, PageCounts, Pagination, Position
from chatrest._models.users import User
from chatrest.errors import ReplyUnreadableError
from tests.core.replies.documented import PAGE, TEXT, body
from tests.support.cases import TOO_DEEP, loop_over

USERS = many(User)
READERS = [PAGE, rows]


def listings(meta: Any, **more: Any) -> list[Listing[Any]]:
    """Return the page with this `meta` as every reader reads it, decoded at once and record by record."""
    whole = [
        json.dumps({"data": records, "meta": meta, **more}).encode()
        for records in ([TEXT], [{**TEXT, "sentAt": "x"}], [])
    ]
    return [read(served) for read in READERS for served in whole]


@loop_over(
    ("served", "position"),
    [
        ({"id": 5, "affix": "append"}, Position("append", 5)),
        ({"id": "5"}, Position(id="5")),
        ({"sentAt": 1, "id": "7", "affix": "append"}, Position("append", "7", 1)),
        ({"updatedAt": 3}, Position(updated_at=3)),
        ({"createdAt": 3}, Position(created_at=3)),
        ({"cursor": "abc"}, Position(cursor="abc")),
        ({"messageId": 9}, Position(message_id=9)),
        (
            {"cursorField": "a", "cursorValue": 1, "cursorId": "b", "cursorAffix": "append"},
            Position(cursor_field="a", cursor_value=1, cursor_id="b", cursor_affix="append"),
        ),
        ({"id": 10**30}, Position(id=10**30)),
        ({"id": 5.0}, Position(id=5)),
        ({"id": None}, Position(id=None)),
        ({"id": None, "hasMore": False}, Position(id=None)),
        ({"id": 5, "from the future": [1]}, Position(id=5)),
    ],
)
def test_a_position_is_read_from_each_member_that_may_have_it(served: Any, position: Position) -> None:
    for name in ("cursor", "next", "previous"):
        for page in listings({name: served}):
            assert getattr(page.meta, name) == position
            assert page.position_fault is None
    for page in listings({}, cursor=served):
        assert page.cursor == position
        assert page.position_fault is None


@loop_over("served", [{}, [], None, {"affix": "append"}, "", 0, False, {"affix": "append", "x": None}])
def test_an_empty_value_is_neither_a_position_nor_a_fault(served: Any) -> None:
    for name in ("cursor", "next"):
        for page in listings({name: served}):
            assert page.position_fault is None
    for page in listings({}, cursor=served):
        assert page.position_fault is None


def test_a_page_without_positions_has_none() -> None:
    for page in listings({}):
        assert (page.meta, page.cursor, page.position_fault) == (Meta(), None, None)


UNREADABLE = [
    ("abc", "got text"),
    (5, "got whole number"),
    (1.5, "got number"),
    (True, "got boolean"),
    ([1], "got array"),
    ({"id": []}, "id: expected text or whole number, got array"),
    ({"id": {"$oid": "5"}}, "id: expected text or whole number, got object"),
    ({"id": True}, "id: expected text or whole number, got boolean"),
    ({"id": 1.5, "affix": "append"}, "id: expected text or whole number, got number"),
    ({"sentAt": [], "id": 5}, "sentAt: expected"),
    ({"affix": {}, "id": 5}, "affix: expected"),
    ({"foo": 7}, "none of its members is a known position ('foo')"),
    ({"affix": "append", "foo": 7, "bar": 1}, "none of its members is a known position ('foo, bar')"),
]


@loop_over(("served", "fault"), UNREADABLE)
def test_a_position_that_cannot_be_read_is_a_fault_and_the_items_arrive(served: Any, fault: str) -> None:
    for name in ("cursor", "next"):
        for page in listings({name: served}):
            assert page.position_fault is not None
            assert page.position_fault.startswith(f"meta.{name}")
            assert fault in page.position_fault
    for page in listings({}, cursor=served):
        assert page.position_fault is not None
        assert page.position_fault.startswith("cursor")
    page = PAGE(body([TEXT], {"next": served}))
    assert [item.id for item in page.items] == ["1002"]


@loop_over("served", [served for served, _ in UNREADABLE])
def test_the_way_back_is_never_a_fault(served: Any) -> None:
    for page in listings({"previous": served, "cursor": {"id": 5}}):
        assert page.position_fault is None
        assert page.meta.cursor == Position(id=5)


@loop_over("odd", [rb'"\ud800"', b'"\xff"', b"1e999", b"NaN", b"9" * 5000, b"[" * 900 + b"]" * 900])
def test_a_position_with_odd_bytes_is_a_fault_as_any_other(odd: bytes) -> None:
    for read in READERS:
        page = read(b'{"data":[],"meta":{"next":{"foo":%b}}}' % odd)
        assert page.position_fault is not None
        assert page.position_fault.startswith("meta.next")


def test_a_fault_never_repeats_a_value() -> None:
    for page in listings({"cursor": "s3cr3t", "next": {"token": "s3cr3t"}}):
        assert "s3cr3t" not in str(page.position_fault) + str(page.repairs)


@loop_over("meta", ["x", "", 5, 0, True, False, 1.5, [1], [{}]])
@loop_over("records", [[], {}, [TEXT]])
def test_a_meta_that_is_no_object_is_unreadable_whatever_the_data(meta: Any, records: Any) -> None:
    served = json.dumps({"data": records, "meta": meta}).encode()
    for read in READERS:
        with pytest.raises(ReplyUnreadableError, match=r"^meta: expected object, got "):
            read(served)


@pytest.mark.parametrize("meta", [None, [], {}])
def test_a_meta_that_is_null_or_empty_is_as_missing(meta: Any) -> None:
    for page in listings(meta):
        assert page.meta == Meta()
    assert [read(b'{"data":[]}').meta for read in READERS] == [Meta(), Meta()]


def test_meta_nested_too_deeply_is_unreadable() -> None:
    deep = b"[" * TOO_DEEP + b"]" * TOO_DEEP
    for name in (b"meta", b"cursor"):
        for read in READERS:
            with pytest.raises(ReplyUnreadableError, match="nested too deeply"):
                read(b'{"data":[],"%b":{"x":%b}}' % (name, deep))


@loop_over("value", ["x", 5, True, [1]])
@loop_over("name", ["pagination", "current"])
def test_pagination_or_current_of_another_type_is_absent_and_noted(name: str, value: Any) -> None:
    for page in listings({name: value, "cursor": {"id": 5}}):
        assert getattr(page.meta, name) is None
        assert page.meta.cursor == Position(id=5)
        assert any(line.startswith(f"meta.{name}: expected object, got ") for line in page.repairs)


def test_the_numbers_of_meta_are_read() -> None:
    served = {"pagination": {"total": 7, "per_page": 5}, "current": {"limit": 5, "count": 2}}
    for page in listings(served):
        assert page.meta.pagination == Pagination(7, None, 5)
        assert page.meta.current == PageCounts(5, 2)
    assert listings({"current": {"limit": "5"}})[0].meta.current == PageCounts(5)


def test_a_member_of_another_type_inside_meta_leaves_the_others() -> None:
    for page in listings({"pagination": {"total": [], "count": 3}, "cursor": {"id": 1}}):
        assert page.meta.pagination == Pagination(count=3)
        assert "meta.pagination.total: expected whole number, got array" in page.repairs


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "uid", "affix", "sentAt", "cursor", "next", "pagination", "count", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(values, max_size=4), values, values)
def test_any_json_is_a_page_with_every_record_or_unreadable(
    records: list[Any], meta: Any, cursor: Any
) -> None:
    served = json.dumps({"data": records, "meta": meta, "cursor": cursor}).encode()
    for read in (*READERS, USERS):
        with suppress(ReplyUnreadableError):
            page = read(served)
            assert len(page.items) == len(records)
            assert isinstance(page.meta, Meta)
            repr(page)
    if meta is None or meta == [] or isinstance(meta, dict):
        page = PAGE(served)
        assert len(page.items) == len(records)
        for position in (page.meta.cursor, page.meta.next, page.cursor):
            if position is not None and page.position_fault is None:
                held = [getattr(position, name) for name in position.__struct_fields__]
                assert all(value is UNSET or value is None or type(value) in (int, str) for value in held)


@loop_over(
    ("data", "uids"),
    [
        ({"uid": "ann"}, "ann"),
        ({"0": {"uid": "ann"}}, "ann"),
        ({"0": {"uid": "ann"}, "1": {"uid": "bob"}}, "ann bob"),
        ({"0": {"uid": "ann"}, "uid": "bob", "name": "Bob"}, "ann bob"),
        ({"uid": "bob", "2": {"uid": "ann"}}, "ann bob"),
        ({"uid": "bob", "2": {"x": 1}}, "bob"),
        ({"uid": "bob", "2": [{"uid": "ann"}]}, "bob"),
    ],
)
def test_an_array_may_be_written_as_an_object(data: Any, uids: str) -> None:
    """So in an example of the documents: one record under "0", and the members of another beside it."""
    page = USERS(json.dumps({"data": data, "meta": {}}).encode())
    assert [user.uid for user in page.items] == uids.split()


@pytest.mark.parametrize("data", [{"0": {"x": 1}}, {"0": {"uid": "ann"}, "x": 1}, {"x": 1}])
def test_an_object_that_is_no_array_is_unreadable(data: Any) -> None:
    with pytest.raises(ReplyUnreadableError, match="another object"):
        USERS(json.dumps({"data": data}).encode())
