"""The forms of replies: the envelopes around what a handler gives, and the pages of all lists.

The handler of a list gives a source of records, and `LISTS` says how the list continues:

| kind       | a page is                                      | source                                     |
|------------|------------------------------------------------|--------------------------------------------|
| `number`   | a number of them, with `meta.pagination`       | documents, or (page, size) → their page    |
| `position` | those beyond a member of the last one          | documents, or (position, size, ascending)  |
| `cursor`   | those beyond the one in an opaque text         | documents                                  |
| `limit`    | the first ones                                 | documents                                  |
| `whole`    | all of them, without `meta`                    | documents                                  |

By a position, such as `createdAt`:
- With `affix=append` (the default) a page ascends from the position, with `prepend` it descends from it.
- Documents of one position stay on one page of any length: nothing is lost at its border.
- A page that has documents has a `next`, also if it is the last; an empty page repeats the position of its
  request, and has none where the request had none.

By an opaque cursor:
- With `affix=append` (the default) it goes from the newest document to the oldest, with `prepend` from the
  oldest to the newest. A document is older than another where its id is less as a text.
- `next` and `previous` are there only where there is such a page.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import gt, itemgetter, lt
from typing import Any, Final, Literal, NamedTuple

from msgspec.json import encode

from ..._core.requests.endpoint import Endpoint
from ..store.directory import RecordPage
from ..store.documents import Document
from ..store.message_index import number_of
from .context import ServiceCall
from .refusals import bad_request

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


def paged(call: ServiceCall, source: Any, order: ListForm) -> bytes:
    """Return the page that a call asks for, of the documents of a list, or of a source of its kind."""
    return _KINDS[order.kind](order, call.query, source)


def by_number(order: ListForm, query: Mapping[str, Any], source: Any) -> bytes:
    number, size = query.get("page", 1), query.get("perPage", order.size)
    page = source(number, size) if callable(source) else slice_of([*source], number, size)
    meta: Document = {"pagination": pagination(page.total, len(page.records), size, number)}
    members = {"meta": meta}
    if page.records and order.time:
        holder = meta if order.time == "meta" else members
        holder["cursor"] = {"updatedAt": page.updated_at, "affix": query.get("affix", "append")}
    return list_reply(page.records, members)


def slice_of(
    documents: Sequence[Any], page: int, size: int, shown: Callable[[Any], Any] = lambda each: each
) -> RecordPage:
    """Return a page of documents, each as `shown` shows it."""
    part = documents[(page - 1) * size : page * size]
    return RecordPage([encode(shown(each)) for each in part], len(documents))


def by_position(order: ListForm, query: Mapping[str, Any], source: Any) -> bytes:
    size = query.get("limit") or query.get("perPage", order.size)
    affix, position = query.get("affix", "append"), query.get(order.parameter or order.by)
    wanted = position, size, affix == "append"
    page = source(*wanted) if callable(source) else _beyond(order, source, *wanted)
    meta = _current(page, size)
    if page:
        before = {order.by: ""} if position is None else _position(order, page[0])
        meta["previous"] = {"affix": OPPOSITES[affix], **before}
        meta["next"] = {"affix": affix, **_position(order, page[-1])}
    elif position is not None:
        number, text = _rank(position)
        meta["next"] = {"affix": affix, order.by: text or number}
    return encode({"data": page, "meta": meta})


def _beyond(
    order: ListForm, documents: Iterable[Document], position: object, size: int, ascending: bool
) -> list[Document]:
    def rank(document: Document) -> tuple[int, str]:
        return _rank(document.get(order.by, ""))

    is_beyond = gt if ascending else lt
    ordered = sorted(documents, key=rank, reverse=not ascending)
    if position is not None:
        ordered = [each for each in ordered if is_beyond(rank(each), _rank(position))]
    page = ordered[:size]
    return [*page, *takewhile(lambda each: rank(each) == rank(page[-1]), ordered[size:])]


def _position(order: ListForm, document: Document) -> Document:
    return {name: document.get(name) for name in (*order.beside, order.by)}


def _rank(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts after them."""
    number = number_of(value)
    return (2**63, str(value)) if number is None else (number, "")


def by_cursor(order: ListForm, query: Mapping[str, Any], documents: Iterable[Document]) -> bytes:
    size, affix = query.get("limit", order.size), query.get("affix", "append")
    ordered = sorted(((str(each[order.by]), each) for each in documents), key=itemgetter(0))
    if affix == "append":
        ordered.reverse()
    start = 0
    if "cursor" in query:
        last = _decoded(query["cursor"])
        start = sum(key >= last if affix == "append" else key <= last for key, _ in ordered)
    page = ordered[start : start + size]
    meta = _current(page, size)
    if page and start:
        meta["previous"] = {"affix": OPPOSITES[affix], "cursor": _encoded(page[0][0])}
    if start + size < len(ordered):
        meta["next"] = {"affix": affix, "cursor": _encoded(page[-1][0])}
    return encode({"data": [document for _, document in page], "meta": meta})


def _encoded(id: str) -> str:
    return urlsafe_b64encode(id.encode()).decode()


def _decoded(cursor: str) -> str:
    try:
        return b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:  # not ASCII, not base64, or not UTF-8
        raise bad_request({"cursor": ["The cursor is not one of this list."]}) from None


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
