"""The items of a page that are new to a walk, in the walk's order, and the direction in which it goes.

A list by id is given by ascending or descending ids, whatever the order inside a page. Where a list that is
documented to go by id shows that the service orders it by time (ids in any order, times that only rise or
only fall), its items are taken in the service's order from there on. So are those of lists that go by
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
from .order import (
    Affix,
    are_ahead,
    are_ascending,
    numbers_of,
    parted,
    passed_count,
    runs_by_time,
)
from .walk_state import Memory, Rules

T = TypeVar("T")


class OrderedPage(Struct, Generic[T], frozen=True):
    """A page as its walk takes it."""

    items: list[T]
    """The new ones, in the walk's order."""
    direction: Affix
    is_stated: bool
    """Whether the direction was asked for or said by an affix of the reply, not guessed from the page."""
    by_id: bool
    unordered_count: int = 0
    """How many of the first items are in the service's order, and not placed by their id."""


def arrange(
    cursor: Cursor, page: Listing[T], ids: Sequence[str], rules: Rules, memory: Memory
) -> OrderedPage[T]:
    """Arrange a page; `CursorError` for a new id before the walk's position, in a list by id."""
    stated = cursor.direction or _stated_direction(page)
    is_stated = stated is not None
    direction = stated or _direction_by_position(page, ids, rules)
    if not cursor.by_id:
        direction, served = direction or "append", (page.items, ids)
        if rules.paging.order == "id":  # documented to go by id, it goes by time
            served = _along(*served, direction)
        items = _in_service_order(*served, cursor, memory)
        return OrderedPage(items, direction, is_stated, by_id=False, unordered_count=len(items))
    direction = direction or _falling(ids)
    # As pages are served, the last one too: no id has to become a number, which takes three times as long.
    if not ids or (are_ascending(ids) and are_ahead(ids, direction, cursor.last)):
        items = page.items if direction == "append" else page.items[::-1]
        return OrderedPage(items, direction, is_stated, by_id=True)
    others, numbered = parted(page.items, ids)
    by_number = sorted(numbered.items(), reverse=direction == "prepend")
    numbers, ordered = [number for number, _ in by_number], [place for _, place in by_number]
    passed = passed_count(numbers, direction, cursor.last)
    strays = _strays([ids[place] for place in ordered[:passed]], cursor, memory.ids)
    runs_by_id = not strays and list(numbered.values()) in (ordered, ordered[::-1])
    if not runs_by_id and page.items and _is_by_time(page.items, ordered, cursor, direction, strays):
        items = _in_service_order(*_along(page.items, ids, direction), cursor, memory)
        return OrderedPage(items, direction, is_stated, by_id=False, unordered_count=len(items))
    if strays:
        raise CursorError(
            f"going {direction}, the service served id {strays[0]} after id {cursor.last}, and not before: "
            "the walk cannot keep its order without losing it"
        )
    earlier_ids = _border(cursor, memory)
    others = [place for place in others if not ids[place] or ids[place] not in earlier_ids][cursor.skip :]
    items = [page.items[place] for place in (*others, *ordered[passed:])]
    return OrderedPage(items, direction, is_stated, by_id=True, unordered_count=len(others))


def _is_by_time(
    items: Sequence[Any], ordered: Sequence[int], cursor: Cursor, direction: Affix, strays: Sequence[str]
) -> bool:
    """Return True if a page goes by time and cannot go by id: ids that follow the times are in order."""
    times = _times(items)
    if not runs_by_time(times, cursor.time, direction):
        return False
    follows = runs_by_time([times[place] for place in ordered], cursor.time, direction)
    return bool(strays) or len(ordered) < len(items) or not follows


def _strays(passed: Sequence[str], cursor: Cursor, before: Sequence[str] | None) -> list[str]:
    """Ids after the walk that it has never seen: not on the page before, nor on this one, asked again.

    The number of a known id in another text (`05`, `5`) is another id, and would be lost, too.
    """
    if cursor.last is None or cursor.inside:
        return []
    known = {cursor.last, *(before or ())}
    return [text for text in passed if text not in known]


def _in_service_order(items: list[T], ids: Sequence[str], cursor: Cursor, memory: Memory) -> list[T]:
    """Each item once, without those of the page before and those that a resumed walk has delivered."""
    earlier_ids = _border(cursor, memory)
    places: list[int] = []
    for place, text in enumerate(ids):
        if not text or text not in earlier_ids:  # a record without any id was never seen
            earlier_ids.add(text)
            places.append(place)
    start = cursor.skip
    last, is_resumed = cursor.last, memory.ids is None
    if is_resumed and last in ids and not _is_last(cursor, [ids[place] for place in places]):
        # The list has changed since the walk stood here, or gives the same page again.
        end = max(place for place, text in enumerate(ids) if text == last) + 1
        start = bisect_left(places, end)
    return [items[place] for place in places[start:]]


def _is_last(cursor: Cursor, ids: Sequence[str]) -> bool:
    """Return True if the items that were delivered from a page still end with the last one of them."""
    return 0 < cursor.skip <= len(ids) and ids[cursor.skip - 1] in (cursor.last, "")


def _along(items: list[T], ids: Sequence[str], direction: Affix) -> tuple[list[T], Sequence[str]]:
    """A page that goes by time, turned where it runs against the walk's direction."""
    times = _times(items)
    runs_against = bool(times) and times[0] != times[-1] and (times[0] > times[-1]) is (direction == "append")
    return (items[::-1], ids[::-1]) if runs_against else (items, ids)


def _border(cursor: Cursor, memory: Memory) -> set[str]:
    border = {dict(cursor.position).get("id", ""), *(memory.ids or ())}
    if memory.ids is None and cursor.last is not None and not cursor.inside:
        border.add(cursor.last)
    return border


def _times(items: Sequence[Any]) -> list[int]:
    return [getattr(item, "sent_at", 0) for item in items]


def _stated_direction(page: Listing[Any]) -> Affix | None:
    """The direction that the service says by an affix; where `previous` is the only position, it is that."""
    meta = page.meta
    positions = (meta.cursor, meta.next, page.cursor)
    for position in (meta.previous,) if positions == (None, None, None) else positions:
        if position is not None and (affix := affix_of(position)) is not None:
            return affix
    return None


def _direction_by_position(page: Listing[Any], ids: Sequence[str], rules: Rules) -> Affix | None:
    """The direction that the service shows by the end of the page that its position is at."""
    for position in filter(None, (page.meta.cursor, page.meta.next, page.cursor)):
        edge = dict(position_pairs(position, rules.paging)).get("id")
        numbers = numbers_of([*ids, edge]) if ids and edge is not None else None
        if numbers and min(numbers[:-1]) < max(numbers[:-1]) and numbers[-1] in (min(numbers), max(numbers)):
            return "prepend" if numbers[-1] == min(numbers) else "append"
    return None


def affix_of(position: Position) -> Literal["append", "prepend"] | None:
    """The direction that a position says; None if it says none that is known."""
    return position.affix if position.affix in ("append", "prepend") else None  # type: ignore[return-value]


def _falling(ids: Sequence[str]) -> Affix:
    falls = len(ids) > 1 and (numbers := numbers_of(ids)) is not None and all(map(gt, numbers, numbers[1:]))
    return "prepend" if falls else "append"
