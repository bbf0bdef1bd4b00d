"""The message lists: from what was asked to the bytes of one page (specification, List response envelope).

Rules:
- A page is ascending by id (or descending throughout, `page_order`), whichever way the walk goes.
- Without `id` a walk begins at the newest page and goes `prepend`, unless `append` is asked: then at the
  oldest. With `id` and no affix it goes on after it: the specification's "retrieves messages after it".
- The cursor is the edge of the page that the walk goes on from, with the affix that was taken. An empty
  page repeats the place it was asked from, and has none where none was asked.
- `meta.pagination` is about the walk: `total` is what is left in this direction with this page, so the
  last page is where `current_page` (always 1) reaches `total_pages`.
- `count=true` gives no messages but rows `{entityType, entityId, count}`, one per user or group on the
  other side of the conversation (the specification names no shape).
"""

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.json import decode, encode

from ..store.directory import People
from ..store.store import BEGIN, END, Store
from .list_request import Affix, Asked

Dialect: TypeAlias = Literal["cursor", "next"]
PageOrder: TypeAlias = Literal["ascending", "descending"]
DIALECTS: Final = ("documented", "cursor", "next")
PAGE_ORDERS: Final = ("ascending", "descending")


class Look(NamedTuple):
    """How pages look."""

    dialect: Dialect
    """`cursor`: meta.pagination and meta.cursor. `next`: meta.current and meta.next."""
    order: PageOrder = "ascending"


def page(store: Store, name: str, asked: Asked, acting_user: str | None, look: Look) -> bytes:
    """One page of the list `name`; costs a walk along an index, and a filter's first page a scan of it."""
    affix: Affix = asked.affix or ("prepend" if asked.id is None else "append")
    if affix == "append":
        span = store.after(name, BEGIN if asked.id is None else asked.id, asked.size, asked.condition)
    else:
        span = store.before(name, END if asked.id is None else asked.id, asked.size, asked.condition)
    ids = span.ids
    rows = store.records(ids, with_tags=asked.with_tags)
    if asked.blocked_info or asked.tag_info:
        for number in store.with_mentions(ids):
            at = ids.index(number)
            rows[at] = _mentioning(rows[at], store.people, asked, acting_user)
    if look.order == "descending":
        rows.reverse()
    edge = asked.id if not ids else ids[-1] if affix == "append" else ids[0]
    if look.dialect == "cursor":
        meta = _pagination(span.left, len(ids), asked.size) | {"cursor": _place(edge, affix)}
    else:
        meta = {"current": {"limit": asked.size, "count": len(ids)}, "next": _next(store, edge, affix)}
    return enveloped(rows, {"meta": meta})


def counts(
    store: Store, name: str, asked: Asked, acting_user: str | None, uid: str | None, look: Look
) -> bytes:
    """How many messages match, per user or group; the user's side is `uid`, without one `acting_user`."""
    found = store.counts(name, uid or acting_user, asked.condition)
    rows = [encode({"entityType": kind, "entityId": side, "count": count}) for kind, side, count in found]
    size = max(asked.size, len(rows))
    if look.dialect == "cursor":
        return enveloped(rows, {"meta": _pagination(len(rows), len(rows), size)})
    return enveloped(rows, {"meta": {"current": {"limit": size, "count": len(rows)}}})


def enveloped(rows: list[bytes], rest: dict[str, Any]) -> bytes:
    """`{"data": [rows], …}` around records that are JSON already."""
    return b'{"data":[%b],%b' % (b",".join(rows), encode(rest)[1:])


def pagination(total: int, count: int, size: int, page: int = 1) -> dict[str, int]:
    """`meta.pagination`; there is always at least one page."""
    pages = max(1, -(-total // size))
    return {"total": total, "count": count, "per_page": size, "current_page": page, "total_pages": pages}


def _pagination(total: int, count: int, size: int) -> dict[str, Any]:
    return {"pagination": pagination(total, count, size)}


def _place(id: int | None, affix: Affix) -> dict[str, Any]:
    return {"affix": affix} if id is None else {"id": id, "affix": affix}


def _next(store: Store, id: int | None, affix: Affix) -> dict[str, Any]:
    if id is None:
        return {"affix": affix}
    sent_at = store.sent_at(id)
    return {"affix": affix, **({} if sent_at is None else {"sentAt": sent_at}), "id": str(id)}


def _mentioning(record: bytes, people: People, asked: Asked, acting_user: str | None) -> bytes:
    """The record with what was asked about the users in `data.mentions`."""
    message = decode(record, type=dict[str, Any])
    mentions = message["data"]["mentions"]
    for uid, user in mentions.items() if isinstance(mentions, dict) else ():
        if not isinstance(user, dict):
            continue
        if asked.tag_info:
            user["tags"] = people.tags(uid)
        if asked.blocked_info and acting_user:
            user["blockedByMe"] = people.blocks(acting_user, uid)
            user["hasBlockedMe"] = people.blocks(uid, acting_user)
    return encode(message)
