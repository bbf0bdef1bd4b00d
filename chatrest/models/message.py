"""Messages: one struct a category, and one for whatever the others cannot hold.

The categories and types are open: what is not known arrives as `UnknownMessage`, with its exact bytes.
A text message and a media message are one category on the wire (`message`), distinguished by their `type`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, final

from msgspec import UNSET, UnsetType, ValidationError, convert, structs

from ..errors import ReplyUnreadableError
from .call import CallContent
from .content import ActionContent, Content, CustomContent
from .raw_json import read_value
from .record import Count, Id, Json, Maybe, OfId, OfIdAndCount, Record

MEDIA_TYPES = frozenset({"image", "video", "audio", "file"})


# Positional, in the order that the service writes: msgspec then finds each field at the first look.
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
    flagged_by: Maybe[tuple[Json, ...]] = UNSET
    flagged_count: Maybe[int] = UNSET
    app_id: Maybe[str] = UNSET

    @property
    def category(self) -> str:
        """The message's category on the wire: what its class was chosen by."""
        return str(self.__struct_config__.tag)


if TYPE_CHECKING:
    _ById: TypeAlias = _Message
    _Content: TypeAlias = Content
else:
    _ById = _Message[Id]
    _Content = Content[Count]


@final
class TextMessage(_ById, OfIdAndCount, frozen=True, gc=False, rename="camel", tag="message"):
    """A message of category `message` that is a text: `data.text`.

    As every message: `id` is a text of digits, `sent_at` and `updated_at` are in the service's unit (not
    shown by the specification; epoch seconds on services of this kind).
    """

    data: _Content


@final
class MediaMessage(_ById, OfIdAndCount, frozen=True, gc=False, rename="camel", tag="message"):
    """A message of category `message` with files: `data.attachments`, and a caption in `data.text`."""

    data: _Content


@final
class CustomMessage(_ById, frozen=True, gc=False, rename="camel", tag="custom"):
    """A message of the app's own making: `data.custom_data`."""

    data: CustomContent


@final
class ActionMessage(_ById, frozen=True, gc=False, rename="camel", tag="action"):
    """An event of a message or a group: edited, deleted, joined … in `data.action`."""

    data: ActionContent


@final
class CallMessage(_ById, frozen=True, gc=False, rename="camel", tag="call"):
    """A call between users (specification, Resources): `data.entities.on.entity` is the call."""

    data: CallContent


@final
class UnknownMessage(Record, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A record that none of the others can hold: `raw` is its JSON, byte for byte.

    `reason` says why. The other fields hold what could be read of them: the common ones `""`, 0 or None where
    nothing could, the optional ones `UNSET`. Look into `raw` for what was served.
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
    flagged_by: Maybe[tuple[Json, ...]] = UNSET
    flagged_count: Maybe[int] = UNSET
    app_id: Maybe[str] = UNSET
    raw: bytes
    reason: str

    def to_dict(self) -> Json:
        """Return the record as it was served, read from `raw`.

        Raises `ReplyUnreadableError` where it is no object, or nested too deeply to be read whole.
        """
        try:
            record = read_value(self.raw)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ReplyUnreadableError(f"the record cannot be read as a dict: {self.reason}")
        return record

    def to_json(self) -> bytes:
        """Return `raw`: the record's JSON, byte for byte as it was served."""
        return self.raw


Message: TypeAlias = TextMessage | MediaMessage | CustomMessage | ActionMessage | CallMessage | UnknownMessage
"""Any message. Every one has the common and the optional fields."""

Typed: TypeAlias = TextMessage | CustomMessage | ActionMessage | CallMessage
"""The types that one decode distinguishes, by `category`: a media message is a text message here."""

LooselyTyped: Any = Typed
"""The same with ids and sizes as they were served, number or text; `tighten` gives them their types."""
if not TYPE_CHECKING:
    _Loose: TypeAlias = int | str
    LooselyTyped = (
        TextMessage[_Loose, _Loose] | CustomMessage[_Loose] | ActionMessage[_Loose] | CallMessage[_Loose]
    )


def settle(messages: list[Any]) -> None:
    """Put a `MediaMessage` where a decoded text message carries files. In place: this is the hot path."""
    for index, message in enumerate(messages):
        if message.type != "text" and type(message) is TextMessage and _is_media(message):
            # What pickle asks for: all fields in their order, at a quarter of the cost of asking for each.
            messages[index] = MediaMessage(*message.__reduce__()[1])


def _is_media(message: TextMessage) -> bool:
    return message.type in MEDIA_TYPES or bool(message.data.attachments)


def unknown(record: Any, raw: bytes, reason: str) -> UnknownMessage:
    """Return the `UnknownMessage` for a record that no typed message can hold; it has what is readable."""
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
}
