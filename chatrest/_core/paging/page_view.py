"""A page as the ladder of `next_page` sees it: what its counts claim, and where its positions lead.

Counts are `meta.pagination`. Positions are `meta.cursor`, `meta.next`, `cursor` and `meta.previous`. The
location of a position is all of it but its direction and its size.
"""

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
from .walk_state import ListFacts, Memory

NO_LOCATION: Final = frozenset({"affix", "perPage", "limit"})
"""The members of a position that name a direction or a size, and no location."""
_NO_PAGINATION: Final = Pagination()


class PageView(Struct, frozen=True, dict=True):
    """A page with the state of its walk, and the properties by which rungs decide."""

    cursor: Cursor
    """The position that the page was asked for by, with the walk's direction."""
    page: Listing[Any]
    ids: Sequence[str]
    ordered: OrderedPage[Any]
    facts: ListFacts
    memory: Memory
    largest: int
    """The count of records of the largest page of this list before it."""
    is_repeated: bool
    """True for a page by number that came before."""

    @cached_property
    def asked_position(self) -> dict[str, str]:
        return dict(self.cursor.position)

    @cached_property
    def asked_location(self) -> dict[str, str]:
        return location_of(self.cursor.position)

    @property
    def pagination(self) -> Pagination:
        return self.page.meta.pagination or _NO_PAGINATION

    @property
    def has_new(self) -> bool:
        """True for a page with something new; a resumed walk may know all that is on its page."""
        return bool(self.ordered.items) or (self.cursor.is_inside and not self.is_repeated)

    @property
    def claims_last(self) -> bool:
        return (self.pagination.current_page or 0) >= (self.pagination.total_pages or 0) > 0

    @property
    def counts_more_pages(self) -> bool:
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current < pages

    @property
    def claims_more(self) -> bool:
        """True for a page that counts more pages, and more items than the walk has given."""
        return self.counts_more_pages and not 0 < (self.pagination.total or 0) <= self.cursor.delivered

    @property
    def lacks_records(self) -> bool:
        """True if the page counts more records than it holds: some may be missing in this reply alone."""
        return (self.pagination.count or 0) > len(self.ids)

    @property
    def page_number(self) -> int:
        return int(self.asked_position.get("page", 1))

    @property
    def is_short(self) -> bool:
        """True if the page holds fewer records than were asked for, and than its own `per_page`."""
        served, count = self.pagination.per_page, len(self.ids)
        return count < self.facts.size and (served is None or count < served)

    @property
    def is_believably_short(self) -> bool:
        """True if a short page can be believed: it holds what it counts, no cap cut it off, and no "last"
        was wrong so far.
        """
        if self.facts.thorough or self.is_doubted or self.lacks_records:
            return False
        return 0 < len(self.ids) < self.largest and self.is_short

    @property
    def is_doubted(self) -> bool:
        """True if the service said "last" before in this walk, and more came."""
        claim = self.memory.last_claim
        return claim == "wrong" or (claim == "made" and bool(self.ordered.items))

    @property
    def position_fault(self) -> str | None:
        """The reason why a position cannot be read; a page that was asked for by number needs none."""
        return None if "page" in self.asked_position else self.page.position_fault

    @property
    def has_lost_meta(self) -> bool:
        """True if the page has neither a position nor pagination, though a page before it had."""
        return self.memory.has_meta and self.page.meta.pagination is None and not positions_of(self.page)

    # Positions: most ends and page numbers do without them.

    @cached_property
    def leading_positions(self) -> list[tuple[Position, Pairs]]:
        """The positions that name a location, in either direction, each with its query pairs."""
        pairs = [(each, position_pairs(each, self.facts.paging)) for each in positions_of(self.page)]
        return [each for each in pairs if each[1]]

    @cached_property
    def served_position(self) -> Pairs:
        """The query pairs of the first position in the walk's direction; empty where the page has none."""
        direction = self.ordered.direction
        leads = self.leading_positions
        forward = (pairs for position, pairs in leads if affix_of(position) in (None, direction))
        return next(((("affix", direction), *pairs) for pairs in forward), ())

    @property
    def leads_nowhere(self) -> bool:
        """True if no position leads in the walk's direction.

        A list by id with a position in the other direction is an exception: its own ids lead on.
        """
        return not self.served_position and not (self.ordered.by_id and self.leading_positions)

    @property
    def has_lost_position(self) -> bool:
        """True for a list in the service's order whose position was there, and is not any more."""
        has_begun = self.cursor.last is not None and bool(self.asked_location)
        was_given = has_begun and "page" not in self.asked_position
        return was_given and not self.served_position and not self.ordered.by_id

    @cached_property
    def leads_inside(self) -> bool:
        """True for a position in the middle of the page: the item at it came, and items ahead of it.

        Some services always send the oldest id of a page, going `append` too: from there all items of the
        page but one would come again. Not so where the item at it is the last by its time: then the list goes
        by time.
        """
        location, items = location_of(self.served_position), self.ordered.items
        served_id, direction = location.get("id"), self.ordered.direction
        if not (self.ordered.by_id and items and served_id and location.keys() <= {"id", "sentAt"}):
            return False
        if not is_ahead(self.facts.identify(items[-1]), served_id, direction) or served_id not in self.ids:
            return False
        item = self.page.items[self.ids.index(served_id)]
        time, last_time = getattr(item, "sent_at", 0), getattr(items[-1], "sent_at", 0)
        return time <= last_time if direction == "append" else time >= last_time

    @cached_property
    def goes_by_number(self) -> bool:
        paging, has_pagination = self.facts.paging, self.page.meta.pagination is not None
        if "page" in self.asked_position or self.has_lost_position:
            return not self.has_lost_position
        if not self.leads_nowhere and (paging.positions or self.asked_position):
            return False
        is_numbered = paging.numbered and (paging.order == "service" or has_pagination)
        return is_numbered or (has_pagination and not paging.positions)


def positions_of(page: Listing[Any]) -> list[Position]:
    """All positions of a reply, the likeliest first."""
    meta = page.meta
    served = (meta.cursor, meta.next, page.cursor, meta.previous)
    return [position for position in served if position is not None]


def location_of(position: Pairs) -> dict[str, str]:
    """The location of a position: positions are compared by it."""
    return {name: value for name, value in position if name not in NO_LOCATION}


def describe(location: dict[str, str]) -> str:
    """Return a location in words, for an error: `id=5 sentAt=70`."""
    return " ".join(f"{name}={value}" for name, value in location.items()) or "its start"


def landmark_of(page: Listing[Any], ids: Sequence[str]) -> Hashable:
    """A hash that identifies a page of a list: of its ids, and of the bytes of records that have none."""
    if not ids:
        return None
    items = zip(ids, page.items, strict=True)
    return hash(tuple(text or bytes(getattr(item, "raw", b"")) for text, item in items))
