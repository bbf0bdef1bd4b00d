"""Each record's names on the wire, and which of its fields the service may leave out."""

import json
from typing import Any

import msgspec
import pytest

from chatrest.models.apps import ApiKey, AppInfo
from chatrest.models.calls import CallContent, CallData, CallEntities, CallEntity, Recording, WsChannel
from chatrest.models.conversations import Conversation, ConversationParty
from chatrest.models.entities import Entity, EntityWrapper, Parties
from chatrest.models.groups import Group, Member
from chatrest.models.messages import (
    ActionContent,
    ActionEntities,
    Attachment,
    Content,
    CustomContent,
    InteractiveContent,
    Reaction,
    ReactionCount,
    SentMessage,
)
from chatrest.models.meta import Meta, Pagination, Position
from chatrest.models.outcomes import Ack, ItemAck
from chatrest.models.roles import Feature, Permission, PermissionMap, Role
from chatrest.models.users import AuthToken, DeactivatedUsers, ReactivatedUsers, User
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
    (Entity, USER, set()),
    (
        Entity,
        {
            "guid": "g",
            "name": "n",
            "type": "public",
            "owner": "o",
            "membersCount": 2,
            "icon": "i",
            "createdAt": 1,
        },
        set(),
    ),
    (Parties, {"sender": PARTY, "receiver": PARTY}, set()),
    (WsChannel, CHANNEL, set()),
    (CallData, CALL["data"], set()),
    (CallEntity, CALL, {"sessionid", "type", "status", "sender", "receiver", "receiverType"}),
    (
        CallEntities,
        {"by": PARTY, "on": {"entity": CALL, "entityType": "call"}, "for": PARTY},
        {"by", "on", "for"},
    ),
    (Attachment, {"url": "u", "name": "n", "mimeType": "m", "extension": "e", "size": 5}, {"url"}),
    (
        Ack,
        {
            "success": True,
            "message": "m",
            "conversationId": "c",
            "messageId": "5",
            "readAt": 1,
            "deliveredAt": 2,
            "uid": "u",
            "guid": "g",
        },
        set(),
    ),
    (
        Member,
        {
            **USER,
            "scope": "participant",
            "joinedAt": 1,
            "guid": "g",
            "hasJoined": True,
            "isBanned": True,
            "bannedAt": 2,
        },
        {"uid"},
    ),
    (Entity, {"guid": "g", "hasJoined": False, "statusMessage": "s"}, set()),
    (Content, {"text": "t", "caption": "c"}, set()),
    (ReactionCount, {"reaction": "+", "count": 2, "reactedByMe": True}, {"reaction", "count"}),
    (
        Content,
        {"text": "t", "url": "u", "reactions": [{"reaction": "+", "count": 1}], "mentions": {"u": USER}},
        set(),
    ),
    (CustomContent, {"customData": [1, {"a": None}], "metadata": {}}, set()),
    (
        ActionEntities,
        {"by": PARTY, "on": {"entity": {"any": 1}, "entityType": "message"}, "for": PARTY},
        set(),
    ),
    (ActionContent, {"action": "edited", "metadata": {}}, {"action"}),
    (
        User,
        {
            **USER,
            "createdAt": 1,
            "statusMessage": "s",
            "lastActiveAt": 2,
            "hasBlockedMe": False,
            "blockedByMe": True,
        },
        {"uid"},
    ),
    (
        Reaction,
        {
            "id": "1",
            "messageId": "5",
            "reaction": "+",
            "uid": "u",
            "reactedAt": 7,
            "reactedBy": USER,
            "reactedByMe": True,
        },
        {"id", "messageId", "reaction", "uid", "reactedAt"},
    ),
    (
        Conversation,
        {
            "conversationId": "a_user_b",
            "conversationType": "user",
            "unreadMessageCount": "3",
            "createdAt": 1,
            "updatedAt": 2,
            "lastMessage": {"id": "5", "receipts": {"data": [[]]}},
            "conversationWith": USER,
            "tags": ["x"],
            "pinnedAt": 5,
            "pinnedBy": "a",
        },
        {"conversationId"},
    ),
    (
        ConversationParty,
        {
            "guid": "g",
            "membersCount": 5,
            "onlineMembersCount": 1,
            "hasJoined": True,
            "scope": "admin",
            "joinedAt": 1,
            "updatedBy": "u",
            "description": "d",
            "icon": "i",
            "owner": "o",
            "type": "public",
        },
        set(),
    ),
    (ConversationParty, {**USER, "statusMessage": "s", "blockedByMe": True, "deactivatedAt": 0}, set()),
    (
        InteractiveContent,
        {
            "interactiveData": {"title": "t"},
            "interactionGoal": {"type": "none", "elementIds": []},
            "allowSenderInteraction": True,
            "entities": {"sender": PARTY},
        },
        set(),
    ),
    (SentMessage, {"success": True, "message": "m", "data": {"id": "5"}, "error": {"code": "c"}}, set()),
    (Recording, {"rid": "r", "duration": 1.5, "startTime": 1, "endTime": 2, "recording_url": "u"}, {"rid"}),
    (
        AuthToken,
        {
            "uid": "u",
            "authToken": "t",
            "createdAt": 1,
            "platform": "p",
            "userAgent": "a",
            "appInfo": {},
            "jwt": "j",
            "fat": "f",
            "wsChannel": CHANNEL,
            "settings": {"a": 1},
            "name": "n",
            "status": "offline",
            "role": "r",
            "avatar": "x",
            "link": "l",
            "statusMessage": "s",
            "metadata": {},
            "tags": ["t"],
            "lastActiveAt": 2,
            "updatedAt": 3,
            "deactivatedAt": 0,
            "blockedByMe": False,
        },
        {"uid", "authToken"},
    ),
    (
        AppInfo,
        {
            "id": "a",
            "name": "n",
            "plan": "p",
            "region": "us",
            "state": "s",
            "owner": 5,
            "createdAt": 1,
            "trialEndsAt": 2,
            "appOwner": {},
            "appRegion": {},
            "apiKeys": {},
            "accessKey": "k",
        },
        {"id"},
    ),
    (
        Group,
        {
            "guid": "g",
            "name": "n",
            "type": "public",
            "owner": "u",
            "createdAt": 1,
            "membersCount": 2,
            "conversationId": "group_g",
            "description": "d",
            "icon": "i",
            "metadata": {"a": 1},
            "tags": ["t"],
            "updatedAt": 3,
            "updatedBy": "u",
            "scope": "admin",
            "joinedAt": 4,
            "hasJoined": True,
            "onlineMembersCount": 1,
        },
        {"guid"},
    ),
    (ApiKey, {"apiKey": "k", "name": "n", "scope": "authOnly", "createdAt": 1}, {"apiKey"}),
    (
        Role,
        {
            "role": "r",
            "name": "n",
            "description": "d",
            "createdAt": 1,
            "updatedAt": 2,
            "metadata": {},
            "settings": {"listUsers": "all", "sendMessagesTo": "friendsOnly"},
        },
        {"role"},
    ),
    (Feature, {"key": "u.x", "title": "t", "description": "d", "path": "p", "createdAt": 1}, {"key"}),
    (
        Permission,
        {
            "id": "a.b",
            "type": "role",
            "title": "t",
            "description": "d",
            "dataType": "stringArray",
            "availableValues": ["x"],
            "defaultValue": [],
            "createdAt": 1,
            "updatedAt": 2,
        },
        {"id"},
    ),
    (PermissionMap, {"permissions": {"a": "deny", "b": ["x"]}}, {"permissions"}),
    (ItemAck, {"success": True, "message": "m", "data": {}, "error": {"code": "E"}}, set()),
    (DeactivatedUsers, {"deactivatedUids": ["u"]}, {"deactivatedUids"}),
    (ReactivatedUsers, {"nonDeactivatedUids": ["u"]}, {"nonDeactivatedUids"}),
]


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


@loop_over(("kind", "served", "required"), SHAPES)
def test_unknown_members_are_ignored(kind: type[Any], served: dict[str, Any], required: set[str]) -> None:
    assert msgspec.convert({**served, "from the future": 1}, kind) == msgspec.convert(served, kind)


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
