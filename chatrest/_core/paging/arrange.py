"""The items of a page that are new to a walk, in the walk's order, and the direction in which it goes.

A list by id is given by ascending or descending ids, whatever the order inside a page. Where a list that is
documented to go by id shows that the service orders it by time (ids in any order, times that only rise or
only fall), its items are given in the service's order from there on. So are those of lists that go by
something else.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import gt
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from ..._models.meta import Position
from ...errors import CursorError
from ..replies.decode import Listing
from ..requests.dialects import position_pairs
from .cursor import Cursor
from .order import Affix, are_ahead, are_ascending, numbers_of, passed_count, runs_by_time, split_by_number
from .walk_state import ListFacts, Memory

T = TypeVar("T")


class OrderedPage(Struct, Generic[T], frozen=True):
    items: list[T]
    direction: Affix
    is_stated: bool
    """True if the direction was asked for, or is an affix of the reply; False for a guess from the page."""
    by_id: bool
    """True if the items are in the order of their ids, False if in the service's order."""
    unordered_count: int = 0


def arrange(
    cursor: Cursor, page: Listing[T], ids: Sequence[str], facts: ListFacts, memory: Memory
) -> OrderedPage[T]:
    """Return the new items of a page with these `ids`, in the walk's order.

    Raises `CursorError` for a new id that the walk has passed already, in a list by id.
    """
    stated = cursor.direction or _stated_direction(page)
    is_stated = stated is not None
    direction = stated or _direction_by_position(page, ids, facts)
    if not cursor.by_id:
        direction, served = direction or "append", (page.items, ids)
        if facts.paging.order == "id":  # documented to go by id, it goes by time
            served = _in_direction(*served, direction)
        items = _in_service_order(*served, cursor, memory)
        return OrderedPage(items, direction, is_stated, by_id=False, unordered_count=len(items))
    direction = direction or _direction_by_order(ids)
    # As pages are served, the last one too: no id has to become a number, which takes three times as long.
    if not ids or (are_ascending(ids) and are_ahead(ids, direction, cursor.last)):
        items = page.items if direction == "append" else page.items[::-1]
        return OrderedPage(items, direction, is_stated, by_id=True)
    unnumbered, numbered = split_by_number(page.items, ids)
    by_number = sorted(numbered.items(), reverse=direction == "prepend")
    numbers, ordered = [number for number, _ in by_number], [index for _, index in by_number]
    passed = passed_count(numbers, direction, cursor.last)
    unseen = _unseen_ids([ids[index] for index in ordered[:passed]], cursor, memory.ids)
    runs_by_id = not unseen and list(numbered.values()) in (ordered, ordered[::-1])
    if not runs_by_id and page.items and _is_by_time(page.items, ordered, cursor, direction, unseen):
        items = _in_service_order(*_in_direction(page.items, ids, direction), cursor, memory)
        return OrderedPage(items, direction, is_stated, by_id=False, unordered_count=len(items))
    if unseen:
        raise CursorError(
            f"going {direction}, the service served id {unseen[0]} after id {cursor.last}, and not before: "
            "the walk cannot keep its order without losing it"
        )
    known = _known_ids(cursor, memory)
    unnumbered = [index for index in unnumbered if not ids[index] or ids[index] not in known]
    del unnumbered[: cursor.given_here]
    items = [page.items[index] for index in (*unnumbered, *ordered[passed:])]
    return OrderedPage(items, direction, is_stated, by_id=True, unordered_count=len(unnumbered))


def _is_by_time(
    items: Sequence[Any], ordered: Sequence[int], cursor: Cursor, direction: Affix, unseen: Sequence[str]
) -> bool:
    """Return True if a page goes by time and cannot go by id: ids that follow the times are in order."""
    times = _times(items)
    if not runs_by_time(times, cursor.last_time, direction):
        return False
    follows = runs_by_time([times[index] for index in ordered], cursor.last_time, direction)
    return bool(unseen) or len(ordered) < len(items) or not follows


def _unseen_ids(passed: Sequence[str], cursor: Cursor, before: Sequence[str] | None) -> list[str]:
    """Return those of the `passed` ids that are neither of the page before nor the walk's last id.

    `05` after `5` is one of them: the same number in another text may be another record. To give it would
    break the order, and to drop it might lose it.
    """
    if cursor.last is None or cursor.is_inside:
        return []
    known = {cursor.last, *(before or ())}
    return [text for text in passed if text not in known]


def _in_service_order(items: list[T], ids: Sequence[str], cursor: Cursor, memory: Memory) -> list[T]:
    """Return each item once, without those of the page before and those that a resumed walk has delivered."""
    known = _known_ids(cursor, memory)
    indexes: list[int] = []
    for index, text in enumerate(ids):
        if not text or text not in known:  # a record without any id was never seen
            known.add(text)
            indexes.append(index)
    start = cursor.given_here
    last, is_resumed = cursor.last, memory.ids is None
    if is_resumed and last in ids and not _ends_at_last(cursor, [ids[index] for index in indexes]):
        # The list has changed since the walk was here, or gives the same page again.
        end = max(index for index, text in enumerate(ids) if text == last) + 1
        start = bisect_left(indexes, end)
    return [items[index] for index in indexes[start:]]


def _ends_at_last(cursor: Cursor, ids: Sequence[str]) -> bool:
    """Return True if the items that were delivered from a page still end with the last one of them."""
    return 0 < cursor.given_here <= len(ids) and ids[cursor.given_here - 1] in (cursor.last, "")


def _in_direction(items: list[T], ids: Sequence[str], direction: Affix) -> tuple[list[T], Sequence[str]]:
    """Return a page that goes by time, reversed if it runs against the walk's direction."""
    times = _times(items)
    runs_against = bool(times) and times[0] != times[-1] and (times[0] > times[-1]) is (direction == "append")
    return (items[::-1], ids[::-1]) if runs_against else (items, ids)


def _known_ids(cursor: Cursor, memory: Memory) -> set[str]:
    """Return the ids at the border to this page: of the page before, and of the item that was asked from."""
    border = {dict(cursor.position).get("id", ""), *(memory.ids or ())}
    if memory.ids is None and cursor.last is not None and not cursor.is_inside:
        border.add(cursor.last)
    return border


def _times(items: Sequence[Any]) -> list[int]:
    return [getattr(item, "sent_at", 0) for item in items]


def _stated_direction(page: Listing[Any]) -> Affix | None:
    """Return the direction in the affix of a position; of `previous` only if it is the only position."""
    meta = page.meta
    positions = (meta.cursor, meta.next, page.cursor)
    for position in (meta.previous,) if positions == (None, None, None) else positions:
        if position is not None and (affix := affix_of(position)) is not None:
            return affix
    return None


def _direction_by_position(page: Listing[Any], ids: Sequence[str], facts: ListFacts) -> Affix | None:
    """Return the direction that a position shows by being at one end of its page."""
    for position in filter(None, (page.meta.cursor, page.meta.next, page.cursor)):
        edge = dict(position_pairs(position, facts.paging)).get("id")
        numbers = numbers_of([*ids, edge]) if ids and edge is not None else None
        if numbers and min(numbers[:-1]) < max(numbers[:-1]) and numbers[-1] in (min(numbers), max(numbers)):
            return "prepend" if numbers[-1] == min(numbers) else "append"
    return None


def affix_of(position: Position) -> Literal["append", "prepend"] | None:
    return position.affix if position.affix in ("append", "prepend") else None  # type: ignore[return-value]


def _direction_by_order(ids: Sequence[str]) -> Affix:
    falls = len(ids) > 1 and (numbers := numbers_of(ids)) is not None and all(map(gt, numbers, numbers[1:]))
    return "prepend" if falls else "append"
