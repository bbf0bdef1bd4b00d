"""The operations that send: a message, a bot's message, a reply in a thread; and what a body must be.

A message to several receivers is stored once for each, and answered with an outcome for each:
`{uids: {uid: {success, data}}, guids: {…}}` (no shape is documented). What is wrong with the
message itself is refused as a whole. Creations answer 200.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.json import encode

from ..store.message_index import conversation_id, parse_record
from .bodies import Body, Name, Tags, read_body
from .context import Call, Context, Handler
from .envelopes import one_reply
from .groups import group_record
from .message_access import APP, StoredMessage, count_replies, message_record, readable_message
from .moderation import block, disapproved, matching_rule
from .refusals import Refusal, bad_request, outcome, refused
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
        if context.store.relations.has("banned", receiver, sender):
            raise refused("ERR_BANNED_GROUPMEMBER", sender, receiver)
        return
    if kind != "user":
        raise Refusal(400, "ERR_INVALID_RECEIVER_TYPE", "The receiverType must be user or group.")
    user_record(context, receiver)
    if context.store.relations.has("blocked", sender, receiver):
        raise refused("ERR_BLOCKED_RECEIVER", receiver)
    if context.store.relations.has("blocked", receiver, sender):
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


_NO_THREADS: Final = ("action", "call")


class Draft(NamedTuple):
    """A message that is right in itself, for whomever."""

    sender: str
    category: str
    type: str
    data: dict[str, Any]
    fields: dict[str, Any]
    """Further members of the record."""
    conversation: str | None = None
    """The one conversation that it may be sent to; None for any."""


def send_message(context: Context, call: Call) -> bytes:
    """Store a message with the next id, sent by the acting user, or by the app itself."""
    body = _read(call)
    return _send(context, body, _draft(context, body, call.acting_user or APP))


def send_bot_message(context: Context, call: Call) -> bytes:
    """Store a message of a bot, which may be interactive; here every user may be a bot."""
    uid, body = call.path["uid"], _read(call)
    if context.store.people.user(uid) is None:
        raise refused("ERR_BOT_NOT_FOUND", uid)
    draft = _draft(context, body, uid, ("message", "interactive", "custom"))
    return _send(context, body, draft)


def send_thread_message(context: Context, call: Call) -> bytes:
    """Store a reply in the thread of a message; the replying user and the message's sender are subscribed."""
    parent, body, sender = readable_message(context, call), _read(call), str(call.acting_user)
    _check_thread(parent)
    draft = _draft(context, body, sender)
    reply = draft._replace(
        fields=draft.fields | {"parentId": str(parent.number)},
        conversation=str(parent.record.get("conversationId")),
    )
    if not body.receiver and body.multiple_receivers is None:
        body.receiver_type, body.receiver = _other_side(parent, sender)
    answer = _send(context, body, reply)
    count_replies(context.store, str(parent.number))
    for uid in (sender, str(parent.record.get("sender"))):
        context.store.marks.subscribe(parent.number, uid)
    return answer


def _read(call: Call) -> MessageBody:
    if len(call.body) > MESSAGE_BYTES:
        raise bad_request({"data": [f"The message may not be longer than {MESSAGE_BYTES} bytes of JSON."]})
    return read_body(call.body, MessageBody)


def _draft(
    context: Context, body: MessageBody, sender: str, categories: tuple[str, ...] = ("message", "custom")
) -> Draft:
    data = checked_data(body, categories)
    fields: dict[str, Any] = {"muid": body.muid, "tags": body.tags}
    if body.quoted_message_id is not None:
        quoted = parse_record(message_record(context, body.quoted_message_id))
        fields["quotedMessage"] = {name: quoted[name] for name in quoted if name != "quotedMessage"}
    fields = {name: value for name, value in fields.items() if value}
    return Draft(sender, body.category, message_type(body), data, fields)


def _send(context: Context, body: MessageBody, draft: Draft) -> bytes:
    receivers = list(addressees(body))
    if body.multiple_receivers is None:
        return one_reply(encode(_store(context, draft, *receivers[0])))
    outcomes: dict[str, dict[str, Any]] = {}
    for kind, receiver in receivers:
        acks = outcomes.setdefault("guids" if kind == "group" else "uids", {})
        acks[receiver] = outcome(partial(_store, context, draft, kind, receiver))
    return one_reply(encode(outcomes))


def _store(context: Context, draft: Draft, kind: str, receiver: str) -> dict[str, Any]:
    """Store the message for one receiver; `sentAt` is never below that of the message before.

    One that a moderation rule meets is stored as disapproved, and is in the list of those blocked.
    """
    check_addressee(context, kind, receiver, draft.sender)
    conversation = f"group_{receiver}" if kind == "group" else conversation_id(draft.sender, receiver)
    if draft.conversation not in (None, conversation):
        words = "The parent message is in another conversation."
        raise Refusal(400, "ERR_WRONG_MESSAGE_THREAD", words)
    parties = {"sender": draft.sender, "receiver": receiver, "receiverType": kind}
    match = matching_rule(context, {**parties, "data": draft.data})
    message = context.store.add_message(
        draft.sender,
        receiver,
        receiver_type=kind,
        category=draft.category,
        type=draft.type,
        data=draft.data if match is None else disapproved(draft.data, match),
        sent_at=context.now,
        **draft.fields,
    )
    if match is not None:
        block(context, message, match)
    return message


def _check_thread(parent: StoredMessage) -> None:
    if parent.record.get("parentId"):
        raise Refusal(400, "ERR_MESSAGE_THREAD_NESTING", "The parent message is a reply itself.")
    if parent.record.get("category") in _NO_THREADS:
        words = "The parent message is an action or a call."
        raise Refusal(400, "ERR_WRONG_MESSAGE_THREAD_CATEGORY", words)


def _other_side(parent: StoredMessage, sender: str) -> tuple[str, str]:
    """The receiver of a reply that names none: the group, or the other user."""
    kind, receiver = str(parent.record.get("receiverType")), str(parent.record.get("receiver"))
    return kind, str(parent.record.get("sender")) if kind == "user" and receiver == sender else receiver


HANDLERS: Final[dict[str, Handler]] = {
    "messages.send": send_message,
    "messages.send_bot": send_bot_message,
    "messages.send_thread": send_thread_message,
}
