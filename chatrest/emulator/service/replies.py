"""The forms of replies: the envelopes around what a handler gives, and the pages of lists.

Pages go by their numbers, by a position in `meta.next`, or by an opaque cursor in `meta.next`. By a position,
such as `createdAt`:
- With `affix=append` (the default) a page ascends from the position, with `prepend` it descends from it.
- Documents of one position stay on one page, however long it becomes: nothing is lost at its border.
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
from operator import gt, lt
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.json import encode

from ..store.directory import RecordPage
from ..store.documents import Document
from ..store.message_index import number_of
from .context import Handler, ServiceCall
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


def limited(operation: Handler, default: int = 100) -> Handler:

    def handle(call: ServiceCall) -> bytes:
        limit = call.query.get("limit", default)  # the filter of rules has it as a text, too
        limit = int(limit) if str(limit).isdecimal() else default
        page = operation(call)[:limit]
        return encode({"data": page, "meta": {"current": {"limit": limit, "count": len(page)}}})

    return handle


# ── pages by numbers ──


class PageNumber(NamedTuple):
    page: int
    """The number of the page, from 1."""
    size: int
    """The number of records per page."""

    def of(self, documents: Sequence[Any]) -> Sequence[Any]:
        return documents[(self.page - 1) * self.size : self.page * self.size]


def page_number(query: Mapping[str, Any], default_size: int = 100, size: str = "perPage") -> PageNumber:
    return PageNumber(query.get("page", 1), query.get(size, default_size))


def pagination(total: int, count: int, size: int, page: int = 1) -> dict[str, int]:
    """Return `meta.pagination`; there is always at least one page."""
    pages = max(1, -(-total // size))
    return {"total": total, "count": count, "per_page": size, "current_page": page, "total_pages": pages}


def numbered_reply(records: Sequence[bytes], total: int, number: PageNumber) -> bytes:
    meta = {"pagination": pagination(total, len(records), number.size, number.page)}
    return list_reply(records, {"meta": meta})


def numbered(operation: Callable[[ServiceCall], Sequence[Any]], default_size: int = 100) -> Handler:
    def handle(call: ServiceCall) -> bytes:
        number, documents = page_number(call.query, default_size), operation(call)
        return numbered_reply([*map(encode, number.of(documents))], len(documents), number)

    return handle


def record_page_reply(
    page: RecordPage, number: PageNumber, *, cursor_in_meta: bool = False, affix: str = "append"
) -> bytes:
    meta: dict[str, Any] = {"pagination": pagination(page.total, len(page.records), number.size, number.page)}
    members: dict[str, Any] = {"meta": meta}
    if page.records:
        holder = meta if cursor_in_meta else members
        holder["cursor"] = {"updatedAt": page.updated_at, "affix": affix}
    return list_reply(page.records, members)


# ── pages by positions and by cursors ──


class PositionedPages(Struct, frozen=True, kw_only=True):
    """The paging of one list."""

    member: str
    """The document's member, and that of `meta.next`, by which the list continues."""
    parameter: str
    """The query parameter that takes the position."""
    beside: tuple[str, ...] = ()
    """Members of the document that are in a position beside it."""
    default_size: int = 10

    def serve(self, operation: Handler) -> Handler:
        return lambda call: self.reply(operation(call), call.query)

    def reply(self, documents: Iterable[Document], query: Mapping[str, Any]) -> bytes:
        size = query.get("limit") or query.get("perPage", self.default_size)
        affix, position = query.get("affix", "append"), query.get(self.parameter)
        is_beyond = gt if affix == "append" else lt
        ordered = sorted(documents, key=self._key, reverse=affix == "prepend")
        if position is not None:
            ordered = [each for each in ordered if is_beyond(self._key(each), _order(position))]
        page = ordered[:size]
        page += takewhile(lambda each: self._key(each) == self._key(page[-1]), ordered[size:])
        return encode({"data": page, "meta": self._meta(page, size, affix, position)})

    def _key(self, document: Mapping[str, Any]) -> tuple[int, str]:
        return _order(document.get(self.member, ""))

    def _meta(self, page: list[Document], size: int, affix: str, position: object) -> dict[str, Any]:
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
        if page:
            before = {self.member: ""} if position is None else self._position(page[0])
            meta["previous"] = {"affix": OPPOSITES[affix], **before}
            meta["next"] = {"affix": affix, **self._position(page[-1])}
        elif position is not None:
            number, text = _order(position)
            meta["next"] = {"affix": affix, self.member: text or number}
        return meta

    def _position(self, document: Document) -> dict[str, Any]:
        return {name: document.get(name) for name in (*self.beside, self.member)}


def _order(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts after them."""
    number = number_of(value)
    return (2**63, str(value)) if number is None else (number, "")


def cursor_reply(documents: Iterable[Document], query: Mapping[str, Any], id: str) -> bytes:
    """Return a page by an opaque cursor; `id` is the documents' member with their id."""
    size, affix = query.get("limit", 10), query.get("affix", "append")
    ordered = sorted(documents, key=lambda each: str(each[id]), reverse=affix == "append")
    start = 0
    if "cursor" in query:
        last = _decoded(query["cursor"])
        start = sum(str(each[id]) >= last if affix == "append" else str(each[id]) <= last for each in ordered)
    page = ordered[start : start + size]
    meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
    if page and start:
        meta["previous"] = {"affix": OPPOSITES[affix], "cursor": _encoded(str(page[0][id]))}
    if start + size < len(ordered):
        meta["next"] = {"affix": affix, "cursor": _encoded(str(page[-1][id]))}
    return encode({"data": page, "meta": meta})


def _encoded(id: str) -> str:
    return urlsafe_b64encode(id.encode()).decode()


def _decoded(cursor: str) -> str:
    try:
        return b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:  # not ASCII, not base64, or not UTF-8
        raise bad_request({"cursor": ["The cursor is not one of this list."]}) from None
