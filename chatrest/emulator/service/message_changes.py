"""The operations that change a message: edits, deletions, pins, saves, interactions, reactions.

An edit or a deletion writes an action message, and moves the times of the message. A deleted message stays in
its lists, with `deletedAt`, unless the deletion is permanent. The action is sent in the name of the message's
sender, so that it stands in the same lists; `data.entities.by` is the one who acted.
"""

from typing import Any, Final

from msgspec.json import encode

from ..store.message_marks import ReactionRow
from .context import Call, Context, Handler
from .envelopes import ack_reply, list_reply, one_reply
from .message_access import (
    APP,
    StoredMessage,
    changeable_message,
    count_replies,
    message_reply,
    readable_message,
)
from .refusals import Refusal, over_limit
from .sending import check_text

# ── edits and deletions ──


def update_message(context: Context, call: Call) -> bytes:
    message = changeable_message(context, call)
    body = call.read()
    if "data" in body:
        _check(body["data"])
        data = message.record.get("data")
        message.record["data"] = (data if isinstance(data, dict) else {}) | body["data"]
    if "tags" in body:
        message.record["tags"] = body["tags"]
    return _changed(context, call, message, "edited")


def _check(data: dict[str, Any]) -> None:
    if "text" in data:
        check_text(data)
    if not isinstance(data.get("metadata", {}), dict):
        raise Refusal(400, "ERR_INVALID_METADATA", "The metadata must be a JSON object.")


def delete_message(context: Context, call: Call) -> bytes:
    """Mark a message as deleted, or remove it."""
    message = changeable_message(context, call)
    if not call.read().get("permanent"):
        return _changed(context, call, message, "deleted")
    reply = _changed(context, call, message, "deleted")
    context.store.remove([message.number])
    count_replies(context.store, str(message.record.get("parentId")))
    return reply


def _changed(context: Context, call: Call, message: StoredMessage, action: str) -> bytes:
    """Store the new version of a message, and reply with the action that tells of it."""
    store, actor = context.store, call.acting_user or APP
    at = max(context.now, store.last_sent_at)
    message.record.update({"updatedAt": at, f"{action}At": at, f"{action}By": actor})
    store.rewrite({message.number: message.record})
    return one_reply(encode(store.add_message_action(actor, action, message.record, sent_at=at)))


# ── pins, saves, interactions ──


PINS_PER_CONVERSATION: Final = 100
SAVES_PER_USER: Final = 100
"""The documented limit."""


def pin_message(context: Context, call: Call) -> bytes:
    """Pin a message for everybody; without an acting user the app pins. The first `pinnedAt` stays."""
    message, marks = readable_message(context, call), context.store.marks
    if not message.record.get("pinnedAt"):
        conversation = str(message.record.get("conversationId"))
        if marks.pinned_count(conversation) >= PINS_PER_CONVERSATION:
            raise over_limit("ERR_PINNED_MESSAGES", "pinned messages", PINS_PER_CONVERSATION)
        marks.pin(message.number, conversation)
        message.record.update({"pinnedAt": context.now, "pinnedBy": call.acting_user or APP})
        context.store.rewrite({message.number: message.record})
    return message_reply(context, message, call.acting_user)


def unpin_message(context: Context, call: Call) -> bytes:
    message = readable_message(context, call)
    if message.record.pop("pinnedAt", None):
        message.record.pop("pinnedBy", None)
        context.store.marks.unpin(message.number)
        context.store.rewrite({message.number: message.record})
    return message_reply(context, message, call.acting_user)


def save_message(context: Context, call: Call) -> bytes:
    """Save a message for the acting user; the first `savedAt` stays."""
    message, marks, uid = readable_message(context, call), context.store.marks, str(call.acting_user)
    if not marks.saved(uid, [message.number]) and marks.saved_count(uid) >= SAVES_PER_USER:
        raise over_limit("ERR_SAVED_MESSAGES", "saved messages", SAVES_PER_USER)
    marks.save(message.number, uid, context.now)
    return message_reply(context, message, uid)


def unsave_message(context: Context, call: Call) -> bytes:
    """Drop a message that the acting user has saved, if it is saved."""
    message, uid = readable_message(context, call), str(call.acting_user)
    context.store.marks.unsave(message.number, uid)
    return message_reply(context, message, uid)


def mark_interacted(context: Context, call: Call) -> bytes:
    message = readable_message(context, call)
    elements = call.read()["interactions"]
    context.store.marks.interact(message.number, str(call.acting_user), elements, context.now)
    return ack_reply(f"The interactions with the message {message.number} have been noted.")


# ── reactions ──


_DEFAULT_SIZE: Final = 10


def list_reactions(context: Context, call: Call) -> bytes:
    """A page of the reactions to a message, by their ids; of one emoji where the path has one."""
    message, query = readable_message(context, call), call.query
    size, after = query.number("limit", 1, 1000) or query.number("perPage", 1, 1000), query.number("id")
    ascending = query.choice("affix", ("append", "prepend")) != "prepend"
    query.check()
    size = size or _DEFAULT_SIZE
    rows = context.store.reactions.page(
        message.number, call.path.get("reaction"), after, size, ascending=ascending
    )
    edge = rows[-1].id if rows else after
    position = {"affix": "append" if ascending else "prepend"} | ({} if edge is None else {"id": str(edge)})
    meta = {"current": {"limit": size, "count": len(rows)}, "next": position}
    return list_reply([encode(_reaction_record(context, row)) for row in rows], {"meta": meta})


def _reaction_record(context: Context, row: ReactionRow) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "messageId": str(row.message),
        "reaction": row.reaction,
        "uid": row.uid,
        "reactedAt": row.reacted_at,
        "reactedBy": context.store.people.entity("user", row.uid)["entity"],
    }


def add_reaction(context: Context, call: Call) -> bytes:
    """Add a reaction of the acting user; a second one with the same emoji leaves one."""
    message, reaction, uid = readable_message(context, call), call.path["reaction"], str(call.acting_user)
    if context.store.reactions.add(message.number, reaction, uid, context.now):
        _count(context, message, reaction, 1)
    return message_reply(context, message, uid)


def remove_reaction(context: Context, call: Call) -> bytes:
    message, reaction, uid = readable_message(context, call), call.path["reaction"], str(call.acting_user)
    if context.store.reactions.remove(message.number, reaction, uid):
        _count(context, message, reaction, -1)
    return message_reply(context, message, uid)


def _count(context: Context, message: StoredMessage, reaction: str, change: int) -> None:
    """Change the number of users in `data.reactions`, which lists no reaction that nobody has."""
    data = message.record.get("data")
    data = data if isinstance(data, dict) else {}
    served = data.get("reactions")
    counts = {each["reaction"]: each["count"] for each in served or () if isinstance(each, dict)}
    counts[reaction] = counts.get(reaction, 0) + change
    reactions = [{"reaction": name, "count": count} for name, count in counts.items() if count > 0]
    message.record["data"] = data | {"reactions": reactions}
    context.store.rewrite({message.number: message.record})


HANDLERS: Final[dict[str, Handler]] = {
    "messages.update": update_message,
    "messages.delete": delete_message,
    "messages.pin": pin_message,
    "messages.unpin": unpin_message,
    "messages.save": save_message,
    "messages.unsave": unsave_message,
    "messages.mark_interacted": mark_interacted,
    "messages.list_reactions": list_reactions,
    "messages.list_reaction": list_reactions,
    "messages.add_reaction": add_reaction,
    "messages.remove_reaction": remove_reaction,
}
