"""The step of a walk whose cursor holds intervals that are done: their items do not come again. Pure.

Such a cursor is that of a list which was read from many positions at once (`walk.split`). The walk reads what
lies between the intervals, and goes on behind an interval at the position that the service named there.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import structs

from .cursor import Cursor
from .intervals import Interval, rank_of
from .order import Affix
from .step import Step
from .walk_state import Memory

T = TypeVar("T")


def lies_in(intervals: Sequence[Interval], rank: int) -> bool:
    """Return True where one of the ascending intervals holds the rank."""
    index = bisect_right(intervals, rank, key=lambda interval: interval.first) - 1
    return index >= 0 and rank <= intervals[index].last


def without_done(step: Step[T], done: Sequence[Interval], identify: Callable[[T], str]) -> Step[T]:
    """Return a step without the items that are done, which leads behind the intervals that it comes to.

    Where the list turns out not to go by id, nothing can be told by its ids: the step has an error.
    """
    direction = step.start.direction
    if not step.start.by_id or direction is None:
        error = "the cursor holds intervals of ids that are done, and the list does not go by id"
        return structs.replace(step, items=[], unordered_count=0, next=None, error=error)
    items, unordered_count = [], 0
    for index, item in enumerate(step.items):
        rank = rank_of(identify(item), direction)
        if rank is None or not lies_in(done, rank):
            items.append(item)
            unordered_count += index < step.unordered_count
    goal, memory = step.next, step.memory
    if goal is not None:
        goal = structs.replace(goal, delivered=step.start.delivered + len(items))
        goal, memory = _passing(goal, memory, done, direction)
    return structs.replace(step, items=items, unordered_count=unordered_count, next=goal, memory=memory)


def _passing(
    goal: Cursor, memory: Memory, done: Sequence[Interval], direction: Affix
) -> tuple[Cursor, Memory]:
    """Return the cursor of the next page, behind the interval that it would come to, and its memory."""
    last = None if goal.last is None else rank_of(goal.last, direction)
    ahead = tuple(done) if last is None else tuple(each for each in done if each.last > last)
    if last is None or not ahead or ahead[0].first > last + 1 or not ahead[0].position:
        return structs.replace(goal, done=ahead), memory
    interval, *rest = ahead
    # What the page after the interval shows up to its end is not new, and no fault.
    goal = structs.replace(
        goal, position=interval.position, last=str(abs(interval.last)), inside=True, done=tuple(rest)
    )
    return goal, structs.replace(memory, ids=None)
