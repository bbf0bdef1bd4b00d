"""The `data` of events, a struct for each shape.

Only the member without which the event makes no sense is required. Everything else is `UNSET` if it is
absent, as in the records of lists.
"""

from typing import Any

from msgspec import UNSET, UnsetType, field

from .._models.conversations import Conversation
from .._models.groups import Group, Member
from .._models.messages import Message, Reaction
from .._models.record import Json, Maybe, Record
from .._models.users import User


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
    """The receipt of a current webhook, by one user (`sender`) or, without `sender`, by all of a group."""

    body: ReceiptBody
    receiver: Maybe[str] = UNSET
    receiver_type: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    sender: Maybe[str] = UNSET
    message_sender: Maybe[str] = UNSET

    @property
    def action(self) -> str:
        """The action: delivered or read."""
        return self.body.action

    @property
    def message_id(self) -> Maybe[str]:
        """The id of the message."""
        return self.body.message_id

    @property
    def timestamp(self) -> Maybe[int]:
        """The time of the receipt in epoch seconds."""
        return self.body.timestamp


class LegacyReceipt(Record):
    """The receipt of a legacy webhook; its properties have the names of a `Receipt`."""

    receipt_type: str
    message_id: Maybe[str] = UNSET
    delivered_at: Maybe[int] = UNSET
    read_at: Maybe[int] = UNSET
    message_sender: Maybe[str] = UNSET
    receipt_sender: Maybe[str] = UNSET
    receipt_receiver: Maybe[str] = UNSET
    receiver_type: Maybe[str] = UNSET

    @property
    def action(self) -> str:
        """The action: delivered or read."""
        return self.receipt_type

    @property
    def sender(self) -> Maybe[str]:
        """The uid of the user whose receipt it is."""
        return self.receipt_sender

    @property
    def receiver(self) -> Maybe[str]:
        """The uid or guid that the receipt is for."""
        return self.receipt_receiver

    @property
    def timestamp(self) -> Maybe[int]:
        """The time of the receipt in epoch seconds."""
        return self.delivered_at if isinstance(self.read_at, UnsetType | None) else self.read_at


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
    """The session of a call or a meeting that has started, has ended, or has another participant.

    `occupant` is the participant who came or went; `all_occupants` and `destroyed_at` are there at the end.
    """

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
    """A notification for the app to send, as the app is its custom provider.

    Push has `notification_details`; e-mail has `messages` and `subject`, SMS `messages` and `sms_content`.
    """

    to: NotificationParty
    messages: Maybe[tuple[Message, ...]] = UNSET
    sender_details: Maybe[NotificationParty] = UNSET
    subject: Maybe[str] = UNSET
    sms_content: Maybe[str] = UNSET
    notification_details: Maybe[Json] = UNSET
