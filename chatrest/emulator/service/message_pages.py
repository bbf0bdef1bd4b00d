"""The message lists: from a list request to the bytes of one page.

Rules:
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
from typing import Any

from msgspec.json import decode, encode

from ..store.directory import Directory
from ..store.message_lists import BEGIN, END, Span
from ..store.store import Store
from .envelopes import list_reply, pagination
from .list_request import Affix, ListRequest
from .message_access import with_personal
from .page_format import PageFormat


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
            records[index] = _with_mention_info(records[index], store.people, request, acting_user)
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


def _with_mention_info(
    record: bytes, directory: Directory, request: ListRequest, acting_user: str | None
) -> bytes:
    """The record with the tags or the block state of the users in `data.mentions`."""
    message = decode(record, type=dict[str, Any])
    mentions = message["data"]["mentions"]
    for uid, user in mentions.items() if isinstance(mentions, dict) else ():
        if not isinstance(user, dict):
            continue
        if request.tag_info:
            user["tags"] = directory.tags(uid)
        if request.blocked_info and acting_user:
            user["blockedByMe"] = directory.blocks(acting_user, uid)
            user["hasBlockedMe"] = directory.blocks(uid, acting_user)
    return encode(message)
