"""The forms of replies: the envelopes around what a handler gives, and the pages of all lists.

The handler of a list gives all its documents, and `LISTS` says how the list continues:

| kind       | a page is                                      |
|------------|------------------------------------------------|
| `number`   | a number of them, with `meta.pagination`       |
| `position` | those beyond a member of the last one          |
| `cursor`   | those beyond the one with an id                |
| `limit`    | the first ones                                 |
| `whole`    | all of them, without `meta`                    |

By a position, such as `createdAt`:
- With `affix=append` (the default) a page ascends from the position, with `prepend` it descends from it.
- Documents of one position stay on one page of any length: nothing is lost at its border.
- A page that has documents has a `next`, also if it is the last; an empty page repeats the position of its
  request, and has none where the request had none.

By a cursor, which is the id of a document:
- With `affix=append` (the default) it goes from the newest document to the oldest, with `prepend` from the
  oldest to the newest. A document is older than another where its id is less as a text.
- `next` is there only where there is such a page, and `previous` after the first one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec.json import encode

from ..._core.requests.endpoint import Endpoint
from ..store.documents import Document
from ..store.message_index import number_of
from .context import ServiceCall

_Item = TypeVar("_Item")

# ── envelopes ──

OPPOSITES: Final = {"append": "prepend", "prepend": "append"}


def one(record: bytes) -> bytes:
    return b'{"data":%b}' % record


def ack(message: str | None = None, name: str = "message") -> Document:
    """Return the acknowledgement of a call that has succeeded; its text is under `name`, None for none."""
    return {"success": True} if message is None else {"success": True, name: message}


def list_reply(records: Iterable[bytes], members: Mapping[str, Any]) -> bytes:
    """Return `{"data": [records], …}`, of records that are JSON; `members` beside `data`, one at least."""
    return b'{"data":[%b],%b' % (b",".join(records), encode(members)[1:])


def pagination(total: int, count: int, size: int, page: int = 1) -> dict[str, int]:
    """Return `meta.pagination`; there is always at least one page."""
    pages = max(1, -(-total // size))
    return {"total": total, "count": count, "per_page": size, "current_page": page, "total_pages": pages}


# ── lists ──


class ListForm(NamedTuple):
    """The way in which a list continues."""

    kind: Literal["number", "position", "cursor", "limit", "whole"] = "number"
    by: str = ""
    """The documents' member, and that of `meta.next`, by which the list continues."""
    parameter: str = ""
    """The query parameter that takes the position; empty for `by`."""
    size: int = 100
    """Records per page where none is asked."""
    beside: tuple[str, ...] = ()
    """Members of the document that are in a position beside `by`."""
    time: Literal["", "reply", "meta"] = ""
    """Where the time of the page's last record is, as `cursor`: beside `meta`, or in it."""


LISTS: Final[Mapping[str, ListForm]] = {
    "banned_users.list": ListForm(time="reply"),
    "blocked_users.list": ListForm(time="meta"),
    "conversations.list_pinned": ListForm("whole"),
    "conversations.replace_pinned": ListForm("whole"),
    "friends.list": ListForm(time="meta"),
    "groups.list": ListForm(time="reply"),
    "members.list": ListForm(time="reply"),
    "messages.list_reaction": ListForm("position", "id", size=10),
    "messages.list_reactions": ListForm("position", "id", size=10),
    "moderation.list_messages": ListForm("position", "id", beside=("sentAt",)),
    "notifications.list_logs": ListForm("position", "messageId", "logId", 20),
    "users.list": ListForm(time="reply"),
}
"""The lists whose paging in the table of operations does not say it all; `messages` has those of messages."""


def order_of(endpoint: Endpoint[Any], id: str) -> ListForm:
    """Return how a list continues; `id` is the member with the id of its documents."""
    paging = endpoint.list_paging
    if endpoint.name in LISTS:
        return LISTS[endpoint.name]
    if paging.own_member:
        return ListForm("position", paging.own_member, size=10)
    if paging.shows_end:
        return ListForm("cursor", id, size=10)
    return ListForm("limit" if paging.size == "limit" and not paging.numbered else "number")


class Records(NamedTuple):
    """The documents of a list in another form, which is made for the one page that is shown."""

    items: Sequence[Any]
    shown: Callable[[Any], Document]


def paged(call: ServiceCall, documents: Any, order: ListForm) -> bytes:
    """Return the page that a call asks for, of the documents of a list."""
    return _KINDS[order.kind](order, call.query, documents)


def by_number(order: ListForm, query: Mapping[str, Any], documents: Any) -> bytes:
    number, size = query.get("page", 1), query.get("perPage", order.size)
    items, shown = documents if isinstance(documents, Records) else (documents, dict)
    page = [shown(each) for each in items[(number - 1) * size : number * size]]
    meta: Document = {"pagination": pagination(len(items), len(page), size, number)}
    reply = {"data": page, "meta": meta}
    if page and order.time:
        holder = meta if order.time == "meta" else reply
        holder["cursor"] = {"updatedAt": changed_at(page[-1]), "affix": query.get("affix", "append")}
    return encode(reply)


def changed_at(record: Document) -> int:
    """Return when a record was changed, or made where it never was."""
    return int(record.get("updatedAt") or record.get("createdAt") or 0)


def by_position(order: ListForm, query: Mapping[str, Any], documents: Iterable[Document]) -> bytes:
    size = query.get("limit") or query.get("perPage", order.size)
    affix, position = query.get("affix", "append"), query.get(order.parameter or order.by)
    ranks = ((_rank(each.get(order.by, "")), each) for each in documents)
    page = beyond(ranks, None if position is None else _rank(position), size, ascending=affix == "append")
    meta = _current(page, size)
    if page:
        first, last = ({name: page[at].get(name) for name in (*order.beside, order.by)} for at in (0, -1))
        meta["previous"] = {"affix": OPPOSITES[affix], **({order.by: ""} if position is None else first)}
        meta["next"] = {"affix": affix, **last}
    elif position is not None:
        number, text = _rank(position)
        meta["next"] = {"affix": affix, order.by: text or number}
    return encode({"data": page, "meta": meta})


def beyond(items: Iterable[tuple[Any, _Item]], rank: Any, size: int, *, ascending: bool) -> list[_Item]:
    """Return the first `size` of items (rank, item) beyond a rank, and those of the last one's rank."""
    ordered = sorted(items, key=itemgetter(0), reverse=not ascending)
    if rank is not None:
        ordered = [each for each in ordered if (each[0] > rank if ascending else each[0] < rank)]
    page = ordered[:size]
    page += takewhile(lambda each: each[0] == page[-1][0], ordered[size:])
    return [item for _, item in page]


def _rank(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts after them."""
    number = number_of(value)
    return (2**63, str(value)) if number is None else (number, "")


def by_cursor(order: ListForm, query: Mapping[str, Any], documents: Iterable[Document]) -> bytes:
    size, affix = query.get("limit", order.size), query.get("affix", "append")
    rows = ((str(each[order.by]), each) for each in documents)
    matches = beyond(rows, query.get("cursor"), size + 1, ascending=affix == "prepend")
    page = matches[:size]
    meta = _current(page, size)
    if page and "cursor" in query:
        meta["previous"] = {"affix": OPPOSITES[affix], "cursor": page[0][order.by]}
    if page != matches:
        meta["next"] = {"affix": affix, "cursor": page[-1][order.by]}
    return encode({"data": page, "meta": meta})


def _limited(order: ListForm, query: Mapping[str, Any], documents: Iterable[Document]) -> bytes:
    limit = str(query.get("limit", ""))  # the filter of rules has it as a text, too
    size = int(limit) if limit.isdecimal() else order.size
    page = [*documents][:size]
    return encode({"data": page, "meta": _current(page, size)})


def _current(page: Sequence[Any], size: int) -> Document:
    return {"current": {"limit": size, "count": len(page)}}


_KINDS: Final[Mapping[str, Callable[[ListForm, Mapping[str, Any], Any], bytes]]] = {
    "number": by_number,
    "position": by_position,
    "cursor": by_cursor,
    "limit": _limited,
    "whole": lambda _, __, documents: encode({"data": documents}),
}
