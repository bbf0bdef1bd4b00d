"""Lists with numbered pages: their two parameters, and their envelope."""

from typing import Any, NamedTuple

from ..store.directory import UserPage
from .arguments import Arguments
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


def user_page_reply(page: UserPage, number: PageNumber, *, count_only: bool = False) -> bytes:
    """Return a page of users, with `cursor {updatedAt, affix}` beside `meta`; `count_only`: no records."""
    records = [] if count_only else page.records
    members: dict[str, Any] = {"meta": {"pagination": _pagination(records, page.total, number)}}
    if records:
        members["cursor"] = {"updatedAt": page.updated_at, "affix": "append"}
    return list_reply(records, members)


def _pagination(records: list[bytes], total: int, number: PageNumber) -> dict[str, int]:
    return pagination(total, len(records), number.size, number.page)
