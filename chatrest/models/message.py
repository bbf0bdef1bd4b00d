"""Messages: one struct a category, and one for whatever the others cannot hold.

The categories and types are open: what is not known arrives as `UnknownMessage`, with its exact bytes.
A text message and a media message are one category on the wire (`message`), told apart by their `type`.
"""

from operator import attrgetter
from typing import Any, TypeAlias, final

from msgspec import UNSET

from .call import CallContent
from .content import ActionContent, Content, CustomContent
from .record import Json, Maybe, Record

MEDIA_TYPES = frozenset({"image", "video", "audio", "file"})


# Positional, in the order that the service writes: msgspec then finds each field at the first look.
class _Message(Record, frozen=True, gc=False, rename="camel", tag_field="category"):
    id: str
    conversation_id: str
    sender: str
    receiver_type: str
    receiver: str
    type: str
    data: Any
    sent_at: int
    updated_at: int
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

    @property
    def category(self) -> str:
        """The message's category on the wire: what its class was chosen by."""
        return str(self.__struct_config__.tag)


@final
class TextMessage(_Message, frozen=True, gc=False, rename="camel", tag="message"):
    """A message of category `message` that is a text: `data.text`.

    As every message: `id` is a text of digits, `sent_at` and `updated_at` are in the service's unit (not
    shown by the specification; epoch seconds on services of this kind).
    """

    data: Content


@final
class MediaMessage(_Message, frozen=True, gc=False, rename="camel", tag="message"):
    """A message of category `message` with files: `data.attachments`, and a caption in `data.text`."""

    data: Content


@final
class CustomMessage(_Message, frozen=True, gc=False, rename="camel", tag="custom"):
    """A message of the app's own making: `data.custom_data`."""

    data: CustomContent


@final
class ActionMessage(_Message, frozen=True, gc=False, rename="camel", tag="action"):
    """What happened to a message or a group: edited, deleted, joined … in `data.action`."""

    data: ActionContent


@final
class CallMessage(_Message, frozen=True, gc=False, rename="camel", tag="call"):
    """A call between users (specification, Resources): `data.entities.on.entity` is the call."""

    data: CallContent


@final
class UnknownMessage(Record, frozen=True, gc=False, kw_only=True):
    """A record that none of the others can hold: `raw` is its JSON, byte for byte.

    `reason` says why. The common fields hold what could be read of them, and `""`, 0 or None where
    nothing could: look into `raw` for what was served.
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
    raw: bytes
    reason: str


Typed: TypeAlias = TextMessage | CustomMessage | ActionMessage | CallMessage
"""What one decode tells apart, by `category`: a media message is still a text message here."""

Message: TypeAlias = TextMessage | MediaMessage | CustomMessage | ActionMessage | CallMessage | UnknownMessage
"""Any message. Every one has the common fields."""

_values = attrgetter(*MediaMessage.__struct_fields__)


def settle(messages: list[Any]) -> None:
    """Puts a `MediaMessage` where a decoded text message carries files. In place: this is the hot path."""
    for index, message in enumerate(messages):
        if message.type != "text" and type(message) is TextMessage and _is_media(message):
            messages[index] = MediaMessage(*_values(message))


def _is_media(message: TextMessage) -> bool:
    return message.type in MEDIA_TYPES or bool(message.data.attachments)


def unknown(record: Any, raw: bytes, reason: str) -> UnknownMessage:
    """The `UnknownMessage` for a record that no typed message can hold, with what can be read of it."""
    common: dict[str, Any] = {"data": record}
    if isinstance(record, dict):
        for wire, (name, kind) in _COMMON.items():
            value = record.get(wire)
            if isinstance(value, kind) and not isinstance(value, bool):
                common[name] = str(value) if name == "id" else value
    return UnknownMessage(raw=raw, reason=reason, **common)


_COMMON: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "id": ("id", (str, int)),
    "conversationId": ("conversation_id", str),
    "sender": ("sender", str),
    "receiverType": ("receiver_type", str),
    "receiver": ("receiver", str),
    "category": ("category", str),
    "type": ("type", str),
    "data": ("data", object),
    "sentAt": ("sent_at", int),
    "updatedAt": ("updated_at", int),
}
BY_CATEGORY: dict[str, type[Typed]] = {
    "message": TextMessage,
    "custom": CustomMessage,
    "action": ActionMessage,
    "call": CallMessage,
}
