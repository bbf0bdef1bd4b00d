"""Where a walk goes on after a page: by the reply's position, by the next page number, from its own last id,
or nowhere.

The rules are in `core.step`. A list without any position is gone on with as the specification's own
parameters say: from the last id that the walk has seen, in its direction; where the direction is not known,
the list is asked for once more in the direction of its first page; where the service ignores an id, by page
number. It ends where a page is empty or brings nothing new.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from msgspec import Struct

from ..models.meta import Pagination, Position
from .arrange import Arranged, affix_of
from .cursor import Cursor
from .decode import Listing
from .endpoint import Pairs
from .order import is_number, last_id
from .paging import position_pairs
from .walk_state import Memory, Rules

_COMPARED: Final = ("id", "sentAt", "updatedAt", "createdAt")
_MOST_EMPTY: Final = 100
"""Empty pages in a row, by page numbers: more than that is no list."""


class Onward(Struct, frozen=True):
    """Where a walk goes on: at `position`, or nowhere."""

    position: Pairs | None = None
    error: str | None = None
    """Why the walk cannot honestly go on."""
    is_again: bool = False
    """Whether the same page is asked for once more."""
    landmark: Hashable = None
    """What the next steps must recognise, where positions or pages cannot be compared."""

    @property
    def is_numbered(self) -> bool:
        """Whether the walk goes on by page number."""
        return self.position is not None and "page" in dict(self.position)


END: Final = Onward()


class View(Struct, frozen=True):
    """All that decides where a walk goes on."""

    cursor: Cursor
    """Where the page was asked for."""
    page: Listing[Any]
    ids: Sequence[str]
    arranged: Arranged[Any]
    rules: Rules
    memory: Memory
    largest: int
    """Records of the largest page that this list gave before, asked in the same way."""

    @property
    def pagination(self) -> Pagination:
        """The reply's pagination; an empty one where it has none."""
        return self.page.meta.pagination or Pagination()

    @property
    def is_numbered(self) -> bool:
        """Whether the walk goes by page numbers."""
        return "page" in dict(self.cursor.position)

    @property
    def is_short(self) -> bool:
        """Whether the page holds fewer records than were asked for, and than the service's own page size."""
        served, count = self.pagination.per_page, len(self.ids)
        return count < self.rules.size and (served is None or count < served)

    @property
    def is_below_largest(self) -> bool:
        """Whether a short page can be believed to be the last: no cap cut it off, and no "last" was wrong so
        far.
        """
        if self.rules.thorough or self.is_doubted:
            return False
        return self.is_short and len(self.ids) < self.largest

    @property
    def is_doubted(self) -> bool:
        """Whether the service said "last" before in this walk, and more came."""
        return self.memory.is_doubted or (self.memory.said_last and bool(self.arranged.items))

    @property
    def says_last(self) -> bool:
        """Whether the pagination shows the end."""
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current >= pages > 0

    @property
    def says_more(self) -> bool:
        """Whether the pagination counts more pages, and more items than the walk has given."""
        numbers = self.pagination
        if numbers.current_page is None or numbers.total_pages is None:
            return False
        is_given = numbers.total is not None and 0 < numbers.total <= self.memory.delivered
        return numbers.current_page < numbers.total_pages and not is_given

    @property
    def is_border_alone(self) -> bool:
        """Whether a short page holds nothing but the item that was asked from: the service includes it."""
        return self.is_short and set(self.ids) == {dict(self.cursor.position).get("id")}

    @property
    def has_new(self) -> bool:
        """Whether the page brought something new, or a resumed walk knows it already."""
        return bool(self.arranged.items) or not self.ids or self.cursor.inside


def onward(view: View) -> Onward:
    """Decide where the walk goes on."""
    if view.is_numbered:
        return _by_number(view)
    served = _served(view)
    if view.page.position_fault is not None and served is None and not _is_counted(view):
        return Onward(error=view.page.position_fault)
    if view.ids and view.says_last and view.is_below_largest:
        return END
    goes_by_number = view.rules.paging.numbered or _is_counted(view)
    if served is not None and (view.rules.paging.positions or view.cursor.position or not goes_by_number):
        return _by_position(view, served)
    if goes_by_number:
        return _by_number(view)
    return _without_position(view)


def _is_counted(view: View) -> bool:
    """Return True where a list that goes by page numbers has pagination: positions beside it do not matter
    then.
    """
    return not view.rules.paging.positions and view.page.meta.pagination is not None


# ── by position ──


def _served(view: View) -> tuple[Pairs, bool] | None:
    """The position that the reply gives, and whether it is for the walk's direction; None where it leads
    nowhere.
    """
    other: tuple[Pairs, bool] | None = None
    for position in _positions(view.page):
        if pairs := position_pairs(position, view.rules.paging):
            affix = affix_of(position)
            if affix in (None, view.arranged.direction):
                return (("affix", view.arranged.direction), *pairs), True
            other = other or (pairs, False)
    return other


def _positions(page: Listing[Any]) -> list[Position]:
    meta = page.meta
    return [
        position for position in (meta.cursor, meta.next, page.cursor, meta.previous) if position is not None
    ]


def _by_position(view: View, served: tuple[Pairs, bool]) -> Onward:
    pairs, is_ours = served
    if not is_ours:
        return _own_position(view, pairs) if view.page.items else _empty_end(view)
    before, after = place_of(view.cursor.position), place_of(pairs)
    if before != after:
        error, landmark = _regress(view, before, after)
        return Onward(pairs, error, landmark=landmark)
    if not view.ids:
        return _empty_end(view)
    if view.is_border_alone:
        return END
    return Onward(
        error=f"the cursor does not move: the walk stood at {_words(before)}, and its page's cursor was "
        f"{_words(after)}, though the page was not empty"
    )


def _regress(view: View, before: dict[str, str], after: dict[str, str]) -> tuple[str | None, Hashable]:
    """Why the walk has been at `after` already, if so; and what to remember for the next time."""
    movements = {_movement(before, after, name, view.arranged.direction) for name in _COMPARED}
    words = f"the walk stood at {_words(before)}, and its page's cursor was {_words(after)}"
    if "ahead" in movements and "back" not in movements:
        return None, None
    if "back" in movements and "ahead" not in movements:
        return f"the cursor goes back: going {view.arranged.direction}, {words}", None
    here = tuple(before.items())
    if tuple(after.items()) in view.memory.visited.having(here):
        return f"the cursor comes back: {words}, where it had been before", None
    return None, here


def _movement(before: dict[str, str], after: dict[str, str], name: str, direction: str) -> str | None:
    """`ahead` or `back` for a number that both have; None where it stays or cannot be compared."""
    old, new = before.get(name), after.get(name)
    if old is None or new is None or old == new or not (is_number(old) and is_number(new)):
        return None
    return "ahead" if (int(new) > int(old)) is (direction == "append") else "back"


# ── without a position that leads on ──


def _without_position(view: View) -> Onward:
    if not view.ids:
        return _empty_end(view)
    if view.is_below_largest and not view.says_more:
        return END
    if not view.rules.paging.positions:
        return END  # documented as one reply
    if not view.has_new:
        return _nothing_new(view) if view.memory.delivered > len(view.ids) else _next_number(view)
    if not view.arranged.by_id or not view.arranged.is_told:
        return _next_number(view) if view.cursor.position else _asked_in_direction(view)
    return _own_position(view, ())


def _asked_in_direction(view: View) -> Onward:
    """The list's first page once more, in a direction that both sides know."""
    return Onward((("affix", view.arranged.direction),), is_again=True)


def _own_position(view: View, served: Pairs) -> Onward:
    """The specification's own parameters: `affix`, and the `id` of the last item."""
    last = last_id([view.rules.identify(item) for item in view.arranged.items[-1:]], view.cursor.last)
    if not last:  # records without an id: there is nothing to go on from
        return END if view.is_short else Onward(error="a full page of records without an id leads nowhere")
    position: Pairs = (("affix", view.arranged.direction), ("id", last))
    timed = "sentAt" in dict(served) or "sentAt" in dict(view.cursor.position)
    if timed and view.arranged.items and getattr(view.arranged.items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(view.arranged.items[-1].sent_at)),)
    return _nothing_new(view) if place_of(position) == place_of(view.cursor.position) else Onward(position)


def _nothing_new(view: View) -> Onward:
    if view.is_border_alone:
        return END
    place = _words(place_of(view.cursor.position))
    return Onward(error=f"the page at {place} holds nothing new, and no position that leads on")


def _empty_end(view: View) -> Onward:
    """The end at an empty page; asked for once more where pagination counts more, or where all of `meta` is
    gone.
    """
    if not view.says_more:
        is_bare = view.memory.has_meta and not _positions(view.page) and view.page.meta.pagination is None
        return (
            Onward(view.cursor.position, is_again=True)
            if is_bare and not view.memory.has_asked_again
            else END
        )
    if not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    return Onward(error=f"an empty page, twice, though the service says that it is page {_pages(view)}")


def _pages(view: View) -> str:
    return f"{view.pagination.current_page} of {view.pagination.total_pages}"


# ── by page number ──


def _by_number(view: View) -> Onward:
    number = _number(view)
    pages = view.pagination.total_pages or 0
    if not view.ids:
        if number < pages and view.says_more and view.memory.empty_pages < _MOST_EMPTY:
            return _next_number(view)
        return _empty_end(view)
    if not view.has_new:
        return _without_news(view, number, pages)
    if view.says_last and view.is_below_largest:
        return END
    return _next_number(view)


def _without_news(view: View, number: int, pages: int) -> Onward:
    """A page that repeats what was given: the end, unless a position leads on or pagination counts more."""
    served = _served(view)
    if (
        served is not None
        and served[1]
        and not view.rules.paging.positions
        and view.page.meta.pagination is None
    ):
        return Onward(served[0])
    if view.says_more and number <= pages:
        return Onward(
            error=f"page {number} holds nothing but what the page before it held, though the service says "
            f"that there are {pages} pages"
        )
    if view.rules.paging.positions and not view.is_short:
        return Onward(
            error="a full page leads nowhere: no position, and page numbers are ignored; ask with an affix"
        )
    return END


def _next_number(view: View) -> Onward:
    asked = dict(view.cursor.position)
    size = asked.get(view.rules.size_name, str(view.rules.size))
    # Page numbers count pages of one size: the one that the walk began with.
    return Onward(
        (("page", str(_number(view) + 1)), (view.rules.size_name, size)),
        landmark=landmark_of(view.page, view.ids),
    )


def landmark_of(page: Listing[Any], ids: Sequence[str]) -> Hashable:
    """What tells a page from another one of its list: its ids, and the bytes of records that have none."""
    if not ids:
        return None
    items = zip(ids, page.items, strict=True)
    return hash(tuple(text or bytes(getattr(item, "raw", b"")) for text, item in items))


def _number(view: View) -> int:
    return int(dict(view.cursor.position).get("page", 1))


def place_of(position: Pairs) -> dict[str, str]:
    """What tells one position from another: not the direction, nor the page's size."""
    return {name: value for name, value in position if name not in ("affix", "perPage", "limit")}


def _words(place: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in place.items()) or "its start"
