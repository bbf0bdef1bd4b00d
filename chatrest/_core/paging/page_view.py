"""The place of a page in its list, by its counts and by its positions."""

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
    """A page, and what its counts and positions say."""

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

    # Its positions: most ends and page numbers do without them.

    @cached_property
    def leads(self) -> list[tuple[Position, Pairs]]:
        """The positions that lead somewhere, also in the other direction."""
        pairs = [(each, position_pairs(each, self.rules.paging)) for each in positions_of(self.page)]
        return [lead for lead in pairs if lead[1]]

    @cached_property
    def served(self) -> Pairs:
        """The first position that leads in the walk's direction; none where the page has none."""
        direction = self.ordered.direction
        forward = (pairs for position, pairs in self.leads if affix_of(position) in (None, direction))
        return next(((("affix", direction), *pairs) for pairs in forward), ())

    @property
    def is_nowhere(self) -> bool:
        """True without one; one that leads back shows a list by id that continues by its own."""
        return not self.served and not (self.ordered.by_id and self.leads)

    @property
    def is_lost(self) -> bool:
        """True for a list in the service's order whose position was there, and is not any more."""
        was_given = "page" not in self.asked and self.cursor.last is not None and bool(self.place)
        return was_given and not self.served and not self.ordered.by_id

    @cached_property
    def is_on_page(self) -> bool:
        """True for a position in the middle of the page: the item at it came, and items ahead of it.

        Some services always send the oldest id of a page, going `append` too: from there all items of the
        page but one would come again. Not so where the item at it is the last by its time: then the list goes
        by time.
        """
        place, items, direction = place_of(self.served), self.ordered.items, self.ordered.direction
        served = place.get("id")
        if not (self.ordered.by_id and items and served and place.keys() <= {"id", "sentAt"}):
            return False
        if not is_ahead(self.rules.identify(items[-1]), served, direction) or served not in self.ids:
            return False
        at = self.page.items[self.ids.index(served)]
        times = getattr(at, "sent_at", 0), getattr(items[-1], "sent_at", 0)
        return times[0] <= times[1] if direction == "append" else times[0] >= times[1]

    @cached_property
    def is_by_number(self) -> bool:
        """True where the next page is asked for by its number."""
        paging, has_pagination = self.rules.paging, self.page.meta.pagination is not None
        if "page" in self.asked or self.is_lost:
            return not self.is_lost
        if not self.is_nowhere and (paging.positions or self.asked):
            return False
        is_numbered = paging.numbered and (paging.order == "service" or has_pagination)
        return is_numbered or (has_pagination and not paging.positions)


def positions_of(page: Listing[Any]) -> list[Position]:
    meta = page.meta
    served = (meta.cursor, meta.next, page.cursor, meta.previous)  # the likeliest first
    return [position for position in served if position is not None]


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
