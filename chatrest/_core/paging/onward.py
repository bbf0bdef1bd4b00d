"""The next page of a walk: a ladder of rules, of which the first that applies decides.

`help` shows the rungs below, each by the first line of its function. A short page has fewer records than were
asked for, and than the service's own `per_page`. After one wrong "last page" such claims are ignored. A list
by page numbers takes the other ways only where a number returns nothing new. No walk goes round: a way leads
to another place than the page's own, and places that cannot be compared are remembered.
"""

from collections.abc import Callable, Hashable
from typing import Final

from msgspec import UNSET, Struct

from ..requests.dialects import (
    COMPARED_MEMBERS,
    LARGEST_PAGE,
    ONE_LIMITED_REPLY,
    ONE_REPLY,
    POSITION_MEMBERS,
    SMALLEST_DEFAULT,
)
from ..requests.endpoint import Pairs
from .cursor import Cursor
from .order import Affix, is_ahead, is_number, last_id
from .page_view import NO_PLACE, PageView, describe, landmark_of, place_of, positions_of

_MOST_EMPTY: Final = 100
"""Empty pages in a row: more than that is no list."""
_ATTRIBUTES: Final = dict(POSITION_MEMBERS)


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


def onward(view: PageView) -> Onward:
    return next(result for rung in RUNGS if (result := rung(view)) is not None)


# ── by its counts alone ──


def _withheld(view: PageView) -> Onward | None:
    """Items that came, and did not when they were asked for again: a fault."""
    if not view.memory.is_withheld or view.ids:
        return None
    return Onward(error="a page with items came empty when it was asked for again")


def _counted_end(view: PageView) -> Onward | None:
    """The list ends at a short page, smaller than its largest, that claims to be the last."""
    is_last = view.position_fault is None and view.says_last and view.is_below_largest
    return _END if is_last else None


def _counted_on(view: PageView) -> Onward | None:
    """Something new on a page that was asked for by its number: the next number."""
    return _next_number(view) if "page" in view.asked and view.ids and view.has_new else None


# ── faults and ends by its positions ──


def _unreadable(view: PageView) -> Onward | None:
    """A position that cannot be read, in a list that does not go by numbers: a fault."""
    # Of a list that is counted by pages positions do not matter.
    is_counted = view.page.meta.pagination is not None and not view.rules.paging.positions
    is_fault = view.position_fault is not None and not view.leads and not is_counted
    return Onward(error=view.position_fault) if is_fault else None


def _shown_end(view: PageView) -> Onward | None:
    """The list ends at a short page without a next position and without a higher total."""
    shows_no_more = view.is_nowhere and not view.is_by_number and not view.says_more
    return _END if (view.says_last or shows_no_more) and view.is_below_largest else None


def _documented_end(view: PageView) -> Onward | None:
    """A reply without the position that is documented for all but the last: the end."""
    meta, paging = view.page.meta, view.rules.paging
    positions = (meta.next, meta.cursor, view.page.cursor)
    if "page" in view.asked or view.page.position_fault is not None or positions != (None, None, None):
        return None
    if paging.shows_end:
        is_end = view.cursor.earlier is None and (meta.current, meta.previous) != (None, None)
        return _END if is_end else None
    # It leads back alone, with fewer records than any page that was cut off.
    is_tiny = 0 < len(view.ids) < min(paging.smallest_cap, view.rules.size)
    is_end = is_tiny and meta.previous is not None and not view.rules.thorough and not view.says_more
    return _END if is_end else None


# ── the ways on ──


def _in_a_direction(view: PageView) -> Onward | None:
    """A first page of which nothing says in which direction it goes: again, in one that both sides know."""
    if "affix" in view.asked or view.is_by_number or not (view.ids or view.ordered.by_id):
        return None
    paging = view.rules.paging
    if view.is_nowhere and (view.is_lost or paging.own_member or not paging.positions):
        return None
    if view.is_nowhere and not (view.ids and view.has_new):
        return None
    is_known = view.ordered.is_stated and not view.is_on_page and (view.ordered.by_id or not view.is_nowhere)
    direction = ("affix", view.ordered.direction)
    return None if is_known else Onward((direction, *view.cursor.position), is_again=True)


def _by_position(view: PageView) -> Onward | None:
    """The reply's position, if it moves; a fault where it goes back or repeats."""
    before, after = view.place, place_of(view.served)
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
        return Onward(error=f"the cursor repeats: {words}, where it had been before")
    return Onward(view.served, landmark=tuple(before.items()))


def _are_numbers_ignored(view: PageView) -> bool:
    """Return True if a page number returns nothing new, and the position is no filter of the list."""
    filters = dict(view.rules.paging.filters)
    is_ignored = bool(view.ids) and not view.has_new and view.pagination.total_pages is None
    return is_ignored and not view.rules.paging.positions and (not filters or "affix" in filters)


def _movements(before: dict[str, str], after: dict[str, str], direction: Affix) -> tuple[bool, bool]:
    """Return two flags: a number that both have has moved ahead; one has moved back."""
    pairs = [(before[name], after[name]) for name in COMPARED_MEMBERS & before.keys() & after.keys()]
    has_advanced = any(is_ahead(new, old, direction) for old, new in pairs)
    return has_advanced, any(is_ahead(old, new, direction) for old, new in pairs)


def _again(view: PageView) -> Onward | None:
    """An empty page that counts more or lacks the `meta` of others, or a lost position: again, once."""
    if not view.ids:
        # More pages, and fewer items than were given: one of the counts is wrong.
        is_all = view.pagination.total not in (None, 0) and view.pagination.total == view.cursor.delivered
        is_suspect = view.has_lost_meta or (view.counts_more_pages and not is_all)
    else:
        is_suspect = view.has_lost_meta and view.is_by_number and not view.has_new
        is_suspect = is_suspect or (view.is_lost and not view.rules.paging.own_member)
    position, memory = view.cursor.position, view.memory
    if not is_suspect or memory.has_asked_again or position in memory.empty_places:
        return None
    return Onward(position, is_again=True)


def _from_earlier(view: PageView) -> Onward | None:
    """An empty page, although the one before promised more (see `step`): an earlier position."""
    position, is_guess_meant = view.cursor.earlier, not view.leads or view.rules.thorough
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


def _from_item_before(view: PageView) -> Onward | None:
    """A last item from which nothing can be asked: from the item before it, which shows what follows."""
    is_due = view.page.is_refusal or view.cursor.position in view.memory.empty_places
    if view.ids or not is_due:  # before anything is computed: the last page of every walk comes here
        return None
    position = _before_last(view)
    was_refused = view.cursor.position in view.memory.empty_places
    if not position or (was_refused and position in view.memory.visited):
        return None
    return Onward(position, is_back=True, landmark=position)


def _before_last(view: PageView) -> Pairs:
    """The position of the item before the last one; none where the walk does not stand on its last item."""
    last, direction = view.cursor.last, view.ordered.direction
    if last is None or view.asked.get("id") != last or view.asked.keys() - NO_PLACE != {"id"}:
        return ()
    numbers = [int(text) for text in view.memory.ids or () if is_ahead(last, text, direction)]
    if not numbers:
        return ()
    return (("affix", direction), ("id", str(max(numbers) if direction == "append" else min(numbers))))


def is_placed_by_id(cursor: Cursor) -> bool:
    """Return True where all that the walk has given is known by the last id."""
    return cursor.by_id and is_number(cursor.last)


def _by_own_place(view: PageView) -> Onward | None:
    """A reply that leads nowhere, back, or to the middle of its page: from the walk's own last item."""
    is_numbered = view.is_by_number
    if not view.ids or (is_numbered and (view.has_new or view.says_more or "affix" not in view.asked)):
        return None
    # The position that was served does not move, or the walk was asked for from its own place already.
    is_stuck = (view.served and not view.is_on_page) or (view.is_nowhere and not view.has_new)
    if is_stuck and not is_numbered:
        return None
    position = _own_id(view) if view.ordered.by_id else _own_position(view)
    if not position or place_of(position) == view.place or position in view.memory.visited:
        return None
    return Onward(position, landmark=position if view.is_nowhere else None)


def _own_id(view: PageView) -> Pairs:
    """The documented parameters: `affix`, and the `id` of the last item; none where records have no ids."""
    items = view.ordered.items
    last = last_id([view.rules.identify(item) for item in items[-1:]], view.cursor.last)
    if not last:
        return ()
    position: Pairs = (("affix", view.ordered.direction), ("id", last))
    is_timed = "sentAt" in view.asked or any(each.sent_at is not UNSET for each in positions_of(view.page))
    if is_timed and items and getattr(items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(items[-1].sent_at)),)
    return position


def _own_position(view: PageView) -> Pairs:
    """The position of the last item of a list in the service's order, where items hold what it takes."""
    direction, wire = view.ordered.direction, view.rules.paging.own_member
    if view.is_by_number:
        return ()
    if not wire:
        last = view.ordered.items[-1] if view.is_lost and view.ordered.items else None
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
    """A list that goes by numbers, or ignores ids: the next page number."""
    if view.is_by_number:
        leads_on = view.has_new if view.ids else _is_in_the_middle(view)
        return _next_number(view) if leads_on else None
    paging = view.rules.paging
    if not view.ids or not view.is_nowhere or view.is_lost:
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


def _empty(view: PageView) -> Onward | None:
    """An empty page: the end, or a fault where there must be more."""
    if view.ids:
        return None
    if view.memory.empty_places and view.memory.empty_pages and not is_placed_by_id(view.cursor):
        words = "an empty page, from an earlier position, too, though the page before it announced more"
        return Onward(error=words)
    if view.page.is_refusal and "page" not in view.asked and not _is_shown_last(view):
        words = "the service has no such item, which it has listed, and leads to it again"
        return Onward(error=f"{words}: what follows {describe(view.place)} cannot be asked for")
    pages = f"{view.pagination.current_page} of {view.pagination.total_pages}"
    words = f"an empty page, twice, though the service says that it is page {pages}"
    return Onward(error=words) if view.says_more else _END


def _is_shown_last(view: PageView) -> bool:
    """Return True if the page before counted all that was given, or the item before the last one was asked
    from, and its page showed that nothing follows. A last page of one item has none before it: there its
    being short is all that can be known.
    """
    before, memory = _before_last(view), view.memory
    if memory.total:
        return memory.total == view.cursor.delivered
    if len(memory.ids or ()) == 1 < view.rules.size:
        return view.largest > 1 or view.cursor.delivered == 1
    was_refused = view.cursor.position in memory.empty_places
    return was_refused and before in memory.visited and before not in memory.empty_places


def _repeated_number(view: PageView) -> Onward | None:
    """A page number that repeats what was given: the end, or a fault where there must be more."""
    if not view.is_by_number:
        return None
    paging, pages = view.rules.paging, view.pagination.total_pages
    words = f"page {view.page_number} holds nothing but what the page before it held"
    if view.says_more and view.page_number <= (pages or 0):
        return Onward(error=f"{words}, though the service says that there are {pages} pages")
    if paging.filters and pages is None and view.leads:
        names = ", ".join(name for name, _ in paging.filters)
        return Onward(error=f"{words}, and the service continues by what the list is filtered by ({names})")
    if not paging.positions or view.is_short:
        return _END
    return Onward(
        error="a full page leads nowhere: no position, and page numbers are ignored; ask with an affix"
    )


def _lost_twice(view: PageView) -> Onward | None:
    """A position that is lost, asked for twice: a fault."""
    if not view.is_lost or view.rules.paging.own_member:
        return None
    return Onward(error=f"the page at {describe(view.place)} has no position that leads on, asked for twice")


def _border_alone(view: PageView) -> Onward | None:
    """A short page with nothing but the item that was asked from: the end, as the service includes it."""
    is_alone = set(view.ids) == {view.asked.get("id")}
    if not view.ordered.by_id:
        # Nothing but items of the time that was asked from, and fewer of them than fit into a page of this
        # service, so that none is hidden after them.
        is_alone = len(view.ids) < max(view.largest, 2) and not view.ordered.items
    return _END if view.is_short and is_alone else None


def _standing_still(view: PageView) -> Onward | None:
    """A position that does not move, of a page that is not empty: a fault."""
    if not view.served or view.is_on_page:
        return None
    served = describe(place_of(view.served))
    words = f"the walk stood at {describe(view.place)}, and its page's cursor was {served}"
    return Onward(error=f"the cursor does not move: {words}, though the page was not empty")


def _sole_reply(view: PageView) -> Onward | None:
    """A list that is documented as one reply: the end, or a fault where a full one may lack records."""
    if view.rules.paging.positions:
        return None
    # The largest page that is documented, or the service's own (`meta.current.limit`), if that can be one; a
    # reply may have as many records as the caller asked for.
    current, count = view.page.meta.current, len(view.ids)
    served = 0 if current is None or current.limit is None else current.limit
    limit = served if SMALLEST_DEFAULT <= served <= LARGEST_PAGE else LARGEST_PAGE
    is_what_was_asked = view.rules.size_asked and count >= view.rules.size
    if view.rules.paging not in (ONE_REPLY, ONE_LIMITED_REPLY) or is_what_was_asked or count < limit:
        return _END
    return Onward(error=f"the only reply of this list is full ({count} records), and leads to no further one")


def _without_ids(view: PageView) -> Onward | None:
    """Records without what the list goes by: the end of a short page, and a fault of a full one."""
    member = view.rules.paging.own_member
    if not member and not (view.ordered.by_id and not _own_id(view)):
        return None
    words = f"a full page leads nowhere: no record of it has an {member or 'id'} further on"
    return _END if view.is_short else Onward(error=words)


def _nothing_new(view: PageView) -> Onward:
    """Any other page: a fault, as there must be more."""
    error = f"the page at {describe(view.place)} holds nothing new, and no position that leads on"
    return Onward(error=error)


RUNGS: Final[tuple[Callable[[PageView], Onward | None], ...]] = (
    _withheld, _counted_end, _counted_on,
    _unreadable, _shown_end, _documented_end,
    _in_a_direction, _by_position, _again, _from_earlier, _from_item_before, _by_own_place, _by_number,
    _empty, _repeated_number, _lost_twice, _border_alone, _standing_still, _sole_reply, _without_ids,
    _nothing_new,
)  # fmt: skip
__doc__ = f"{__doc__}\n" + "\n".join(
    f"{number:>2}. {(rung.__doc__ or '').partition(chr(10))[0]}" for number, rung in enumerate(RUNGS, 1)
)
