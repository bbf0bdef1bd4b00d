"""The body of a message that is sent, and what the service requires of it."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .bodies import Body, Name, Tags
from .context import Context
from .groups import group_record
from .refusals import Refusal, bad_request, refused
from .users import user_record

MESSAGE_BYTES: Final = 65_536
"""The longest message as JSON."""
_MEDIA: Final = ("image", "file", "audio", "video")
_INTERACTIVE: Final = ("card", "form", "customInteractive", "scheduler")


class ReceiversBody(Body):
    """Several receivers, at most one list of each kind."""

    uids: list[Name] = msgspec.field(default_factory=list)
    guids: list[Name] = msgspec.field(default_factory=list)


class MessageBody(Body):
    """POST /messages."""

    receiver: str | None = None
    receiver_type: str = "user"
    category: str = "message"
    type: str | UnsetType = UNSET
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: Tags = msgspec.field(default_factory=list)
    muid: str | None = None
    quoted_message_id: Annotated[str, Meta(min_length=1)] | None = None
    multiple_receivers: ReceiversBody | None = None


def addressees(body: MessageBody) -> Iterator[tuple[str, str]]:
    """Yield every receiver of a message: user or group, and the uid or guid."""
    several = body.multiple_receivers or ReceiversBody()
    if body.receiver:
        yield body.receiver_type, body.receiver
    elif not (several.uids or several.guids):
        raise Refusal(400, "ERR_EMPTY_RECEIVER", "The receiver is empty.")
    yield from (("user", uid) for uid in several.uids)
    yield from (("group", guid) for guid in several.guids)


def check_addressee(context: Context, kind: str, receiver: str, sender: str) -> None:
    """Refuse a receiver that does not exist, or that the sender may not write to."""
    if kind == "group":
        group_record(context, receiver)
        if context.store.members.is_banned(receiver, sender):
            raise refused("ERR_BANNED_GROUPMEMBER", sender, receiver)
        return
    if kind != "user":
        raise Refusal(400, "ERR_INVALID_RECEIVER_TYPE", "The receiverType must be user or group.")
    user_record(context, receiver)
    if context.store.people.blocks(sender, receiver):
        raise refused("ERR_BLOCKED_RECEIVER", receiver)
    if context.store.people.blocks(receiver, sender):
        raise refused("ERR_BLOCKED_SENDER", receiver)


def message_type(body: MessageBody) -> str:
    """Return the type of a message; by default `text`, of an interactive one `card`."""
    if body.type is UNSET:
        return "card" if body.category == "interactive" else "text"
    return body.type


def checked_data(body: MessageBody, categories: tuple[str, ...] = ("message", "custom")) -> dict[str, Any]:
    """Return the data of a message; 400 where it is not right for its category and type."""
    kind = message_type(body)
    if not isinstance(body.data.get("metadata", {}), dict):
        raise Refusal(400, "ERR_INVALID_METADATA", "The metadata must be a JSON object.")
    if not kind:
        raise Refusal(400, "ERR_EMPTY_MESSAGE_TYPE", "The type is empty.")
    if body.category not in categories:
        words = f"The category must be one of {', '.join(categories)}."
        raise Refusal(400, "ERR_INVALID_MESSAGE_CATEGORY", words)
    if body.category == "custom":
        return _custom(body.data)
    if body.category == "interactive":
        return _interactive(body, kind)
    if kind == "text":
        return check_text(body.data)
    if kind in _MEDIA:
        return _media(body.data)
    raise Refusal(400, "ERR_INVALID_MESSAGE_TYPE", f"The type must be one of text, {', '.join(_MEDIA)}.")


def check_text(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a text message; 400 where its text is no text, or empty."""
    text = data.get("text", "")
    if not isinstance(text, str):
        raise Refusal(400, "ERR_INVALID_MESSAGE_TEXT", "The text must be a string.")
    if not text.strip():
        raise Refusal(400, "ERR_EMPTY_MESSAGE_TEXT", "The text is empty.")
    return data


def _media(data: dict[str, Any]) -> dict[str, Any]:
    attachments = data.get("attachments")
    if not attachments:
        raise Refusal(400, "ERR_EMPTY_MESSAGE_FILE", "The attachments are empty.")
    if not isinstance(attachments, list) or not all(
        isinstance(item, dict) and isinstance(item.get("url"), str) for item in attachments
    ):
        raise Refusal(400, "ERR_INVALID_MEDIA_MESSAGE", "The attachments must be objects with a url.")
    # Sizes come as digits and are shown as numbers.
    sized = [item | _size(item.get("size")) for item in attachments]
    return data | {"attachments": sized, "url": attachments[0]["url"]}


def _size(size: Any) -> dict[str, Any]:
    return {"size": int(size)} if isinstance(size, str) and size.isascii() and size.isdigit() else {}


def _custom(data: dict[str, Any]) -> dict[str, Any]:
    if not data.get("customData"):
        raise Refusal(400, "ERR_EMPTY_CUSTOM_DATA", "The customData is empty.")
    if not isinstance(data["customData"], dict):
        raise Refusal(400, "ERR_INVALID_CUSTOM_DATA", "The customData must be a JSON object.")
    return data


def _interactive(body: MessageBody, kind: str) -> dict[str, Any]:
    if kind not in _INTERACTIVE:
        raise Refusal(400, "ERR_INVALID_MESSAGE_TYPE", f"The type must be one of {', '.join(_INTERACTIVE)}.")
    if body.quoted_message_id is not None:
        raise bad_request({"quotedMessageId": ["An interactive message quotes no other one."]})
    if not isinstance(body.data.get("interactiveData"), dict):
        raise Refusal(400, "ERR_INVALID_MESSAGE_DATA", "The interactiveData must be a JSON object.")
    return body.data
