"""A page as the rules of a step see it, and what they have in common."""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from msgspec import Struct

from ...models.meta import Pagination, Position
from ..replies.decode import Listing
from ..requests.endpoint import Pairs
from .arrange import OrderedPage, affix_of
from .cursor import Cursor
from .paging import position_pairs
from .walk_state import Memory, Rules

NO_PLACE: Final = frozenset({"affix", "perPage", "limit"})
"""The members of a position that say a direction or a size."""
_NO_PAGINATION: Final = Pagination()


class Onward(Struct, frozen=True):
    """The next page of a walk: the one at `position`, or none."""

    position: Pairs | None = None
    error: str | None = None
    """Why the walk cannot honestly go on."""
    is_again: bool = False
    """Whether the same page is asked for once more."""
    landmark: Hashable = None
    """What the next steps must recognise, where positions or pages cannot be compared."""


END: Final = Onward()


class PageView(Struct, frozen=True):
    """All that decides where a walk goes on."""

    cursor: Cursor
    """Where the page was asked for."""
    asked: dict[str, str]
    """The cursor's position, by name."""
    page: Listing[Any]
    ids: Sequence[str]
    ordered: OrderedPage[Any]
    rules: Rules
    memory: Memory
    largest: int
    """Records of the largest page that this list gave before, asked in the same way."""
    is_repeated: bool = False
    """Whether the walk had this very page under another number."""

    @property
    def pagination(self) -> Pagination:
        """The reply's pagination; an empty one where it has none."""
        return self.page.meta.pagination or _NO_PAGINATION

    @property
    def is_numbered(self) -> bool:
        """True where the page was asked for by its number."""
        return "page" in self.asked

    @property
    def was_asked_at_position(self) -> bool:
        """True where the page was asked for at a position that the service gave."""
        return not self.is_numbered and self.cursor.last is not None and bool(place_of(self.cursor.position))

    @property
    def is_short(self) -> bool:
        """True where the page holds fewer records than were asked for, and than its own `per_page`."""
        served, count = self.pagination.per_page, len(self.ids)
        return count < self.rules.size and (served is None or count < served)

    @property
    def is_below_largest(self) -> bool:
        """True where a short page can be believed to be the last: no cap cut it off, and no "last" was
        wrong so far.
        """
        if self.rules.thorough or self.is_doubted:
            return False
        return self.is_short and len(self.ids) < self.largest

    @property
    def is_doubted(self) -> bool:
        """True where the service said "last" before in this walk, and more came."""
        return self.memory.is_doubted or (self.memory.claimed_last and bool(self.ordered.items))

    @property
    def is_believed_last(self) -> bool:
        """True where the service says that this is the last page, and a short page bears it out."""
        return bool(self.ids) and self.says_last and self.is_below_largest

    @property
    def says_last(self) -> bool:
        """True where the pagination shows the end."""
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current >= pages > 0

    @property
    def shows_end(self) -> bool:
        """True where a reply without a next position is the last, and its `meta` came.

        It is where that is documented, and where it leads back alone, with fewer records than any page that
        was cut off.
        """
        meta, paging = self.page.meta, self.rules.paging
        if (meta.next, meta.cursor, self.page.cursor) != (None, None, None):
            return False
        if paging.shows_end:
            return (meta.current, meta.previous) != (None, None)
        is_tiny = 0 < len(self.ids) < min(paging.smallest_cap, self.rules.size)
        return is_tiny and meta.previous is not None and not self.rules.thorough and not self.says_more

    @property
    def counts_more_pages(self) -> bool:
        """True where the pagination counts pages after this one."""
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current < pages

    @property
    def says_more(self) -> bool:
        """True where the pagination counts more pages, and more items than the walk has given."""
        total = self.pagination.total
        is_given = total is not None and 0 < total <= self.cursor.delivered
        return self.counts_more_pages and not is_given

    @property
    def page_of_pages(self) -> str:
        """The page that the service says this is, in words: `1 of 2`."""
        return f"{self.pagination.current_page} of {self.pagination.total_pages}"

    @property
    def has_lost_meta(self) -> bool:
        """True where the page has neither a position nor pagination, though a page before it had."""
        return self.memory.has_meta and self.page.meta.pagination is None and not positions_of(self.page)

    @property
    def counts_too_few(self) -> bool:
        """True where pagination counts more pages, but fewer items than the walk has given: one is wrong."""
        total = self.pagination.total
        return total is not None and 0 < total < self.cursor.delivered and self.counts_more_pages

    @property
    def is_border_alone(self) -> bool:
        """True where a short page holds nothing but the item that was asked from: the service includes it.

        In a list that goes by times: nothing but items of the time that was asked from, and fewer of them
        than fit into a page of this service, so that none is hidden behind them.
        """
        if not self.ordered.by_id:
            is_part = len(self.ids) < max(self.largest, 2)
            return self.is_short and is_part and not self.ordered.items
        return self.is_short and set(self.ids) == {self.asked.get("id")}

    @property
    def has_new(self) -> bool:
        """True where the page brought something new, or a resumed walk knows it already."""
        return bool(self.ordered.items) or not self.ids or (self.cursor.inside and not self.is_repeated)


def positions_of(page: Listing[Any]) -> list[Position]:
    """The positions that a reply holds, the likeliest first."""
    meta = page.meta
    return [
        position for position in (meta.cursor, meta.next, page.cursor, meta.previous) if position is not None
    ]


def served_position(view: PageView) -> tuple[Pairs, bool] | None:
    """The position that the reply gives, and whether it is for the walk's direction; None where it leads
    nowhere.
    """
    other: tuple[Pairs, bool] | None = None
    direction = view.ordered.direction
    for position in positions_of(view.page):
        if pairs := position_pairs(position, view.rules.paging):
            affix = affix_of(position)
            if affix is None or affix == direction:
                return (("affix", direction), *pairs), True
            other = other or (pairs, False)
    return other


def empty_end(view: PageView) -> Onward:
    """The end at an empty page; asked for once more where pagination counts more, or where all of `meta` is
    gone.
    """
    is_suspect = view.says_more or view.counts_too_few or view.has_lost_meta
    if is_suspect and not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    if not view.says_more:
        return END
    return Onward(error=f"an empty page, twice, though the service says that it is page {view.page_of_pages}")


def place_of(position: Pairs) -> dict[str, str]:
    """A position without the direction and the page's size: positions are compared by it."""
    return {name: value for name, value in position if name not in NO_PLACE}


def describe(place: dict[str, str]) -> str:
    """Return a position in words, for an error: `id=5 sentAt=70`."""
    return " ".join(f"{name}={value}" for name, value in place.items()) or "its start"
