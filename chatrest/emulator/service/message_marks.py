"""The operations of pins, saves, and interactions with a message."""

from typing import Final

from .context import Call, Context, Handler
from .envelopes import ack_reply
from .message_access import APP, message_reply, readable_message
from .refusals import over_limit

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
    """Unpin a message, if it is pinned."""
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
    """Note the elements of a message that the acting user has used."""
    message = readable_message(context, call)
    elements = call.read()["interactions"]
    context.store.marks.interact(message.number, str(call.acting_user), elements, context.now)
    return ack_reply(f"The interactions with the message {message.number} have been noted.")


HANDLERS: Final[dict[str, Handler]] = {
    "messages.pin": pin_message,
    "messages.unpin": unpin_message,
    "messages.save": save_message,
    "messages.unsave": unsave_message,
    "messages.mark_interacted": mark_interacted,
}
