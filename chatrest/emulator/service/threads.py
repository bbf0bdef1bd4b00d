"""The operations of threads: the lists of them, and subscriptions.

A thread is a message that has replies; its time is that of the newest reply. The lists go from the newest to
the oldest unless `affix=append` is asked. Counts that the table does not name are `unreadReplyCount` and
`mentionCount` here.
"""

from typing import Any, Final

from msgspec.json import encode

from ..store.message_index import conversation_id, parse_record
from ..store.message_marks import Thread
from .context import Call, Context, Handler
from .envelopes import ack_reply, list_reply
from .groups import group_record
from .message_access import readable_message, with_personal
from .users import user_record

_OWN: Final = """(m.sender = ? OR (m.receiver_type = 'user' AND m.receiver = ?)
    OR (m.receiver_type = 'group' AND m.receiver IN (SELECT guid FROM members WHERE uid = ?)))"""
_PARTICIPATED: Final = """(m.sender = ? OR EXISTS (
    SELECT 1 FROM positions q JOIN messages r ON r.id = q.id WHERE q.list = p.list AND r.sender = ?))"""
_DEFAULT_SIZE: Final = 100


def list_threads(context: Context, call: Call) -> bytes:
    """The threads of the app, or those of the conversations that the acting user has a part in."""
    reader = call.acting_user
    return _page(context, call, *((_OWN, (reader,) * 3) if reader else ("1", ())))


def list_user_threads(context: Context, call: Call) -> bytes:
    """The threads between a user and the acting user; without one all that the user has a part in."""
    uid, reader = call.path["uid"], call.acting_user
    user_record(context, uid)
    if reader:
        return _page(context, call, "m.conversation = ?", (conversation_id(uid, reader),))
    return _page(context, call, _OWN, (uid,) * 3)


def list_group_threads(context: Context, call: Call) -> bytes:
    """The threads of a group."""
    guid = call.path["guid"]
    group_record(context, guid)
    return _page(context, call, "m.conversation = ?", (f"group_{guid}",))


def _page(context: Context, call: Call, condition: str, values: tuple[str, ...]) -> bytes:
    query, reader = call.query, call.acting_user
    size, updated_at = query.number("limit", 1, 1000) or _DEFAULT_SIZE, query.number("updatedAt")
    ascending = query.choice("affix", ("append", "prepend")) == "append"
    if query.flag("participatedByMe"):
        condition, values = f"{condition} AND {_PARTICIPATED}", (*values, *(reader or "",) * 2)
    flags = {name: query.flag(name) for name in ("withUnreadReplyCount", "withMentionCount")}
    query.check()
    threads = context.store.threads.page(condition, values, updated_at, size, ascending=ascending)
    edge = threads[-1].updated_at if threads else updated_at
    position = {"affix": "append" if ascending else "prepend"} | ({} if edge is None else {"updatedAt": edge})
    meta = {"current": {"limit": size, "count": len(threads)}, "next": position}
    records = [_record(context, thread, reader, flags) for thread in threads]
    ids = [thread.id for thread in threads]
    return list_reply(with_personal(context.store, ids, records, reader), {"meta": meta})


def _record(context: Context, thread: Thread, reader: str | None, flags: dict[str, bool]) -> bytes:
    """The message of a thread, with what is known of its replies."""
    record: dict[str, Any] = parse_record(context.store.message(thread.id) or b"{}")
    last = parse_record(context.store.message(thread.last_reply) or b"{}")
    record |= {"replyCount": thread.reply_count, "lastReply": last}
    if reader and flags["withUnreadReplyCount"]:
        record["unreadReplyCount"] = context.store.threads.unread_count(thread.id, reader)
    if reader and flags["withMentionCount"]:
        record["mentionCount"] = context.store.threads.mention_count(thread.id, reader)
    return encode(record)


def subscribe(context: Context, call: Call) -> bytes:
    """Subscribe the acting user to the thread of a message, which may have no replies."""
    context.store.marks.subscribe(readable_message(context, call).number, str(call.acting_user))
    return ack_reply(None)


def unsubscribe(context: Context, call: Call) -> bytes:
    """End the acting user's subscription; a later reply of that user subscribes again."""
    context.store.marks.unsubscribe(readable_message(context, call).number, str(call.acting_user))
    return ack_reply(None)


HANDLERS: Final[dict[str, Handler]] = {
    "messages.list_threads": list_threads,
    "messages.list_threads_user": list_user_threads,
    "messages.list_threads_group": list_group_threads,
    "messages.subscribe_thread": subscribe,
    "messages.unsubscribe_thread": unsubscribe,
}
