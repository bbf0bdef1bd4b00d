"""Edits and deletions of messages; each writes an action message, and moves the times of the message.

A deleted message stays in its lists, with `deletedAt`, unless the deletion is permanent. The action is sent
in the name of the message's sender, so that it stands in the same lists; `data.entities.by` is the one who
acted.
"""

from typing import Any, Final

from msgspec.json import encode

from .context import Call, Context, Handler
from .envelopes import one_reply
from .message_access import APP, StoredMessage, changeable_message, count_replies
from .message_body import check_text
from .refusals import Refusal


def update_message(context: Context, call: Call) -> bytes:
    """Change text, metadata and other members of `data`, and the tags."""
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


HANDLERS: Final[dict[str, Handler]] = {
    "messages.update": update_message,
    "messages.delete": delete_message,
}
