"""The message lists: from the query's parameters to a list request, and from it to the bytes of one page.

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
- `sentAt` is a position where there is no `id`; beside one it counts only where the list is ordered by time.

The pages:

- A page is ascending by id (or descending throughout, `page_order`), whichever direction the walk takes.
- Without `id` a walk begins at the newest page and goes `prepend`; with `affix=append` it begins at the
  oldest. With `id` and no affix it goes on after it: the documented "retrieves messages after it".
- The cursor is the last record in the walk's direction, with the affix that was taken. An empty page
  repeats the position of its request, and has none where the request had none.
- `meta.pagination` is about the walk: `total` is the number of messages that are left in its direction,
  with this page, so the last page is where `current_page` (always 1) reaches `total_pages`.
- `count=true` gives no messages but rows `{entityType, entityId, count}`, one per user or group on the
  other side of the conversation (no shape is documented).
"""

from bisect import bisect_left, bisect_right
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.json import decode, encode

from ..store import Store
from ..store.message_lists import BEGIN, END, Condition, Span
from .arguments import Arguments, Filter, any_of, bounds, conditions, contains, equals, joined
from .context import PageFormat
from .envelopes import list_reply, pagination
from .message_access import with_personal

Affix: TypeAlias = Literal["append", "prepend"]
KINDS: Final = ("image", "video", "audio", "file")

_FILTERS: Final = {
    "hasAttachments": Filter("m.attachments NOT NULL"),
    "hasMentions": Filter("m.mentions NOT NULL"),
    "hasLinks": Filter("m.links"),
    "hasReactions": Filter("m.reactions"),
    "hideReplies": Filter("m.parent IS NULL"),
    "hideDeleted": Filter("NOT m.deleted"),
    "onlyDeleted": Filter("m.deleted"),
    "hideQuotedMessages": Filter("m.id NOT IN (SELECT id FROM quotes)"),
    "pinned": Filter("m.id IN (SELECT id FROM pins)"),
    "category": equals("m.category"),
    "type": equals("m.type"),
    "sender": equals("m.sender"),
    "receiverType": equals("m.receiver_type"),
    "conversationId": equals("m.conversation"),
    "categories": any_of("m.category"),
    "types": any_of("m.type"),
    "senders": any_of("m.sender"),
    "attachmentTypes": contains("m.attachments", KINDS),
    "mentionedUids": contains("m.mentions"),
    "tags": contains("m.tags"),
    "fromTimestamp": Filter("m.sent_at >= ?", "number"),
    "toTimestamp": Filter("m.sent_at <= ?", "number"),
    **bounds("sentAt", "m.sent_at"),
    "updatedAt[from]": Filter("m.id IN (SELECT id FROM changes WHERE updated_at >= ?)", "number"),
    "updatedAt[to]": Filter("m.id IN (SELECT id FROM changes WHERE updated_at <= ?)", "number"),
    "editedAt[from]": Filter("m.id IN (SELECT id FROM changes WHERE edited_at >= ?)", "number"),
    "editedAt[to]": Filter("m.id IN (SELECT id FROM changes WHERE edited_at <= ?)", "number"),
}
_SEEN: Final = """NOT m.COLUMN AND m.sender != ? AND m.id > coalesce(
    (SELECT COLUMN_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""
_MENTIONED: Final = "EXISTS (SELECT 1 FROM json_each(m.mentions) WHERE value = ?)"


class ListRequest(Struct, frozen=True):
    """A request for part of a list of messages."""

    condition: Condition
    id: int | None
    """The message after or before which the page begins; None for the list's beginning or end."""
    sent_at: int | None
    affix: Affix | None
    size: int
    """Records of a page."""
    count: bool
    """Numbers of messages in the place of messages."""
    with_tags: bool
    blocked_info: bool
    tag_info: bool


def list_request(
    query: Arguments, acting_user: str | None, uid: str | None, sizes: tuple[str, ...], default_size: int
) -> ListRequest:
    """Read and check a query; `sizes` names the parameters that give the page size, the first counts.

    `acting_user` is the user in `onBehalfOf`, `uid` the one in the path. Refuses with 400 what is wrong.
    """
    bounds = {name: query.number(name, 1, 1000) for name in ("limit", "perPage")}
    message_id, sent_at = query.number("id"), query.number("sentAt")
    affix = query.choice("affix", ("append", "prepend"))
    terms = [*conditions(query, _FILTERS), *_personal(query, acting_user, uid)]
    if text := query.text("searchKey"):
        terms.append(Condition("instr(m.text, ?)", (text.casefold(),)))
    if sent_at is not None and message_id is None:
        terms.append(Condition(f"m.sent_at {'<' if affix == 'prepend' else '>'} ?", (sent_at,)))
    request = ListRequest(
        condition=joined(terms),
        id=message_id,
        sent_at=sent_at,
        affix="append" if affix == "append" else "prepend" if affix == "prepend" else None,
        size=next((size for name in sizes if (size := bounds[name])), default_size),
        count=query.flag("count"),
        with_tags=query.flag("withTags"),
        blocked_info=query.flag("mentionsWithBlockedInfo"),
        tag_info=query.flag("mentionsWithTagInfo"),
    )
    query.check()
    return request


def _personal(query: Arguments, acting_user: str | None, uid: str | None) -> list[Condition]:
    """Return what a query asks of the messages as seen by a user."""
    terms, reader = [], acting_user or uid or ""
    for name, column in (("unread", "read"), ("undelivered", "delivered")):
        if query.flag(name):
            terms.append(Condition(_SEEN.replace("COLUMN", column), (reader, reader)))
    if query.flag("saved"):
        terms.append(Condition("m.id IN (SELECT id FROM saves WHERE uid = ?)", (acting_user or "",)))
    if query.flag("myMentionsOnly"):
        terms.append(Condition(_MENTIONED, (acting_user,)) if acting_user else Condition("0"))
    return terms


# ── pages ──


def page_reply(
    store: Store, name: str, request: ListRequest, acting_user: str | None, page_format: PageFormat
) -> bytes:
    """Return one page of the list `name`.

    It costs a walk along an index, and a filter's first page a scan of the list; in the order of time every
    page costs such a scan.
    """
    affix: Affix = request.affix or ("prepend" if request.id is None else "append")
    span = (_span_by_time if page_format.list_order == "time" else _span_by_id)(store, name, request, affix)
    ids = list(span.ids)
    records = list_records(store, ids, request, acting_user)
    edge = request.id if not ids else ids[-1] if affix == "append" else ids[0]
    if page_format.page_order == "descending":
        records.reverse()
    if page_format.dialect == "cursor":
        meta = _pagination(span.left, len(ids), request.size) | {"cursor": _cursor(edge, affix)}
    else:
        meta = {"current": {"limit": request.size, "count": len(ids)}, "next": _next(store, edge, affix)}
    return list_reply(records, {"meta": meta})


def count_reply(
    store: Store, name: str, request: ListRequest, uid: str | None, page_format: PageFormat
) -> bytes:
    """Return how many messages match, per user or group on the other side of `uid`'s conversations."""
    rows = store.counts(name, uid, request.condition)
    records = [encode({"entityType": kind, "entityId": side, "count": count}) for kind, side, count in rows]
    size = max(request.size, len(records))
    if page_format.dialect == "cursor":
        return list_reply(records, {"meta": _pagination(len(records), len(records), size)})
    return list_reply(records, {"meta": {"current": {"limit": size, "count": len(records)}}})


def _span_by_id(store: Store, name: str, request: ListRequest, affix: Affix) -> Span:
    if affix == "append":
        return store.after(name, BEGIN if request.id is None else request.id, request.size, request.condition)
    return store.before(name, END if request.id is None else request.id, request.size, request.condition)


def _span_by_time(store: Store, name: str, request: ListRequest, affix: Affix) -> Span:
    """The part of a list by time; an id that the store does not know is placed by the request's `sentAt`."""
    order = store.by_time(name, request.condition)
    position = None if request.id is None else (store.sent_at(request.id) or request.sent_at or 0, request.id)
    if affix == "append":
        begin = 0 if position is None else bisect_right(order, position)
        return Span([number for _, number in order[begin : begin + request.size]], len(order) - begin)
    end = len(order) if position is None else bisect_left(order, position)
    return Span([number for _, number in order[max(0, end - request.size) : end]], end)


def list_records(store: Store, ids: list[int], request: ListRequest, acting_user: str | None) -> list[bytes]:
    """Return the records of these ids, in their order, with what the request wants to know beside them."""
    ascending = sorted(ids)
    records = store.records(ascending, with_tags=request.with_tags)
    if request.blocked_info or request.tag_info:
        for number in store.with_mentions(ascending):
            index = bisect_left(ascending, number)
            records[index] = _with_mention_info(records[index], store, request, acting_user)
    records = with_personal(store, ascending, records, acting_user)
    if ascending == ids:
        return records
    by_id = dict(zip(ascending, records, strict=True))
    return [by_id[number] for number in ids]


def _pagination(total: int, count: int, size: int) -> dict[str, Any]:
    return {"pagination": pagination(total, count, size)}


def _cursor(id: int | None, affix: Affix) -> dict[str, Any]:
    return {"affix": affix} if id is None else {"id": id, "affix": affix}


def _next(store: Store, id: int | None, affix: Affix) -> dict[str, Any]:
    if id is None:
        return {"affix": affix}
    sent_at = store.sent_at(id)
    return {"affix": affix, **({} if sent_at is None else {"sentAt": sent_at}), "id": str(id)}


def _with_mention_info(record: bytes, store: Store, request: ListRequest, acting_user: str | None) -> bytes:
    message = decode(record, type=dict[str, Any])
    mentions = message["data"]["mentions"]
    for uid, user in mentions.items() if isinstance(mentions, dict) else ():
        if not isinstance(user, dict):
            continue
        if request.tag_info:
            user["tags"] = store.people.tags(uid)
        if request.blocked_info and acting_user:
            user["blockedByMe"] = store.relations.has("blocked", acting_user, uid)
            user["hasBlockedMe"] = store.relations.has("blocked", uid, acting_user)
    return encode(message)
