"""Messages that are sent: by a user or the app, by a bot, or as a reply in a thread.

A message to several receivers is stored once for each, and answered with an outcome for each: `{uids: {uid:
{success, data}}, guids: {…}}`.
"""

from functools import partial
from typing import Final, get_args

from ..._parameters.messages import MediaType
from ..store.documents import Document, selected
from ..store.message_index import conversation_id, number_of, parse_record
from .groups import APP, party_record
from .handler_input import Context, Handler, ServiceCall
from .messages import NumberedMessage, check_content, count_replies, message_record, readable_message
from .refusals import act_on_each, refusal

_TYPES: Final = ("text", *get_args(MediaType))
"""The types of category `message`."""


def send_bot_message(call: ServiceCall) -> Document:
    """Store a message of a bot, which may be interactive; here every user may be a bot."""
    if call.store.people.user(call.path["uid"]) is None:
        raise refusal("ERR_BOT_NOT_FOUND", call.path["uid"])
    return _send(call, call.path["uid"])


def send_thread_message(call: ServiceCall) -> Document:
    """Store a reply in the thread of a message; the replying user and the message's sender are subscribed."""
    if not call.body.keys() & {"receiver", "multipleReceivers"}:
        raise refusal("ERR_EMPTY_RECEIVER")
    parent, sender = readable_message(call), str(call.acting_user)
    if parent.record.get("parentId"):
        raise refusal("ERR_MESSAGE_THREAD_NESTING")
    if parent.record.get("category") in ("action", "call"):
        raise refusal("ERR_WRONG_MESSAGE_THREAD_CATEGORY")
    reply = _send(call, sender, parent)
    count_replies(call.store, str(parent.number))
    for uid in (sender, str(parent.record.get("sender"))):
        call.store.marks.add("subscription", parent.number, uid)
    return reply


def _send(call: ServiceCall, sender: str, parent: NumberedMessage | None = None) -> Document:
    body, category = call.body, call.body.get("category", "message")
    data = _shown_data(body["data"], category, body["type"])
    fields = {name: value for name, value in selected(body, ("muid", "tags")).items() if value}
    if "quotedMessageId" in body:
        quoted = parse_record(message_record(call, body["quotedMessageId"]))
        fields["quotedMessage"] = {name: quoted[name] for name in quoted if name != "quotedMessage"}
    if parent is not None:
        fields["parentId"] = str(parent.number)

    def store_for(kind: str, receiver: str) -> Document:
        _check_receiver(call, kind, receiver, sender)
        conversation = conversation_id(sender, receiver, kind)
        if parent is not None and conversation != parent.record.get("conversationId"):
            raise refusal("ERR_WRONG_MESSAGE_THREAD")
        content = {"category": category, "type": body["type"], "data": data, "sent_at": call.now}
        return call.store.add_message(sender, receiver, receiver_type=kind, **content, **fields)

    kind, receiver = body.get("receiverType", "user"), body.get("receiver")
    if "multipleReceivers" not in body:
        return store_for(kind, str(receiver))
    kinds = {"uids": "user", "guids": "group"}
    receivers = {name: [*body["multipleReceivers"].get(name, ())] for name in kinds}
    if receiver:
        receivers["guids" if kind == "group" else "uids"].insert(0, receiver)
    return {
        name: act_on_each(ids, partial(store_for, kinds[name]), "data")
        for name, ids in receivers.items()
        if ids
    }


def _shown_data(data: Document, category: str, kind: str) -> Document:
    """Return the data of a message as it is shown; 400 where it is not right for its category and type."""
    if category == "message" and kind not in _TYPES:
        raise refusal("ERR_INVALID_MESSAGE_TYPE", ", ".join(_TYPES))
    if category != "message" or kind == "text":
        check_content(data, kind if category == "message" else category)
        return data
    check_content(data, "media")
    # Sizes arrive as digits and are shown as numbers.
    attachments = [
        item if (size := number_of(item.get("size"))) is None else item | {"size": size}
        for item in data["attachments"]
    ]
    return data | {"attachments": attachments, "url": attachments[0].get("url")}


def _check_receiver(context: Context, kind: str, receiver: str, sender: str) -> None:
    relations = context.store.relations
    party_record(context, kind, receiver)
    if kind == "group":
        if sender in relations.of("banned", receiver):
            raise refusal("ERR_BANNED_GROUPMEMBER", sender, receiver)
        return
    if receiver in relations.of("blocked", sender):
        raise refusal("ERR_BLOCKED_RECEIVER", receiver)
    if sender in relations.of("blocked", receiver):
        raise refusal("ERR_BLOCKED_SENDER", receiver)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.send": lambda call: _send(call, call.acting_user or APP),
    "messages.send_bot": send_bot_message,
    "messages.send_thread": send_thread_message,
}
