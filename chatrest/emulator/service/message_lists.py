"""The message lists and the lists of threads: from a query to a list request, and to the bytes of one page.

The 27 parameters of GET /users/{uid}/messages, and for every list alike the
few more that the others have: senders, receiverType, conversationId, hideDeleted,
onlyDeleted, hideQuotedMessages, hideMessagesFromBlockedUsers, saved, pinned, sentAt, and the windows
`sentAt[from]` to `editedAt[to]`. Where the documents are silent, the emulator has chosen:

- A boolean that is false filters nothing, as if it were absent.
- Several filters must all match; within a list (types, tags, mentionedUids …) one of its values must.
- `searchKey` matches anywhere in `data.text`, without regard to case.
- `unread` and `undelivered`: messages of others without `readAt` or `deliveredAt`. "The user" is the
  one in `onBehalfOf`, without it the one in the path.
- Messages up to the last one that the acting user has marked as read (or delivered) are read by that user.
- `saved` and `myMentionsOnly` without `onBehalfOf` match nothing; nor is anybody blocked then.
- The windows of `updatedAt` and `editedAt` skip messages that were never changed; both ends are included.
- `fromTimestamp` and `toTimestamp` are about `sentAt`, both ends included.
- `sentAt` is a position where there is no `id`; beside one it counts for nothing.

The pages:

- A page is ascending by id, whichever direction the walk takes.
- The position is `meta.cursor` in GET /users/{uid}/messages, and `meta.next` in the other lists.
- Without `id` a walk begins at the newest page and goes `prepend`; with `affix=append` it begins at the
  oldest. With `id` and no affix it continues after it: the documented "retrieves messages after it".
- The cursor is the last record in the walk's direction, with the affix that was taken. An empty page
  repeats the position of its request, and has none where the request had none.
- `meta.pagination` is about the walk: `total` is the number of messages that are left in its direction,
  with this page, so the last page is where `current_page` (always 1) reaches `total_pages`.
- `count=true` gives no messages but rows `{entityType, entityId, count}`, one per user or group on the
  other side of the conversation (no shape is documented).

A thread is a message that has replies; its time is that of the newest reply. The lists of threads go from the
newest to the oldest unless `affix=append` is asked. They have no counts that the table does not name.
"""

from bisect import bisect_left
from typing import Final

from msgspec.json import decode, encode

from ..store.documents import Document
from ..store.message_index import (
    ALL,
    conversation_id,
    conversation_list,
    group_list,
    participant_list,
    thread_list,
)
from ..store.message_lists import BEGIN, END, Condition
from ..store.message_marks import Thread
from .arguments import bounds, conditions, contains, joined
from .context import Context, Handler, ServiceCall
from .groups import path_group
from .messages import message_record, message_reply, readable_message, with_personal
from .replies import list_reply, one, pagination
from .users import path_user

_FILTERS: Final = {
    "hasAttachments": "m.attachments NOT NULL",
    "hasMentions": "m.mentions NOT NULL",
    "hasLinks": "m.links",
    "hasReactions": "m.reactions",
    "hideReplies": "m.parent IS NULL",
    "hideDeleted": "NOT m.deleted",
    "onlyDeleted": "m.deleted",
    "hideQuotedMessages": "NOT m.quoting",
    "pinned": "m.id IN (SELECT message FROM marks WHERE kind = 'pin')",
    "category": "m.category = ?",
    "type": "m.type = ?",
    "sender": "m.sender = ?",
    "receiverType": "m.receiver_type = ?",
    "conversationId": "m.conversation = ?",
    "categories": "m.category IN (MARKS)",
    "types": "m.type IN (MARKS)",
    "senders": "m.sender IN (MARKS)",
    "attachmentTypes": contains("m.attachments"),
    "mentionedUids": contains("m.mentions"),
    "tags": contains("m.tags"),
    "fromTimestamp": "m.sent_at >= ?",
    "toTimestamp": "m.sent_at <= ?",
    **bounds("sentAt", "m.sent_at"),
    **bounds("updatedAt", "m.updated_at"),
    **bounds("editedAt", "m.edited_at"),
}
_UNREAD_CONDITION: Final = """NOT m.COLUMN AND m.sender != ? AND m.id > coalesce(
    (SELECT COLUMN_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""
_SAVED: Final = "m.id IN (SELECT message FROM marks WHERE kind = 'save' AND owner = ?)"
_OWN_FLAGS: Final = {"unread": "read", "undelivered": "delivered"}
_MENTIONED: Final = "EXISTS (SELECT 1 FROM json_each(m.mentions) WHERE value = ?)"
_NOT_BLOCKED: Final = "m.sender NOT IN (SELECT value FROM json_each(?))"
_NOT_RESET: Final = """m.id > coalesce(
    (SELECT reset_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""


def _condition_of(call: ServiceCall) -> Condition:
    """Return the condition of a query's filters.

    Left out is what the acting user has reset, and on demand what blocked users have sent. What may change
    meanwhile is in the values of a condition, as its matches are cached.
    """
    actor, store, query = call.acting_user, call.store, call.query
    reader = actor or call.path.get("uid", "")
    terms = conditions(query, _FILTERS)
    terms += [
        Condition(_UNREAD_CONDITION.replace("COLUMN", column), (reader, reader))
        for name, column in _OWN_FLAGS.items()
        if query.get(name)
    ]
    if query.get("saved"):
        terms.append(Condition(_SAVED, (actor or "",)))
    if query.get("myMentionsOnly"):
        terms.append(Condition(_MENTIONED, (actor,)) if actor else Condition("0"))
    if "searchKey" in query:
        terms.append(Condition("instr(m.text, ?)", (query["searchKey"].casefold(),)))
    if "sentAt" in query and "id" not in query:
        sign = "<" if query.get("affix") == "prepend" else ">"
        terms.append(Condition(f"m.sent_at {sign} ?", (query["sentAt"],)))
    if actor and store.views.has_resets(actor):
        terms.append(Condition(_NOT_RESET, (actor,)))
    if actor and query.get("hideMessagesFromBlockedUsers"):
        blocked = encode(store.relations.uids("blocked", actor)).decode()
        terms.append(Condition(_NOT_BLOCKED, (blocked,)))
    return joined(terms)


# ── pages ──


def _page_reply(call: ServiceCall, name: str, condition: Condition, size: int) -> bytes:
    """Return one page of the list `name`: a walk along an index, a filter's first page a scan of the list."""
    start: int | None = call.query.get("id")
    affix: str = call.query.get("affix") or ("prepend" if start is None else "append")
    if affix == "append":
        span = call.store.after(name, BEGIN if start is None else start, size, condition)
    else:
        span = call.store.before(name, END if start is None else start, size, condition)
    ids = list(span.ids)
    records = _records(call, ids)
    edge = start if not ids else ids[-1] if affix == "append" else ids[0]
    if "uid" in call.path:
        cursor = {"affix": affix} if edge is None else {"id": edge, "affix": affix}
        meta = {"pagination": pagination(span.left, len(ids), size), "cursor": cursor}
    else:
        meta = {"current": {"limit": size, "count": len(ids)}, "next": _next(call, edge, affix)}
    return list_reply(records, {"meta": meta})


def _count_reply(call: ServiceCall, name: str, condition: Condition, size: int) -> bytes:
    """Return how many messages match, per user or group on the other side of a user's conversations."""
    rows = call.store.counts(name, call.path.get("uid") or call.acting_user, condition)
    records = [encode({"entityType": kind, "entityId": side, "count": count}) for kind, side, count in rows]
    size = max(size, len(records))
    if "uid" in call.path:
        return list_reply(records, {"meta": {"pagination": pagination(len(records), len(records), size)}})
    return list_reply(records, {"meta": {"current": {"limit": size, "count": len(records)}}})


def _records(call: ServiceCall, ids: list[int]) -> list[bytes]:
    store, query = call.store, call.query
    records = store.records(ids, with_tags=query.get("withTags", False))
    if query.get("mentionsWithBlockedInfo") or query.get("mentionsWithTagInfo"):
        for number in store.with_mentions(ids):
            index = bisect_left(ids, number)
            records[index] = _with_mention_info(call, records[index])
    return with_personal(store, ids, records, call.acting_user)


def _next(context: Context, id: int | None, affix: str) -> Document:
    if id is None:
        return {"affix": affix}
    sent_at = context.store.sent_at(id)
    return {"affix": affix, **({} if sent_at is None else {"sentAt": sent_at}), "id": str(id)}


def _with_mention_info(call: ServiceCall, record: bytes) -> bytes:
    store, reader = call.store, call.acting_user
    message = decode(record, type=Document)
    mentions = message["data"]["mentions"]
    for uid, user in mentions.items() if isinstance(mentions, dict) else ():
        if not isinstance(user, dict):
            continue
        if call.query.get("mentionsWithTagInfo"):
            user["tags"] = store.people.tags(uid)
        if call.query.get("mentionsWithBlockedInfo") and reader:
            user["blockedByMe"] = store.relations.has("blocked", reader, uid)
            user["hasBlockedMe"] = store.relations.has("blocked", uid, reader)
    return encode(message)


# ── the lists of messages ──


_OWN: Final = """(m.sender = ? OR (m.receiver_type = 'user' AND m.receiver = ?)
    OR (m.receiver_type = 'group' AND m.receiver IN (SELECT value FROM json_each(?))))"""


def _own(call: ServiceCall, uid: str) -> Condition:
    """Return that a user takes part in a message, or is a member of its group."""
    return Condition(_OWN, (uid, uid, encode(call.store.members.guids(uid)).decode()))


def list_user(call: ServiceCall) -> bytes:
    """With an acting user the conversation of the two; without, all messages that the user takes part in."""
    uid, reader = path_user(call), call.acting_user
    if reader:
        return _list(call, conversation_list(conversation_id(uid, reader)), 10)
    return _list(call, participant_list(uid), 100, ("perPage", "limit"))


def list_group(call: ServiceCall) -> bytes:
    return _list(call, group_list(path_group(call)), 10)


def list_all(call: ServiceCall) -> bytes:
    """The messages of the app; with an acting user those that this user takes part in.

    Those that the user has not read, not got or saved may also have been sent to the user's groups.
    """
    reader = call.acting_user
    if reader is None or any(call.query.get(name) for name in (*_OWN_FLAGS, "saved")):
        return _list(call, ALL, 10)
    return _list(call, participant_list(reader), 10)


def list_thread(call: ServiceCall) -> bytes:
    parent = call.path["id"]
    message_record(call, parent)
    return _list(call, thread_list(str(int(parent))), 100)


def _list(
    call: ServiceCall, name: str, default_size: int, sizes: tuple[str, ...] = ("limit", "perPage")
) -> bytes:
    """Return a page of a list, or its counts; `sizes` are the parameters of the size, the first counts."""
    reader, query, condition = call.acting_user, call.query, _condition_of(call)
    size = int(next((query[name] for name in sizes if name in query), default_size))
    if reader is not None and name == ALL:
        condition = joined([condition, _own(call, reader)])
    return (_count_reply if query.get("count") else _page_reply)(call, name, condition, size)


def get_message(call: ServiceCall) -> bytes:
    message = readable_message(call)
    if call.acting_user is None:
        return one(message_record(call, call.path["id"]))
    return message_reply(call, message)


# ── threads ──


_PARTICIPATED: Final = """(m.sender = ? OR EXISTS (
    SELECT 1 FROM positions q JOIN messages r ON r.id = q.id WHERE q.list = p.list AND r.sender = ?))"""


def list_threads(call: ServiceCall) -> bytes:
    reader = call.acting_user
    return _thread_page(call, _own(call, reader) if reader else Condition("1"))


def list_user_threads(call: ServiceCall) -> bytes:
    uid, reader = path_user(call), call.acting_user
    if reader:
        return _thread_page(call, Condition("m.conversation = ?", (conversation_id(uid, reader),)))
    return _thread_page(call, _own(call, uid))


def list_group_threads(call: ServiceCall) -> bytes:
    return _thread_page(call, Condition("m.conversation = ?", (f"group_{path_group(call)}",)))


def _thread_page(call: ServiceCall, condition: Condition) -> bytes:
    query, reader = call.query, call.acting_user
    size, updated_at, affix = query.get("limit", 100), query.get("updatedAt"), query.get("affix", "prepend")
    if query.get("participatedByMe"):
        condition = joined([condition, Condition(_PARTICIPATED, (reader or "",) * 2)])
    threads = call.store.threads.page(*condition, updated_at, size, ascending=affix == "append")
    edge = threads[-1].updated_at if threads else updated_at
    position = {"affix": affix} | ({} if edge is None else {"updatedAt": edge})
    meta = {"current": {"limit": size, "count": len(threads)}, "next": position}
    records = [_thread_record(call, thread) for thread in threads]
    ids = [thread.id for thread in threads]
    return list_reply(with_personal(call.store, ids, records, reader), {"meta": meta})


def _thread_record(context: Context, thread: Thread) -> bytes:
    last = context.store.record(thread.last_reply)
    return encode(context.store.record(thread.id) | {"replyCount": thread.reply_count, "lastReply": last})


HANDLERS: Final[dict[str, Handler]] = {
    "messages.list_user": list_user,
    "messages.list_group": list_group,
    "messages.list": list_all,
    "messages.list_thread": list_thread,
    "messages.get": get_message,
    "messages.list_threads": list_threads,
    "messages.list_threads_user": list_user_threads,
    "messages.list_threads_group": list_group_threads,
}
