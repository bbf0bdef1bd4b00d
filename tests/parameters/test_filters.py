"""Filters: each field's values, its name on the wire, and what an error says."""

from typing import Any

import msgspec
import pytest

from chatrest._core.requests.encode import ARRAYS, query_pairs
from chatrest._parameters.apps import ApiKeyQuery
from chatrest._parameters.checked import Filter
from chatrest._parameters.groups import GroupQuery, MemberQuery
from chatrest._parameters.messages import MessageQuery
from chatrest._parameters.users import UserQuery
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over

FLAG = ([True, False], [1, 0, "true", "yes", [True]])
TEXT = (["x", "a b&c=d", "漢"], ["", 1, b"x", ["x"], True])
TEXTS = ([["a"], ("a", "b"), {"b", "a"}, frozenset({"a"})], ["a", [], [""], ["a", 1], {"a": 1}, [None], 5])
SIZE = ([1, 10, 1000], [0, -1, 1001, 1.0, "5", True, 10**30])
ORDINAL = ([1, 7, 10**6], [0, -1, 1.0, "1", True])
SWITCH = ([0, 1], [2, -1, "1", 1.0])
STAMP = ([0, 1, 1_700_000_000, 2**40], [-1, 1.5, 1.0, "1", True])

FIELDS: list[tuple[type[Filter], str, str, tuple[list[Any], list[Any]]]] = [
    (MessageQuery, "search_key", "searchKey", TEXT),
    (MessageQuery, "has_links", "hasLinks", FLAG),
    (
        MessageQuery, "attachment_types", "attachmentTypes",
        (["image", "video", "audio", "file", ["image", "file"]], ["gif", "", ["image", "gif"], [], 1]),
    ),
    (
        MessageQuery, "mentioned_uids", "mentionedUids",
        ([["bob"], ("bob", "eve")], [True, "bob", [], [""], ["a,b"], ["a\tb"]]),
    ),
    (MessageQuery, "affix", "affix", (["append", "prepend"], ["", "after", "APPEND", True, ["append"]])),
    (MessageQuery, "id", "id", (["1", "998877"], ["", 1, b"1", ["1"]])),
    (MessageQuery, "types", "types", TEXTS),
    (MessageQuery, "limit", "limit", SIZE),
    (MessageQuery, "from_timestamp", "fromTimestamp", STAMP),
    (MessageQuery, "edited_at_to", "editedAt[to]", STAMP),
    (MessageQuery, "receiver_type", "receiverType", (["user", "group"], ["", "users", 1])),
    (MessageQuery, "saved", "saved", SWITCH),
    (UserQuery, "search_in", "searchIn", ([["name"], ["name", "uid"]], ["name", [], ["guid"], [1]])),
    (
        UserQuery, "status", "status",
        (["available", ["available", "offline"]], ["online", "", 1, [], ["online"]]),
    ),
    (UserQuery, "page", "page", ORDINAL),
    (GroupQuery, "search_in", "searchIn", ([["name"], ["guid", "name"]], ["name", [], [""], [1]])),
    (GroupQuery, "sort_by", "sortBy", (["name", "guid", "createdAt"], ["uid", "", 1])),
    (GroupQuery, "sort_order", "sortOrder", (["asc", "desc"], ["down", "", 1])),
    (GroupQuery, "type", "type", (["public", "private", "protected", "password"], ["open", "", 1])),
    (GroupQuery, "guid", "guid", (["den", "a b"], ["", "a\n", 1])),
    (GroupQuery, "members_count_gt", "membersCount[gt]", ([0, 1, 10**5], [-1, 1.5, "1", True])),
    (ApiKeyQuery, "scope", "scope", (["authOnly", "fullAccess"], ["all", "", 1])),
    (MemberQuery, "scopes", "scopes", ([["admin"], ["admin", "moderator"]], ["admin", [], ["owner"]])),
]  # fmt: skip
"""A field of each kind."""
VALID = [(kind, name, wire, value) for kind, name, wire, (valid, _) in FIELDS for value in valid]
INVALID = [(kind, name, value) for kind, name, _, (_, invalid) in FIELDS for value in invalid]


@loop_over(("kind", "name", "wire", "value"), VALID)
@loop_over("arrays", ARRAYS)
def test_a_valid_value_is_sent_with_its_name_in_the_query(
    kind: type[Filter], name: str, wire: str, value: Any, arrays: Any
) -> None:
    query = kind(**{name: value})
    pairs = list(query_pairs(query, arrays))
    if isinstance(value, bool):
        assert pairs == [(wire, "true" if value else "false")]
    elif isinstance(value, str | int):
        assert pairs == [(wire, str(value))]
    elif arrays == "comma" or wire == "mentionedUids":
        assert pairs == [(wire, ",".join(getattr(query, name)))]
    else:
        key = wire if arrays == "repeat" else f"{wire}[]"
        assert pairs == [(key, each) for each in getattr(query, name)]


@loop_over(("kind", "name", "value"), INVALID)
def test_the_error_for_an_invalid_value_names_the_field_and_the_allowed_values(
    kind: type[Filter], name: str, value: Any
) -> None:
    with pytest.raises(RequestInvalidError) as caught:
        kind(**{name: value})
    assert str(caught.value).startswith(f"{name} = {value!r}: expected ")
    assert len(str(caught.value).split(": expected ")[1]) > 10


def test_a_message_filter_begins_with_the_27_parameters_of_the_specification() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(MessageQuery)]
    assert (names[0], names[26], len(set(names[:27]))) == ("searchKey", "tags", 27)


@pytest.mark.parametrize("kind", ["sent_at", "updated_at", "edited_at"])
def test_a_window_of_another_time_ends_where_it_begins_or_later(kind: str) -> None:
    assert getattr(MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 5}), f"{kind}_to") == 5
    with pytest.raises(RequestInvalidError, match=rf"^{kind}_to = 4: .* expected {kind}_from \(5\)"):
        MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 4})


@pytest.mark.parametrize("name", ["sender", "id", "mentioned_uids"])
def test_an_id_or_a_uid_with_control_characters_is_refused(name: str) -> None:
    for uid in ("bob\n", "\rbob", "b\x00ob", "bob\x7f", "b\x1fob"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = "):
            MessageQuery(**{name: [uid] if name == "mentioned_uids" else uid})


@loop_over("name", ["search_key", "id", "category", "sender", "tags"])
def test_a_lone_surrogate_is_an_error(name: str) -> None:
    """A lone surrogate has no UTF-8."""
    with pytest.raises(RequestInvalidError):
        MessageQuery(**{name: ["\ud800"] if name == "tags" else "\ud800"})


def test_later_changes_of_a_list_do_not_change_a_filter() -> None:
    tags = ["a"]
    query = MessageQuery(tags=tags)  # type: ignore[arg-type]
    tags.append("")
    assert query.tags == ("a",)
    assert query == MessageQuery(tags=("a",))
    assert hash(query) == hash(MessageQuery(tags=("a",)))
    with pytest.raises(AttributeError):
        query.tags = ("b",)  # type: ignore[misc]


def test_a_set_is_sent_in_sorted_order() -> None:
    assert MessageQuery(tags={"c", "a", "b"}).tags == ("a", "b", "c")  # type: ignore[arg-type]


@loop_over("value", [object(), iter(["a"]), {1, "a"}, lambda: None])
def test_a_value_of_any_kind_gets_the_same_error(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^tags = .*: expected a list of texts"):
        MessageQuery(tags=value)


def test_a_number_of_very_many_digits_is_an_error() -> None:
    for name in ("limit", "from_timestamp", "search_key"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = .*: expected "):
            MessageQuery(**{name: -(10**5000)})  # type: ignore[arg-type]
