"""The operations of reactions: the list of them, and one user's own."""

from typing import Any, Final

from msgspec.json import encode

from ..store.message_marks import ReactionRow
from .context import Call, Context, Handler
from .envelopes import list_reply
from .message_access import StoredMessage, message_reply, readable_message

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
    return list_reply([encode(_record(context, row)) for row in rows], {"meta": meta})


def _record(context: Context, row: ReactionRow) -> dict[str, Any]:
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
    """Remove a reaction of the acting user, if there is one."""
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
    "messages.list_reactions": list_reactions,
    "messages.list_reaction": list_reactions,
    "messages.add_reaction": add_reaction,
    "messages.remove_reaction": remove_reaction,
}
