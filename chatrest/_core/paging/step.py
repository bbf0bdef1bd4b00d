"""One step of a walk: which items of a page are new, in which order, and where the walk continues.

Pure: `step(cursor, page, …)` returns a `Step`, with all that the next step has to remember in its `memory`.
What a reply claims (last page, total, size, order) is a hint: `arrange` selects the items that are new, and
`next_page` decides where the walk continues.

A page may promise that more follows; then an empty page right after it does not prove the end of the list.
The item that the page was asked from may be deleted or moved by then, and a service that looks for it answers
with an empty page. So the walk asks again from the position of the page before.

| the page                                           | its promise |
|----------------------------------------------------|-------------|
| counts more pages, or more records than it holds   | `stated`    |
| … but the whole list, of which all were given      | `none`      |
| counts otherwise, and was not wrong so far         | `none`      |
| does not count, is full, and has a position        | `likely`    |
| any other                                          | `none`      |

A likely promise counts if the empty page has no position: then the service gives one only if more follows.
If it always gives one, a full last page would cost a request, and only a `thorough` walk pays it.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from ..._models.meta import Position
from ..replies.decode import Listing
from ..requests.endpoint import BY_ID_FIELD
from .arrange import arrange
from .cursor import Cursor
from .further_pages import NextPage
from .next_page import next_page
from .order import are_ahead, are_ascending, is_number, last_id
from .page_view import PageView, landmark_of, location_of
from .walk_state import ListFacts, Memory

Promise: TypeAlias = Literal["none", "likely", "stated"]
T = TypeVar("T")

_NOTHING = Memory()
_NOTHING_ELSE: Final = structs.astuple(Position())[2:]
"""The members of a position that has an affix and an id alone."""
_MAX_STEPS_BACK: Final = 10
"""Empty pages after which an earlier page is asked for, as long as nothing new is returned."""


class Step(Struct, Generic[T], frozen=True):
    start: Cursor
    """The cursor that the page was asked for at, with the walk's direction."""
    items: list[T]
    unordered_count: int
    """The number of first items that are in the service's order, and not ordered by their id."""
    next: Cursor | None
    """The position of the next page; None at the end, and at an error."""
    memory: Memory
    error: str | None = None
    """The reason why the walk cannot continue after these items; None if it can."""

    def cursor_after(self, count: int, identify: Callable[[T], str]) -> Cursor:
        """Return the cursor after `count` of the items are delivered."""
        if count == len(self.items) and self.next is not None:
            return self.next
        if count == 0:
            return self.start
        return structs.replace(
            self.start,
            last=self.last_after(count, identify),
            last_time=self.time_after(count),
            given_here=self.start.given_here + min(count, self.unordered_count),
            is_inside=True,
            delivered=self.start.delivered + count,
        )

    def time_after(self, count: int) -> int | None:
        """Return the timestamp at which the last of the first `count` items was sent; None if unknown."""
        return getattr(self.items[count - 1], "sent_at", None) if count else self.start.last_time

    def last_after(self, count: int, identify: Callable[[T], str]) -> str | None:
        """Return the last id delivered after `count` of the items.

        An unordered item of a list by id does not move it, or ordered items would count as passed.
        """
        if count == 0:
            return self.start.last
        text = identify(self.items[count - 1])
        if not self.start.by_id:
            return text or self.start.last
        if count <= self.unordered_count and is_number(text):
            return self.start.last
        return last_id([text], self.start.last)


def step(
    cursor: Cursor, page: Listing[T], facts: ListFacts, memory: Memory = _NOTHING, largest: int = 0
) -> Step[T]:
    """Return the step of a walk over `page`, which was asked for at `cursor`.

    `largest` is the count of records of the largest page that this list gave before, asked in the same way.
    A reason why the walk cannot continue after the page is `Step.error`. Raises `CursorError` for a new id
    that the walk has passed already: its items cannot be given in order.
    """
    identify: Any = facts.identify
    items: list[Any] = page.items
    # Of records of several classes a list of this form takes two thirds of the time that `map` takes.
    ids = [item.id for item in items] if identify is BY_ID_FIELD else list(map(identify, items))
    if (ordinary := _ordinary_step(cursor, page, ids, facts, memory, largest)) is not None:
        return ordinary
    arranged = arrange(cursor, page, ids, facts, memory)
    is_repeated = "page" in dict(cursor.position) and landmark_of(page, ids) in memory.visited
    if is_repeated:
        arranged = structs.replace(arranged, items=[], unordered_count=0)
    # An empty page shows no direction.
    direction = arranged.direction if ids or arranged.is_stated else None
    start = cursor
    if cursor.direction != direction or cursor.by_id != arranged.by_id:
        start = structs.replace(cursor, direction=direction, by_id=arranged.by_id)
    view = PageView(start, page, ids, arranged, facts, memory, largest, is_repeated)
    target = next_page(view)
    if target.is_same:  # the page is asked for again: nothing of this reply counts
        retry = cursor
        if target.position != cursor.position:  # from now on the direction is asked for
            retry = structs.replace(start, position=target.position or (), direction=arranged.direction)
        return Step(start, [], 0, retry, structs.replace(memory, asked_again="withheld" if ids else "empty"))
    if target.is_earlier:
        return _step_back(start, target, facts, memory)
    result = Step(
        start, arranged.items, arranged.unordered_count, None, _next_memory(view, target), target.error
    )
    if target.error is not None:
        return result
    return _last_step(result, memory) if target.position is None else _further_step(result, view, target)


def _ordinary_step(
    cursor: Cursor, page: Listing[T], ids: list[str], facts: ListFacts, memory: Memory, largest: int
) -> Step[T] | None:
    """Return the step of a page that simply continues by its position; None for any other page.

    Nearly all pages are so: of a list by id, with something new, without a claim to be the last, in a
    direction that both sides know, with the last item's own id as position, after a page at whose last id
    the walk stood. The ladder of `next_page` gives the same step, and takes several times as long.
    """
    meta, paging, asked, items = page.meta, facts.paging, cursor.position, page.items
    position, pagination = meta.cursor or meta.next or page.cursor, meta.pagination
    if position is None or not (items and cursor.by_id and paging.positions) or paging.renames:
        return None
    direction: Any = position.affix
    if direction not in ("append", "prepend") or cursor.direction not in (None, direction):
        return None
    claims_last = pagination and (pagination.current_page or 0) >= (pagination.total_pages or 0) > 0
    if claims_last or memory.last_claim == "made" or page.position_fault is not None:
        return None
    if memory.after_items is not None:
        return None
    is_at_last = asked == (("affix", direction), ("id", cursor.last)) and is_number(cursor.last)
    if not is_at_last and asked not in ((), (("affix", direction),)):
        return None
    ascending, rises = ids, are_ascending(ids)
    if not rises:
        ascending, items = ids[::-1], items[::-1]
    if not (rises or are_ascending(ascending)) or not are_ahead(ascending, direction, cursor.last):
        return None
    last = ascending[-1]
    if direction == "prepend":
        last, items = ascending[0], items[::-1]
    if str(position.id) != last or structs.astuple(position)[2:] != _NOTHING_ELSE:
        return None
    promise = _promise_of(cursor, page, len(items), facts, memory, largest)
    last_item = items[-1]
    goal = Cursor(
        cursor.query,
        (("affix", direction), ("id", last)),
        direction,
        last,
        last_time=getattr(last_item, "sent_at", None),
        delivered=cursor.delivered + len(items),
        earlier=asked if promise == "stated" else None,
    )
    total = None if pagination is None else pagination.total
    remembered = Memory(
        ids,
        memory.visited,
        True,
        last_claim=memory.last_claim,
        total=total,
        has_changed=memory.has_changed or memory.total not in (None, total),
        earlier=asked if promise == "likely" else None,
    )
    start = cursor if cursor.direction == direction else structs.replace(cursor, direction=direction)
    return Step(start, items, 0, goal, remembered)


def _last_step(result: Step[T], memory: Memory) -> Step[T]:
    start = result.start
    if not result.items and memory.after_items is not None:
        # New items may come after the last ones, and not on the page that showed the end.
        start = memory.after_items
    elif start.earlier is not None:
        # The end is proven: a walk that is resumed here does not have to go back.
        start = structs.replace(start, earlier=None)
    return result if start is result.start else structs.replace(result, start=start)


def _step_back(start: Cursor, target: NextPage, facts: ListFacts, memory: Memory) -> Step[Any]:
    """Return the step to an earlier page, whose items are dropped as far as the walk has given them.

    By numbers all that was given is known, so the list's beginning remains as a last resort.
    """
    beginning = (("affix", start.direction or "append"), *[p for p in facts.beginning if p[0] != "affix"])
    position = target.position or ()
    is_beginning = location_of(position) == location_of(beginning)
    goal = structs.replace(
        start,
        position=position,
        given_here=0,
        is_inside=start.is_at_number,
        earlier=beginning if start.is_at_number and not is_beginning else None,
    )
    remembered = structs.replace(
        memory,
        keeps_ids=True,
        visited=memory.visited if target.landmark is None else memory.visited | {target.landmark},
        empty_positions=memory.empty_positions | {start.position},
        earlier=None,
        asked_again="no",
        empty_pages=memory.empty_pages + 1,
    )
    return Step(start, [], 0, goal, remembered)


def _further_step(result: Step[T], view: PageView, target: NextPage) -> Step[T]:
    start, count, identify = result.start, len(result.items), view.facts.identify
    last, position = result.last_after(count, identify), target.position or ()
    names = [name for name, _ in position]
    promise = _promise_of(start, view.page, count, view.facts, view.memory, view.largest)
    empty_positions = result.memory.empty_positions
    if position in empty_positions or len(empty_positions) >= _MAX_STEPS_BACK:
        promise = "none"  # an earlier page was asked for already, and had nothing new
    goal = Cursor(
        start.query,
        position,
        view.ordered.direction if "affix" in names else start.direction,
        last,
        # A resumed walk that asks for smaller pages may need several until it reaches its own last item.
        is_inside=start.is_inside and not count and bool(view.ids) and start.by_id and is_number(last),
        last_time=result.time_after(count),
        by_id=start.by_id,
        delivered=start.delivered + count,
        earlier=start.position if promise == "stated" and "page" not in names else None,
    )
    memory = result.memory
    if promise == "likely":
        memory = structs.replace(memory, earlier=start.position)
    if "page" not in names:  # new items come after the position
        memory = memory if memory.after_items is None else structs.replace(memory, after_items=None)
    elif view.ids:
        memory = structs.replace(memory, after_items=result.cursor_after(count, identify))
    return Step(start, result.items, result.unordered_count, goal, memory)


def _next_memory(view: PageView, target: NextPage) -> Memory:
    old, items, meta = view.memory, view.ordered.items, view.page.meta
    has_meta = (meta.pagination, meta.cursor, meta.next, view.page.cursor) != (None, None, None, None)
    # Until something new has come, a page's items were delivered before the walk was resumed.
    knows_ids = bool(view.ids) and (bool(items) or old.ids is not None)
    ids = view.ids if knows_ids else old.ids
    if old.keeps_ids and knows_ids:
        ids = [*(old.ids or ()), *view.ids]
    return Memory(
        ids=ids,
        keeps_ids=old.keeps_ids and (not items or len(items) < len(view.ids)),
        visited=old.visited if target.landmark is None else old.visited | {target.landmark},
        has_meta=old.has_meta or has_meta,
        last_claim="wrong" if view.is_doubted else "made" if view.claims_last else "none",
        after_items=old.after_items,
        empty_pages=0 if view.ids else old.empty_pages + 1,
        total=view.pagination.total,
        has_changed=old.has_changed or old.total not in (None, view.pagination.total),
        empty_positions=frozenset() if items else old.empty_positions,
    )


# ── promises ──


def _promise_of(
    cursor: Cursor, page: Listing[Any], given: int, facts: ListFacts, memory: Memory, largest: int
) -> Promise:
    """Return the promise of a page that was asked for at `cursor` and gave `given` new items.

    `largest` is the count of records of the largest page before it.
    """
    count, pagination = len(page.items), page.meta.pagination
    if pagination is not None:
        total, current, pages = pagination.total or 0, pagination.current_page, pagination.total_pages
        if total > count or (current is not None and pages is not None and current < pages):
            # A total of the remaining records falls from page to page; one of the list stays the same.
            is_given = total == cursor.delivered + given and memory.total == total and not memory.has_changed
            return "none" if is_given else "stated"
        # A service that claims "last" on every page may still count the remaining records right.
        counts_rest = total > 0 and (memory.total or 0) > len(memory.ids or ())
        if counts_rest or ((total or pages) and memory.last_claim == "none"):
            return "none"
    is_full = count >= facts.size or 0 < largest <= count
    has_position = (page.meta.cursor, page.meta.next, page.cursor) != (None, None, None)
    return "likely" if is_full and has_position else "none"
