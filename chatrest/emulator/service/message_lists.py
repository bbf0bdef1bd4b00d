"""The message lists and the lists of threads: from a query to a condition, and to the bytes of one page.

Every list takes every filter that one of them has. Where the documents are silent, the emulator has chosen:
- Several filters must all match; within a list one value must.
- `unread` and `undelivered`: messages of others without `readAt` or `deliveredAt`, after the last one that
  the user has marked; the user is the one in `onBehalfOf`, without it the one in the path.
- Windows include both ends; those of `updatedAt` and `editedAt` skip messages that were never changed.
- `sentAt` is a position where there is no `id`; beside one it counts for nothing.
- A page is ascending by id, whichever direction the walk takes. Without `id` a walk begins at the newest page
  and goes `prepend`; with `affix=append` at the oldest. With `id` and no affix it continues after it.
- An empty page repeats the position of its request.
- `meta.pagination` is about the walk: `total` is the number of messages that are left in its direction, with
  this page, so the last page is where `current_page` (always 1) reaches `total_pages`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, ge, gt, le, lt
from typing import Any, Final

from msgspec import UNSET
from msgspec.json import encode

from ..store.documents import selected
from ..store.message_index import (
    ALL,
    Condition,
    StoredMessage,
    Test,
    conversation_id,
    conversation_list,
    group_list,
    number_of,
    participant_list,
    thread_list,
)
from .groups import path_group
from .handler_input import Filters, Handler, ServiceCall, active_filters, end_filter, range_filters
from .messages import message_record, message_reply, personal_records, readable_message
from .reply_forms import current_meta, list_reply, page_beyond, pagination
from .users import path_user

_SENT_AT: Final = attrgetter("sent_at")
_FILTERS: Final[Filters] = {
    "hasAttachments": lambda each, _: each.attachment_kinds,
    "hasMentions": lambda each, _: each.mentions,
    "hasLinks": lambda each, _: "http://" in each.text or "https://" in each.text,
    "hasReactions": lambda each, _: each.data.reactions,
    "hideReplies": lambda each, _: each.parent_id is None,
    "hideDeleted": lambda each, _: each.deleted_at is UNSET,
    "onlyDeleted": lambda each, _: each.deleted_at is not UNSET,
    "hideQuotedMessages": lambda each, _: each.quoted_message is None,
    "pinned": lambda each, _: each.pinned_at,
    "category": lambda each, category: each.category == category,
    "type": lambda each, kind: each.type == kind,
    "sender": lambda each, sender: each.sender == sender,
    "receiverType": lambda each, kind: each.receiver_type == kind,
    "conversationId": lambda each, conversation: each.conversation_id == conversation,
    "categories": lambda each, categories: each.category in categories,
    "types": lambda each, types: each.type in types,
    "senders": lambda each, senders: each.sender in senders,
    "attachmentTypes": lambda each, kinds: not set(kinds).isdisjoint(each.attachment_kinds),
    "mentionedUids": lambda each, uids: any(uid in each.mentions for uid in uids),
    "tags": lambda each, tags: isinstance(each.tags, list) and not set(tags).isdisjoint(each.tags),
    "searchKey": lambda each, text: text.casefold() in each.text,
    "fromTimestamp": end_filter(ge, _SENT_AT),
    "toTimestamp": end_filter(le, _SENT_AT),
    **range_filters("sentAt", _SENT_AT),
    **range_filters("updatedAt", attrgetter("changed_at")),
    **range_filters("editedAt", attrgetter("edited_at")),
}


def _condition_of(call: ServiceCall, *more: Test) -> Condition:
    """Return the condition of a query's filters, of what the acting user has done, and of more tests."""
    filters = active_filters(call.query, _FILTERS)
    reader_tests = [*_reader_tests(call), *more]
    tests = [partial(_passes, _FILTERS[name], value) for name, value in filters.items()]
    return Condition((*tests, *reader_tests), None if reader_tests else tuple(filters.items()))


def _passes(test: Callable[[Any, Any], Any], value: Any, each: StoredMessage) -> Any:
    return test(each, value)


def _reader_tests(call: ServiceCall) -> Iterator[Test]:
    """Give the tests that depend on more than the message; left out is what the acting user has reset."""
    actor, store, query = call.acting_user, call.store, call.query
    reader = actor or call.path.get("uid", "")
    if query.get("unread"):
        yield partial(_lacks_receipt, reader, "read_at", store.views.ids_of(reader, "read_id"))
    if query.get("undelivered"):
        yield partial(_lacks_receipt, reader, "delivered_at", store.views.ids_of(reader, "delivered_id"))
    if query.get("saved"):
        yield lambda each: any(
            mark.kind == "save" and mark.owner == actor for mark in store.marks.on(each.number)
        )
    if query.get("myMentionsOnly"):
        yield lambda each: actor in each.mentions
    if "sentAt" in query and "id" not in query:
        is_beyond = end_filter(lt if query.get("affix") == "prepend" else gt, _SENT_AT)
        yield lambda each: is_beyond(each, query["sentAt"])
    if actor and (resets := store.views.ids_of(actor, "reset_id")):
        yield lambda each: each.number > resets.get(each.conversation_id, 0)
    if actor and query.get("hideMessagesFromBlockedUsers"):
        yield lambda each: each.sender not in store.relations.of("blocked", actor)


def _lacks_receipt(reader: str, receipt: str, ids: Mapping[str, int], each: StoredMessage) -> bool:
    is_after_mark = each.number > ids.get(each.conversation_id, 0)
    return is_after_mark and getattr(each, receipt) is UNSET and each.sender != reader


def _encode_page(call: ServiceCall, name: str, condition: Condition, size: int) -> bytes:
    start: int | None = call.query.get("id")
    affix: str = call.query.get("affix") or ("prepend" if start is None else "append")
    span = call.store.span(name, start, size, condition, ascending=affix == "append")
    ids = span.ids
    records = call.store.records(ids, with_tags=call.query.get("withTags", False))
    edge = start if not ids else ids[-1] if affix == "append" else ids[0]
    if "uid" in call.path:
        cursor = {"affix": affix} if edge is None else {"id": edge, "affix": affix}
        meta = {"pagination": pagination(span.left, len(ids), size), "cursor": cursor}
    else:
        last = call.store.messages.get(edge or 0)
        time = {} if last is None else {"sentAt": last.sent_at}
        meta = current_meta(ids, size) | {
            "next": {"affix": affix, **time, **({} if edge is None else {"id": str(edge)})}
        }
    return list_reply(personal_records(call.store, ids, records, call.acting_user), {"meta": meta})


def _encode_counts(call: ServiceCall, name: str, condition: Condition, size: int) -> bytes:
    """Return how many messages match, per user or group on the other side of a user's conversations."""
    reader = call.path.get("uid") or call.acting_user
    matches = [call.store.messages[number] for number in call.store.matching(name, condition)]
    counts = Counter(
        (each.receiver_type, each.sender if each.receiver == reader else each.receiver) for each in matches
    )
    rows = [
        {"entityType": kind, "entityId": side, "count": counts[kind, side]} for kind, side in sorted(counts)
    ]
    size = max(size, len(rows))
    pages = {"pagination": pagination(len(rows), len(rows), size)}
    return encode({"data": rows, "meta": pages if "uid" in call.path else current_meta(rows, size)})


def _takes_part(call: ServiceCall, uid: str) -> Test:
    guids = call.store.members.guids(uid)
    return lambda each: (
        uid in (each.sender, each.receiver) or (each.receiver_type == "group" and each.receiver in guids)
    )


def list_user(call: ServiceCall) -> bytes:
    """With an acting user the conversation of the two; without, all messages that the user takes part in."""
    uid, reader = path_user(call), call.acting_user
    if reader:
        return _serve_list(call, conversation_list(conversation_id(uid, reader)), 10)
    return _serve_list(call, participant_list(uid), 100, ("perPage", "limit"))


def list_all(call: ServiceCall) -> bytes:
    """The messages of the app; with an acting user those that this user takes part in.

    Those that the user has not read, not got or saved may also have been sent to the user's groups.
    """
    reader = call.acting_user
    if reader is None or any(call.query.get(name) for name in ("unread", "undelivered", "saved")):
        return _serve_list(call, ALL, 10)
    return _serve_list(call, participant_list(reader), 10)


def list_thread(call: ServiceCall) -> bytes:
    parent = call.path["id"]
    message_record(call, parent)
    return _serve_list(call, thread_list(int(parent)), 100)


def _serve_list(
    call: ServiceCall, name: str, default_size: int, sizes: tuple[str, ...] = ("limit", "perPage")
) -> bytes:
    """Return a page of a list, or its counts; `sizes` are the parameters of the size, the first counts."""
    reader, query = call.acting_user, call.query
    size = int(next((query[name] for name in sizes if name in query), default_size))
    condition = _condition_of(call, *([_takes_part(call, reader)] if reader and name == ALL else ()))
    encode_list = _encode_counts if query.get("count") else _encode_page
    return encode_list(call, name, condition, size)


def get_message(call: ServiceCall) -> bytes:
    message = readable_message(call)
    if call.acting_user is None:
        return b'{"data":%b}' % message_record(call, call.path["id"])
    return message_reply(call, message)


def _threads(call: ServiceCall, test: Test) -> Iterator[tuple[int, int, Sequence[int]]]:
    """Give the time of the newest reply, the root and the replies of each thread whose root passes a test."""
    reader, only_own, messages = call.acting_user, call.query.get("participatedByMe"), call.store.messages
    for name, ids in call.store.lists.items():
        root = messages.get(number_of(name.removeprefix(thread_list(""))) or 0)
        if root is None or not ids or not test(root):
            continue
        if not only_own or reader in [messages[number].sender for number in (root.number, *ids)]:
            sent_at = messages[ids[-1]].sent_at
            yield sent_at if isinstance(sent_at, int) else 0, root.number, ids


def list_threads(call: ServiceCall) -> bytes:
    """The threads of the app, or those that a user takes part in; of a group, or between two users."""
    reader, query, store = call.acting_user, call.query, call.store
    uid = path_user(call) if "uid" in call.path else None
    test: Test = _takes_part(call, uid or reader or "") if uid or reader else lambda _: True
    if "guid" in call.path or (uid and reader):
        name = conversation_id(uid, reader or "") if uid else f"group_{path_group(call)}"
        test = partial(_passes, _FILTERS["conversationId"], name)
    size, updated_at, affix = query.get("limit", 100), query.get("updatedAt"), query.get("affix", "prepend")
    threads = sorted(_threads(call, test), reverse=affix == "prepend")
    page, _ = page_beyond(
        ((each[0], each) for each in threads), updated_at, size, ascending=affix == "append"
    )
    records = [
        encode(store.record(root) | {"replyCount": len(ids), "lastReply": store.record(ids[-1])})
        for _, root, ids in page
    ]
    position = {"updatedAt": page[-1][0]} if page else selected(query, ("updatedAt",))
    meta = current_meta(page, size) | {"next": {"affix": affix} | position}
    return list_reply(personal_records(store, [root for _, root, _ in page], records, reader), {"meta": meta})


HANDLERS: Final[dict[str, Handler]] = {
    "messages.list_user": list_user,
    "messages.list_group": lambda call: _serve_list(call, group_list(path_group(call)), 10),
    "messages.list": list_all,
    "messages.list_thread": list_thread,
    "messages.get": get_message,
    "messages.list_threads": list_threads,
    "messages.list_threads_user": list_threads,
    "messages.list_threads_group": list_threads,
}
