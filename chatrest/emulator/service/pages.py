"""The pages of lists: by their numbers, by a position in `meta.next`, by an opaque cursor in `meta.next`.

A list by position, such as `createdAt` or `messageId`:
- With `affix=append` (the default) a page ascends from the position, with `prepend` it descends from it.
- Documents of one position stay on one page, however long it becomes: nothing is lost at its border.
- A page that has documents has a `next`, also where it is the last; an empty page repeats the position of its
  request, and has none where the request had none.

A list by an opaque cursor:
- With `affix=append` (the default) it goes from the newest document to the oldest, with `prepend` from the
  oldest to the newest. A document is older than another where its id is less as a text.
- `next` and `previous` are there only where there is such a page.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, final

from msgspec import Struct
from msgspec.json import encode

from ..store.directory import RecordPage
from ..store.documents import Document
from .arguments import Arguments
from .context import Call, Context, Handler
from .envelopes import list_reply, pagination
from .refusals import bad_request


class PageNumber(NamedTuple):
    """The requested page of a list: its number and its size."""

    page: int
    """The number of the page, from 1."""
    size: int
    """The number of records per page."""


def page_number(query: Arguments, default_size: int = 100) -> PageNumber:
    page, size = query.number("page", 1, 10**9), query.number("perPage", 1, 1000)
    return PageNumber(page or 1, size or default_size)


def numbered_reply(records: list[bytes], total: int, number: PageNumber) -> bytes:
    return list_reply(records, {"meta": {"pagination": _pagination(records, total, number)}})


def documents_reply(documents: Sequence[Mapping[str, Any]], query: Arguments) -> bytes:
    """Return the requested page of `documents`, with `meta.pagination`; 400 for wrong parameters."""
    number = page_number(query)
    query.check()
    start = (number.page - 1) * number.size
    records = [encode(document) for document in documents[start : start + number.size]]
    return numbered_reply(records, len(documents), number)


def serve_pages(operation: Callable[[Context, Call], Sequence[Mapping[str, Any]]]) -> Handler:
    def handle(context: Context, call: Call) -> bytes:
        return documents_reply(operation(context, call), call.query)

    return handle


def record_page_reply(
    page: RecordPage,
    number: PageNumber,
    *,
    count_only: bool = False,
    cursor_in_meta: bool = False,
    affix: str = "append",
) -> bytes:
    """Return a page of users, members or groups, with `cursor {updatedAt, affix}` beside `meta` or in it.

    `count_only`: without records.
    """
    records = [] if count_only else page.records
    members: dict[str, Any] = {"meta": {"pagination": _pagination(records, page.total, number)}}
    if records:
        holder = members["meta"] if cursor_in_meta else members
        holder["cursor"] = {"updatedAt": page.updated_at, "affix": affix}
    return list_reply(records, members)


def _pagination(records: list[bytes], total: int, number: PageNumber) -> dict[str, int]:
    return pagination(total, len(records), number.size, number.page)


@final
class PositionedPages(Struct, frozen=True, kw_only=True):
    """The paging of one list."""

    member: str
    """The document's member, and that of `meta.next`, by which the list goes on."""
    parameter: str
    """The query parameter that takes the position."""
    beside: tuple[str, ...] = ()
    """Members of the document that stand in a position beside it."""
    default_size: int = 10
    largest: int = 100

    def serve(self, operation: Callable[[Context, Call], Iterable[Document]]) -> Handler:
        return lambda context, call: self.reply(operation(context, call), call.query)

    def reply(self, documents: Iterable[Document], query: Arguments) -> bytes:
        size = query.number("limit", 1, self.largest) or self.default_size
        affix = query.choice("affix", ("append", "prepend")) or "append"
        position = query.text(self.parameter)
        query.check()
        ordered = sorted(documents, key=self._order, reverse=affix == "prepend")
        if position is not None:
            start = _order(position)
            ordered = [
                document
                for document in ordered
                if (self._order(document) > start if affix == "append" else self._order(document) < start)
            ]
        page = ordered[:size]
        page += takewhile(lambda document: self._order(document) == self._order(page[-1]), ordered[size:])
        return encode({"data": page, "meta": self._meta(page, size, affix, position)})

    def _order(self, document: Mapping[str, Any]) -> tuple[int, str]:
        return _order(document.get(self.member, ""))

    def _meta(self, page: list[Document], size: int, affix: str, position: str | None) -> dict[str, Any]:
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
        if not page and position is not None:
            number, text = _order(position)
            meta["next"] = {"affix": affix, self.member: text or number}
        if page:
            opposite = "prepend" if affix == "append" else "append"
            before = {self.member: ""} if position is None else self._position(page[0])
            meta |= {"previous": {"affix": opposite, **before}}
            meta |= {"next": {"affix": affix, **self._position(page[-1])}}
        return meta

    def _position(self, document: Document) -> dict[str, Any]:
        return {name: document.get(name) for name in (*self.beside, self.member)}


def _order(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts behind them."""
    text = str(value)
    return (int(text), "") if text.isascii() and text.isdigit() and len(text) < 19 else (2**63, text)


@final
class OpaquePages(Struct, frozen=True, kw_only=True):
    """The paging of one list."""

    member: str
    """The document's member with its id."""
    default_size: int = 10
    largest: int = 100

    def reply(self, documents: Iterable[Document], query: Arguments) -> bytes:
        size = query.number("limit", 1, self.largest) or self.default_size
        affix = query.choice("affix", ("append", "prepend")) or "append"
        cursor = query.text("cursor")
        query.check()
        ordered = sorted(documents, key=self._id, reverse=affix == "append")
        start = 0
        if cursor is not None:
            last = _read(cursor)
            behind = [
                self._id(each) >= last if affix == "append" else self._id(each) <= last for each in ordered
            ]
            start = sum(behind)
        page = ordered[start : start + size]
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
        if page and start:
            opposite = "prepend" if affix == "append" else "append"
            meta["previous"] = {"affix": opposite, "cursor": _written(self._id(page[0]))}
        if start + size < len(ordered):
            meta["next"] = {"affix": affix, "cursor": _written(self._id(page[-1]))}
        return encode({"data": page, "meta": meta})

    def _id(self, document: Document) -> str:
        return str(document[self.member])


def _written(id: str) -> str:
    return urlsafe_b64encode(id.encode()).decode()


def _read(cursor: str) -> str:
    try:
        return b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:  # not ASCII, not base64, or not UTF-8
        raise bad_request({"cursor": ["The cursor is not one of this list."]}) from None
