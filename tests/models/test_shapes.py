"""Each record's names on the wire, and which of its fields the service may leave out."""

import json
from typing import Any

import msgspec
import pytest

from chatrest._models.calls import CallContent, CallData, CallEntities, CallEntity, Recording
from chatrest._models.conversations import Conversation
from chatrest._models.entities import Entity, EntityWrapper
from chatrest._models.groups import Member
from chatrest._models.messages import ActionEntities, SentMessage
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._models.users import AuthToken
from chatrest._models.webhooks import Webhook
from tests.cases import loop_over

USER: dict[str, Any] = {
    "uid": "u",
    "name": "n",
    "role": "r",
    "avatar": "https://a",
    "status": "offline",
    "conversationId": "c",
}
PARTY = {"entity": USER, "entityType": "user"}
CHANNEL = {"secret": "s", "service": "w", "identity": "i"}
CALL: dict[str, Any] = {
    "data": {"entities": {"sender": PARTY, "receiver": PARTY}, "metadata": {}},
    "type": "video",
    "sender": "a",
    "receiver": "b",
    "receiverType": "user",
    "status": "initiated",
    "sessionid": "s",
    "conversationId": "c",
    "initiatedAt": 1,
    "joinedAt": 2,
    "startedAt": 3,
    "wsChannel": CHANNEL,
}
SHAPES: list[tuple[type[Any], dict[str, Any], set[str]]] = [
    (Pagination, {"total": 1, "count": 2, "per_page": 3, "current_page": 4, "total_pages": 5}, set()),
    (Position, {"id": 5, "affix": "append"}, set()),
    (Position, {"id": "5", "sentAt": 1, "updatedAt": 2, "affix": "prepend"}, set()),
    (Meta, {"pagination": {"per_page": 3, "total_pages": 2}, "cursor": {"id": 5, "affix": "append"}}, set()),
    (CallData, CALL["data"], set()),
    (CallEntity, CALL, {"sessionid", "type", "status", "sender", "receiver", "receiverType"}),
    (
        CallEntities,
        {"by": PARTY, "on": {"entity": CALL, "entityType": "call"}, "for": PARTY},
        {"by", "on", "for"},
    ),
    (Member, {**USER, "scope": "participant", "joinedAt": 1, "isBanned": True, "bannedAt": 2}, {"uid"}),
    (
        ActionEntities,
        {"by": PARTY, "on": {"entity": {"any": 1}, "entityType": "message"}, "for": PARTY},
        set(),
    ),
    (
        Conversation,
        {
            "conversationId": "a_user_b",
            "unreadMessageCount": "3",
            "lastMessage": {"id": "5", "receipts": {"data": [[]]}},
            "conversationWith": USER,
        },
        {"conversationId"},
    ),
    (SentMessage, {"success": True, "message": "m", "data": {"id": "5"}, "error": {"code": "c"}}, set()),
    (Recording, {"rid": "r", "duration": 1.5, "startTime": 1, "endTime": 2, "recording_url": "u"}, {"rid"}),
    (AuthToken, {"uid": "u", "authToken": "t", "wsChannel": CHANNEL}, {"uid", "authToken"}),
    (Webhook, {"id": "w", "webhookURL": "https://h", "useBasicAuth": True}, {"id"}),
]
"""Records with names, or types, that are not those of their fields."""


@loop_over(("kind", "served", "required"), SHAPES)
def test_a_record_reads_and_writes_every_json_name(
    kind: type[Any], served: dict[str, Any], required: set[str]
) -> None:
    record = msgspec.convert(served, kind)
    back = json.loads(msgspec.json.encode(record))
    assert {name: back.get(name, "not read") for name in served} == served or _same(back, served)


def _same(back: Any, served: Any) -> bool:
    """Return True if `back` has all that was served; absent members may be null."""
    if isinstance(served, dict):
        return all(name in back and _same(back[name], value) for name, value in served.items())
    return bool(back == served)


@loop_over(("kind", "served", "required"), SHAPES)
def test_a_record_needs_only_its_required_members(
    kind: type[Any], served: dict[str, Any], required: set[str]
) -> None:
    msgspec.convert({name: served[name] for name in required}, kind)
    for name in required:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({each: value for each, value in served.items() if each != name}, kind)


def test_a_call_message_has_all_fields_of_its_call() -> None:
    entities = {"by": PARTY, "on": {"entity": CALL, "entityType": "call"}, "for": PARTY}
    content = msgspec.convert({"action": "initiated", "entities": entities}, CallContent)
    assert content.entities.on.entity.session_id == "s"
    assert content.entities.on.entity.sessionid == "s"
    assert content.entities.for_.entity_type == "user"
    assert json.loads(msgspec.json.encode(content)) == {"action": "initiated", "entities": entities}


def test_a_wrapper_needs_only_its_entity() -> None:
    assert msgspec.convert({"entity": {}}, EntityWrapper[Entity]) == EntityWrapper(Entity())
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"entityType": "user"}, EntityWrapper[Entity])


@pytest.mark.parametrize("value", [5, "5", None])
def test_a_position_takes_numbers_texts_and_null(value: Any) -> None:
    assert msgspec.convert({"id": value}, Position).id == value
