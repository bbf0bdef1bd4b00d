"""Where a walk continues after a page: one ladder, whose first step that holds decides.

1. A fault: a position that is unreadable, or items that came, and did not when they were asked for again.
2. The end: a short page, smaller than the largest of this list, that says to be the last, or leads nowhere
   and counts no more; or a reply that is documented as the last one. Short: fewer records than were asked
   for, and than the service's own `per_page`. None is believed after a "last" that was wrong.
3. The first way on that was not tried since something new came:

   | the way                 | is taken where                                                              |
   |-------------------------|-----------------------------------------------------------------------------|
   | again, in a direction   | nothing says in which one the first page goes                               |
   | the reply's position    | it moves; an error where it goes back, or comes back                        |
   | the same request        | an empty page counts more, or lacks the `meta` of others; a position is lost|
   | an earlier position     | an empty page, although the one before promised more: see `promise`         |
   | the walk's own last id  | the reply leads nowhere, back, or to the middle of its page                 |
   | the next page number    | the list goes by numbers, or ignores ids                                    |

4. A fault where there must be more, else the end: at an empty page, or at the item alone that was asked from.

A list by page numbers takes the other ways only where a number brings nothing new. No walk goes round: a way
leads to another place than the page's own, and places that cannot be compared are remembered.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final, final

from msgspec import UNSET, Struct

from ..._models.meta import Pagination
from ..replies.decode import Listing
from ..requests.dialects import (
    COMPARED_MEMBERS,
    LARGEST_PAGE,
    ONE_LIMITED_REPLY,
    ONE_REPLY,
    POSITION_MEMBERS,
    SMALLEST_DEFAULT,
    position_pairs,
)
from ..requests.endpoint import Pairs
from .arrange import OrderedPage, affix_of
from .cursor import Cursor
from .order import Affix, is_ahead, is_number, last_id
from .walk_state import Memory, Rules

NO_PLACE: Final = frozenset({"affix", "perPage", "limit"})
"""The members of a position that say a direction or a size."""
_MOST_EMPTY: Final = 100
"""Empty pages in a row: more than that is no list."""
_ATTRIBUTES: Final = dict(POSITION_MEMBERS)
_NO_PAGINATION: Final = Pagination()


class Onward(Struct, frozen=True):
    """The next page of a walk: the one at `position`, or none."""

    position: Pairs | None = None
    error: str | None = None
    """Why the walk cannot honestly continue."""
    is_again: bool = False
    """Whether the same page is asked for again."""
    is_back: bool = False
    """Whether an earlier page is asked for again."""
    landmark: Hashable = None
    """What the next steps must recognise, where positions or pages cannot be compared."""


_END: Final = Onward()


@final
class PageView:
    """All that decides where a walk continues: each rung of the ladder asks for the same."""

    __slots__ = (
        "asked", "counts_more_pages", "cursor", "has_lost_place", "has_new", "has_position", "ids",
        "is_by_number", "is_on_page", "largest", "leads_nowhere", "memory", "ordered", "page", "pagination",
        "place", "positions", "rules", "says_last", "says_more", "served", "served_place",
    )  # fmt: skip

    def __init__(
        self,
        cursor: Cursor,
        page: Listing[Any],
        ids: Sequence[str],
        ordered: OrderedPage[Any],
        rules: Rules,
        memory: Memory,
        largest: int,
        *,
        is_repeated: bool,
    ) -> None:
        self.cursor, self.page, self.ids, self.ordered = cursor, page, ids, ordered
        self.rules, self.memory, self.largest = rules, memory, largest
        self.asked, self.place = dict(cursor.position), place_of(cursor.position)
        # A resumed walk may know all that is on its page.
        self.has_new = bool(ordered.items) or (cursor.inside and not is_repeated)
        self._look_at_counts(page.meta.pagination or _NO_PAGINATION)
        self.is_by_number = "page" in self.asked

    def _look_at_counts(self, pagination: Pagination) -> None:
        self.pagination = pagination
        current, pages = pagination.current_page, pagination.total_pages
        self.says_last = self.counts_more_pages = False
        if current is not None and pages is not None:
            self.says_last, self.counts_more_pages = current >= pages > 0, current < pages
        is_given = 0 < (pagination.total or 0) <= self.cursor.delivered
        self.says_more = self.counts_more_pages and not is_given

    def look_at_positions(self) -> None:
        """Look at what is left, which costs the most, and which most ends and numbers do without."""
        meta, direction, by_id = self.page.meta, self.ordered.direction, self.ordered.by_id
        served = (meta.cursor, meta.next, self.page.cursor, meta.previous)  # the likeliest first
        self.positions = [position for position in served if position is not None]
        self.served: Pairs = ()
        self.has_position = False
        for position in self.positions:
            if pairs := position_pairs(position, self.rules.paging):
                self.has_position = True
                if affix_of(position) in (None, direction):
                    self.served = (("affix", direction), *pairs)
                    break
        # One that leads back shows a list by id that continues by its own.
        self.leads_nowhere = not self.served and not (by_id and self.has_position)
        was_given = "page" not in self.asked and self.cursor.last is not None and bool(self.place)
        self.has_lost_place = was_given and not self.served and not by_id
        self.served_place = place_of(self.served)
        self.is_on_page = by_id and bool(self.served) and self._has_items_ahead(self.served_place)
        self.is_by_number = self.is_by_number or self._goes_by_number()

    def _has_items_ahead(self, place: dict[str, str]) -> bool:
        """Return True for a position in the middle of the page: the item at it came, and items ahead of it.

        Some services always send the oldest id of a page, going `append` too: from there all items of
        the page but one would come again. Not so where the item at it is the last by its time: then the list
        goes by time.
        """
        served, items, direction = place.get("id"), self.ordered.items, self.ordered.direction
        if not (items and served and place.keys() <= {"id", "sentAt"}):
            return False
        if not is_ahead(self.rules.identify(items[-1]), served, direction) or served not in self.ids:
            return False
        at = self.page.items[self.ids.index(served)]
        times = getattr(at, "sent_at", 0), getattr(items[-1], "sent_at", 0)
        return times[0] <= times[1] if direction == "append" else times[0] >= times[1]

    def _goes_by_number(self) -> bool:
        paging, has_pagination = self.rules.paging, self.page.meta.pagination is not None
        if self.has_lost_place or (not self.leads_nowhere and (paging.positions or self.asked)):
            return False
        is_numbered = paging.numbered and (paging.order == "service" or has_pagination)
        return is_numbered or (has_pagination and not paging.positions)

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
    def has_lost_meta(self) -> bool:
        """True if the page has neither a position nor pagination, though a page before it had."""
        return self.memory.has_meta and self.page.meta.pagination is None and not self.positions


def onward(view: PageView) -> Onward:
    """Decide where the walk continues."""
    fault = None if "page" in view.asked else view.page.position_fault
    if view.memory.is_withheld and not view.ids:
        return Onward(error="a page with items came empty when it was asked for once more")
    if fault is None and view.says_last and view.is_below_largest:
        return _END
    if view.is_by_number and view.ids and view.has_new:
        return _next_number(view)
    view.look_at_positions()
    # Of a list that is counted by pages positions do not matter.
    is_counted = view.page.meta.pagination is not None and not view.rules.paging.positions
    if fault is not None and not view.has_position and not is_counted:
        return Onward(error=fault)
    if _is_end(view):
        return _END
    for way in (_in_a_direction, _by_position, _again, _from_earlier, _by_own_place, _by_number):
        if (result := way(view)) is not None:
            return result
    return _without_a_way(view)


def _is_end(view: PageView) -> bool:
    """Return True for a short page that is believed to be the last, and for a reply that is documented so."""
    shows_no_more = view.leads_nowhere and not view.is_by_number and not view.says_more
    if (view.says_last or shows_no_more) and view.is_below_largest:
        return True
    meta, paging = view.page.meta, view.rules.paging
    positions = (meta.next, meta.cursor, view.page.cursor)
    if "page" in view.asked or view.page.position_fault is not None or positions != (None, None, None):
        return False
    if paging.shows_end:
        return view.cursor.earlier is None and (meta.current, meta.previous) != (None, None)
    # It leads back alone, with fewer records than any page that was cut off.
    is_tiny = 0 < len(view.ids) < min(paging.smallest_cap, view.rules.size)
    return is_tiny and meta.previous is not None and not view.rules.thorough and not view.says_more


# ── the ways on ──


def _in_a_direction(view: PageView) -> Onward | None:
    """The first page again, in a direction that both sides know."""
    if "affix" in view.asked or view.is_by_number or not (view.ids or view.ordered.by_id):
        return None
    paging, is_lost = view.rules.paging, view.leads_nowhere
    if is_lost and (view.has_lost_place or paging.own_member or not paging.positions):
        return None
    if is_lost and not (view.ids and view.has_new):
        return None
    is_known = view.ordered.is_stated and not view.is_on_page and (view.ordered.by_id or not is_lost)
    direction = ("affix", view.ordered.direction)
    return None if is_known else Onward((direction, *view.cursor.position), is_again=True)


def _by_position(view: PageView) -> Onward | None:
    """The position that the reply gives."""
    before, after = view.place, view.served_place
    if not after or after == before or view.is_on_page:
        return None
    if view.is_by_number and not _are_numbers_ignored(view):
        return None
    if not before:  # no position leads back to the walk's start
        return Onward(view.served)
    has_advanced, is_back = _movements(before, after, view.ordered.direction)
    if has_advanced and not is_back:
        return Onward(view.served)
    words = f"the walk stood at {describe(before)}, and its page's cursor was {describe(after)}"
    visited = view.memory.visited
    # In a list that is known to have another order, a lower id may be further on, once.
    if is_back and not has_advanced and (view.cursor.by_id or tuple(before.items()) in visited):
        return Onward(error=f"the cursor goes back: going {view.ordered.direction}, {words}")
    if tuple(after.items()) in visited:
        return Onward(error=f"the cursor comes back: {words}, where it had been before")
    return Onward(view.served, landmark=tuple(before.items()))


def _are_numbers_ignored(view: PageView) -> bool:
    """Return True if a page number brings nothing new, and the position is no filter of the list."""
    filters = dict(view.rules.paging.filters)
    is_ignored = bool(view.ids) and not view.has_new and view.pagination.total_pages is None
    return is_ignored and not view.rules.paging.positions and (not filters or "affix" in filters)


def _movements(before: dict[str, str], after: dict[str, str], direction: Affix) -> tuple[bool, bool]:
    """Return two flags: a number that both have has moved ahead; one has moved back."""
    pairs = [(before[name], after[name]) for name in COMPARED_MEMBERS & before.keys() & after.keys()]
    has_advanced = any(is_ahead(new, old, direction) for old, new in pairs)
    return has_advanced, any(is_ahead(old, new, direction) for old, new in pairs)


def _again(view: PageView) -> Onward | None:
    """The same request again, where its reply seems to lack something."""
    if not view.ids:
        # More pages, and fewer items than were given: one of the counts is wrong.
        is_all = view.pagination.total not in (None, 0) and view.pagination.total == view.cursor.delivered
        is_suspect = view.has_lost_meta or (view.counts_more_pages and not is_all)
    else:
        is_suspect = view.has_lost_meta and view.is_by_number and not view.has_new
        is_suspect = is_suspect or (view.has_lost_place and not view.rules.paging.own_member)
    if not is_suspect or view.memory.has_asked_again:
        return None
    return Onward(view.cursor.position, is_again=True)


def _from_earlier(view: PageView) -> Onward | None:
    """An earlier page again, after a promise that an empty page does not keep."""
    position, is_guess_meant = view.cursor.earlier, not view.has_position or view.rules.thorough
    if position is None and is_guess_meant:  # else this service gives a position always
        position = view.memory.earlier
    if view.ids or position is None or "page" in view.asked:
        return None
    if view.memory.ids is None and not is_placed_by_id(view.cursor):
        words = "an empty page, though the one before announced more: the item it is asked from may be gone"
        return Onward(error=f"{words}, and its list has no order by which another place could be found")
    if "affix" not in dict(position):
        position = (("affix", view.ordered.direction), *position)
    return Onward(position, is_back=True)


def is_placed_by_id(cursor: Cursor) -> bool:
    """Return True where all that the walk has given is known by the last id."""
    return cursor.by_id and is_number(cursor.last)


def _by_own_place(view: PageView) -> Onward | None:
    """The page after the walk's own last item: by its id, or by what a position of the list holds."""
    if not view.ids or (view.is_by_number and (view.has_new or view.says_more or "affix" not in view.asked)):
        return None
    # The position that was served does not move, or the walk was asked for from its own place already.
    is_stuck = (view.served and not view.is_on_page) or (view.leads_nowhere and not view.has_new)
    if is_stuck and not view.is_by_number:
        return None
    position = _own_id(view) if view.ordered.by_id else _own_position(view)
    if not position or place_of(position) == view.place or position in view.memory.visited:
        return None
    return Onward(position, landmark=position if view.leads_nowhere else None)


def _own_id(view: PageView) -> Pairs:
    """The documented parameters: `affix`, and the `id` of the last item; none where records have no ids."""
    items = view.ordered.items
    last = last_id([view.rules.identify(item) for item in items[-1:]], view.cursor.last)
    if not last:
        return ()
    position: Pairs = (("affix", view.ordered.direction), ("id", last))
    is_timed = "sentAt" in view.asked or any(each.sent_at is not UNSET for each in view.positions)
    if is_timed and items and getattr(items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(items[-1].sent_at)),)
    return position


def _own_position(view: PageView) -> Pairs:
    """The position of the last item of a list in the service's order, where items hold what it takes."""
    direction, wire = view.ordered.direction, view.rules.paging.own_member
    if view.is_by_number:
        return ()
    if not wire:
        last = view.ordered.items[-1] if view.has_lost_place and view.ordered.items else None
        place = [(name, getattr(last, _ATTRIBUTES[name], None)) for name in _ATTRIBUTES if name in view.asked]
        if not all(isinstance(value, int | str) and value for _, value in place):
            return ()
        return (("affix", direction), *((name, str(value)) for name, value in place))
    values = [getattr(item, _ATTRIBUTES[wire], None) for item in view.page.items]
    places = [value for value in values if isinstance(value, int)]
    if len(places) < len(values):
        return ()
    falls = places[0] > places[-1]
    affix = view.asked.get("affix") or ("prepend" if falls else "append")
    return (("affix", affix), (wire, str(max(places) if affix == "append" else min(places))))


def _by_number(view: PageView) -> Onward | None:
    """The page of the next number, where the list goes by numbers, or where nothing else leads on."""
    if view.is_by_number:
        leads_on = view.has_new if view.ids else _is_in_the_middle(view)
        return _next_number(view) if leads_on else None
    paging = view.rules.paging
    if not view.ids or not view.leads_nowhere or view.has_lost_place:
        return None
    if paging.own_member or not paging.positions:
        return None
    # An id that is ignored gives the first page again: perhaps a number is not.
    leads_on = not view.ordered.by_id if view.has_new else view.cursor.delivered <= len(view.ids)
    return _next_number(view) if leads_on else None


def _next_number(view: PageView) -> Onward:
    size_name = view.rules.size_name
    # Page numbers count pages of one size and direction: those that the walk began with.
    names = ("affix", "page", size_name) if size_name else ("affix", "page")
    values = {size_name: str(view.rules.size), **view.asked, "page": str(view.page_number + 1)}
    position = tuple([(name, values[name]) for name in names if name in values])
    return Onward(position, landmark=landmark_of(view.page, view.ids))


def _is_in_the_middle(view: PageView) -> bool:
    """Return True for an empty page by number, of which pagination counts more; but not for ever."""
    is_numbered = "page" in view.asked or view.rules.paging.order == "service"
    pages = view.pagination.total_pages or 0
    is_midst = view.page_number < pages and view.says_more and view.memory.empty_pages < _MOST_EMPTY
    return is_midst and is_numbered


# ── without a way on ──


def _without_a_way(view: PageView) -> Onward:
    """The end, or why it may not be the end."""
    if not view.ids:
        pages = f"{view.pagination.current_page} of {view.pagination.total_pages}"
        words = f"an empty page, twice, though the service says that it is page {pages}"
        if view.memory.empty_places and view.memory.empty_pages and not is_placed_by_id(view.cursor):
            words = "an empty page, from an earlier position, too, though the page before it announced more"
            return Onward(error=words)
        return Onward(error=words) if view.says_more else _END
    if view.is_by_number:
        return _without_a_number(view)
    paging, before = view.rules.paging, describe(view.place)
    if view.has_lost_place and not paging.own_member:
        return Onward(error=f"the page at {before} has no position that leads on, asked for twice")
    if _is_border_alone(view):
        return _END
    if view.served and not view.is_on_page:
        after = describe(view.served_place)
        words = f"the walk stood at {before}, and its page's cursor was {after}"
        return Onward(error=f"the cursor does not move: {words}, though the page was not empty")
    if not paging.positions:
        return _sole_reply(view)
    if paging.own_member or (view.ordered.by_id and not _own_id(view)):
        words = f"a full page leads nowhere: no record of it has an {paging.own_member or 'id'} further on"
        return _END if view.is_short else Onward(error=words)
    return Onward(error=f"the page at {before} holds nothing new, and no position that leads on")


def _without_a_number(view: PageView) -> Onward:
    """A page that repeats what was given: the end, unless there must be more."""
    paging, pages = view.rules.paging, view.pagination.total_pages
    words = f"page {view.page_number} holds nothing but what the page before it held"
    if view.says_more and view.page_number <= (pages or 0):
        return Onward(error=f"{words}, though the service says that there are {pages} pages")
    if paging.filters and pages is None and view.has_position:
        names = ", ".join(name for name, _ in paging.filters)
        return Onward(error=f"{words}, and the service goes on by what the list is filtered by ({names})")
    if not paging.positions or view.is_short:
        return _END
    return Onward(
        error="a full page leads nowhere: no position, and page numbers are ignored; ask with an affix"
    )


def _is_border_alone(view: PageView) -> bool:
    """Return True if a short page holds nothing but the item that was asked from: the service includes it.

    In a list that goes by times: nothing but items of the time that was asked from, and fewer of them
    than fit into a page of this service, so that none is hidden after them.
    """
    if view.ordered.by_id:
        return view.is_short and set(view.ids) == {view.asked.get("id")}
    return view.is_short and len(view.ids) < max(view.largest, 2) and not view.ordered.items


def _sole_reply(view: PageView) -> Onward:
    """Return the end of a list that is documented as one reply, or why it may not be the end.

    Such a reply has a largest size, too: the largest page that is documented, or the service's own
    (`meta.current.limit`), if that can be one. It shows nothing that leads on: a full one may lack records,
    unless it has as many as the caller asked for.
    """
    current, count = view.page.meta.current, len(view.ids)
    served = 0 if current is None or current.limit is None else current.limit
    limit = served if SMALLEST_DEFAULT <= served <= LARGEST_PAGE else LARGEST_PAGE
    is_what_was_asked = view.rules.size_asked and count >= view.rules.size
    if view.rules.paging not in (ONE_REPLY, ONE_LIMITED_REPLY) or is_what_was_asked or count < limit:
        return _END
    return Onward(error=f"the only reply of this list is full ({count} records), and leads to no further one")


# ── what tells places and pages apart ──


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
