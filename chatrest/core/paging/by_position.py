"""The way on by positions: by the reply's own, or from the last id that the walk has seen.

A list without any position is gone on with as the documented parameters say: from the last id that
the walk has seen, in its direction; where the direction is not known, the list is asked for once more in the
direction of its first page; where the service ignores an id, by page number.
"""

from collections.abc import Hashable
from typing import Final

from ..requests.endpoint import Pairs
from .by_number import next_number
from .order import Affix, is_ahead, last_id
from .page_view import END, Onward, PageView, describe, empty_end, place_of
from .paging import (
    COMPARED_MEMBERS,
    LARGEST_PAGE,
    ONE_LIMITED_REPLY,
    ONE_REPLY,
    POSITION_MEMBERS,
    SMALLEST_DEFAULT,
)

_ATTRIBUTES: Final = dict(POSITION_MEMBERS)


def by_position(view: PageView, served: tuple[Pairs, bool]) -> Onward:
    """Return the reply's position, or why the walk cannot go on from it; see `served_position`."""
    pairs, is_ours = served
    if not is_ours:
        return own_position(view, pairs) if view.page.items else empty_end(view)
    before, after = place_of(view.cursor.position), place_of(pairs)
    is_on_page = _is_on_page(view, after)
    if view.ids and not view.asked and (is_on_page or not view.ordered.is_stated):
        return ask_with_direction(view)
    if is_on_page:
        return own_position(view, pairs)
    if before != after:
        error, landmark = _regress(view, before, after)
        return Onward(pairs, error, landmark=landmark)
    if not view.ids:
        return empty_end(view)
    if view.is_border_alone:
        return END
    return Onward(
        error=f"the cursor does not move: the walk stood at {describe(before)}, and its page's cursor was "
        f"{describe(after)}, though the page was not empty"
    )


def _is_on_page(view: PageView, place: dict[str, str]) -> bool:
    """Return True for a position in the midst of the page: the item at it came, and items ahead of it.

    Some services always send the oldest id of a page, going `append` too: from there all items of
    the page but one would come again. Not so where the item at
    it is the last by its time: then the list goes by time.
    """
    served, items = place.get("id"), view.ordered.items
    if not (items and served and view.ordered.by_id and place.keys() <= {"id", "sentAt"}):
        return False
    last, direction = view.rules.identify(items[-1]), view.ordered.direction
    if not is_ahead(last, served, direction) or served not in view.ids:
        return False
    at = view.page.items[view.ids.index(served)]
    times = getattr(at, "sent_at", 0), getattr(items[-1], "sent_at", 0)
    return times[0] <= times[1] if direction == "append" else times[0] >= times[1]


def _regress(view: PageView, before: dict[str, str], after: dict[str, str]) -> tuple[str | None, Hashable]:
    """Return the fault of a walk that has been at `after` before, and what the next steps must recognise."""
    if not before:  # no position leads back to the walk's start
        return None, None
    has_advanced, is_back = _movements(before, after, view.ordered.direction)
    if has_advanced and not is_back:
        return None, None
    words = f"the walk stood at {describe(before)}, and its page's cursor was {describe(after)}"
    if is_back and not has_advanced:
        return f"the cursor goes back: going {view.ordered.direction}, {words}", None
    here = tuple(before.items())
    if tuple(after.items()) in view.memory.visited.having(here):
        return f"the cursor comes back: {words}, where it had been before", None
    return None, here


def _movements(before: dict[str, str], after: dict[str, str], direction: Affix) -> tuple[bool, bool]:
    """Return two flags: a number that both have has moved ahead; one has moved back."""
    pairs = [(before[name], after[name]) for name in COMPARED_MEMBERS & before.keys() & after.keys()]
    has_advanced = any(is_ahead(new, old, direction) for old, new in pairs)
    return has_advanced, any(is_ahead(old, new, direction) for old, new in pairs)


def without_position(view: PageView) -> Onward:
    """Return the way on of a list by id whose page has no position that leads on."""
    if not view.ids:
        return empty_end(view)
    if view.is_below_largest and not view.says_more:
        return END
    if not view.rules.paging.positions:
        return _sole_reply(view)
    if not view.has_new:
        return _nothing_new(view) if view.cursor.delivered > len(view.ids) else next_number(view)
    if not view.ordered.by_id or not view.ordered.is_stated:
        return next_number(view) if view.cursor.position else ask_with_direction(view)
    return own_position(view, ())


def _sole_reply(view: PageView) -> Onward:
    """Return the end of a list that is documented as one reply, or why it may not be the end.

    Such a reply has a largest size, too: the largest page that is documented, or the service's own
    (`meta.current.limit`), if that can be one. It shows nothing that leads on: a full one may lack records,
    unless it has as many as the caller asked for.
    """
    current, count = view.page.meta.current, len(view.ids)
    served = 0 if current is None or current.limit is None else current.limit
    limit = served if SMALLEST_DEFAULT <= served <= LARGEST_PAGE else LARGEST_PAGE
    is_sole = view.rules.paging in (ONE_REPLY, ONE_LIMITED_REPLY)
    is_what_was_asked = view.rules.size_asked and count >= view.rules.size
    if not is_sole or is_what_was_asked or count < limit:
        return END
    return Onward(error=f"the only reply of this list is full ({count} records), and leads to no further one")


def ask_with_direction(view: PageView) -> Onward:
    """The list's first page once more, in a direction that both sides know."""
    return Onward((("affix", view.ordered.direction), *view.cursor.position), is_again=True)


def lost_position(view: PageView) -> Onward:
    """A page in the service's order that lost its position: once more, or from its last item."""
    if view.is_below_largest and not view.says_more:
        return END
    if not view.memory.has_asked_again:
        return Onward(view.cursor.position, is_again=True)
    last = view.ordered.items[-1] if view.ordered.items else None
    values = {wire: getattr(last, name, None) for wire, name in POSITION_MEMBERS if wire in view.asked}
    place = [(wire, str(value)) for wire, value in values.items() if isinstance(value, int | str) and value]
    if len(place) < len(values) or dict(place) == place_of(view.cursor.position):
        words = describe(place_of(view.cursor.position))
        return Onward(error=f"the page at {words} has no position that leads on, asked for twice")
    return Onward((("affix", view.ordered.direction), *place))


def by_last_item(view: PageView) -> Onward:
    """From the last item, of a page in the service's order that names no next position."""
    wire = view.rules.paging.own_member
    if view.is_below_largest and not view.says_more:
        return END
    values = [getattr(item, _ATTRIBUTES[wire], None) for item in view.page.items]
    places = [value for value in values if isinstance(value, int)]
    if len(places) < len(values) or not view.has_new:
        return (
            END
            if view.is_short
            else Onward(error="a full page that brings nothing to go on from leads nowhere")
        )
    direction = view.asked.get("affix") or ("prepend" if places[0] > places[-1] else "append")
    last = max(places) if direction == "append" else min(places)
    position: Pairs = (("affix", direction), (wire, str(last)))
    if place_of(position) == place_of(view.cursor.position):
        return END if view.is_short else Onward(error=f"a full page is all of one {wire}, and leads nowhere")
    return Onward(position)


def own_position(view: PageView, served: Pairs) -> Onward:
    """The documented parameters: `affix`, and the `id` of the last item."""
    last = last_id([view.rules.identify(item) for item in view.ordered.items[-1:]], view.cursor.last)
    if not last:  # records without an id: there is nothing to go on from
        return END if view.is_short else Onward(error="a full page of records without an id leads nowhere")
    position: Pairs = (("affix", view.ordered.direction), ("id", last))
    is_timed = "sentAt" in dict(served) or "sentAt" in view.asked
    if is_timed and view.ordered.items and getattr(view.ordered.items[-1], "sent_at", 0) > 0:
        position += (("sentAt", str(view.ordered.items[-1].sent_at)),)
    if place_of(position) == place_of(view.cursor.position):
        return _nothing_new(view)
    return Onward(position, landmark=None if served else position)


def _nothing_new(view: PageView) -> Onward:
    """Return the end for the item alone that was asked from; for other pages, why the walk cannot go on."""
    if view.is_border_alone:
        return END
    place = describe(place_of(view.cursor.position))
    return Onward(error=f"the page at {place} holds nothing new, and no position that leads on")
