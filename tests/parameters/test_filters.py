"""Filters: each field's values, its name on the wire, and what an error says."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from chatrest.core.requests.encode import ARRAYS, query_pairs
from chatrest.errors import RequestInvalidError
from chatrest.parameters.apps import ApiKeyQuery, AppQuery
from chatrest.parameters.checked import Filter, PageQuery
from chatrest.parameters.groups import GroupQuery
from chatrest.parameters.messages import MessageQuery, ThreadQuery
from chatrest.parameters.relations import FriendQuery
from chatrest.parameters.users import UserQuery
from tests.cases import loop_over

FLAG = ([True, False], [1, 0, "true", "yes", [True]])
TEXT = (["x", "a b&c=d", "漢"], ["", 1, b"x", ["x"], True])
TEXTS = ([["a"], ("a", "b"), {"b", "a"}, frozenset({"a"})], ["a", [], [""], ["a", 1], {"a": 1}, [None], 5])
SIZE = ([1, 10, 1000], [0, -1, 1001, 1.0, "5", True, 10**30])
ORDINAL = ([1, 7, 10**6], [0, -1, 1.0, "1", True])
SWITCH = ([0, 1], [2, -1, "1", 1.0, True])
STAMP = ([0, 1, 1_700_000_000, 2**40], [-1, 1.5, 1.0, "1", True])

MESSAGE_FIELDS: dict[str, tuple[str, tuple[list[Any], list[Any]]]] = {
    "search_key": ("searchKey", TEXT),
    "has_attachments": ("hasAttachments", FLAG),
    "attachment_types": (
        "attachmentTypes",
        (["image", "video", "audio", "file", ["image", "file"]], ["gif", "", ["image", "gif"], [], 1]),
    ),
    "has_mentions": ("hasMentions", FLAG),
    "has_links": ("hasLinks", FLAG),
    "mentioned_uids": (
        "mentionedUids",
        ([["bob"], ("bob", "eve")], [True, "bob", [], [""], ["a,b"], ["a\tb"]]),
    ),
    "unread": ("unread", FLAG),
    "undelivered": ("undelivered", FLAG),
    "count": ("count", FLAG),
    "hide_replies": ("hideReplies", FLAG),
    "affix": ("affix", (["append", "prepend"], ["", "after", "APPEND", True, ["append"]])),
    "id": ("id", (["1", "998877"], ["", 1, b"1", ["1"]])),
    "category": ("category", TEXT),
    "categories": ("categories", TEXTS),
    "type": ("type", TEXT),
    "types": ("types", TEXTS),
    "my_mentions_only": ("myMentionsOnly", FLAG),
    "has_reactions": ("hasReactions", FLAG),
    "sender": ("sender", TEXT),
    "mentions_with_blocked_info": ("mentionsWithBlockedInfo", FLAG),
    "mentions_with_tag_info": ("mentionsWithTagInfo", FLAG),
    "per_page": ("perPage", SIZE),
    "limit": ("limit", SIZE),
    "from_timestamp": ("fromTimestamp", STAMP),
    "to_timestamp": ("toTimestamp", STAMP),
    "with_tags": ("withTags", FLAG),
    "tags": ("tags", TEXTS),
    "hide_messages_from_blocked_users": ("hideMessagesFromBlockedUsers", FLAG),
    "receiver_type": ("receiverType", (["user", "group"], ["", "users", 1])),
    "hide_deleted": ("hideDeleted", FLAG),
    "only_deleted": ("onlyDeleted", FLAG),
    "sent_at": ("sentAt", STAMP),
    "sent_at_from": ("sentAt[from]", STAMP),
    "sent_at_to": ("sentAt[to]", STAMP),
    "updated_at_from": ("updatedAt[from]", STAMP),
    "updated_at_to": ("updatedAt[to]", STAMP),
    "edited_at_from": ("editedAt[from]", STAMP),
    "edited_at_to": ("editedAt[to]", STAMP),
    "senders": ("senders", ([["bob"], ("bob", "eve")], ["bob", [], [""], ["a,b"]])),
    "conversation_id": ("conversationId", TEXT),
    "hide_quoted_messages": ("hideQuotedMessages", FLAG),
    "saved": ("saved", SWITCH),
    "pinned": ("pinned", SWITCH),
    "page": ("page", ORDINAL),
}
THREAD_FIELDS: dict[str, tuple[str, tuple[list[Any], list[Any]]]] = {
    "limit": ("limit", SIZE),
    "affix": ("affix", (["append", "prepend"], ["", "after"])),
    "updated_at": ("updatedAt", STAMP),
    "participated_by_me": ("participatedByMe", FLAG),
    "with_unread_reply_count": ("withUnreadReplyCount", FLAG),
    "with_mention_count": ("withMentionCount", FLAG),
}
USER_FIELDS: dict[str, tuple[str, tuple[list[Any], list[Any]]]] = {
    "search_key": ("searchKey", TEXT),
    "search_in": ("searchIn", ([["name"], ["name", "uid"]], ["name", [], ["guid"], [1]])),
    "status": ("status", (["available", ["available", "offline"]], ["online", "", 1, [], ["online"]])),
    "count": ("count", FLAG),
    "per_page": ("perPage", SIZE),
    "page": ("page", ORDINAL),
    "role": ("role", TEXT),
    "roles": ("roles", TEXTS),
    "tags": ("tags", TEXTS),
    "with_tags": ("withTags", FLAG),
    "only_deactivated": ("onlyDeactivated", FLAG),
    "with_deactivated": ("withDeactivated", FLAG),
    "created_at_from": ("createdAt[from]", STAMP),
    "created_at_to": ("createdAt[to]", STAMP),
    "updated_at_from": ("updatedAt[from]", STAMP),
    "updated_at_to": ("updatedAt[to]", STAMP),
}
GROUP_FIELDS: dict[str, tuple[str, tuple[list[Any], list[Any]]]] = {
    "search_key": ("searchKey", TEXT),
    "search_in": ("searchIn", ([["name"], ["guid", "name"]], ["name", [], [""], [1]])),
    "sort_by": ("sortBy", (["name", "guid", "createdAt"], ["uid", "", 1])),
    "sort_order": ("sortOrder", (["asc", "desc"], ["down", "", 1])),
    "per_page": ("perPage", SIZE),
    "page": USER_FIELDS["page"],
    "affix": ("affix", (["append", "prepend"], ["after", "", 1])),
    "updated_at": ("updatedAt", STAMP),
    "with_tags": ("withTags", FLAG),
    "tags": ("tags", TEXTS),
    "type": ("type", (["public", "private", "protected", "password"], ["open", "", 1])),
    "types": ("types", TEXTS),
    "has_joined": ("hasJoined", FLAG),
    "guid": ("guid", (["den", "a b"], ["", "a\n", 1])),
    "guids": ("guids", ([["den"], ("a", "b")], ["den", [], [""], ["a,b"]])),
    **{
        f"{name}_{bound}": (f"{wire}[{bound}]", STAMP)
        for name, wire in (("created_at", "createdAt"), ("updated_at", "updatedAt"))
        for bound in ("from", "to")
    },
    **{
        f"members_count_{bound}": (f"membersCount[{bound}]", ([0, 1, 10**5], [-1, 1.5, "1", True]))
        for bound in ("gt", "gte", "lt", "lte", "eq")
    },
}
FRIEND_FIELDS = {name: USER_FIELDS[name] for name in ("search_key", "per_page", "page")}
PAGE_FIELDS = {name: USER_FIELDS[name] for name in ("per_page", "page")}
KEY_FIELDS = {
    "scope": ("scope", (["authOnly", "fullAccess"], ["all", "", 1])),
    "search_key": ("searchKey", TEXT),
}
APP_FIELDS = {name: USER_FIELDS[name] for name in ("search_key", "per_page", "page")}
KINDS: list[tuple[type[Filter], dict[str, tuple[str, tuple[list[Any], list[Any]]]]]] = [
    (MessageQuery, MESSAGE_FIELDS),
    (ThreadQuery, THREAD_FIELDS),
    (UserQuery, USER_FIELDS),
    (AppQuery, APP_FIELDS),
    (GroupQuery, GROUP_FIELDS),
    (FriendQuery, FRIEND_FIELDS),
    (PageQuery, PAGE_FIELDS),
    (ApiKeyQuery, KEY_FIELDS),
]
VALID = [
    (kind, n, wire, value) for kind, table in KINDS for n, (wire, (ok, _)) in table.items() for value in ok
]
INVALID = [
    (kind, name, value) for kind, table in KINDS for name, (_, (_, bad)) in table.items() for value in bad
]


@pytest.mark.parametrize(("kind", "table"), KINDS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_table_has_every_field_and_its_name_in_the_query(
    kind: type[Filter], table: dict[str, Any]
) -> None:
    wire_names = {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
    assert wire_names == {name: wire for name, (wire, _) in table.items()}


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
    assert str(caught.value).startswith(f"{name} = {value!r}: allowed is ")
    assert len(str(caught.value).split(": allowed is ")[1]) > 10


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS])
def test_an_empty_filter_sends_no_parameters(kind: type[Filter]) -> None:
    assert list(query_pairs(kind(), "comma")) == []
    assert repr(kind()) == f"{kind.__name__}()"


def test_a_message_filter_begins_with_the_27_parameters_of_the_specification() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(MessageQuery)]
    assert (names[0], names[26], len(set(names[:27]))) == ("searchKey", "tags", 27)


@pytest.mark.parametrize("kind", ["sent_at", "updated_at", "edited_at"])
def test_a_window_of_another_time_ends_where_it_begins_or_later(kind: str) -> None:
    assert getattr(MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 5}), f"{kind}_to") == 5
    with pytest.raises(RequestInvalidError, match=rf"^{kind}_to = 4: .* allowed is {kind}_from \(5\)"):
        MessageQuery(**{f"{kind}_from": 5, f"{kind}_to": 4})


@pytest.mark.parametrize("name", ["sender", "id", "mentioned_uids"])
def test_an_id_or_a_uid_with_control_characters_is_refused(name: str) -> None:
    for uid in ("bob\n", "\rbob", "b\x00ob", "bob\x7f", "b\x1fob"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = "):
            MessageQuery(**{name: [uid] if name == "mentioned_uids" else uid})


@pytest.mark.parametrize("name", ["search_key", "id", "category", "sender", "tags"])
def test_a_lone_surrogate_is_an_error(name: str) -> None:
    """A lone surrogate has no UTF-8."""
    with pytest.raises(RequestInvalidError):
        MessageQuery(**{name: ["\ud800"] if name == "tags" else "\ud800"})


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_window_that_ends_before_it_begins_is_an_error(start: int, end: int) -> None:
    if start <= end:
        assert MessageQuery(from_timestamp=start, to_timestamp=end).to_timestamp == end
    else:
        with pytest.raises(RequestInvalidError, match=rf"to_timestamp = {end}.*from_timestamp \({start}\)"):
            MessageQuery(from_timestamp=start, to_timestamp=end)


def test_a_window_open_at_one_end_is_allowed() -> None:
    assert MessageQuery(from_timestamp=5).to_timestamp is None
    assert MessageQuery(to_timestamp=5).from_timestamp is None


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


def test_a_changed_copy_is_checked_too() -> None:
    query = MessageQuery(limit=5)
    assert msgspec.structs.replace(query, limit=6).limit == 6
    with pytest.raises(
        RequestInvalidError, match=re.escape("limit = 0: allowed is a whole number from 1 to 1000")
    ):
        msgspec.structs.replace(query, limit=0)


def test_an_unknown_field_and_a_positional_value_are_type_errors() -> None:
    with pytest.raises(TypeError):
        MessageQuery(serach_key="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MessageQuery("x")  # type: ignore[misc]


@pytest.mark.parametrize("value", [object(), iter(["a"]), {1, "a"}, lambda: None])
def test_a_value_of_any_kind_gets_the_same_error(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^tags = .*: allowed is a list of texts"):
        MessageQuery(tags=value)


def test_a_number_of_very_many_digits_is_an_error() -> None:
    for name in ("limit", "from_timestamp", "search_key"):
        with pytest.raises(RequestInvalidError, match=f"^{name} = .*: allowed is "):
            MessageQuery(**{name: -(10**5000)})  # type: ignore[arg-type]


def test_only_ids_and_uids_must_have_no_control_characters() -> None:
    assert MessageQuery(search_key="a\nb").search_key == "a\nb"
    assert UserQuery(tags=("a\tb",)).tags == ("a\tb",)
