"""Events: a class for the triggers whose `data` has the same shape, and `UnknownEvent`.

The table of triggers is at the end. A class names the struct of its `data` in the annotation. Only the member
without which the event makes no sense is required there; all others are `UNSET` if they are absent, as in the
records of lists.
"""

from typing import Any, Final, TypeAlias

from msgspec import UNSET, field

from .._models.conversations import Conversation
from .._models.messages import Message, Reaction
from .._models.record import Json, Maybe, RawRecord, Record
from .._models.users import Group, Member, User


class MessageData(Record):
    """A message, typed as in a list; one that no class can hold is an `UnknownMessage`.

    After an edit or a deletion it may be the action message with another id, whose
    `data.entities.on.entity` is the message that was changed, as JSON for `chatrest.parse(Message, …)`.
    """

    message: Message


class ReceiptBody(Record):
    """The receipt itself: `action` is delivered or read, `timestamp` is in epoch seconds."""

    action: str
    message_id: Maybe[str] = UNSET
    user: Maybe[User] = UNSET
    timestamp: Maybe[int] = UNSET


class Receipt(Record):
    """A receipt by one user (`sender`) or, without `sender`, by all of a group; also of a legacy webhook."""

    body: ReceiptBody
    receiver: Maybe[str] = UNSET
    receiver_type: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    sender: Maybe[str] = UNSET
    message_sender: Maybe[str] = UNSET


class ReactionData(Record):
    """A reaction that was added or removed; its `id` is "" if the service sends none."""

    reaction: Reaction


class ConversationData(Record):
    """A conversation that was pinned or unpinned."""

    conversation: Conversation


class UserBlock(Record):
    """The users that `by` has blocked or unblocked, by their uid."""

    users: dict[str, User]
    by: Maybe[User] = UNSET


class Connection(Record):
    """A connection of a user's client; `connected_at` is in epoch milliseconds."""

    action: Maybe[str] = UNSET
    platform: Maybe[str] = UNSET
    connected_at: Maybe[int] = UNSET
    app_info: Maybe[str | Json] = UNSET
    user_agent: Maybe[str] = UNSET


class UserConnection(Record):
    """A user who came online or went offline; `timestamp` is in epoch milliseconds."""

    user: User
    status: Maybe[str] = UNSET
    timestamp: Maybe[int] = UNSET
    current_connection: Maybe[Connection] = UNSET
    user_presence_changed: Maybe[bool] = UNSET


class GroupMember(Member):
    """A user as a member of the event's group; `old_scope` is the scope before a change."""

    old_scope: Maybe[str] = UNSET


class GroupData(Record):
    """A group, the members that the event is about by their uid, and the user who acted."""

    group: Group
    members: Maybe[dict[str, GroupMember]] = UNSET
    by: Maybe[User] = UNSET
    old_owner: Maybe[str | Json] = UNSET


class CallMessageData(Record):
    """A call as the message about it, typed as in a list: a `CallMessage`."""

    call: Message


class Occupant(Record):
    """A participant of a call or a meeting."""

    name: Maybe[str] = UNSET
    joined_at: Maybe[int] = field(default=UNSET, name="joined_at")
    left_at: Maybe[int] = field(default=UNSET, name="left_at")
    audio_call: Maybe[bool] = field(default=UNSET, name="audio_call")


class CallSession(Record):
    """The session of a call or a meeting; `occupant` came or went, `all_occupants` are there at its end."""

    session_id: str
    created_at: Maybe[int] = field(default=UNSET, name="created_at")
    destroyed_at: Maybe[int] = field(default=UNSET, name="destroyed_at")
    all_occupants: Maybe[tuple[Occupant, ...]] = field(default=UNSET, name="all_occupants")
    occupant: Maybe[Occupant] = UNSET
    initial_config: Maybe[Json] = field(default=UNSET, name="initial_config")


class RecordingData(Record):
    """A recording; `recording_date` is YYYY-MM-DD, `duration` and `start_time` are texts as served."""

    session_id: str
    recording_date: Maybe[str] = UNSET
    duration: Maybe[str] = UNSET
    start_time: Maybe[str] = UNSET
    recording_url: Maybe[str] = field(default=UNSET, name="recording_url")


class TranscriptionData(Record):
    """A transcription; `transcript_date` is YYYY-MM-DD."""

    session_id: str
    tid: Maybe[str] = UNSET
    transcript_date: Maybe[str] = UNSET
    transcript_url: Maybe[str] = field(default=UNSET, name="transcript_url")
    start_time: Maybe[int] = UNSET
    end_time: Maybe[int] = UNSET


class ModerationFailure(Record):
    """A moderation that failed; the table shows the names of its members, not their types."""

    resource: Any = UNSET
    content_type: Maybe[str] = UNSET
    outcome: Any = UNSET
    completed_at: Any = UNSET
    failures: Maybe[tuple[Json, ...]] = UNSET


class ModerationData(Record):
    """A decision about a message. `moderation` has objects of `condition` and `rule`.

    `failed` is set for `moderation_engine_failed`, whose `data` may also be the failure itself.
    """

    message: Maybe[Message] = UNSET
    moderation: Maybe[tuple[Json, ...]] = UNSET
    reviewed: Maybe[bool] = UNSET
    failed: Maybe[ModerationFailure] = UNSET


class NotificationParty(Record):
    """The user whom a notification is for, or whose message it is about."""

    uid: str


class NotificationData(Record):
    """A notification for the app to send, as the app is its custom provider: push, e-mail or SMS."""

    to: NotificationParty
    messages: Maybe[tuple[Message, ...]] = UNSET
    sender_details: Maybe[NotificationParty] = UNSET
    subject: Maybe[str] = UNSET
    sms_content: Maybe[str] = UNSET
    notification_details: Maybe[Json] = UNSET


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
    """A message is sent (or will be, without an id), edited, deleted, pinned or unpinned, or names a user."""

    data: MessageData

    @property
    def message(self) -> Message:
        """The message, which is `data.message`."""
        return self.data.message


class ReceiptEvent(_Event, kw_only=True):
    """A message was delivered or read."""

    data: Receipt


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
