"""The operations that send: a message, a bot's message, a reply in a thread.

A message to several receivers is stored once for each, and answered with an outcome for each:
`{uids: {uid: {success, data}}, guids: {…}}` (no shape is documented). What is wrong with the
message itself is refused as a whole. Creations answer 200.
"""

from typing import Any, Final, NamedTuple

from msgspec.json import encode

from ..store.message_index import conversation_id, parse_record
from .bodies import read_body
from .context import Call, Context, Handler
from .envelopes import one_reply
from .message_access import APP, StoredMessage, count_replies, message_record, readable_message
from .message_body import MESSAGE_BYTES, MessageBody, addressees, check_addressee, checked_data, message_type
from .moderation_engine import block, disapproved, matching_rule
from .refusals import Refusal, bad_request, refused

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
        outcomes.setdefault("guids" if kind == "group" else "uids", {})[receiver] = _outcome(
            context, draft, kind, receiver
        )
    return one_reply(encode(outcomes))


def _outcome(context: Context, draft: Draft, kind: str, receiver: str) -> dict[str, Any]:
    try:
        return {"success": True, "data": _store(context, draft, kind, receiver)}
    except Refusal as refusal:
        return {"success": False, "error": refusal.error}


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
