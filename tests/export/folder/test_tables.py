"""The columns of tables: values of records of any shape, and the members that are put in front."""

import pytest

from chatrest import RequestInvalidError
from chatrest.export.folder.tables import tables_of, with_member
from tests.support.cases import loop_over


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
