"""The body of a message that is sent, and what the service requires of it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from .bodies import Body, Tags
from .context import Context
from .groups import group_record
from .refusals import Refusal, bad_request
from .users import user_record

MESSAGE_BYTES: Final = 65_536
"""The longest message as JSON (operations table, `limits.lengths.message_json`)."""
_MEDIA: Final = ("image", "file", "audio", "video")


class MessageBody(Body):
    """POST /messages."""

    receiver: str | None = None
    receiver_type: str = "user"
    category: str = "message"
    type: str = "text"
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: Tags = msgspec.field(default_factory=list)
    muid: str | None = None
    multiple_receivers: Any = None


def check_addressee(context: Context, body: MessageBody) -> str:
    """Return the receiver, a user or a group that exists."""
    if body.multiple_receivers is not None:
        raise bad_request({"multipleReceivers": ["The emulator sends to one receiver at a time."]})
    if not body.receiver:
        raise Refusal(400, "ERR_EMPTY_RECEIVER", "The receiver is empty.")
    if body.receiver_type == "group":
        group_record(context, body.receiver)
    elif body.receiver_type != "user":
        raise Refusal(400, "ERR_INVALID_RECEIVER_TYPE", "The receiverType must be user or group.")
    else:
        user_record(context, body.receiver)
    return body.receiver


def checked_data(body: MessageBody) -> Mapping[str, Any]:
    """Return the data of a message; 400 where it is not right for its category and type."""
    if not isinstance(body.data.get("metadata", {}), dict):
        raise Refusal(400, "ERR_INVALID_METADATA", "The metadata must be a JSON object.")
    if not body.type:
        raise Refusal(400, "ERR_EMPTY_MESSAGE_TYPE", "The type is empty.")
    if body.category == "custom":
        return _custom(body.data)
    if body.category != "message":
        raise Refusal(400, "ERR_INVALID_MESSAGE_CATEGORY", "The category must be message or custom.")
    if body.type == "text":
        return _text(body.data)
    if body.type in _MEDIA:
        return _media(body.data)
    raise Refusal(400, "ERR_INVALID_MESSAGE_TYPE", f"The type must be one of text, {', '.join(_MEDIA)}.")


def _text(data: dict[str, Any]) -> dict[str, Any]:
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
    # Sizes come as digits and are shown as numbers (operations table, oddities).
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
