"""A delivery of every trigger of the operations table, made of its records; and what the event must show."""

import json
from typing import Any

from chatrest.webhooks import (
    CallEvent,
    CallSessionEvent,
    CampaignEvent,
    ConversationEvent,
    GroupEvent,
    MessageEvent,
    ModerationEvent,
    NotificationEvent,
    ReactionEvent,
    ReceiptEvent,
    RecordingEvent,
    TranscriptionEvent,
    UserBlockEvent,
    UserConnectionEvent,
)

ALICE = {
    "uid": "alice", "name": "Alice", "role": "default", "status": "online", "createdAt": 1700000000,
    "deactivatedAt": 0, "hasBlockedMe": False,
}  # fmt: skip
BOB = ALICE | {"uid": "bob", "name": "Bob"}
GROUP = {
    "guid": "team", "name": "Team", "type": "public", "owner": "alice", "createdAt": 1700000000,
    "membersCount": 2, "conversationId": "group_team", "onlineMembersCount": 1,
}  # fmt: skip
PARTIES = {
    "sender": {"entity": ALICE, "entityType": "user"}, "receiver": {"entity": BOB, "entityType": "user"},
}  # fmt: skip
MESSAGE: dict[str, Any] = {
    "id": "17", "conversationId": "alice_user_bob", "sender": "alice", "receiverType": "user",
    "receiver": "bob", "category": "message", "type": "text",
    "data": {"text": "hello", "entities": PARTIES}, "sentAt": 1700000001, "updatedAt": 1700000001,
}  # fmt: skip
ACTION = MESSAGE | {
    "id": "18", "category": "action", "type": "message",
    "data": {
        "action": "edited",
        "entities": {
            "by": {"entity": ALICE, "entityType": "user"},
            "on": {"entity": MESSAGE | {"editedAt": 1700000002}, "entityType": "message"},
            "for": {"entity": BOB, "entityType": "user"},
        },
    },
}  # fmt: skip
CALL = MESSAGE | {
    "id": "19", "category": "call", "type": "audio",
    "data": {
        "action": "initiated",
        "entities": {
            "by": {"entity": ALICE, "entityType": "user"},
            "on": {
                "entity": {
                    "sessionid": "v1.s", "type": "audio", "status": "initiated", "sender": "alice",
                    "receiver": "bob", "receiverType": "user", "initiatedAt": 1700000001,
                    "wsChannel": {"identity": "i", "service": "s", "secret": "s3cr3t"},
                },
                "entityType": "call",
            },
            "for": {"entity": BOB, "entityType": "user"},
        },
    },
}  # fmt: skip
REACTION = {
    "id": "r1", "messageId": "17", "reaction": "😀", "uid": "bob", "reactedAt": 1700000003, "reactedBy": BOB,
}  # fmt: skip
OCCUPANT = {"joined_at": 1700000001, "left_at": 1700000009, "name": "Alice", "audio_call": "true"}

WITHOUT_ID = {name: value for name, value in MESSAGE.items() if name != "id"}


def receipt(action: str) -> dict[str, Any]:
    body = {"action": action, "messageId": "17", "user": BOB, "timestamp": 1700000004}
    return {
        "receiver": "alice", "receiverType": "user", "type": "receipts", "sender": "bob",
        "messageSender": "alice", "body": body,
    }  # fmt: skip


def receipt_of_all(action: str) -> dict[str, Any]:
    body = {"action": action, "messageId": "17"}
    return {"receiver": "team", "receiverType": "group", "messageSender": "alice", "body": body}


def legacy_receipt(action: str, **times: int) -> dict[str, Any]:
    return {
        "messageId": "17", "receiptType": action, "messageSender": "alice", "receiptSender": "bob",
        "receiptReceiver": "alice", "receiverType": "user", **times,
    }  # fmt: skip


CONNECTION = {
    "timestamp": 1700000000123,
    "user": ALICE,
    "status": "online",
    "currentConnection": {"action": "connected", "platform": "web", "connectedAt": 1700000000100},
    "userPresenceChanged": True,
}
MEMBERS = {"group": GROUP, "members": {"bob": BOB}, "by": ALICE}
SESSION = {"created_at": 1700000001, "sessionId": "v1.s"}
ENDED = SESSION | {"all_occupants": [OCCUPANT], "destroyed_at": 1700000009}
PARTICIPANT = {"occupant": OCCUPANT, "initial_config": {"audio": "true"}, "sessionId": "v1.s"}
DECISION = {
    "message": MESSAGE | {"data": {"text": "hello", "moderation": {"status": "disapproved"}}},
    "moderation": [{"condition": {"id": "c"}, "rule": {"id": "r"}}],
}
FAILURE = {
    "resource": "message", "contentType": "text", "outcome": "failed", "completedAt": 1700000001,
    "failures": [{"reason": "timeout"}],
}  # fmt: skip
NOTICE = {"to": {"uid": "bob"}, "messages": [MESSAGE, CALL], "senderDetails": {"uid": "alice"}}
PUSH = {"to": {"uid": "bob"}, "notificationDetails": {"title": "Alice", "body": "hello", "type": "chat"}}


def _each(names: str, data: Any, kind: type[Any], **extras: Any) -> list[tuple[str, Any, type[Any], Any]]:
    return [(name, data, kind, extras) for name in names.split()]


CURRENT = [
    *_each("message_sent user_mentioned message_pinned message_unpinned", {"message": MESSAGE}, MessageEvent),
    *_each("message_edited message_deleted", {"message": ACTION}, MessageEvent),
    *_each("message_delivery_receipt", receipt("delivered"), ReceiptEvent),
    *_each("message_read_receipt", receipt("read"), ReceiptEvent),
    *_each("message_delivered_to_all", receipt_of_all("delivered"), ReceiptEvent),
    *_each("message_read_by_all", receipt_of_all("read"), ReceiptEvent),
    *_each("message_reaction_added message_reaction_removed", {"reaction": REACTION}, ReactionEvent),
    *_each(
        "conversation_pinned conversation_unpinned",
        {"conversation": {"conversationId": "group_team", "conversationType": "group", "pinnedBy": "alice"}},
        ConversationEvent,
    ),
    *_each("user_blocked user_unblocked", {"users": {"bob": BOB}, "by": ALICE}, UserBlockEvent),
    *_each("user_connection_status_changed", CONNECTION, UserConnectionEvent),
    *_each("group_created group_updated group_deleted", {"group": GROUP, "by": ALICE}, GroupEvent),
    *_each(
        "group_member_joined group_member_left group_member_added group_member_kicked group_member_banned "
        "group_member_unbanned group_member_removed",
        MEMBERS,
        GroupEvent,
    ),
    *_each(
        "group_member_scope_changed",
        MEMBERS | {"members": {"bob": BOB | {"scope": "admin", "oldScope": "participant"}}},
        GroupEvent,
    ),
    *_each("group_owner_transferred", {"group": GROUP, "oldOwner": "bob", "by": ALICE}, GroupEvent),
    *_each(
        "call_initiated call_busy call_cancelled call_rejected call_unanswered", {"call": CALL}, CallEvent
    ),
    *_each("call_started", SESSION, CallSessionEvent, type="call"),
    *_each("call_participant_joined call_participant_left", PARTICIPANT, CallSessionEvent, type="call"),
    *_each("call_ended", ENDED, CallSessionEvent, type="call"),
    *_each("meeting_started", SESSION, CallSessionEvent, type="meet"),
    *_each("meeting_participant_joined meeting_participant_left", PARTICIPANT, CallSessionEvent, type="meet"),
    *_each("meeting_ended", ENDED, CallSessionEvent, type="meet"),
    *_each(
        "recording_generated",
        {
            "recordingDate": "2023-11-14", "duration": "12.5", "startTime": "1700000001", "sessionId": "v1.s",
            "recording_url": "https://files.example/r.mp4",
        },
        RecordingEvent,
    ),
    *_each(
        "transcription_generated",
        {
            "sessionId": "v1.s", "tid": "t1", "transcriptDate": "2023-11-14", "startTime": 1, "endTime": 2,
            "transcript_url": "https://files.example/t.json",
        },
        TranscriptionEvent,
    ),
    *_each(
        "after_campaign_completed after_campaign_failed after_notification_created after_feed_item_sent "
        "after_feed_item_delivered after_feed_item_read after_feed_item_interacted "
        "after_push_notification_sent after_push_notification_delivered after_push_notification_clicked",
        {"campaign": {"id": "c1"}},
        CampaignEvent,
    ),
    *_each("moderation_engine_approved moderation_engine_blocked", DECISION, ModerationEvent),
    *_each("moderation_manual_approved", DECISION | {"reviewed": True}, ModerationEvent),
    *_each("moderation_engine_failed", {"message": MESSAGE, "failed": FAILURE}, ModerationEvent),
    *_each("email-notification-payload-generated", NOTICE | {"subject": "news"}, NotificationEvent),
    *_each("sms-notification-payload-generated", NOTICE | {"smsContent": "news"}, NotificationEvent),
    *_each("push-notification-payload-generated", PUSH, NotificationEvent),
]  # fmt: skip
_OLD: dict[str, Any] = {"origin": {"platform": "rest"}, "chatAPIVersion": "v3"}
LEGACY = [
    *_each("before_message", WITHOUT_ID, MessageEvent, **_OLD),
    *_each("after_message", MESSAGE, MessageEvent, **_OLD),
    *_each("message_delivery_receipt", legacy_receipt("delivered", deliveredAt=5), ReceiptEvent, **_OLD),
    *_each("message_read_receipt", legacy_receipt("read", readAt=6), ReceiptEvent, **_OLD),
    *_each("user_connection_status_change", CONNECTION, UserConnectionEvent, **_OLD),
    *_each("after_connection_status_changed", CONNECTION, UserConnectionEvent, **_OLD),
]


def delivery(trigger: str, data: Any, **extras: Any) -> bytes:
    envelope = {"trigger": trigger, "data": data, "appId": "app1", "region": "eu", "webhook": "w1"}
    return json.dumps(envelope | extras).encode()
