"""Messages: one struct for each category, and `UnknownMessage` for all other records.

The service may send other categories and types: such a record becomes an `UnknownMessage` with its exact
bytes. Text and media messages have the same category in JSON (`message`) and are distinguished by their
`type`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, final

from msgspec import UNSET, UnsetType, ValidationError, convert, structs

from ..errors import ReplyUnreadableError
from ..secrets import guarded
from .call import CallContent
from .content import ActionContent, Content, CustomContent, InteractiveContent
from .flag import Flag
from .raw_json import read_value
from .record import Count, Id, Json, Maybe, OfId, OfIdAndCount, Record

MEDIA_TYPES = frozenset({"image", "video", "audio", "file"})


# In the order in which the service writes the fields, as msgspec decodes that order fastest.
class _Message(Record, OfId, frozen=True, gc=False, rename="camel", tag_field="category"):
    id: Id
    conversation_id: str
    sender: str
    receiver_type: str
    receiver: str
    type: str
    data: Any
    sent_at: int
    updated_at: int
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
    quoted_message: Maybe[Json] = UNSET
    thread_subscribed: Maybe[bool] = UNSET
    reply_count: Maybe[int] = UNSET
    last_reply: Maybe[Json] = UNSET
    flagged_by: Maybe[tuple[Flag, ...]] = UNSET
    flagged_count: Maybe[int] = UNSET
    app_id: Maybe[str] = UNSET

    @property
    def category(self) -> str:
        """The category in the message's JSON, which determines its class."""
        return str(self.__struct_config__.tag)


if TYPE_CHECKING:
    _ById: TypeAlias = _Message
    _Content: TypeAlias = Content
else:
    _ById = _Message[Id]
    _Content = Content[Count]


@final
class TextMessage(_ById, OfIdAndCount, frozen=True, gc=False, rename="camel", tag="message"):
    """A text message (category `message`), with its text in `data.text`.

    As in every message, `id` is a text of digits; `sent_at` and `updated_at` are in the service's unit (not
    shown by the specification; epoch seconds on services of this kind).
    """

    data: _Content


@final
class MediaMessage(_ById, OfIdAndCount, frozen=True, gc=False, rename="camel", tag="message"):
    """A media message (category `message`), with files in `data.attachments` and a caption in `data.text`."""

    data: _Content


@final
class CustomMessage(_ById, frozen=True, gc=False, rename="camel", tag="custom"):
    """A message with content that the app defines, in `data.custom_data`."""

    data: CustomContent


@final
class ActionMessage(_ById, frozen=True, gc=False, rename="camel", tag="action"):
    """An event of a message or group, such as edited, deleted or joined, in `data.action`."""

    data: ActionContent


@final
class CallMessage(_ById, frozen=True, gc=False, rename="camel", tag="call"):
    """A message about a call (specification, Resources), which is in `data.entities.on.entity`."""

    data: CallContent


@final
class InteractiveMessage(_ById, frozen=True, gc=False, rename="camel", tag="interactive"):
    """A card, a form or another message of a bot that users act upon, in `data.interactive_data`."""

    data: InteractiveContent


@final
class UnknownMessage(Record, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A record that no other message class can hold: `raw` is its JSON, byte for byte.

    `reason` is the reason. All readable fields have their values; unreadable ones are `""`, 0 or None if they
    are common to all messages, and `UNSET` if they are optional. `raw` has everything that was served.
    """

    id: str = ""
    conversation_id: str = ""
    sender: str = ""
    receiver_type: str = ""
    receiver: str = ""
    category: str = ""
    type: str = ""
    data: Any = None
    sent_at: int = 0
    updated_at: int = 0
    muid: Maybe[str] = UNSET
    parent_id: Maybe[str] = UNSET
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
    quoted_message: Maybe[Json] = UNSET
    thread_subscribed: Maybe[bool] = UNSET
    reply_count: Maybe[int] = UNSET
    last_reply: Maybe[Json] = UNSET
    flagged_by: Maybe[tuple[Flag, ...]] = UNSET
    flagged_count: Maybe[int] = UNSET
    app_id: Maybe[str] = UNSET
    raw: bytes
    reason: str

    def to_dict(self) -> Json:
        """Return the record as it was served, read from `raw`.

        Raises `ReplyUnreadableError` if it is not an object or nested too deeply.
        """
        try:
            record = read_value(self.raw)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ReplyUnreadableError(f"the record cannot be read as a dict: {self.reason}")
        return record

    def to_json(self) -> bytes:
        """Return `raw`, the record's JSON byte for byte as served."""
        return self.raw


Message: TypeAlias = (
    TextMessage
    | MediaMessage
    | CustomMessage
    | ActionMessage
    | CallMessage
    | InteractiveMessage
    | UnknownMessage
)
"""Any message; all classes have the common and the optional fields."""

Typed: TypeAlias = TextMessage | CustomMessage | ActionMessage | CallMessage | InteractiveMessage
"""The classes that one decode distinguishes by `category`; a media message is first a text message."""

LooselyTyped: Any = Typed
"""The same classes with ids and sizes as served, number or text; `tighten` converts them."""
if not TYPE_CHECKING:
    _Loose: TypeAlias = int | str
    LooselyTyped = (
        TextMessage[_Loose, _Loose]
        | CustomMessage[_Loose]
        | ActionMessage[_Loose]
        | CallMessage[_Loose]
        | InteractiveMessage[_Loose]
    )


def settle(messages: list[Any]) -> None:
    """Replace decoded text messages that are media messages by `MediaMessage`; in place, for speed."""
    for index, message in enumerate(messages):
        if message.type != "text" and type(message) is TextMessage and _is_media(message):
            # What pickle asks for: all fields in their order, at a quarter of the cost of asking for each.
            messages[index] = MediaMessage(*message.__reduce__()[1])


def _is_media(message: TextMessage) -> bool:
    return message.type in MEDIA_TYPES or bool(message.data.attachments)


def unknown(record: Any, raw: bytes, reason: str) -> UnknownMessage:
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
    members["data"] = guarded(members["data"], raw)
    return UnknownMessage(raw=raw, reason=reason, **members)


_IDS = ("id", "parentId")
_TEXT_TYPES = (str, str | UnsetType | None)
_TEXTS = frozenset(field.name for field in structs.fields(UnknownMessage) if field.type in _TEXT_TYPES)
_FIELDS = {
    field.encode_name: (field.name, field.type)
    for field in structs.fields(UnknownMessage)
    if field.name not in ("raw", "reason")
}
BY_CATEGORY: dict[str, type[Typed]] = {
    "message": TextMessage,
    "custom": CustomMessage,
    "action": ActionMessage,
    "call": CallMessage,
    "interactive": InteractiveMessage,
}
