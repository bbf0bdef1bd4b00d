"""Single messages: found, allowed to their reader, shown with what that reader alone sees, and changed.

An edit or a deletion writes an action message, and moves the times of the message. A deleted message stays in
its lists, with `deletedAt`, unless the deletion is permanent. The action is sent in the name of the message's
sender, so that it stands in the same lists; `data.entities.by` is the one who acted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.json import encode

from ..store import Store
from ..store.documents import Document
from ..store.message_index import parse_record, thread_list
from ..store.message_marks import ReactionRow
from .context import Context, Handler, ServiceCall
from .groups import APP
from .refusals import refused
from .replies import ack, list_reply, one


class StoredMessage(NamedTuple):
    """A message of the store."""

    number: int
    """The id under which it is stored."""
    record: Document
    """Its JSON, with tags."""


def message_record(context: Context, id: str) -> bytes:
    number = message_number(id)
    record = None if number is None else context.store.message(number)
    if record is None:
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", id)
    return record


def message_number(id: str) -> int | None:
    """Return the number that an id is stored under; None for what is no such number."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 19 else None


def readable_message(call: ServiceCall) -> StoredMessage:
    """Return the message of the path; 403 where the acting user has no part in its conversation."""
    name, reader = call.path["id"], call.acting_user
    record = parse_record(message_record(call, name))
    parties = (record.get("sender"), record.get("receiver"))
    if reader and record.get("receiverType") == "user" and reader not in parties:
        raise refused("ERR_MESSAGE_NO_ACCESS", name)
    return StoredMessage(int(name), record)


def changeable_message(call: ServiceCall) -> StoredMessage:
    """Return the message of the path, if it may be changed: 403 for an action, or for another one's message.

    The app may change any message; so may admins and moderators of the group that it was sent to.
    """
    message, actor = readable_message(call), call.acting_user
    if message.record.get("category") == "action":
        raise refused("ERR_MESSAGE_ACTION_NOT_ALLOWED", call.path["id"])
    if actor and actor != message.record.get("sender") and not _moderates(call, message.record, actor):
        raise refused("ERR_MESSAGE_NOT_A_SENDER", call.path["id"], actor)
    return message


def _moderates(context: Context, record: Document, uid: str) -> bool:
    if record.get("receiverType") != "group":
        return False
    member = context.store.members.member(str(record.get("receiver")), uid)
    return member is not None and member.scope in ("admin", "moderator")


def count_replies(store: Store, parent: str) -> None:
    number = message_number(parent)
    record = None if number is None else store.message(number)
    if number is not None and record is not None:
        count = store.size(thread_list(str(number)))
        store.rewrite({number: parse_record(record) | {"replyCount": count}})


def message_reply(context: Context, message: StoredMessage, reader: str | None) -> bytes:
    [record] = with_personal(context.store, [message.number], [encode(message.record)], reader)
    return one(record)


def with_personal(store: Store, ids: Sequence[int], records: list[bytes], reader: str | None) -> list[bytes]:
    """Return the records with what the reader alone sees: `savedAt`, `threadSubscribed`, `reactedByMe`."""
    if reader is None:
        return records
    saved, subscribed = store.marks.saved(reader, ids), store.marks.subscribed(reader, ids)
    reactions = store.reactions.of_user(reader, ids)
    if not (saved or subscribed or reactions):
        return records
    records = list(records)
    for index, number in enumerate(ids):
        if number in saved or number in subscribed or number in reactions:
            record = parse_record(records[index])
            _add_personal(record, saved.get(number), number in subscribed, reactions.get(number, set()))
            records[index] = encode(record)
    return records


def _add_personal(record: Document, saved_at: int | None, subscribed: bool, own: set[str]) -> None:
    if saved_at is not None:
        record["savedAt"] = saved_at
    if subscribed:
        record["threadSubscribed"] = True
    data = record.get("data")
    counts = data.get("reactions") if isinstance(data, dict) else None
    for count in counts if isinstance(counts, list) else ():
        if isinstance(count, dict) and count.get("reaction") in own:
            count["reactedByMe"] = True


# ── edits and deletions ──


_Rules: TypeAlias = Mapping[str, Callable[[Document], bool]]
"""The codes of what may be wrong with the data of a message, in the order in which it is checked."""


def _are_wrong(attachments: Any) -> bool:
    return not isinstance(attachments, list) or not all(
        isinstance(each, dict) and isinstance(each.get("url"), str) for each in attachments
    )


_RULES: Final[Mapping[str, _Rules]] = {
    "any": {"ERR_INVALID_METADATA": lambda data: not isinstance(data.get("metadata", {}), dict)},
    "text": {
        "ERR_INVALID_MESSAGE_TEXT": lambda data: not isinstance(data.get("text", ""), str),
        "ERR_EMPTY_MESSAGE_TEXT": lambda data: not data.get("text", "").strip(),
    },
    "media": {
        "ERR_EMPTY_MESSAGE_FILE": lambda data: not data.get("attachments"),
        "ERR_INVALID_MEDIA_MESSAGE": lambda data: _are_wrong(data["attachments"]),
    },
    "custom": {
        "ERR_EMPTY_CUSTOM_DATA": lambda data: not data.get("customData"),
        "ERR_INVALID_CUSTOM_DATA": lambda data: not isinstance(data["customData"], dict),
    },
    "interactive": {
        "ERR_INVALID_MESSAGE_DATA": lambda data: not isinstance(data.get("interactiveData"), dict)
    },
}


def check_data(data: Document, *kinds: str) -> None:
    """Refuse the data of a message by the rules of these kinds."""
    for kind in kinds:
        for code, is_broken in _RULES[kind].items():
            if is_broken(data):
                raise refused(code)


def update_message(call: ServiceCall) -> Document:
    message, body = changeable_message(call), call.body
    if "data" in body:
        check_data(body["data"], *(("any", "text") if "text" in body["data"] else ("any",)))
        message.record["data"] = _data(message) | body["data"]
    if "tags" in body:
        message.record["tags"] = body["tags"]
    return _changed(call, message, "edited")


def _data(message: StoredMessage) -> Document:
    data = message.record.get("data")
    return data if isinstance(data, dict) else {}


def delete_message(call: ServiceCall) -> Document:
    message = changeable_message(call)
    action = _changed(call, message, "deleted")
    if call.body.get("permanent"):
        call.store.remove([message.number])
        count_replies(call.store, str(message.record.get("parentId")))
    return action


def _changed(call: ServiceCall, message: StoredMessage, action: str) -> Document:
    store, actor = call.store, call.acting_user or APP
    at = max(call.now, store.last_sent_at)
    message.record.update({"updatedAt": at, f"{action}At": at, f"{action}By": actor})
    store.rewrite({message.number: message.record})
    return store.add_message_action(actor, action, message.record, sent_at=at)


# ── pins, saves, interactions, subscriptions ──


PINS_PER_CONVERSATION: Final = 100
SAVES_PER_USER: Final = 100
"""The documented limit."""


def pin_message(call: ServiceCall) -> bytes:
    """Pin a message for everybody; without an acting user the app pins. The first `pinnedAt` stays."""
    message, marks = readable_message(call), call.store.marks
    if not message.record.get("pinnedAt"):
        conversation = str(message.record.get("conversationId"))
        if marks.pinned_count(conversation) >= PINS_PER_CONVERSATION:
            raise refused("ERR_PINNED_MESSAGES_LIMIT_EXCEEDED", PINS_PER_CONVERSATION)
        marks.pin(message.number, conversation)
        message.record.update({"pinnedAt": call.now, "pinnedBy": call.acting_user or APP})
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message, call.acting_user)


def unpin_message(call: ServiceCall) -> bytes:
    message = readable_message(call)
    if message.record.pop("pinnedAt", None):
        message.record.pop("pinnedBy", None)
        call.store.marks.unpin(message.number)
        call.store.rewrite({message.number: message.record})
    return message_reply(call, message, call.acting_user)


def save_message(call: ServiceCall) -> bytes:
    """Save a message for the acting user; the first `savedAt` stays."""
    message, marks, uid = readable_message(call), call.store.marks, str(call.acting_user)
    if not marks.saved(uid, [message.number]) and marks.saved_count(uid) >= SAVES_PER_USER:
        raise refused("ERR_SAVED_MESSAGES_LIMIT_EXCEEDED", SAVES_PER_USER)
    marks.save(message.number, uid, call.now)
    return message_reply(call, message, uid)


def unsave_message(call: ServiceCall) -> bytes:
    message, uid = readable_message(call), str(call.acting_user)
    call.store.marks.unsave(message.number, uid)
    return message_reply(call, message, uid)


def mark_interacted(call: ServiceCall) -> Document:
    message, elements = readable_message(call), call.body["interactions"]
    call.store.marks.interact(message.number, str(call.acting_user), elements, call.now)
    return ack(f"The interactions with the message {message.number} have been noted.")


def subscribe(call: ServiceCall) -> Document:
    """Subscribe the acting user to the thread of a message, which may have no replies."""
    call.store.marks.subscribe(readable_message(call).number, str(call.acting_user))
    return ack()


def unsubscribe(call: ServiceCall) -> Document:
    """End the acting user's subscription; a later reply of that user subscribes again."""
    call.store.marks.unsubscribe(readable_message(call).number, str(call.acting_user))
    return ack()


# ── reactions ──


def list_reactions(call: ServiceCall) -> bytes:
    """A page of the reactions to a message, by their ids; of one emoji where the path has one."""
    message, query = readable_message(call), call.query
    size, after = query.get("limit") or query.get("perPage", 10), query.get("id")
    affix = query.get("affix", "append")
    rows = call.store.reactions.page(
        message.number, call.path.get("reaction"), after, size, ascending=affix == "append"
    )
    edge = rows[-1].id if rows else after
    position = {"affix": affix} | ({} if edge is None else {"id": str(edge)})
    meta = {"current": {"limit": size, "count": len(rows)}, "next": position}
    return list_reply([encode(_reaction_record(call, row)) for row in rows], {"meta": meta})


def _reaction_record(context: Context, row: ReactionRow) -> Document:
    return {
        "id": str(row.id),
        "messageId": str(row.message),
        "reaction": row.reaction,
        "uid": row.uid,
        "reactedAt": row.reacted_at,
        "reactedBy": context.store.people.entity("user", row.uid)["entity"],
    }


def _reaction(change: Callable[[Context, int, str, str], bool], step: int) -> Handler:
    """Return the handler that adds or removes a reaction; what changes nothing is not counted."""

    def handle(call: ServiceCall) -> bytes:
        message, reaction, uid = readable_message(call), call.path["reaction"], str(call.acting_user)
        if change(call, message.number, reaction, uid):
            _count(call, message, reaction, step)
        return message_reply(call, message, uid)

    return handle


def _add(context: Context, message: int, reaction: str, uid: str) -> bool:
    return context.store.reactions.add(message, reaction, uid, context.now)


def _remove(context: Context, message: int, reaction: str, uid: str) -> bool:
    return context.store.reactions.remove(message, reaction, uid)


def _count(context: Context, message: StoredMessage, reaction: str, change: int) -> None:
    """Change the number of users in `data.reactions`, which lists no reaction that nobody has."""
    data = _data(message)
    counts = {
        each["reaction"]: each["count"] for each in data.get("reactions") or () if isinstance(each, dict)
    }
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
    "messages.subscribe_thread": subscribe,
    "messages.unsubscribe_thread": unsubscribe,
    "messages.list_reactions": list_reactions,
    "messages.list_reaction": list_reactions,
    "messages.add_reaction": _reaction(_add, 1),
    "messages.remove_reaction": _reaction(_remove, -1),
}
