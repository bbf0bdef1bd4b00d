"""Events: a class for the triggers whose `data` has the same shape, and `UnknownEvent`.

The table of triggers is at the end. A class names the struct of its `data` in the annotation.
"""

from typing import Any, Final, TypeAlias

from msgspec import UNSET, field

from .._models.messages import Message
from .._models.record import Json, Maybe, RawRecord, Record
from .payloads import (
    CallMessageData,
    CallSession,
    ConversationData,
    GroupData,
    LegacyReceipt,
    MessageData,
    ModerationData,
    NotificationData,
    ReactionData,
    Receipt,
    RecordingData,
    TranscriptionData,
    UserBlock,
    UserConnection,
)


class _Event(RawRecord, Record, kw_only=True):
    """The members of every envelope; texts that are absent are ""."""

    trigger: str
    app_id: str = ""
    region: str = ""
    webhook: str = ""
    data: Any
    type: Maybe[str] = UNSET
    """`call` or `meet`, for calls and meetings."""
    origin: Maybe[Json] = UNSET
    """Only in legacy envelopes: an object with `platform`."""
    chat_api_version: Maybe[str] = field(default=UNSET, name="chatAPIVersion")
    """Only in legacy envelopes."""
    raw: bytes
    """The body of the delivery, byte for byte."""


class MessageEvent(_Event, kw_only=True):
    """A message was sent, edited, deleted, pinned or unpinned, or mentions a user.

    Also the legacy `after_message`, and `before_message`, whose message has the id "".
    """

    data: MessageData

    @property
    def message(self) -> Message:
        """The message, which is `data.message`."""
        return self.data.message


class ReceiptEvent(_Event, kw_only=True):
    """A message was delivered or read. Both shapes of `data` have the properties of a `Receipt`."""

    data: Receipt | LegacyReceipt


class ReactionEvent(_Event, kw_only=True):
    """A reaction was added or removed."""

    data: ReactionData


class ConversationEvent(_Event, kw_only=True):
    """A conversation was pinned or unpinned."""

    data: ConversationData


class UserBlockEvent(_Event, kw_only=True):
    """A user blocked or unblocked others."""

    data: UserBlock


class UserConnectionEvent(_Event, kw_only=True):
    """A user came online or went offline."""

    data: UserConnection


class GroupEvent(_Event, kw_only=True):
    """A group, or its members, changed."""

    data: GroupData


class CallEvent(_Event, kw_only=True):
    """A call was initiated; on older services also: it was rejected, cancelled, busy or not answered."""

    data: CallMessageData


class CallSessionEvent(_Event, kw_only=True):
    """A call or a meeting started or ended, or a participant joined or left it."""

    data: CallSession


class RecordingEvent(_Event, kw_only=True):
    """A recording of a call or a meeting is ready."""

    data: RecordingData


class TranscriptionEvent(_Event, kw_only=True):
    """A transcription of a call or a meeting is ready."""

    data: TranscriptionData


class ModerationEvent(_Event, kw_only=True):
    """A message was approved or blocked by moderation, or its moderation failed."""

    data: ModerationData


class CampaignEvent(_Event, kw_only=True):
    """An event of a campaign. No `data` of these is documented: it is JSON as served."""

    data: Json


class NotificationEvent(_Event, kw_only=True):
    """A notification for the app to send, as the app is its custom provider; `webhook` is `custom`."""

    data: NotificationData


class UnknownEvent(_Event, kw_only=True):
    """An event with a trigger that is not known, or with `data` that is not of its trigger's shape.

    `data` is the decoded JSON of any shape, without the nested members of one that is nested too deeply;
    `raw` has everything. `reason` is the reason, without values.
    """

    data: Any
    reason: str


Event: TypeAlias = (
    MessageEvent | ReceiptEvent | ReactionEvent | ConversationEvent | UserBlockEvent | UserConnectionEvent
    | GroupEvent | CallEvent | CallSessionEvent | RecordingEvent | TranscriptionEvent | ModerationEvent
    | CampaignEvent | NotificationEvent | UnknownEvent
)  # fmt: skip
"""Any event; all classes have the members of the envelope, `data` and `raw`."""

_TRIGGERS: Final[dict[type[Any], str]] = {
    MessageEvent: (
        "message_sent message_edited message_deleted user_mentioned message_pinned message_unpinned "
        "before_message after_message"
    ),
    ReceiptEvent: (
        "message_delivery_receipt message_read_receipt message_delivered_to_all message_read_by_all"
    ),
    ReactionEvent: "message_reaction_added message_reaction_removed",
    ConversationEvent: "conversation_pinned conversation_unpinned",
    UserBlockEvent: "user_blocked user_unblocked",
    UserConnectionEvent: (
        "user_connection_status_changed user_connection_status_change after_connection_status_changed"
    ),
    GroupEvent: (
        "group_created group_updated group_deleted group_member_joined group_member_left group_member_added "
        "group_member_kicked group_member_banned group_member_unbanned group_member_scope_changed "
        "group_owner_transferred group_member_removed"
    ),
    CallEvent: "call_initiated call_busy call_cancelled call_rejected call_unanswered",
    CallSessionEvent: (
        "call_started call_participant_joined call_participant_left call_ended "
        "meeting_started meeting_participant_joined meeting_participant_left meeting_ended"
    ),
    RecordingEvent: "recording_generated",
    TranscriptionEvent: "transcription_generated",
    CampaignEvent: (
        "after_campaign_completed after_campaign_failed after_notification_created after_feed_item_sent "
        "after_feed_item_delivered after_feed_item_read after_feed_item_interacted "
        "after_push_notification_sent after_push_notification_delivered after_push_notification_clicked"
    ),
    ModerationEvent: (
        "moderation_engine_approved moderation_engine_blocked moderation_manual_approved "
        "moderation_engine_failed"
    ),
    NotificationEvent: (
        "email-notification-payload-generated sms-notification-payload-generated "
        "push-notification-payload-generated"
    ),
}
EVENT_CLASSES: Final[dict[str, type[Any]]] = {
    trigger: kind for kind, triggers in _TRIGGERS.items() for trigger in triggers.split()
}
"""The class of event by trigger, of current and legacy webhooks."""
