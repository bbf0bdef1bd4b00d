"""The rungs of `next_page` that name a further page: a position, a page number, or a page asked for again."""

from collections.abc import Hashable
from typing import Final

from msgspec import UNSET, Struct

from ..requests.dialects import COMPARED_MEMBERS, POSITION_MEMBERS
from ..requests.endpoint import Pairs
from .order import Affix, is_ahead, last_id
from .page_view import NO_LOCATION, PageView, describe, landmark_of, location_of, positions_of

_MAX_EMPTY_PAGES: Final = 100
"""Empty pages in a row: more than that is no list."""
_ATTRIBUTES: Final = dict(POSITION_MEMBERS)


class NextPage(Struct, frozen=True):
    """The next page of a walk: the one at `position`. Without a position the walk ends, or has an error."""

    position: Pairs | None = None
    error: str | None = None
    """The reason why the walk cannot continue without a gap or repetition."""
    is_same: bool = False
    """True if the same page is asked for again."""
    is_earlier: bool = False
    """True if an earlier page is asked for again."""
    landmark: Hashable = None
    """A mark of this page that later steps recognise, so that the walk does not go round in a circle."""


def numbered_page_with_missing_records(view: PageView) -> NextPage | None:
    """Fewer records than a page by number counts: again, once, as no position leads to the missing ones."""
    is_suspect = view.lacks_records and view.memory.asked_again == "no" and view.goes_by_number
    return NextPage(view.cursor.position, is_same=True) if is_suspect else None


def number_after_new_items(view: PageView) -> NextPage | None:
    """Something new on a page that was asked for by its number: the next number."""
    return _number(view) if "page" in view.asked_position and view.ids and view.has_new else None


def same_page_in_a_direction(view: PageView) -> NextPage | None:
    """A first page that does not show its direction: again, with a direction in the request.

    | its direction is known by         | so it is not asked for again                              |
    |-----------------------------------|-----------------------------------------------------------|
    | the request, or a page number     | always                                                    |
    | its own position, which it states | if the list is by id, or the position leads on            |
    | nothing, as it is empty           | if it is not by id                                        |
    | nothing, and has no position      | if the list is documented without one, or nothing is new  |
    """
    if "affix" in view.asked_position or view.goes_by_number or not (view.ids or view.ordered.by_id):
        return None
    paging = view.facts.paging
    if view.leads_nowhere and (view.has_lost_position or paging.own_member or not paging.positions):
        return None
    if view.leads_nowhere and not (view.ids and view.has_new):
        return None
    is_known = view.ordered.is_stated and not view.leads_inside
    is_known = is_known and (view.ordered.by_id or not view.leads_nowhere)
    direction = ("affix", view.ordered.direction)
    return None if is_known else NextPage((direction, *view.cursor.position), is_same=True)


def page_with_missing_records(view: PageView) -> NextPage | None:
    """Fewer records than the page counts, and a position after them: from the last of them.

    Those between may be missing in this reply alone. A page without any is asked for again, once.
    """
    # A service that counts before it filters pays for it: 80 requests, not 43, if one record in 50 fits.
    if not (view.lacks_records and view.ordered.by_id and view.served_position):
        return None
    if not view.ids:
        return NextPage(view.cursor.position, is_same=True) if view.memory.asked_again == "no" else None
    position = own_id(view)
    served_id, last = dict(view.served_position).get("id", ""), dict(position).get("id", "")
    return NextPage(position) if view.has_new and is_ahead(served_id, last, view.ordered.direction) else None


def served_position(view: PageView) -> NextPage | None:
    """The reply's position, if it moves; a fault where it goes back or repeats."""
    before, after = view.asked_location, location_of(view.served_position)
    if not after or after == before or view.leads_inside:
        return None
    if view.goes_by_number and not _are_numbers_ignored(view):
        return None
    if not before:  # no position leads back to the walk's start
        return NextPage(view.served_position)
    has_advanced, has_retreated = _movements(before, after, view.ordered.direction)
    if has_advanced and not has_retreated:
        return NextPage(view.served_position)
    words = f"the walk stood at {describe(before)}, and its page's cursor was {describe(after)}"
    visited = view.memory.visited
    # In a list that is known to have another order, a lower id may be further on, once.
    is_back = has_retreated and not has_advanced
    if is_back and (view.cursor.by_id or tuple(before.items()) in visited):
        return NextPage(error=f"the cursor goes back: going {view.ordered.direction}, {words}")
    if tuple(after.items()) in visited:
        return NextPage(error=f"the cursor repeats: {words}, where it had been before")
    return NextPage(view.served_position, landmark=tuple(before.items()))


def same_page_again(view: PageView) -> NextPage | None:
    """An empty page that counts more or lacks the `meta` of others, or a lost position: again, once."""
    if not view.ids:
        # More pages, and fewer items than were given: one of the counts is wrong.
        is_all = view.pagination.total not in (None, 0) and view.pagination.total == view.cursor.delivered
        is_suspect = view.has_lost_meta or (view.counts_more_pages and not is_all)
    else:
        is_suspect = view.has_lost_meta and view.goes_by_number and not view.has_new
        is_suspect = is_suspect or (view.has_lost_position and not view.facts.paging.own_member)
    position, memory = view.cursor.position, view.memory
    if not is_suspect or memory.asked_again != "no" or position in memory.empty_positions:
        return None
    return NextPage(position, is_same=True)


def earlier_page(view: PageView) -> NextPage | None:
    """An empty page, although the one before promised more (see `step`): an earlier position."""
    position = view.cursor.earlier
    # A likely promise counts where the empty page has no position: this service does not always give one.
    if position is None and (view.facts.thorough or not view.leading_positions):
        position = view.memory.earlier
    if view.ids or position is None or "page" in view.asked_position:
        return None
    if view.memory.ids is None and not view.cursor.is_at_number:
        words = "an empty page, though the one before announced more: the item it is asked from may be gone"
        return NextPage(error=f"{words}, and its list has no order by which another place could be found")
    if "affix" not in dict(position):
        position = (("affix", view.ordered.direction), *position)
    return NextPage(position, is_earlier=True)


def item_before_last(view: PageView) -> NextPage | None:
    """A last item from which nothing can be asked: from the item before it, which shows what follows."""
    was_refused = view.cursor.position in view.memory.empty_positions
    if view.ids or not (view.page.is_refusal or was_refused):  # before anything is computed: every walk's end
        return None
    position = before_last(view)
    if not position or (was_refused and position in view.memory.visited):
        return None
    return NextPage(position, is_earlier=True, landmark=position)


def position_of_last_item(view: PageView) -> NextPage | None:
    """A reply that leads nowhere, back, or to the middle of its page: from the walk's own last item."""
    if not view.ids:
        return None
    by_number = view.goes_by_number
    if by_number and (view.has_new or view.claims_more or "affix" not in view.asked_position):
        return None
    # The position that was served does not move, or the walk was asked for from its own last item already.
    is_stuck = (view.served_position and not view.leads_inside) or (view.leads_nowhere and not view.has_new)
    if is_stuck and not by_number:
        return None
    position = own_id(view) if view.ordered.by_id else _own_position(view)
    if not position or location_of(position) == view.asked_location or position in view.memory.visited:
        return None
    return NextPage(position, landmark=position if view.leads_nowhere else None)


def next_number(view: PageView) -> NextPage | None:
    """A list that goes by numbers, or ignores ids: the next page number."""
    if view.goes_by_number:
        leads_on = view.has_new if view.ids else _is_in_the_middle(view)
        return _number(view) if leads_on else None
    paging = view.facts.paging
    if not view.ids or not view.leads_nowhere or view.has_lost_position:
        return None
    if paging.own_member or not paging.positions:
        return None
    # An id that is ignored gives the first page again: perhaps a number is not.
    leads_on = not view.ordered.by_id if view.has_new else view.cursor.delivered <= len(view.ids)
    return _number(view) if leads_on else None


def before_last(view: PageView) -> Pairs:
    """The position of the item before the last one; empty where the walk is not at its last item."""
    last, direction = view.cursor.last, view.ordered.direction
    asked = view.asked_position
    if last is None or asked.get("id") != last or asked.keys() - NO_LOCATION != {"id"}:
        return ()
    numbers = [int(text) for text in view.memory.ids or () if is_ahead(last, text, direction)]
    if not numbers:
        return ()
    return (("affix", direction), ("id", str(max(numbers) if direction == "append" else min(numbers))))


def own_id(view: PageView) -> Pairs:
    """The documented parameters: `affix`, and the `id` of the last item; empty where records have no ids."""
    items = view.ordered.items
    last = last_id([view.facts.identify(item) for item in items[-1:]], view.cursor.last)
    if not last:
        return ()
    position: Pairs = (("affix", view.ordered.direction), ("id", last))
    is_timed = "sentAt" in view.asked_position or any(
        each.sent_at is not UNSET for each in positions_of(view.page)
    )
    if is_timed and items and getattr(items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(items[-1].sent_at)),)
    return position


def _own_position(view: PageView) -> Pairs:
    """The position of the last item of a list in the service's order; empty where items lack its members."""
    direction, wire = view.ordered.direction, view.facts.paging.own_member
    if view.goes_by_number:
        return ()
    if not wire:
        last = view.ordered.items[-1] if view.has_lost_position and view.ordered.items else None
        names = [name for name in _ATTRIBUTES if name in view.asked_position]
        values = [getattr(last, _ATTRIBUTES[name], None) for name in names]
        if not all(isinstance(value, int | str) and value for value in values):
            return ()
        return (("affix", direction), *zip(names, map(str, values), strict=True))
    values = [getattr(item, _ATTRIBUTES[wire], None) for item in view.page.items]
    times = [value for value in values if isinstance(value, int)]
    if len(times) < len(values):
        return ()
    affix = view.asked_position.get("affix") or ("prepend" if times[0] > times[-1] else "append")
    return (("affix", affix), (wire, str(max(times) if affix == "append" else min(times))))


def _movements(before: dict[str, str], after: dict[str, str], direction: Affix) -> tuple[bool, bool]:
    """Return two flags: a number that both have has moved ahead; one has moved back."""
    pairs = [(before[name], after[name]) for name in COMPARED_MEMBERS & before.keys() & after.keys()]
    has_advanced = any(is_ahead(new, old, direction) for old, new in pairs)
    return has_advanced, any(is_ahead(old, new, direction) for old, new in pairs)


def _are_numbers_ignored(view: PageView) -> bool:
    """Return True if a page number returns nothing new, and the position is no filter of the list."""
    filters = dict(view.facts.paging.filters)
    is_ignored = bool(view.ids) and not view.has_new and view.pagination.total_pages is None
    return is_ignored and not view.facts.paging.positions and (not filters or "affix" in filters)


def _is_in_the_middle(view: PageView) -> bool:
    """Return True for an empty page by number where pagination counts more, within a bound."""
    is_numbered = "page" in view.asked_position or view.facts.paging.order == "service"
    pages = view.pagination.total_pages or 0
    has_more = view.page_number < pages and view.claims_more and view.memory.empty_pages < _MAX_EMPTY_PAGES
    return has_more and is_numbered


def _number(view: PageView) -> NextPage:
    size_name = view.facts.size_name
    # Page numbers count pages of one size and direction: those that the walk began with.
    names = ("affix", "page", size_name) if size_name else ("affix", "page")
    values = {size_name: str(view.facts.size), **view.asked_position, "page": str(view.page_number + 1)}
    position = tuple([(name, values[name]) for name in names if name in values])
    return NextPage(position, landmark=landmark_of(view.page, view.ids))
