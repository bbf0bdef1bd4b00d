"""The operations of messages under moderation: flagged by users, blocked by rules, or handed in.

The emulator has chosen what the documents leave open:

- A message that is handed in stays `pending`, unless a rule meets it: then it is `disapproved` and blocked.
  So is one of the app's own that is sent; without such a rule those have no status.
- Messages that were handed in are not in the lists of the app's own messages.
- A user's second flag on a message replaces the first. A review takes a message out of its list; a blocked
  one is then in the list of those reviewed.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.json import decode

from ..store.directory import SYSTEM
from ..store.documents import Document
from ..store.message_index import conversation_id
from .context import Call, Context, Handler
from .documents import DocumentCollection, Operation, serve, serve_list
from .envelopes import acked, data_reply, root_acked
from .message_access import message_record
from .moderation import BLOCKED, block, disapproved, matching_rule
from .pages import PositionedPages
from .refusals import refused

_FLAGS: Final = "moderation.flags"
_FLAGGED: Final = "moderation.flagged"
_REVIEWED: Final = "moderation.reviewed"
_REASONS: Final = "moderation.reasons"
_FIRST_ID: Final = 10**9
"""The first id of messages that are handed in: far from those of the app's own."""
_PAGES: Final = PositionedPages(
    member="id", parameter="id", beside=("sentAt",), default_size=100, largest=1000
)
_FILTERS: Final = {"sender": "sender", "category": "category", "type": "type"}
_STATUSES: Final = ("approved", "disapproved", "pending")


# ── flags ──


def flag_message(context: Context, call: Call) -> None:
    """Flag one of the app's messages as the acting user, for a reason that exists."""
    flag, message_id = call.read(), call.path["id"]
    message = decode(message_record(context, message_id), type=Document)
    reason = context.store.documents.of(_REASONS).get(flag["id"])
    if reason is None:
        raise refused("ERR_REASON_NOT_FOUND", flag["id"])
    uid = call.acting_user or ""
    user = context.store.people.entity("user", uid)["entity"]
    shown = {name: user[name] for name in ("uid", "name", "avatar", "role") if name in user}
    named = {"reasonId": reason["id"], "reasonName": reason["name"], "flaggedAt": context.now}
    optional = {"description": reason.get("description"), "remark": flag.get("remark")}
    given = {name: value for name, value in optional.items() if value is not None}
    context.store.documents.of(_FLAGS, message_id).put({**shown, **named, **given}, uid)
    context.store.documents.of(_FLAGGED).put(message, message_id)


def list_flagged(context: Context, call: Call) -> list[Document]:
    documents = context.store.documents
    listed = []
    for message in documents.of(_FLAGGED).list():
        flags = documents.of(_FLAGS, message["id"]).list()
        flagged = {"appId": context.app["id"], "flaggedBy": flags, "flaggedCount": len(flags)}
        listed.append({**message, **flagged})
    return listed


def review_flagged(context: Context, call: Call) -> None:
    call.read()
    message_id = call.path["id"]
    if not context.store.documents.of(_FLAGGED).delete(message_id):
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", message_id)
    context.store.documents.of(_FLAGS, message_id).clear()


# ── messages that are handed in ──


def _moderated(context: Context, message: Document) -> Document:
    """Give a message its status by the rules; one that a rule meets is blocked."""
    match, data = matching_rule(context, message), message.get("data", {})
    context.store.documents.of(BLOCKED).delete(message["id"])
    if match is None:
        return {**message, "data": {**data, "moderation": {"status": "pending"}}}
    message = {**message, "data": disapproved(data, match)}
    block(context, message, match)
    return message


MESSAGES: Final = DocumentCollection(
    kind="moderation.messages",
    missing="ERR_MESSAGE_ID_NOT_FOUND",
)


def create_message(context: Context, call: Call) -> Document:
    """Take a message for moderation; its parties exist, or come with their details."""
    sent = call.read()
    details = {name: sent.pop(f"{name}Details", None) for name in _DETAILS}
    _check_parties(context, sent, details)
    sender, receiver, at = sent["sender"], sent["receiver"], sent.get("sentAt", context.now)
    is_group = sent["receiverType"] == "group"
    conversation = f"group_{receiver}" if is_group else conversation_id(sender, receiver)
    message_id = str(_FIRST_ID + context.store.documents.next_number())
    defaults = {"category": "message", "type": "text", "data": {}}
    times = {"sentAt": at, "updatedAt": at}
    message = {"id": message_id, "conversationId": conversation, **defaults, **sent, **times}
    message = _moderated(context, message)
    context.store.documents.of(MESSAGES.kind).put(message, message_id)
    return message


_DETAILS: Final = ("senderUser", "receiverUser", "receiverGroup")


def _check_parties(context: Context, sent: Document, details: Mapping[str, Any]) -> None:
    """Refuse a sender or receiver that does not exist and comes without details."""
    people, kind = context.store.people, sent["receiverType"]
    if people.user(sent["sender"]) is None and details["senderUser"] is None:
        raise refused("ERR_UID_NOT_FOUND", sent["sender"])
    is_known = people.user(sent["receiver"]) if kind == "user" else people.group(sent["receiver"])
    if is_known is None and details[f"receiver{kind.capitalize()}"] is None:
        raise (
            refused("ERR_UID_NOT_FOUND", sent["receiver"])
            if kind == "user"
            else refused("ERR_GUID_NOT_FOUND", sent["receiver"])
        )


def update_message(context: Context, call: Call) -> Document:
    """Replace the content of a message; its status is worked out anew."""
    old, change = MESSAGES.get(context, call), call.read()
    edited = {"editedAt": context.now, "editedBy": SYSTEM["uid"], "updatedAt": context.now}
    message = _moderated(context, {**old, "data": change.get("data", old["data"]), **edited})
    context.store.documents.of(MESSAGES.kind).put(message, message["id"])
    return message


def delete_message(context: Context, call: Call) -> None:
    """Remove a message, also from the blocked ones."""
    message = MESSAGES.delete(context, call)
    context.store.documents.of(BLOCKED).delete(message["id"])


def list_messages(context: Context, call: Call) -> bytes:
    """A page of the messages that were handed in, by `meta.next {affix, sentAt, id}`."""
    query = call.query
    wanted = {member: value for name, member in _FILTERS.items() if (value := query.text(name))}
    for name, kind in (("receiverUID", "user"), ("receiverGUID", "group")):
        if (receiver := query.text(name)) is not None:
            wanted |= {"receiver": receiver, "receiverType": kind}
    status = query.choice("moderationStatus", _STATUSES)
    messages = [
        message
        for message in MESSAGES.list(context, call)
        if wanted.items() <= {name: message.get(name) for name in wanted}.items()
        and status in (None, message["data"]["moderation"]["status"])
    ]
    return _PAGES.reply(messages, query)


# ── blocked messages ──


def list_held(kind: str) -> Operation:
    return lambda context, call: context.store.documents.of(kind).list()


def review_blocked(context: Context, call: Call) -> None:
    """Put a blocked message among the reviewed ones, with the status that the review gives it."""
    review, message_id = call.read(), call.path["id"]
    documents = context.store.documents
    held = documents.of(BLOCKED).get(message_id)
    if held is None:
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", message_id)
    documents.of(BLOCKED).delete(message_id)
    status = "approved" if review["status"] == "approved" else "disapproved"
    message = held["message"]
    message["data"]["moderation"]["status"] = status
    if documents.of(MESSAGES.kind).get(message_id) is not None:
        documents.of(MESSAGES.kind).put(message, message_id)
    elif context.store.message(int(message_id)) is not None:
        context.store.rewrite({int(message_id): message})
    reviewed = {"blockedAt": f"{held['createdAt']}.0", "appId": context.app["id"], "updatedAt": context.now}
    documents.of(_REVIEWED).put({**held, **reviewed}, message_id)


HANDLERS: Final[dict[str, Handler]] = {
    "moderation.flag_message": serve(flag_message, root_acked("The message has been flagged.")),
    "moderation.list_flagged_messages": serve_list(list_flagged, 50),
    "moderation.review_flagged_message": serve(review_flagged, root_acked("The message has been reviewed.")),
    "moderation.list_reviewed_messages": serve_list(list_held(_REVIEWED), 50),
    "moderation.list_blocked_messages": serve_list(list_held(BLOCKED)),
    "moderation.review_blocked_message": serve(review_blocked, acked("The message has been reviewed.")),
    "moderation.list_messages": list_messages,
    "moderation.get_message": serve(MESSAGES.get, data_reply),
    "moderation.create_message": serve(create_message, data_reply),
    "moderation.update_message": serve(update_message, data_reply),
    "moderation.delete_message": serve(delete_message, acked("The message has been deleted.")),
}
