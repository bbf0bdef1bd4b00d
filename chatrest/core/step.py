"""One step of a walk: which items of a page are new, in which order, and where the walk goes on.

Pure: `step(cursor, page, …)` returns a `Step`, with all that the next step has to remember in its `memory`.
What a reply claims (last page, total, size, order) is a hint. The rules, first match:

| the page                     | where it leads                | the walk                                   |
|------------------------------|-------------------------------|--------------------------------------------|
| any                          | a position that is unreadable | `CursorError`                              |
| short, said to be the last,  | anywhere                      | ends, but where it is `thorough`, or where |
| and smaller than the largest |                               | "last" was wrong before in this walk       |
| empty                        | nowhere, or where it stands   | ends; asks again if pagination counts more |
| the border's item, alone     | where the walk stands         | ends: the service includes the id          |
| not empty                    | where the walk stands         | `CursorError`: it would ask for ever       |
| any                          | back, or where it was before  | `CursorError`                              |
| not empty                    | nowhere, or the other way     | goes on from its own last id               |
| any                          | further on                    | goes on                                    |

By page numbers: a page that is not empty and brings something new leads to the next number; an empty one ends
the list, but where pagination counts more pages; one that brings nothing new ends it.

Short: fewer records than were asked for, and than the service's own `per_page`. A short page alone is no end.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct, structs

from .arrange import arrange
from .cursor import Cursor
from .decode import Listing
from .onward import Onward, View, landmark_of, onward
from .order import is_number, last_id
from .walk_state import Memory, Rules

T = TypeVar("T")

_NOTHING = Memory()


class Step(Struct, Generic[T], frozen=True):
    """What a page means for a walk."""

    start: Cursor
    """The page itself, with the direction that the walk goes."""
    items: list[T]
    """The new ones, in the walk's order."""
    unordered_count: int
    """How many of the first items are in the service's order, and not placed by their id."""
    next: Cursor | None
    """Where the walk goes on; None at the end, and at an error."""
    memory: Memory
    """What the next step has to remember."""
    error: str | None = None
    """Why the walk cannot honestly go on after these items."""

    def cursor_after(self, count: int, identify: Callable[[T], str]) -> Cursor:
        """The walk's place once `count` of the items are delivered."""
        if count == len(self.items) and self.next is not None:
            return self.next
        if count == 0:
            return self.start
        skip = self.start.skip + min(count, self.unordered_count)
        return structs.replace(
            self.start,
            last=self.last_after(count, identify),
            time=self.time_after(count),
            skip=skip,
            inside=True,
        )

    def time_after(self, count: int) -> int | None:
        """When the last of the first `count` items was sent."""
        return getattr(self.items[count - 1], "sent_at", None) if count else self.start.time

    def last_after(self, count: int, identify: Callable[[T], str]) -> str | None:
        """The last id delivered after `count` of the items.

        An unordered item of a list by id does not move it, or ordered ones would be taken for passed.
        """
        if count == 0:
            return self.start.last
        text = identify(self.items[count - 1])
        if count <= self.unordered_count and self.start.by_id and is_number(text):
            return self.start.last
        return last_id([text], self.start.last)


def step(
    cursor: Cursor, page: Listing[T], rules: Rules, memory: Memory = _NOTHING, largest: int = 0
) -> Step[T]:
    """Take `page`, which was asked for at `cursor`.

    `largest` is the count of records of the largest page that this list gave before, asked in the same way.
    Raises `CursorError` for an id behind the walk that was never seen.
    """
    ids = list(map(rules.identify, page.items))
    arranged = arrange(cursor, page, ids, rules, memory)
    if "page" in dict(cursor.position) and landmark_of(page, ids) in memory.visited:
        arranged = structs.replace(arranged, items=[], unordered_count=0)
    start = structs.replace(cursor, direction=arranged.direction, by_id=arranged.by_id)
    view = View(start, page, ids, arranged, rules, memory, largest)
    way = onward(view)
    if way.is_again:  # the same page comes once more: nothing of this one counts
        retry = structs.replace(start, position=way.position or ())
        return Step(start, [], 0, retry, structs.replace(memory, has_asked_again=True))
    taken = Step(start, arranged.items, arranged.unordered_count, None, _remembered(view, way), way.error)
    if way.position is None or way.error is not None:
        is_past_end = way.error is None and not ids and memory.last_place is not None
        return structs.replace(taken, start=memory.last_place) if is_past_end else taken
    last = taken.last_after(len(taken.items), rules.identify)
    goal = Cursor(
        cursor.query,
        way.position,
        arranged.direction,
        last,
        # A resumed walk that asks for smaller pages may need several to come to where it stood.
        inside=cursor.inside and not taken.items and bool(ids) and arranged.by_id and is_number(last),
        time=taken.time_after(len(taken.items)),
        by_id=arranged.by_id,
    )
    remembered = taken.memory
    if ids and view.is_numbered | way.is_numbered:
        end = taken.cursor_after(len(taken.items), rules.identify)
        remembered = structs.replace(remembered, last_place=end)
    return structs.replace(taken, next=goal, memory=remembered)


def _remembered(view: View, way: Onward) -> Memory:
    """The memory after a page."""
    old, items = view.memory, view.arranged.items
    meta = view.page.meta
    has_meta = any(part is not None for part in (meta.pagination, meta.cursor, meta.next, view.page.cursor))
    # Until something new has come, what is behind was delivered before the walk was resumed.
    knows_ids = bool(view.ids) and (bool(items) or old.ids is not None)
    return Memory(
        ids=view.ids if knows_ids else old.ids,
        visited=old.visited if way.landmark is None else old.visited.having(way.landmark),
        delivered=old.delivered + len(items),
        has_meta=old.has_meta or has_meta,
        said_last=view.says_last,
        is_doubted=view.is_doubted,
        last_place=old.last_place,
        empty_pages=0 if view.ids else old.empty_pages + 1,
    )
