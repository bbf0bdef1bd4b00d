"""Messages of every category, their content, reactions and counts."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

from msgspec import UNSET, UnsetType, ValidationError, convert, field, structs

from .._secrets import hide_in_repr
from .calls import CallContent
from .lenient import CoercionError, coerced, shape
from .outcomes import ItemOutcome
from .raw_json import write_value
from .record import (
    NO_NUMBER,
    NO_TEXT,
    Count,
    Id,
    Json,
    Maybe,
    RawRecord,
    Record,
    WithCount,
    WithId,
    WithIdAndCount,
    views,
)
from .users import Entity, EntityWrapper, Parties


def message_of(stored: Any) -> "Message":
    """Return the message of decoded JSON, as leniently as in a list; a message as it is.

    The `raw` of an `UnknownMessage` is the JSON written again: of a nested message no bytes are kept.
    """
    if isinstance(stored, Message):
        return stored
    try:
        messages: list[Any] = [convert(stored, TypedMessage)]
    except (ValidationError, UnicodeEncodeError, RecursionError):
        try:
            raw = write_value(stored)
        except (ValueError, RecursionError):  # nested too deeply to be written
            raw = b""
        messages = [read_leniently(stored, raw, [])]
    retype_media(messages)
    message: Message = messages[0]
    return message


# ── content ──


class Attachment(Record, WithCount):
    """A file of a media message. `size` is in bytes."""

    url: str = NO_TEXT
    name: Maybe[str] = UNSET
    mime_type: Maybe[str] = UNSET
    extension: Maybe[str] = UNSET
    size: Maybe[Count] = UNSET


if TYPE_CHECKING:
    _Attachment: TypeAlias = Attachment
else:
    _Attachment = Attachment[Count]


class ReactionCount(Record):
    """The number of users who reacted to a message in one way."""

    reaction: str = NO_TEXT
    count: int = NO_NUMBER
    reacted_by_me: Maybe[bool] = UNSET


class Content(Record, WithCount):
    """`data` of a text or media message: the text or caption ("" for none), and attachments."""

    text: str = NO_TEXT
    attachments: Maybe[tuple[_Attachment, ...]] = UNSET
    url: Maybe[str] = UNSET
    resource: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    entities: Maybe[Parties] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET
    mentions: Maybe[Json] = UNSET
    moderation: Maybe[Json] = UNSET
    caption: Maybe[str] = UNSET


class CustomContent(Record):
    """`data` of a custom message: `custom_data` is any JSON that the app wrote."""

    custom_data: Any = UNSET
    text: Maybe[str] = UNSET
    resource: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    entities: Maybe[Parties] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET


class Goal(Record):
    """The interactions that complete an interactive message: `type` is any text, such as anyOf and allOf."""

    type: str = NO_TEXT
    element_ids: Maybe[tuple[str, ...]] = UNSET


class InteractiveContent(Record):
    """`data` of an interactive message: the shape of `interactive_data` depends on the message's type."""

    interactive_data: Maybe[Json] = UNSET
    interaction_goal: Maybe[Goal] = UNSET
    allow_sender_interaction: Maybe[bool] = UNSET
    entities: Maybe[Parties] = UNSET
    text: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET


class ActionEntities(Record):
    """The parties of an action; `on` is a message (edited, deleted) or a user, so it is JSON."""

    by: Maybe[EntityWrapper[Entity]] = UNSET
    on: Maybe[EntityWrapper[Json]] = UNSET
    for_: Maybe[EntityWrapper[Entity]] = field(default=UNSET, name="for")


class ActionContent(Record):
    """`data` of an action message. `action` is any text, such as edited, deleted, added, joined or kicked."""

    action: str = NO_TEXT
    entities: Maybe[ActionEntities] = UNSET
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET


# ── what goes with a message ──


class Flag(Record):
    """A user's flag on a message, with its reason. `flagged_at` is in epoch seconds."""

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    avatar: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    reason_id: Maybe[str] = UNSET
    reason_name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    remark: Maybe[str] = UNSET
    flagged_at: Maybe[int] = UNSET


class Reaction(Record):
    """One user's reaction to a message: `reaction` is the emoji, `reacted_by` the user at that time.

    `reacted_at` is in the service's unit (`chatrest guide service`, "Filters and times"). The
    number of users for each emoji is in the message, in `data.reactions`.
    """

    id: str
    message_id: str = NO_TEXT
    reaction: str = NO_TEXT
    uid: str = NO_TEXT
    reacted_at: int = NO_NUMBER
    reacted_by: Maybe[Entity] = UNSET
    reacted_by_me: Maybe[bool] = UNSET


class MessageCount(Record):
    """The unread or undelivered messages of one conversation, with a user or a group (`entity_type`)."""

    entity_type: str
    entity_id: str
    count: int

    @property
    def identity(self) -> str:
        """The identifier of the count: type and id, as a user and a group may have the same id."""
        return f"{self.entity_type}/{self.entity_id}"


# ── the message, by category ──

MEDIA_TYPES = frozenset({"image", "video", "audio", "file"})

# A nested message is stored as its JSON, and its attribute gives it typed: see `views`.
if TYPE_CHECKING:
    NestedMessage: TypeAlias = "Message"
else:
    NestedMessage = Any


# In the order in which the service writes the fields, as msgspec decodes that order fastest.
@views(message_of, "quoted_message", "last_reply")
class _Message(Record, WithId, kw_only=True):
    category: ClassVar[str]
    """The category in the message's JSON, which determines its class."""
    id: Id
    conversation_id: str = NO_TEXT
    sender: str = NO_TEXT
    receiver_type: str = NO_TEXT
    receiver: str = NO_TEXT
    type: str = NO_TEXT
    data: Any
    sent_at: int = NO_NUMBER
    updated_at: int = NO_NUMBER
    muid: Maybe[str] = UNSET
    parent_id: Maybe[Id] = UNSET
    edited_at: Maybe[int] = UNSET
    edited_by: Maybe[str] = UNSET
    deleted_at: Maybe[int] = UNSET
    deleted_by: Maybe[str] = UNSET
    delivered_at: Maybe[int] = UNSET
    read_at: Maybe[int] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    receipts: Maybe[Json] = UNSET
    pinned_at: Maybe[int] = UNSET
    pinned_by: Maybe[str] = UNSET
    saved_at: Maybe[int] = UNSET
    quoted_message: Maybe[NestedMessage] = UNSET
    thread_subscribed: Maybe[bool] = UNSET
    reply_count: Maybe[int] = UNSET
    last_reply: Maybe[NestedMessage] = UNSET
    flagged_by: Maybe[tuple[Flag, ...]] = UNSET
    flagged_count: Maybe[int] = UNSET
    app_id: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET

    @property
    def text(self) -> str | None:
        """The message's text, or the caption of its files; None if it has neither."""
        data = self.data
        return getattr(data, "text", None) or getattr(data, "caption", None) or None


if TYPE_CHECKING:
    _MessageById: TypeAlias = _Message
    _Content: TypeAlias = Content
else:
    _MessageById = _Message[Id]
    _Content = Content[Count]


@final
class TextMessage(_MessageById, WithIdAndCount, kw_only=True, tag_field="category", tag="message"):
    """A text message: `data.text`. Times are in the service's unit (`chatrest guide service`)."""

    data: _Content


@final
class MediaMessage(_MessageById, WithIdAndCount, kw_only=True, tag_field="category", tag="message"):
    """A media message (category `message`), with files in `data.attachments` and a caption in `data.text`."""

    data: _Content


@final
class CustomMessage(_MessageById, kw_only=True, tag_field="category", tag="custom"):
    """A message with content that the app defines, in `data.custom_data`."""

    data: CustomContent


@final
class ActionMessage(_MessageById, kw_only=True, tag_field="category", tag="action"):
    """An event of a message or group, such as edited, deleted or joined, in `data.action`."""

    data: ActionContent


@final
class CallMessage(_MessageById, kw_only=True, tag_field="category", tag="call"):
    """A message about a call, which is in `data.entities.on.entity`."""

    data: CallContent


@final
class InteractiveMessage(_MessageById, kw_only=True, tag_field="category", tag="interactive"):
    """A card, a form or another message of a bot that users act upon, in `data.interactive_data`."""

    data: InteractiveContent


for _kind in (TextMessage, MediaMessage, CustomMessage, ActionMessage, CallMessage, InteractiveMessage):
    # A property would cost a function call for every record that a list compares with its filter.
    _kind.category = str(_kind.__struct_config__.tag)


class UnknownMessage(RawRecord, _Message, kw_only=True):
    """A record that no other message class can hold: `raw` is its JSON, byte for byte.

    `reason` is the reason. All readable fields have their values; unreadable ones are `""`, 0 or None if they
    are common to all messages, and `UNSET` if they are optional. `raw` has everything that was served.
    """

    id: str = ""
    category: str = ""  # type: ignore[misc]
    data: Any = None
    parent_id: Maybe[str] = UNSET
    raw: bytes
    reason: str

    @property
    def text(self) -> str | None:
        """The message's text, or the caption of its files, if it can be read; None if not."""
        data = self.data if isinstance(self.data, dict) else {}
        texts = (data.get(name) for name in ("text", "caption"))
        return next((text for text in texts if text and isinstance(text, str)), None)


Message: TypeAlias = (
    TextMessage
    | MediaMessage
    | CustomMessage
    | ActionMessage
    | CallMessage
    | InteractiveMessage
    | UnknownMessage
)
"""Any message; all classes have the common and the optional fields, and `text`."""

TypedMessage: TypeAlias = TextMessage | CustomMessage | ActionMessage | CallMessage | InteractiveMessage
"""The classes that one decode distinguishes by `category`; a media message is first a text message."""

TypedMessageAsServed: Any = TypedMessage
"""The same classes with ids and sizes as served, number or text; the decoder converts them afterwards."""
if not TYPE_CHECKING:
    _AsServed: TypeAlias = int | str
    TypedMessageAsServed = (
        TextMessage[_AsServed, _AsServed]
        | CustomMessage[_AsServed]
        | ActionMessage[_AsServed]
        | CallMessage[_AsServed]
        | InteractiveMessage[_AsServed]
    )

_IDS = ("id", "parentId")
_TEXT_TYPES = (str, str | UnsetType | None)
_TEXTS = frozenset(field.name for field in structs.fields(UnknownMessage) if field.type in _TEXT_TYPES)
_FIELDS = {
    field.encode_name: (field.name, field.type)
    for field in structs.fields(UnknownMessage)
    if field.name not in ("raw", "reason")
}
BY_CATEGORY: dict[str, type[TypedMessage]] = {
    "message": TextMessage,
    "custom": CustomMessage,
    "action": ActionMessage,
    "call": CallMessage,
    "interactive": InteractiveMessage,
}


def retype_media(messages: list[Any]) -> None:
    """Change the class of decoded text messages with files to `MediaMessage`, in place, before any use."""
    for message in messages:
        if message.type == "text" or type(message) is not TextMessage:
            continue
        if message.type in MEDIA_TYPES or message.data.attachments:
            # The fields are the same, and to copy them takes ten times as long.
            structs.force_setattr(message, "__class__", MediaMessage)


def unknown_message(record: Any, raw: bytes, reason: str) -> UnknownMessage:
    """Return the `UnknownMessage` of a record, with its readable fields, its bytes `raw` and the `reason`."""
    members: dict[str, Any] = {"data": record}
    if isinstance(record, dict):
        for wire, (name, kind) in _FIELDS.items():
            if wire in record:
                value = record[wire]
                value = str(value) if type(value) is int and wire in _IDS else value
                if name == "data" or (name in _TEXTS and type(value) is str):
                    members[name] = value
                    continue
                with suppress(ValidationError, UnicodeEncodeError):
                    members[name] = convert(value, kind)
    members["data"] = hide_in_repr(members["data"], raw)
    return UnknownMessage(raw=raw, reason=reason, **members)


def read_leniently(record: Any, raw: bytes, notes: list[str]) -> "Message":
    """Return the message of a record that the strict decoder refuses; append what was coerced to `notes`."""
    if flaw := _unknown_reason(record):
        return unknown_message(record, raw, flaw)
    try:
        message: Message = coerced(record, shape(BY_CATEGORY[record["category"]]), "", notes)
    except CoercionError as error:
        notes.clear()
        return unknown_message(record, raw, str(error))
    return message


def _unknown_reason(record: Any) -> str | None:
    """Return the reason for which a record cannot be a typed message; None for no reason."""
    if not isinstance(record, dict):
        return "the record is not an object"
    identity, category = record.get("id"), record.get("category")
    if not isinstance(identity, str | int) or identity == "":
        return "id: expected text"
    if not isinstance(category, str):
        return "category: expected text"
    if category not in BY_CATEGORY:
        return f"category: {category[:50]!r} is none of {', '.join(BY_CATEGORY)}"
    return None


# ── outcomes that hold a message ──


@views(message_of, "data")
class SentMessage(ItemOutcome):
    """The outcome for one receiver; `data` is the message as stored. Without `success` it is a failure."""

    data: Maybe[NestedMessage] = UNSET


@views(message_of, "data")
class MessageOutcome(ItemOutcome):
    """The outcome of importing a message: `data` is the message as stored."""

    data: Maybe[NestedMessage] = UNSET


@views(message_of, "data")
class AddedMember(ItemOutcome):
    """The outcome of adding one uid; `data` is the action message. Without `success` it is a failure."""

    data: Maybe[NestedMessage] = UNSET
