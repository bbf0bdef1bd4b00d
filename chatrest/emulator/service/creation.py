"""The creations: users, auth tokens, messages. Bodies are checked, refused with 400, or stored.

A message that is sent gets the next id, and a `sentAt` that is never below that of the message before.
Creations answer 200 (operations table, `media`).
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.json import encode

from ..store.directory import SYSTEM, spliced
from ..store.store import Store
from .refusals import Refusal, bad_request, no_group, no_user

MESSAGE_BYTES: Final = 65_536
"""The longest message as JSON (operations table, `limits.lengths.message_json`)."""
_MEDIA: Final = ("image", "file", "audio", "video")
_AT: Final = re.compile(r"`\$\.(\w+)")
_MISSING: Final = re.compile(r"required field `(\w+)`")

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Tag = Annotated[str, Meta(min_length=1, max_length=100)]


class _Body(Struct, rename="camel"):
    """A request's JSON object; members not named are ignored."""


_B = TypeVar("_B", bound=_Body)


class UserBody(_Body, omit_defaults=True):
    """POST /users."""

    uid: _Name
    name: _Name
    avatar: str | None = None
    link: str | None = None
    role: str = "default"
    status_message: str | None = None
    metadata: dict[str, Any] | None = None
    tags: Annotated[list[_Tag], Meta(max_length=25)] = []
    with_auth_token: bool = False


class TokenBody(_Body):
    """POST /users/{uid}/auth_tokens: `force` asks for a fresh token; the rest is its scope."""

    force: bool = False
    platform: str | None = None
    user_agent: str | None = None
    app_info: Any = None


class MessageBody(_Body):
    """POST /messages."""

    receiver: str | None = None
    receiver_type: str = "user"
    category: str = "message"
    type: str = "text"
    data: dict[str, Any] = {}
    tags: Annotated[list[_Tag], Meta(max_length=25)] = []
    muid: str | None = None
    multiple_receivers: Any = None


def create_user(store: Store, body: bytes, now: int) -> bytes:
    """A new user's record, with `tags` and, where asked, `authToken`."""
    asked = read(body, UserBody)
    if store.people.taken(asked.uid):
        raise bad_request({"uid": ["The uid has already been taken."]})
    optional = {"avatar": asked.avatar, "link": asked.link, "metadata": asked.metadata}
    more: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
    more |= {"role": asked.role, "createdAt": now, "tags": asked.tags}
    store.add_user(asked.uid, asked.name, **more)
    reply = store.people.user(asked.uid) or b"{}"
    reply = spliced(reply, "tags", encode(asked.tags))
    if asked.with_auth_token:
        token = msgspec.json.decode(store.people.token(asked.uid, now, {}, fresh=True))
        reply = spliced(reply, "authToken", encode(token["authToken"]))
    return reply


def create_token(store: Store, uid: str, body: bytes, now: int) -> bytes:
    """An auth token; without `force` the newest one of the same scope, where there is one."""
    if store.people.user(uid) is None:
        raise no_user(uid)
    asked = read(body or b"{}", TokenBody)
    scope = {"platform": asked.platform, "userAgent": asked.user_agent, "appInfo": asked.app_info}
    given = {name: value for name, value in scope.items() if value is not None}
    return store.people.token(uid, now, given, fresh=asked.force)


def send_message(store: Store, body: bytes, sender: str | None, now: int) -> bytes:
    """The stored message's record. `sender` is the user in `onBehalfOf`, without one the app itself."""
    if len(body) > MESSAGE_BYTES:
        raise bad_request({"data": [f"The message may not be longer than {MESSAGE_BYTES} bytes of JSON."]})
    asked = read(body, MessageBody)
    _check_receiver(store, asked)
    more: dict[str, Any] = {"muid": asked.muid} if asked.muid else {}
    if asked.tags:
        more["tags"] = asked.tags
    record = store.add_message(
        sender or str(SYSTEM["uid"]),
        asked.receiver or "",
        receiver_type=asked.receiver_type,
        category=asked.category,
        type=asked.type,
        data=_checked(asked),
        sent_at=now,
        **more,
    )
    return encode(record)


def _check_receiver(store: Store, asked: MessageBody) -> None:
    if asked.multiple_receivers is not None:
        raise bad_request({"multipleReceivers": ["The emulator sends to one receiver at a time."]})
    if not asked.receiver:
        raise Refusal(400, "ERR_EMPTY_RECEIVER", "The receiver is empty.")
    if asked.receiver_type == "group":
        if store.people.group(asked.receiver) is None:
            raise no_group(asked.receiver)
    elif asked.receiver_type != "user":
        raise Refusal(400, "ERR_INVALID_RECEIVER_TYPE", "The receiverType must be user or group.")
    elif store.people.user(asked.receiver) is None:
        raise no_user(asked.receiver)


def _checked(asked: MessageBody) -> Mapping[str, Any]:
    """The data of a message, if it is right for its category and type."""
    if not isinstance(asked.data.get("metadata", {}), dict):
        raise Refusal(400, "ERR_INVALID_METADATA", "The metadata must be a JSON object.")
    if not asked.type:
        raise Refusal(400, "ERR_EMPTY_MESSAGE_TYPE", "The type is empty.")
    if asked.category == "custom":
        return _custom(asked.data)
    if asked.category != "message":
        raise Refusal(400, "ERR_INVALID_MESSAGE_CATEGORY", "The category must be message or custom.")
    if asked.type == "text":
        return _text(asked.data)
    if asked.type in _MEDIA:
        return _media(asked.data)
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


def read(body: bytes, kind: type[_B]) -> _B:
    """The body as `kind`; 400 for what is no JSON object, or has members of the wrong type or length."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise bad_request({_field(str(error)): [str(error).partition(" - at `")[0]]}) from None
    except (msgspec.DecodeError, RecursionError):
        raise bad_request({"body": ["The body must be a JSON object in UTF-8."]}) from None


def _field(error: str) -> str:
    """The member that a validation error is about: "… - at `$.tags[0]`", or "… required field `uid`"."""
    found = _AT.search(error) or _MISSING.search(error)
    return found[1] if found else "body"
