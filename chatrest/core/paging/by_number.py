"""The way on of a walk that goes by page numbers.

A page that is not empty and brings something new leads to the next number. An empty one ends the list, but
where pagination counts more pages; so does one that brings nothing new, once nothing else leads on.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from ..replies.decode import Listing
from ..requests.endpoint import Pairs
from .page_view import END, Onward, PageView, empty_end, served_position

_MOST_EMPTY: Final = 100
"""Empty pages in a row: more than that is no list."""


def by_number(view: PageView) -> Onward:
    """Return the next page number, the end, or why there is neither."""
    number = page_number(view)
    pages = view.pagination.total_pages or 0
    if not view.ids:
        is_numbered = view.is_numbered or view.rules.paging.order == "service"
        is_midst = number < pages and view.says_more and view.memory.empty_pages < _MOST_EMPTY and is_numbered
        return next_number(view) if is_midst and view.memory.has_asked_again else empty_end(view)
    if not view.has_new:
        return _repeated(view, number, pages)
    if view.says_last and view.is_below_largest:
        return END
    return next_number(view)


def _repeated(view: PageView, number: int, pages: int) -> Onward:
    """A page that repeats what was given: the end, unless a position leads on or pagination counts more."""
    if view.has_lost_meta and not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    served = served_position(view)
    if served is not None and not view.rules.paging.positions and view.pagination.total_pages is None:
        filters = dict(view.rules.paging.filters)
        if served[1] and (not filters or "affix" in filters):
            return Onward(served[0])
        if filters:
            return _filtered_position(view, number)
    if view.says_more and number <= pages:
        return Onward(
            error=f"page {number} holds nothing but what the page before it held, though the service says "
            f"that there are {pages} pages"
        )
    if (own := _untried_id(view, number)) is not None:
        return own
    if view.rules.paging.positions and not view.is_short:
        return Onward(
            error="a full page leads nowhere: no position, and page numbers are ignored; ask with an affix"
        )
    return END


def _filtered_position(view: PageView, number: int) -> Onward:
    """The fault of a list that ignores page numbers, and whose position may lead out of its filter."""
    names = ", ".join(name for name, _ in view.rules.paging.filters)
    return Onward(
        error=f"page {number} holds nothing but what the page before it held, and the service goes on by "
        f"what the list is filtered by ({names})"
    )


def _untried_id(view: PageView, number: int) -> Onward | None:
    """The page after the walk's last id, where page numbers are ignored and nobody has tried the id yet."""
    last = view.cursor.last
    if number != 2 or "affix" not in view.asked or not view.cursor.by_id or last is None:
        return None
    position: Pairs = (("affix", view.asked["affix"]), ("id", last))
    return None if position in view.memory.visited else Onward(position, landmark=position)


def next_number(view: PageView) -> Onward:
    """Return the page of the next number."""
    size_name = view.rules.size_name
    # Page numbers count pages of one size and direction: those that the walk began with.
    size = view.asked.get(size_name, str(view.rules.size))
    position: Pairs = (("page", str(page_number(view) + 1)),)
    if size_name:
        position += ((size_name, size),)
    if "affix" in view.asked:
        position = (("affix", view.asked["affix"]), *position)
    return Onward(position, landmark=landmark_of(view.page, view.ids))


def landmark_of(page: Listing[Any], ids: Sequence[str]) -> Hashable:
    """A page's own mark among those of its list: its ids, and the bytes of records that have none."""
    if not ids:
        return None
    items = zip(ids, page.items, strict=True)
    return hash(tuple(text or bytes(getattr(item, "raw", b"")) for text, item in items))


def page_number(view: PageView) -> int:
    """The number that the page was asked for by."""
    return int(view.asked.get("page", 1))
