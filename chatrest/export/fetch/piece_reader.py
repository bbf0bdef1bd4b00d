"""Reads one piece of a list: the pages inside it, and the id up to which each covers the list.

A piece is entered at the position that the service named, or at an id that is made up (a guess); the pages
after the first are those of an ordinary walk. The rules:

| the reply                                   | the reader                                                   |
|---------------------------------------------|--------------------------------------------------------------|
| page of items up to the id n                | covers the list up to n, or to just before the position that |
|                                             | the page names, if that is higher                            |
| page that passes the end of the piece       | covers it to its end; later items are dropped                |
| 4xx or unusable position, where it enters   | `PositionRefusedError`; not for 401 and 429                  |
| end of the list at a guess, without an item | `PositionRefusedError`: it may be how a service refuses it   |
| page that goes by time                      | `NotOrderedByIdError`                                        |

A guess is one id early, so that a list that has the last item of the piece before shows at least that one:
an empty reply is a refusal, not the end.
"""

from bisect import bisect_right
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from msgspec import Struct, structs

from ..._core.paging.cursor import Cursor
from ..._core.paging.order import Affix
from ..._core.requests.endpoint import Pairs
from ..._walk.source import Page
from ..._walk.walk import Walk
from ...errors import ApiError, AuthenticationError, CursorError, RateLimitError, ServerError
from ..plan.message_ids import number as number_of
from .jobs import ListPiece


class PositionRefusedError(Exception):
    """The service does not let a list be entered at a position; its error, if it gave one, is the cause."""

    def __init__(self, *, is_guess: bool) -> None:
        super().__init__("made-up id" if is_guess else "position that the service named")
        self.is_guess = is_guess
        """False if the service had named the position itself."""


class NotOrderedByIdError(Exception):
    """The list is ordered by time: its ids are in any order, and none is a position."""


class PiecePage(Struct, frozen=True):
    items: list[Any]
    """By ascending ids, those whose id is no number first or last."""
    covered: int
    """The id up to which the list is covered once the items are safe."""
    position: Pairs
    """Where the list continues after `covered`, as the service named it; empty if it did not."""
    page: Page[Any]
    """The reply, with its bytes."""
    passes_end: bool
    """True if an item after the end of the piece was shown."""
    direction: Affix | None
    """The direction from its last item to the position that the page names; None if it names none by id."""


async def piece_pages(walk: Walk[Any], piece: ListPiece) -> AsyncGenerator[PiecePage]:
    """Read a piece of the list of `walk` page by page, in ascending order of ids; the next page is requested
    on demand.

    The items are any objects with an `id`. `walk` is not moved, and must have no limit. Close the generator
    (`aclosing`) if you leave it early. Raises `PositionRefusedError` and `NotOrderedByIdError` as above, and
    the errors of a walk.
    """
    walk = walk.at(_entry(walk.cursor, piece))
    # A page may claim to be the last one only if the end of the list is the end of the piece.
    walk = walk if piece.is_open else walk.thorough()
    covered, is_first = piece.after, True
    async with aclosing(walk.pages()) as pages:
        while True:
            try:
                page = await anext(pages, None)
            except (ApiError, CursorError) as error:
                is_entry = is_first and not piece.is_from_start
                if not is_entry or isinstance(error, AuthenticationError | RateLimitError | ServerError):
                    raise
                raise PositionRefusedError(is_guess=piece.is_guess) from error
            if page is None and is_first and piece.is_guess:
                raise PositionRefusedError(is_guess=True)
            if page is None:
                return
            if not page.cursor.by_id:
                raise NotOrderedByIdError
            part, is_first = _piece_page(page, covered, piece.until), False
            covered = part.covered
            yield part
            if covered >= piece.until:
                return


def _entry(base: Cursor, piece: ListPiece) -> Cursor:
    last, position = piece.after, piece.position
    if piece.is_guess:
        last -= last != 1  # no service knows an id 0
        position = (("affix", "append"), ("id", str(last)))
    elif not position:  # the walk's own beginning
        others = [pair for pair in base.position if pair[0] != "affix"]
        return structs.replace(base, position=(("affix", "append"), *others), direction="append")
    position_id = number_of(dict(position).get("id", ""))
    return structs.replace(
        base,
        position=position,
        direction="append",
        last=str(last),
        last_time=None,
        given_here=0,
        # From an early position, items before the piece are dropped without a fault. From any other
        # position they show that the list has another order.
        is_inside=piece.is_guess or (position_id is not None and position_id < last),
        by_id=True,
    )


def _piece_page(page: Page[Any], covered: int, until: int) -> PiecePage:
    """Return the part of a page after the id `covered` that is in a piece, up to `until`."""
    items = page.items
    low, high = _ordered(items, page.unordered_count)
    # Most pages are completely in their piece.
    begin = low if low == high or int(items[low].id) > covered else _index(items, covered, low, high)
    end = high if low == high or int(items[high - 1].id) <= until else _index(items, until, begin, high)
    others = [
        item
        for item in (*items[:low], *items[high:])
        if (number := number_of(item.id)) is None or covered < number <= until
    ]
    inside = items if begin == 0 and end == len(items) else [*others, *items[begin:end]]
    position = page.cursor.position
    position_id = number_of(dict(position).get("id", ""))
    reached = covered if low == high else max(covered, int(items[high - 1].id))
    direction = None if low == high else _direction(page, int(items[high - 1].id))
    if end < high:  # after the end of the piece the page's own position would leave items out
        return PiecePage(inside, until, (), page, passes_end=True, direction=direction)
    last = min(until, reached if position_id is None else max(reached, position_id - 1))
    # A position before the last id, as after a page with a wrong position, would show ids again.
    position = position if position_id is not None and position_id >= last else ()
    return PiecePage(inside, last, position, page, passes_end=False, direction=direction)


def _direction(page: Page[Any], last: int) -> Affix | None:
    """Return the direction from an id to the position that a page names; None if it names none by id."""
    named = page.meta.cursor or page.meta.next
    position_id = None if named is None else number_of(str(named.id))
    if named is None or position_id is None:
        return None
    return "append" if named.affix != "prepend" and position_id >= last else "prepend"


def _ordered(items: list[Any], unordered_count: int) -> tuple[int, int]:
    """Return the bounds of the items that are in the order of their ids; the others are before or after."""
    low, high = unordered_count, len(items)
    while low < high and number_of(items[low].id) is None:
        low += 1
    while low < high and number_of(items[high - 1].id) is None:
        high -= 1
    return low, high


def _index(items: list[Any], last: int, low: int, high: int) -> int:
    return bisect_right(items, last, low, high, key=lambda item: int(item.id))
