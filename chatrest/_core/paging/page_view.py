"""The place of a page in its list, by its counts (`PageView`) and by its positions (`Lead`)."""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from ..._models.meta import Pagination, Position
from ..replies.decode import Listing
from ..requests.dialects import position_pairs
from ..requests.endpoint import Pairs
from .arrange import OrderedPage, affix_of
from .cursor import Cursor
from .order import is_ahead
from .walk_state import Memory, Rules

NO_PLACE: Final = frozenset({"affix", "perPage", "limit"})
"""The members of a position that say a direction or a size."""
_NO_PAGINATION: Final = Pagination()


class PageView(Struct, frozen=True, dict=True):
    """A page, and what its counts say."""

    cursor: Cursor
    page: Listing[Any]
    ids: Sequence[str]
    ordered: OrderedPage[Any]
    rules: Rules
    memory: Memory
    largest: int
    """The count of records of the largest page of this list before it."""
    is_repeated: bool
    """True for a page by number that came before."""

    @cached_property
    def asked(self) -> dict[str, str]:
        """The position that was asked for."""
        return dict(self.cursor.position)

    @cached_property
    def place(self) -> dict[str, str]:
        """The same, as positions are compared."""
        return place_of(self.cursor.position)

    @property
    def pagination(self) -> Pagination:
        return self.page.meta.pagination or _NO_PAGINATION

    @property
    def has_new(self) -> bool:
        """True for a page with something new; a resumed walk may know all that is on its page."""
        return bool(self.ordered.items) or (self.cursor.inside and not self.is_repeated)

    @property
    def says_last(self) -> bool:
        return (self.pagination.current_page or 0) >= (self.pagination.total_pages or 0) > 0

    @property
    def counts_more_pages(self) -> bool:
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current < pages

    @property
    def says_more(self) -> bool:
        """True for a page that counts more pages, and more items than the walk has given."""
        return self.counts_more_pages and not 0 < (self.pagination.total or 0) <= self.cursor.delivered

    @property
    def page_number(self) -> int:
        return int(self.asked.get("page", 1))

    @property
    def is_short(self) -> bool:
        """True if the page holds fewer records than were asked for, and than its own `per_page`."""
        served, count = self.pagination.per_page, len(self.ids)
        return count < self.rules.size and (served is None or count < served)

    @property
    def is_below_largest(self) -> bool:
        """True if a short page can be believed: no cap cut it off, and no "last" was wrong so far."""
        if self.rules.thorough or self.is_doubted:
            return False
        return 0 < len(self.ids) < self.largest and self.is_short

    @property
    def is_doubted(self) -> bool:
        """True if the service said "last" before in this walk, and more came."""
        return self.memory.is_doubted or (self.memory.claimed_last and bool(self.ordered.items))

    @property
    def position_fault(self) -> str | None:
        """The reason why a position cannot be read; a page that was asked for by number needs none."""
        return None if "page" in self.asked else self.page.position_fault

    @property
    def has_lost_meta(self) -> bool:
        """True if the page has neither a position nor pagination, though a page before it had."""
        return self.memory.has_meta and self.page.meta.pagination is None and not positions_of(self.page)


class Lead(Struct, frozen=True):
    """The positions of a page: most ends and page numbers do without them."""

    served: Pairs
    """The first position that leads in the walk's direction; none where the page has none."""
    place: dict[str, str]
    """The same, as positions are compared."""
    has_position: bool
    """True if any position leads somewhere, also in the other direction."""
    is_nowhere: bool
    """True for a page without one; one that leads back shows a list by id that continues by its own."""
    is_lost: bool
    """True for a list in the service's order whose position was there, and is not any more."""
    is_on_page: bool
    """True for a position in the middle of the page."""
    is_by_number: bool
    """True where the next page is asked for by its number."""


def positions_of(page: Listing[Any]) -> list[Position]:
    meta = page.meta
    served = (meta.cursor, meta.next, page.cursor, meta.previous)  # the likeliest first
    return [position for position in served if position is not None]


def lead_of(view: PageView) -> Lead:
    direction, by_id = view.ordered.direction, view.ordered.by_id
    leads = [
        (position, pairs)
        for position in positions_of(view.page)
        if (pairs := position_pairs(position, view.rules.paging))
    ]
    forward = (pairs for position, pairs in leads if affix_of(position) in (None, direction))
    served: Pairs = next(((("affix", direction), *pairs) for pairs in forward), ())
    place = place_of(served)
    is_nowhere = not served and not (by_id and leads)
    was_given = "page" not in view.asked and view.cursor.last is not None and bool(view.place)
    is_lost = was_given and not served and not by_id
    return Lead(
        served,
        place,
        bool(leads),
        is_nowhere,
        is_lost,
        by_id and bool(served) and _has_items_ahead(view, place),
        "page" in view.asked or (not is_lost and _goes_by_number(view, is_nowhere)),
    )


def _has_items_ahead(view: PageView, place: dict[str, str]) -> bool:
    """Return True for a position in the middle of the page: the item at it came, and items ahead of it.

    Some services always send the oldest id of a page, going `append` too: from there all items of the page
    but one would come again. Not so where the item at it is the last by its time: then the list goes by time.
    """
    served, items, direction = place.get("id"), view.ordered.items, view.ordered.direction
    if not (items and served and place.keys() <= {"id", "sentAt"}):
        return False
    if not is_ahead(view.rules.identify(items[-1]), served, direction) or served not in view.ids:
        return False
    at = view.page.items[view.ids.index(served)]
    times = getattr(at, "sent_at", 0), getattr(items[-1], "sent_at", 0)
    return times[0] <= times[1] if direction == "append" else times[0] >= times[1]


def _goes_by_number(view: PageView, is_nowhere: bool) -> bool:
    paging, has_pagination = view.rules.paging, view.page.meta.pagination is not None
    if not is_nowhere and (paging.positions or view.asked):
        return False
    is_numbered = paging.numbered and (paging.order == "service" or has_pagination)
    return is_numbered or (has_pagination and not paging.positions)


def place_of(position: Pairs) -> dict[str, str]:
    """A position without the direction and the page's size: positions are compared by it."""
    return {name: value for name, value in position if name not in NO_PLACE}


def describe(place: dict[str, str]) -> str:
    """Return a position in words, for an error: `id=5 sentAt=70`."""
    return " ".join(f"{name}={value}" for name, value in place.items()) or "its start"


def landmark_of(page: Listing[Any], ids: Sequence[str]) -> Hashable:
    """A page's own mark among those of its list: its ids, and the bytes of records that have none."""
    if not ids:
        return None
    items = zip(ids, page.items, strict=True)
    return hash(tuple(text or bytes(getattr(item, "raw", b"")) for text, item in items))
