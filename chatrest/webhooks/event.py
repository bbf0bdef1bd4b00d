"""Events: a class for each family of triggers whose `data` has the same shape, and `UnknownEvent`."""

from typing import Any, TypeAlias, final

from msgspec import UNSET, field

from ..errors import ReplyUnreadableError
from ..models.messages import Message
from ..models.raw_json import read_value
from ..models.record import Json, Maybe, Record
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


class _Event(Record, kw_only=True):
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

    def to_dict(self) -> Json:
        """Return the delivery as it was served, read from `raw`; credentials are not hidden.

        Raises `ReplyUnreadableError` if it is nested too deeply.
        """
        try:
            envelope: Json = read_value(self.raw)
        except (ValueError, RecursionError):
            raise ReplyUnreadableError("the delivery cannot be read as a dict") from None
        return envelope

    def to_json(self) -> bytes:
        """Return `raw`, the delivery byte for byte."""
        return self.raw


@final
class MessageEvent(_Event, kw_only=True):
    """A message was sent, edited, deleted, pinned or unpinned, or mentions a user.

    Also the legacy `after_message`, and `before_message`, whose message has the id "".
    """

    data: MessageData

    @property
    def message(self) -> Message:
        """The message, which is `data.message`."""
        return self.data.message


@final
class ReceiptEvent(_Event, kw_only=True):
    """A message was delivered or read. Both shapes of `data` have the properties of a `Receipt`."""

    data: Receipt | LegacyReceipt


@final
class ReactionEvent(_Event, kw_only=True):
    """A reaction was added or removed."""

    data: ReactionData


@final
class ConversationEvent(_Event, kw_only=True):
    """A conversation was pinned or unpinned."""

    data: ConversationData


@final
class UserBlockEvent(_Event, kw_only=True):
    """A user blocked or unblocked others."""

    data: UserBlock


@final
class UserConnectionEvent(_Event, kw_only=True):
    """A user came online or went offline."""

    data: UserConnection


@final
class GroupEvent(_Event, kw_only=True):
    """A group, or its members, changed."""

    data: GroupData


@final
class CallEvent(_Event, kw_only=True):
    """A call was initiated; on older services also: it was rejected, cancelled, busy or not answered."""

    data: CallMessageData


@final
class CallSessionEvent(_Event, kw_only=True):
    """A call or a meeting started or ended, or a participant joined or left it."""

    data: CallSession


@final
class RecordingEvent(_Event, kw_only=True):
    """A recording of a call or a meeting is ready."""

    data: RecordingData


@final
class TranscriptionEvent(_Event, kw_only=True):
    """A transcription of a call or a meeting is ready."""

    data: TranscriptionData


@final
class ModerationEvent(_Event, kw_only=True):
    """A message was approved or blocked by moderation, or its moderation failed."""

    data: ModerationData


@final
class CampaignEvent(_Event, kw_only=True):
    """An event of a campaign. No `data` of these is documented: it is JSON as served."""

    data: Json


@final
class NotificationEvent(_Event, kw_only=True):
    """A notification for the app to send, as the app is its custom provider; `webhook` is `custom`."""

    data: NotificationData


@final
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
