"""The operations that read messages: the lists of them, one message, and threads with their subscriptions.

A thread is a message that has replies; its time is that of the newest reply. The lists of threads go from the
newest to the oldest unless `affix=append` is asked. Counts that the table does not name are
`unreadReplyCount` and `mentionCount` here.
"""

from typing import Any, Final

from msgspec import structs
from msgspec.json import encode

from ..store.message_index import (
    ALL,
    conversation_id,
    conversation_list,
    group_list,
    parse_record,
    participant_list,
    thread_list,
)
from ..store.message_lists import Condition
from ..store.message_marks import Thread
from .arguments import joined
from .context import Call, Context, Handler
from .envelopes import ack_reply, list_reply, one_reply
from .groups import group_record
from .message_access import message_record, message_reply, readable_message, with_personal
from .message_lists import ListRequest, count_reply, list_request, page_reply
from .users import user_record

_OWN_FLAGS: Final = ("unread", "undelivered", "saved")
_HIDES_BLOCKED: Final = "hideMessagesFromBlockedUsers"
_OWN: Final = """(m.sender = ? OR (m.receiver_type = 'user' AND m.receiver = ?)
    OR (m.receiver_type = 'group' AND m.receiver IN (SELECT value FROM json_each(?))))"""
_NOT_BLOCKED: Final = "m.sender NOT IN (SELECT value FROM json_each(?))"
_NOT_RESET: Final = """m.id > coalesce(
    (SELECT reset_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""


def list_user(context: Context, call: Call) -> bytes:
    """With an acting user the conversation of the two; without, all messages that the user takes part in."""
    uid, reader, store = call.path["uid"], call.acting_user, context.store
    user_record(context, uid)
    sizes, default = (("limit", "perPage"), 10) if reader else (("perPage", "limit"), 100)
    request = visible(context, call, list_request(call.query, reader, uid, sizes, default))
    name = conversation_list(conversation_id(uid, reader)) if reader else participant_list(uid)
    if request.count:
        return count_reply(store, name, request, uid, context.user_lists)
    return page_reply(store, name, request, reader, context.user_lists)


def list_group(context: Context, call: Call) -> bytes:
    guid = call.path["guid"]
    group_record(context, guid)
    return _list(context, call, group_list(guid), 10)


def list_all(context: Context, call: Call) -> bytes:
    """The messages of the app; with an acting user those that this user takes part in.

    Those that the user has not read, not got or saved may also have been sent to the user's groups.
    """
    reader = call.acting_user
    if reader is None or any(call.query.flag(name) for name in _OWN_FLAGS):
        return _list(context, call, ALL, 10)
    return _list(context, call, participant_list(reader), 10)


def list_thread(context: Context, call: Call) -> bytes:
    parent = call.path["id"]
    message_record(context, parent)
    return _list(context, call, thread_list(str(int(parent))), 100)


def _list(context: Context, call: Call, name: str, default_size: int) -> bytes:
    reader = call.acting_user
    request = list_request(call.query, reader, None, ("limit", "perPage"), default_size)
    request = visible(context, call, request)
    if reader is not None and name == ALL:
        guids = encode(context.store.members.guids(reader)).decode()
        request = narrowed(request, _OWN, (reader, reader, guids))
    if request.count:
        return count_reply(context.store, name, request, reader, context.other_lists)
    return page_reply(context.store, name, request, reader, context.other_lists)


def visible(context: Context, call: Call, request: ListRequest) -> ListRequest:
    """The request without what the acting user has reset, and on demand without messages of blocked users.

    What may change meanwhile is in the values of a condition, as its matches are cached.
    """
    reader, store, hides_blocked = call.acting_user, context.store, call.query.flag(_HIDES_BLOCKED)
    call.query.check()
    if reader is None:
        return request
    if store.views.has_resets(reader):
        request = narrowed(request, _NOT_RESET, (reader,))
    if hides_blocked:
        blocked = encode(store.relations.uids("blocked", reader)).decode()
        request = narrowed(request, _NOT_BLOCKED, (blocked,))
    return request


def narrowed(request: ListRequest, sql: str, values: tuple[str, ...]) -> ListRequest:
    return structs.replace(request, condition=joined([request.condition, Condition(sql, values)]))


def get_message(context: Context, call: Call) -> bytes:
    """One message, with its tags; 403 for an acting user who has no part in its conversation."""
    message = readable_message(context, call)
    if call.acting_user is None:
        return one_reply(message_record(context, call.path["id"]))
    return message_reply(context, message, call.acting_user)


# ── threads ──


_OWN_THREADS: Final = """(m.sender = ? OR (m.receiver_type = 'user' AND m.receiver = ?)
    OR (m.receiver_type = 'group' AND m.receiver IN (SELECT guid FROM members WHERE uid = ?)))"""
_PARTICIPATED: Final = """(m.sender = ? OR EXISTS (
    SELECT 1 FROM positions q JOIN messages r ON r.id = q.id WHERE q.list = p.list AND r.sender = ?))"""
_THREADS_OF_PAGE: Final = 100


def list_threads(context: Context, call: Call) -> bytes:
    """The threads of the app, or those of the conversations that the acting user has a part in."""
    reader = call.acting_user
    return _thread_page(context, call, *((_OWN_THREADS, (reader,) * 3) if reader else ("1", ())))


def list_user_threads(context: Context, call: Call) -> bytes:
    """The threads between a user and the acting user; without one all that the user has a part in."""
    uid, reader = call.path["uid"], call.acting_user
    user_record(context, uid)
    if reader:
        return _thread_page(context, call, "m.conversation = ?", (conversation_id(uid, reader),))
    return _thread_page(context, call, _OWN_THREADS, (uid,) * 3)


def list_group_threads(context: Context, call: Call) -> bytes:
    guid = call.path["guid"]
    group_record(context, guid)
    return _thread_page(context, call, "m.conversation = ?", (f"group_{guid}",))


def _thread_page(context: Context, call: Call, condition: str, values: tuple[str, ...]) -> bytes:
    query, reader = call.query, call.acting_user
    size, updated_at = query.number("limit", 1, 1000) or _THREADS_OF_PAGE, query.number("updatedAt")
    ascending = query.choice("affix", ("append", "prepend")) == "append"
    if query.flag("participatedByMe"):
        condition, values = f"{condition} AND {_PARTICIPATED}", (*values, *(reader or "",) * 2)
    flags = {name: query.flag(name) for name in ("withUnreadReplyCount", "withMentionCount")}
    query.check()
    threads = context.store.threads.page(condition, values, updated_at, size, ascending=ascending)
    edge = threads[-1].updated_at if threads else updated_at
    position = {"affix": "append" if ascending else "prepend"} | ({} if edge is None else {"updatedAt": edge})
    meta = {"current": {"limit": size, "count": len(threads)}, "next": position}
    records = [_thread_record(context, thread, reader, flags) for thread in threads]
    ids = [thread.id for thread in threads]
    return list_reply(with_personal(context.store, ids, records, reader), {"meta": meta})


def _thread_record(context: Context, thread: Thread, reader: str | None, flags: dict[str, bool]) -> bytes:
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
    "messages.list_user": list_user,
    "messages.list_group": list_group,
    "messages.list": list_all,
    "messages.list_thread": list_thread,
    "messages.get": get_message,
    "messages.list_threads": list_threads,
    "messages.list_threads_user": list_user_threads,
    "messages.list_threads_group": list_group_threads,
    "messages.subscribe_thread": subscribe,
    "messages.unsubscribe_thread": unsubscribe,
}
