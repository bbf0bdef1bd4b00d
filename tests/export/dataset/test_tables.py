"""The columns of tables: values of records of any shape, and the members that are put in front."""

import pytest

from chatrest import RequestInvalidError
from chatrest.export.dataset.tables import COLUMNS, tables_of, with_member
from chatrest.export.formats.table_rows import row_values
from tests.cases import loop_over


def row(table: str, raw: bytes) -> dict[str, object]:
    names = [column.name for column in COLUMNS[table]]
    return {k: v for k, v in zip(names, row_values(COLUMNS[table], raw), strict=True) if v is not None}


def test_a_user_becomes_a_row() -> None:
    raw = b'{"uid":"ann","name":"Ann","createdAt":1600000000,"lastActiveAt":1600000000123,"tags":["a"],'
    assert row("users", raw + b'"metadata":{"team":"north"},"deactivatedAt":0}') == {
        "uid": "ann",
        "name": "Ann",
        "created_at": 1_600_000_000_000,
        "last_active_at": 1_600_000_000_123,
        "tags": ["a"],
        "metadata": '{"team":"north"}',
    }


def test_a_conversation_has_the_other_side_and_its_last_message() -> None:
    raw = (
        b'{"onBehalfOf":"ann","conversationId":"c","unreadMessageCount":"12","conversationWith":{"guid":"g"},'
    )
    assert row("conversations", raw + b'"lastMessage":{"id":7},"pinnedAt":"soon"}') == {
        "on_behalf_of": "ann", "conversation_id": "c", "unread_message_count": 12, "with_guid": "g",
        "last_message_id": "7",
    }  # fmt: skip


@loop_over(
    "raw",
    [b"[]", b"null", b"{", b'{"uid":{},"createdAt":true,"tags":{}}', b'{"createdAt":99999999999999999999}'],
)
def test_a_record_of_another_shape_is_a_row_without_values(raw: bytes) -> None:
    assert row("users", raw) == {}


def test_a_lone_surrogate_does_not_reach_a_file() -> None:
    assert row("users", b'{"name":"\\ud800x","metadata":{"a":"\\ud800"}}')["name"] == "\ufffdx"


@loop_over(
    ("raw", "expected"),
    [
        (b'{"uid": "ann",  "x":1.0}', b'{"guid":"a\\"b","uid": "ann",  "x":1.0}'),
        (b"{ }", b'{"guid":"a\\"b" }'),
        (b'{"guid":"own"}', b'{"guid":"own"}'),
        (b"null", b"null"),
    ],
)
def test_a_member_is_put_in_front_and_all_other_bytes_stay(raw: bytes, expected: bytes) -> None:
    assert with_member(raw, "guid", 'a"b') == expected


@loop_over("names", ["users", ["user"], [1], None, {"users"}])
def test_a_wrong_table_is_refused(names: object) -> None:
    with pytest.raises(RequestInvalidError, match="users, groups, members, conversations"):
        tables_of(names)


def test_tables_are_read_in_one_order() -> None:
    assert tables_of(["members", "users", "users"]) == ("users", "members")
