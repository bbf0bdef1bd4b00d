"""Lists with numbered pages: their two parameters, and their envelope."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.json import encode

from ..store.directory import RecordPage
from .arguments import Arguments
from .context import Call, Context, Handler
from .envelopes import list_reply, pagination


class PageNumber(NamedTuple):
    """The requested page of a list: its number and its size."""

    page: int
    """The number of the page, from 1."""
    size: int
    """The number of records per page."""


def page_number(query: Arguments, default_size: int = 100) -> PageNumber:
    """Read `page` and `perPage`."""
    page, size = query.number("page", 1, 10**9), query.number("perPage", 1, 1000)
    return PageNumber(page or 1, size or default_size)


def numbered_reply(records: list[bytes], total: int, number: PageNumber) -> bytes:
    """Return a page with `meta.pagination`."""
    return list_reply(records, {"meta": {"pagination": _pagination(records, total, number)}})


def documents_reply(documents: Sequence[Mapping[str, Any]], query: Arguments) -> bytes:
    """Return the requested page of `documents`, with `meta.pagination`; 400 for wrong parameters."""
    number = page_number(query)
    query.check()
    start = (number.page - 1) * number.size
    records = [encode(document) for document in documents[start : start + number.size]]
    return numbered_reply(records, len(documents), number)


def serve_pages(operation: Callable[[Context, Call], Sequence[Mapping[str, Any]]]) -> Handler:
    """Return the handler that serves the requested page of an operation's documents."""

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
