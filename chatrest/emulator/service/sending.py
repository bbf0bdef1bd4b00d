"""The operations that send: a message, a bot's message, a reply in a thread; and what a body must be.

A message to several receivers is stored once for each, and answered with an outcome for each:
`{uids: {uid: {success, data}}, guids: {…}}` (no shape is documented). What is wrong with the
message itself is refused completely. Creations answer 200.
"""

from functools import partial
from typing import Any, Final, get_args

from ..._parameters.messages import MediaType
from ..store.documents import Document, selected
from ..store.message_index import conversation_id, parse_record
from .context import Context, Handler, ServiceCall
from .groups import APP, party_record
from .messages import NumberedMessage, check_data, count_replies, message_record, readable_message
from .refusals import outcomes, refused

_TYPES: Final = ("text", *get_args(MediaType))
"""The types of the category `message`."""


def checked_data(data: Document, category: str, kind: str) -> Document:
    """Return the data of a message as it is shown; 400 where it is not right for its category and type."""
    if category == "message" and kind not in _TYPES:
        raise refused("ERR_INVALID_MESSAGE_TYPE", ", ".join(_TYPES))
    is_media = category == "message" and kind != "text"
    check_data(data, "media" if is_media else kind if category == "message" else category)
    if not is_media:
        return data
    # Sizes come as digits and are shown as numbers.
    sized = [item | _size(item.get("size")) for item in data["attachments"]]
    return data | {"attachments": sized, "url": sized[0].get("url")}


def _size(size: Any) -> Document:
    return {"size": int(size)} if isinstance(size, str) and size.isascii() and size.isdigit() else {}


def send_message(call: ServiceCall) -> Document:
    return _send(call, call.acting_user or APP)


def send_bot_message(call: ServiceCall) -> Document:
    """Store a message of a bot, which may be interactive; here every user may be a bot."""
    if call.store.people.user(call.path["uid"]) is None:
        raise refused("ERR_BOT_NOT_FOUND", call.path["uid"])
    return _send(call, call.path["uid"])


def send_thread_message(call: ServiceCall) -> Document:
    """Store a reply in the thread of a message; the replying user and the message's sender are subscribed."""
    if not call.body.keys() & {"receiver", "multipleReceivers"}:
        raise refused("ERR_EMPTY_RECEIVER")
    parent, sender = readable_message(call), str(call.acting_user)
    if parent.record.get("parentId"):
        raise refused("ERR_MESSAGE_THREAD_NESTING")
    if parent.record.get("category") in ("action", "call"):
        raise refused("ERR_WRONG_MESSAGE_THREAD_CATEGORY")
    answer = _send(call, sender, parent)
    count_replies(call.store, str(parent.number))
    for uid in (sender, str(parent.record.get("sender"))):
        call.store.marks.add("subscription", parent.number, uid)
    return answer


def _send(call: ServiceCall, sender: str, parent: NumberedMessage | None = None) -> Document:
    """Store the message of the body for its receiver, or for each of several."""
    body, category = call.body, call.body.get("category", "message")
    data = checked_data(body["data"], category, body["type"])
    fields = {name: value for name, value in selected(body, ("muid", "tags")).items() if value}
    if "quotedMessageId" in body:
        quoted = parse_record(message_record(call, body["quotedMessageId"]))
        fields["quotedMessage"] = {name: quoted[name] for name in quoted if name != "quotedMessage"}
    if parent is not None:
        fields["parentId"] = str(parent.number)

    def store(kind: str, receiver: str) -> Document:
        _check_addressee(call, kind, receiver, sender)
        conversation = conversation_id(sender, receiver, kind)
        if parent is not None and conversation != parent.record.get("conversationId"):
            raise refused("ERR_WRONG_MESSAGE_THREAD")
        about = {"category": category, "type": body["type"], "data": data, "sent_at": call.now}
        return call.store.add_message(sender, receiver, receiver_type=kind, **about, **fields)

    kind, receiver = body.get("receiverType", "user"), body.get("receiver")
    if "multipleReceivers" not in body:
        return store(kind, str(receiver))
    kinds = {"uids": "user", "guids": "group"}
    lists = {name: [*body["multipleReceivers"].get(name, ())] for name in kinds}
    if receiver:
        lists["guids" if kind == "group" else "uids"].insert(0, receiver)
    return {name: outcomes(ids, partial(store, kinds[name]), "data") for name, ids in lists.items() if ids}


def _check_addressee(context: Context, kind: str, receiver: str, sender: str) -> None:
    relations = context.store.relations
    party_record(context, kind, receiver)
    if kind == "group":
        if sender in relations.of("banned", receiver):
            raise refused("ERR_BANNED_GROUPMEMBER", sender, receiver)
        return
    if receiver in relations.of("blocked", sender):
        raise refused("ERR_BLOCKED_RECEIVER", receiver)
    if sender in relations.of("blocked", receiver):
        raise refused("ERR_BLOCKED_SENDER", receiver)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.send": send_message,
    "messages.send_bot": send_bot_message,
    "messages.send_thread": send_thread_message,
}
