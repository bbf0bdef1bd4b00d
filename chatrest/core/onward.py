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
from .paging import POSITION_MEMBERS, position_pairs
from .walk_state import Memory, Rules

_COMPARED: Final = frozenset({"id", "sentAt", "updatedAt", "createdAt"})
_NO_PLACE: Final = frozenset({"affix", "perPage", "limit"})
_NO_PAGINATION: Final = Pagination()
_MOST_EMPTY: Final = 100
"""Empty pages in a row, by page numbers: more than that is no list."""


class Onward(Struct, frozen=True):
    """The next page of a walk: the one at `position`, or none."""

    position: Pairs | None = None
    error: str | None = None
    """Why the walk cannot honestly go on."""
    is_again: bool = False
    """Whether the same page is asked for once more."""
    landmark: Hashable = None
    """What the next steps must recognise, where positions or pages cannot be compared."""

    @property
    def is_numbered(self) -> bool:
        """True where the walk goes on by page number."""
        return self.position is not None and "page" in dict(self.position)


END: Final = Onward()


class View(Struct, frozen=True):
    """All that decides where a walk goes on."""

    cursor: Cursor
    """Where the page was asked for."""
    asked: dict[str, str]
    """The cursor's position, by name."""
    page: Listing[Any]
    ids: Sequence[str]
    arranged: Arranged[Any]
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
    def is_resting_on_position(self) -> bool:
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
        return self.memory.is_doubted or (self.memory.claimed_last and bool(self.arranged.items))

    @property
    def says_last(self) -> bool:
        """True where the pagination shows the end."""
        current, pages = self.pagination.current_page, self.pagination.total_pages
        return current is not None and pages is not None and current >= pages > 0

    @property
    def says_more(self) -> bool:
        """True where the pagination counts more pages, and more items than the walk has given."""
        numbers = self.pagination
        if numbers.current_page is None or numbers.total_pages is None:
            return False
        is_given = numbers.total is not None and 0 < numbers.total <= self.cursor.delivered
        return numbers.current_page < numbers.total_pages and not is_given

    @property
    def has_lost_meta(self) -> bool:
        """True where the page has neither a position nor pagination, though a page before it had."""
        return self.memory.has_meta and self.page.meta.pagination is None and not _positions(self.page)

    @property
    def counts_too_few(self) -> bool:
        """Whether the pagination counts more pages, and fewer items than the walk has given: one is wrong."""
        numbers = self.pagination
        if numbers.current_page is None or numbers.total_pages is None or numbers.total is None:
            return False
        return numbers.current_page < numbers.total_pages and 0 < numbers.total < self.cursor.delivered

    @property
    def is_border_alone(self) -> bool:
        """True where a short page holds nothing but the item that was asked from: the service includes it."""
        return self.is_short and set(self.ids) == {self.asked.get("id")}

    @property
    def has_new(self) -> bool:
        """True where the page brought something new, or a resumed walk knows it already."""
        return bool(self.arranged.items) or not self.ids or (self.cursor.inside and not self.is_repeated)


def onward(view: View) -> Onward:
    """Decide where the walk goes on."""
    if not view.ids and view.memory.is_withheld:
        return Onward(error="a page with items came empty when it was asked for once more")
    if view.is_numbered:
        return _by_number(view)
    fault, is_end = view.page.position_fault, bool(view.ids) and view.says_last and view.is_below_largest
    if is_end and fault is None:
        return END
    served = _served(view)
    if fault is not None and served is None and not _is_counted(view):
        return Onward(error=fault)
    if is_end:
        return END
    arranged = view.arranged
    if served is not None and arranged.by_id and not arranged.is_stated and "affix" not in view.asked:
        return _asked_in_direction(view)  # the position says no direction, and the page shows none
    if served is None and view.is_resting_on_position and not arranged.by_id:
        return _lost_position(view) if view.ids else _empty_end(view)
    paging = view.rules.paging
    is_numbered = paging.numbered and (paging.order == "service" or view.page.meta.pagination is not None)
    goes_by_number = is_numbered or _is_counted(view)
    if served is not None and (paging.positions or view.cursor.position or not goes_by_number):
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
    direction = view.arranged.direction
    for position in _positions(view.page):
        if pairs := position_pairs(position, view.rules.paging):
            affix = affix_of(position)
            if affix is None or affix == direction:
                return (("affix", direction), *pairs), True
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
    is_on_page = _is_on_page(view, after)
    if view.ids and not view.asked and (is_on_page or not view.arranged.is_stated):
        return _asked_in_direction(view)
    if is_on_page:
        return _own_position(view, pairs)
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


def _is_on_page(view: View, place: dict[str, str]) -> bool:
    """Return True for a position in the midst of the page: the item at it came, and items ahead of it.

    Some services always send the oldest id of a page, going `append` too (operations table,
    compatible_servers): from there all items of the page but one would come again. Not so where the item at
    it is the last by its time: then the list goes by time.
    """
    served, items = place.get("id"), view.arranged.items
    if not (items and served and view.arranged.by_id and place.keys() <= {"id", "sentAt"}):
        return False
    last, direction = view.rules.identify(items[-1]), view.arranged.direction
    if not _is_ahead(last, served, direction) or served not in view.ids:
        return False
    at = view.page.items[view.ids.index(served)]
    times = getattr(at, "sent_at", 0), getattr(items[-1], "sent_at", 0)
    return times[0] <= times[1] if direction == "append" else times[0] >= times[1]


def _is_ahead(text: str, behind: str, direction: str) -> bool:
    if text == behind or not (is_number(text) and is_number(behind)):
        return False
    return int(text) > int(behind) if direction == "append" else int(text) < int(behind)


def _regress(view: View, before: dict[str, str], after: dict[str, str]) -> tuple[str | None, Hashable]:
    """Return the fault of a walk that has been at `after` before, and what the next steps must recognise."""
    if not before:  # no position leads back to the walk's start
        return None, None
    is_ahead, is_back = _movements(before, after, view.arranged.direction)
    if is_ahead and not is_back:
        return None, None
    words = f"the walk stood at {_words(before)}, and its page's cursor was {_words(after)}"
    if is_back and not is_ahead:
        return f"the cursor goes back: going {view.arranged.direction}, {words}", None
    here = tuple(before.items())
    if tuple(after.items()) in view.memory.visited.having(here):
        return f"the cursor comes back: {words}, where it had been before", None
    return None, here


def _movements(before: dict[str, str], after: dict[str, str], direction: str) -> tuple[bool, bool]:
    """Return two flags: a number that both have has moved ahead; one has moved back."""
    is_ahead = is_back = False
    for name in _COMPARED & before.keys() & after.keys():
        old, new = before[name], after[name]
        if old != new and is_number(old) and is_number(new):
            if (int(new) > int(old)) is (direction == "append"):
                is_ahead = True
            else:
                is_back = True
    return is_ahead, is_back


# ── without a position that leads on ──


def _without_position(view: View) -> Onward:
    if not view.ids:
        return _empty_end(view)
    if view.is_below_largest and not view.says_more:
        return END
    if not view.rules.paging.positions:
        return END  # documented as one reply
    if not view.has_new:
        return _nothing_new(view) if view.cursor.delivered > len(view.ids) else _next_number(view)
    if not view.arranged.by_id or not view.arranged.is_stated:
        return _next_number(view) if view.cursor.position else _asked_in_direction(view)
    return _own_position(view, ())


def _asked_in_direction(view: View) -> Onward:
    """The list's first page once more, in a direction that both sides know."""
    return Onward((("affix", view.arranged.direction), *view.cursor.position), is_again=True)


def _lost_position(view: View) -> Onward:
    """A page in the service's order that lost its position: once more, or from its last item."""
    if view.is_below_largest and not view.says_more:
        return END
    if not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    last = view.arranged.items[-1] if view.arranged.items else None
    values = {wire: getattr(last, name, None) for wire, name in POSITION_MEMBERS if wire in view.asked}
    place = [(wire, str(value)) for wire, value in values.items() if isinstance(value, int | str) and value]
    if len(place) < len(values) or dict(place) == place_of(view.cursor.position):
        words = _words(place_of(view.cursor.position))
        return Onward(error=f"the page at {words} has no position that leads on, asked for twice")
    return Onward((("affix", view.arranged.direction), *place))


def _own_position(view: View, served: Pairs) -> Onward:
    """The specification's own parameters: `affix`, and the `id` of the last item."""
    last = last_id([view.rules.identify(item) for item in view.arranged.items[-1:]], view.cursor.last)
    if not last:  # records without an id: there is nothing to go on from
        return END if view.is_short else Onward(error="a full page of records without an id leads nowhere")
    position: Pairs = (("affix", view.arranged.direction), ("id", last))
    is_timed = "sentAt" in dict(served) or "sentAt" in view.asked
    if is_timed and view.arranged.items and getattr(view.arranged.items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(view.arranged.items[-1].sent_at)),)
    if place_of(position) == place_of(view.cursor.position):
        return _nothing_new(view)
    return Onward(position, landmark=None if served else position)


def _nothing_new(view: View) -> Onward:
    if view.is_border_alone:
        return END
    place = _words(place_of(view.cursor.position))
    return Onward(error=f"the page at {place} holds nothing new, and no position that leads on")


def _empty_end(view: View) -> Onward:
    """The end at an empty page; asked for once more where pagination counts more, or where all of `meta` is
    gone.
    """
    is_suspect = view.says_more or view.counts_too_few or view.has_lost_meta
    if is_suspect and not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    if not view.says_more:
        return END
    return Onward(error=f"an empty page, twice, though the service says that it is page {_pages(view)}")


def _pages(view: View) -> str:
    return f"{view.pagination.current_page} of {view.pagination.total_pages}"


# ── by page number ──


def _by_number(view: View) -> Onward:
    number = _number(view)
    pages = view.pagination.total_pages or 0
    if not view.ids:
        is_numbered = view.is_numbered or view.rules.paging.order == "service"
        is_midst = number < pages and view.says_more and view.memory.empty_pages < _MOST_EMPTY and is_numbered
        return _next_number(view) if is_midst and view.memory.has_asked_again else _empty_end(view)
    if not view.has_new:
        return _without_news(view, number, pages)
    if view.says_last and view.is_below_largest:
        return END
    return _next_number(view)


def _without_news(view: View, number: int, pages: int) -> Onward:
    """A page that repeats what was given: the end, unless a position leads on or pagination counts more."""
    if view.has_lost_meta and not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
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
    if (own := _not_yet_asked(view, number)) is not None:
        return own
    if view.rules.paging.positions and not view.is_short:
        return Onward(
            error="a full page leads nowhere: no position, and page numbers are ignored; ask with an affix"
        )
    return END


def _not_yet_asked(view: View, number: int) -> Onward | None:
    """The page after the walk's last id, where page numbers are ignored and nobody has tried the id yet."""
    last = view.cursor.last
    if number != 2 or "affix" not in view.asked or not view.cursor.by_id or last is None:
        return None
    position: Pairs = (("affix", view.asked["affix"]), ("id", last))
    return None if position in view.memory.visited else Onward(position, landmark=position)


def _next_number(view: View) -> Onward:
    size_name = view.rules.size_name
    # Page numbers count pages of one size and direction: those that the walk began with.
    size = view.asked.get(size_name, str(view.rules.size))
    position: Pairs = (("page", str(_number(view) + 1)), (size_name, size))
    if "affix" in view.asked:
        position = (("affix", view.asked["affix"]), *position)
    return Onward(position, landmark=landmark_of(view.page, view.ids))


def landmark_of(page: Listing[Any], ids: Sequence[str]) -> Hashable:
    """A page's own mark among those of its list: its ids, and the bytes of records that have none."""
    if not ids:
        return None
    items = zip(ids, page.items, strict=True)
    return hash(tuple(text or bytes(getattr(item, "raw", b"")) for text, item in items))


def _number(view: View) -> int:
    return int(view.asked.get("page", 1))


def place_of(position: Pairs) -> dict[str, str]:
    """A position without the direction and the page's size: positions are compared by it."""
    return {name: value for name, value in position if name not in _NO_PLACE}


def _words(place: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in place.items()) or "its start"
