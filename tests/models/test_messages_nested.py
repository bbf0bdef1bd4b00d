"""Nested messages and counts: typed where they are looked at, and written as they were served."""

import json
import pickle
from typing import Any

import pytest
from msgspec import UNSET, structs

from chatrest._core.replies.decode import many
from chatrest._core.replies.one_record import parse
from chatrest._models.conversations import Conversation
from chatrest._models.messages import (
    ActionMessage,
    AddedMember,
    CallMessage,
    MediaMessage,
    Message,
    MessageOutcome,
    SentMessage,
    TextMessage,
    UnknownMessage,
)
from chatrest._models.moderation import BlockedMessage, ReviewedMessage
from tests.core.replies.documented import CALL_MESSAGE, COMMON, TEXT
from tests.support.cases import loop_over

ACTION = {**COMMON, "category": "action", "type": "groupMember", "data": {"action": "added"}}
MEDIA = {**TEXT, "type": "image", "data": {"attachments": [{"url": "u"}], "caption": "c"}}
HOLDERS: list[tuple[Any, str, dict[str, Any]]] = [
    (Conversation, "lastMessage", {"conversationId": "c"}),
    (TextMessage, "quotedMessage", TEXT),
    (CallMessage, "lastReply", CALL_MESSAGE),
    (UnknownMessage, "quotedMessage", {**TEXT, "category": "poll"}),
    (SentMessage, "data", {"success": True}),
    (MessageOutcome, "data", {"success": True}),
    (AddedMember, "data", {"success": True}),
    (BlockedMessage, "message", {"ruleId": "r"}),
    (ReviewedMessage, "message", {"ruleId": "r"}),
]
NAMES = {"lastMessage": "last_message", "quotedMessage": "quoted_message", "lastReply": "last_reply"}


def nested(kind: Any, member: str, record: dict[str, Any], message: Any) -> Any:
    held = parse(kind, {**record, member: message})
    return held, getattr(held, NAMES.get(member, member))


@loop_over(("kind", "member", "record"), HOLDERS)
def test_a_nested_message_is_typed_and_written_unchanged(
    kind: Any, member: str, record: dict[str, Any]
) -> None:
    for message, expected in ((TEXT, TextMessage), (MEDIA, MediaMessage), (ACTION, ActionMessage)):
        served = {**message, "from the future": {"a": 1}}
        held, typed = nested(kind, member, record, served)
        assert type(typed) is expected
        assert typed == parse(Message, message)
        assert held.to_dict()[member] == json.loads(held.to_json())[member] == served
        assert "secret" not in repr(held) or "[hidden]" in repr(held)


@loop_over(("kind", "member", "record"), HOLDERS)
@loop_over(
    "damage", [5, "x", True, [], [1], {}, {"id": None}, {**TEXT, "category": "poll"}, {**TEXT, "sentAt": {}}]
)
def test_a_damaged_nested_message_is_unknown_and_fails_nothing(
    kind: Any, member: str, record: dict[str, Any], damage: Any
) -> None:
    held, message = nested(kind, member, record, damage)
    assert type(message) is UnknownMessage
    assert json.loads(message.raw) == damage
    assert message.reason
    assert held.to_dict()[member] == damage


@loop_over("quoted", ["\ud83d", {"\ud83d": 1}, {"id": "1", "data": {"\ud83d": "\udfff"}}, [1], 7])
def test_a_nested_message_of_any_shape_fails_nothing(quoted: Any) -> None:
    record = parse(Message, json.dumps(TEXT | {"quotedMessage": quoted}).encode())
    assert record.quoted_message.id in ("", "1")
    assert "quoted_message" in repr(record)
    assert record.to_dict()["quotedMessage"] == quoted


def test_a_damaged_nested_message_keeps_its_page_on_the_fast_way() -> None:
    records = [
        {**TEXT, "id": str(number), "quotedMessage": damage} for number, damage in enumerate([5, [], {}])
    ]
    page = many(Message)(json.dumps({"data": records}).encode())
    assert ([type(item) for item in page.items], page.repairs) == ([TextMessage] * 3, ())


def test_an_absent_nested_message_is_unset_and_null_becomes_none() -> None:
    assert Conversation("c").last_message is UNSET
    assert parse(Conversation, {"conversationId": "c", "lastMessage": None}).last_message is None
    message = parse(Message, TEXT)
    assert Conversation("c", last_message=message).last_message is message


def test_nested_messages_nest() -> None:
    deep = {**TEXT, "quotedMessage": {**TEXT, "id": "2", "quotedMessage": {**TEXT, "id": "3"}}}
    message = parse(Message, deep)
    assert message.quoted_message
    assert message.quoted_message.quoted_message
    assert message.quoted_message.quoted_message.id == "3"
    deepest: dict[str, Any] = {"id": "9"}
    for _ in range(5000):
        deepest = {"a": deepest}
    stored = Conversation("c", last_message=deepest)  # type: ignore[arg-type]
    assert type(stored.last_message) is UnknownMessage


def test_copies_and_pickles_have_the_stored_values() -> None:
    conversation = parse(
        Conversation, {"conversationId": "c", "lastMessage": TEXT, "unreadMessageCount": "3"}
    )
    for twin in (pickle.loads(pickle.dumps(conversation)), structs.replace(conversation)):
        assert twin == conversation
        assert twin.last_message == parse(Message, TEXT)
        assert twin.to_json() == conversation.to_json()


@loop_over(
    ("served", "shown"),
    [
        ("3", 3), (3, 3), ("0", 0), (None, None), ("many", UNSET), ("-1", UNSET), ("٣", UNSET),
        ("9" * 5000, UNSET),
    ],
)  # fmt: skip
def test_a_count_is_a_number_and_written_unchanged(served: Any, shown: Any) -> None:
    record = {"conversationId": "c", "unreadMessageCount": served, "unreadMentionsCount": served}
    conversation = parse(Conversation, record)
    assert conversation.unread_message_count == conversation.unread_mentions_count == shown
    assert type(conversation.unread_message_count) is type(shown)
    assert conversation.to_dict() == record


def test_ids_of_a_conversation_are_texts() -> None:
    record = {
        "conversationId": "c", "latestMessageId": 7, "lastReadMessageId": "8", "lastDeliveredMessageId": 9,
        "deliveredAt": 1, "readAt": None,
    }  # fmt: skip
    conversation = parse(Conversation, record)
    assert (conversation.latest_message_id, conversation.last_read_message_id) == ("7", "8")
    assert (conversation.last_delivered_message_id, conversation.delivered_at) == ("9", 1)
    assert conversation.read_at is None
    assert conversation.to_dict() == record


def test_a_field_that_is_shown_in_another_form_stays_frozen() -> None:
    with pytest.raises(AttributeError):
        Conversation("c").last_message = None  # type: ignore[misc]
    assert "last_message" in {field.name for field in structs.fields(Conversation)}
    assert Conversation.last_message is vars(Conversation)["last_message"]
