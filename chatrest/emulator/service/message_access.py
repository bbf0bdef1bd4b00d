"""One message for one request: found, allowed to its reader, and with what that reader alone sees."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec.json import encode

from ..store import Store
from ..store.directory import SYSTEM
from ..store.message_index import parse_record, thread_list
from .context import Call, Context
from .envelopes import one_reply
from .refusals import refused

APP: Final = str(SYSTEM["uid"])


class StoredMessage(NamedTuple):
    """A message of the store."""

    number: int
    """The id under which it is stored."""
    record: dict[str, Any]
    """Its JSON, with tags."""


def message_record(context: Context, id: str) -> bytes:
    """Return a message's record with its tags; 404 for no such message."""
    number = message_number(id)
    record = None if number is None else context.store.message(number)
    if record is None:
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", id)
    return record


def message_number(id: str) -> int | None:
    """Return the number that an id is stored under; None for what is no such number."""
    return int(id) if id.isascii() and id.isdigit() and len(id) < 19 else None


def readable_message(context: Context, call: Call) -> StoredMessage:
    """Return the message of the path; 403 where the acting user has no part in its conversation."""
    name, reader = call.path["id"], call.acting_user
    record = parse_record(message_record(context, name))
    parties = (record.get("sender"), record.get("receiver"))
    if reader and record.get("receiverType") == "user" and reader not in parties:
        raise refused("ERR_MESSAGE_NO_ACCESS", name)
    return StoredMessage(int(name), record)


def changeable_message(context: Context, call: Call) -> StoredMessage:
    """Return the message of the path, if it may be changed: 403 for an action, or for another one's message.

    The app may change any message; so may admins and moderators of the group that it was sent to.
    """
    message, actor = readable_message(context, call), call.acting_user
    if message.record.get("category") == "action":
        raise refused("ERR_MESSAGE_ACTION_NOT_ALLOWED", call.path["id"])
    if actor and actor != message.record.get("sender") and not _moderates(context, message.record, actor):
        raise refused("ERR_MESSAGE_NOT_A_SENDER", call.path["id"], actor)
    return message


def _moderates(context: Context, record: dict[str, Any], uid: str) -> bool:
    if record.get("receiverType") != "group":
        return False
    member = context.store.members.member(str(record.get("receiver")), uid)
    return member is not None and member.scope in ("admin", "moderator")


def count_replies(store: Store, parent: str) -> None:
    """Write the number of replies into a thread's message, if there is such a message."""
    number = message_number(parent)
    record = None if number is None else store.message(number)
    if number is not None and record is not None:
        count = store.size(thread_list(str(number)))
        store.rewrite({number: parse_record(record) | {"replyCount": count}})


def message_reply(context: Context, message: StoredMessage, reader: str | None) -> bytes:
    """Return the reply of one message, as its reader sees it."""
    [record] = with_personal(context.store, [message.number], [encode(message.record)], reader)
    return one_reply(record)


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


def _add_personal(record: dict[str, Any], saved_at: int | None, subscribed: bool, own: set[str]) -> None:
    if saved_at is not None:
        record["savedAt"] = saved_at
    if subscribed:
        record["threadSubscribed"] = True
    data = record.get("data")
    counts = data.get("reactions") if isinstance(data, dict) else None
    for count in counts if isinstance(counts, list) else ():
        if isinstance(count, dict) and count.get("reaction") in own:
            count["reactedByMe"] = True
