"""Reads one piece of a list: the pages inside it, and up to which rank each of them covers the list.

A piece is entered at the position that the service named, or at an id that is made up (a guess); the pages
after the first are those of an ordinary walk. The rules:

| the reply                                   | the reader                                                   |
|---------------------------------------------|--------------------------------------------------------------|
| page of items up to the rank r              | covers the list up to r, or to just before the position that |
|                                             | the page names, if that is higher                            |
| page that passes the end of the piece       | covers it to its end; what is behind is dropped              |
| end of the list, in a piece with an end     | covers it to its end                                         |
| 4xx or unusable position, where it enters   | `PositionRefusedError`; not for 401 and 429                  |
| end of the list at a guess, without an item | `PositionRefusedError`: it may be how a service refuses it   |
| page that goes by time                      | `NotOrderedByIdError`                                        |

A guess is made one id early: if the list holds the item where the piece before ends, it comes again, and both
pieces show the same item at the cut (`PiecePage.first_rank`, `PiecePage.beyond`).
"""

from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Generic, Protocol, Self, TypeVar, final

from msgspec import Struct, structs

from ...core.paging.cursor import Cursor
from ...core.paging.intervals import rank_of
from ...core.paging.order import Affix
from ...core.requests.endpoint import Pairs
from ...errors import ApiError, AuthenticationError, CursorError, RateLimitError, ServerError
from ..source import Page
from .piece_queue import ListPiece

T = TypeVar("T")


class PositionRefusedError(Exception):
    """The service does not let a list be entered at a position; its error, if it gave one, is the cause."""

    def __init__(self, *, is_guess: bool) -> None:
        super().__init__("made-up id" if is_guess else "position that the service named")
        self.is_guess = is_guess
        """False if the service had named the position itself."""


class NotOrderedByIdError(Exception):
    """The list goes by time: its ids come in any order, and none of them is a position."""


class PagedList(Protocol[T]):
    """The part of a `Walk` that a split needs."""

    @property
    def cursor(self) -> Cursor: ...
    def at(self, cursor: Cursor) -> Self: ...
    def thorough(self) -> Self: ...
    def pages(self) -> AsyncGenerator[Page[T]]: ...
    def __aiter__(self) -> AsyncIterator[T]: ...


@final
class PiecePage(Struct, Generic[T], frozen=True):
    """The part of one reply that is in a piece."""

    items: list[T]
    """In the walk's direction, those without a rank first or last."""
    after: int
    """The rank up to which the list was covered before this page."""
    covered: int
    """The rank up to which it is covered once the items are safe."""
    position: Pairs
    """Where the list continues after `covered`, as the service named it; empty if it did not."""
    start: Pairs
    """Where the page was asked for."""
    page: Page[T] | None
    """The reply, with its bytes; None at the end of the list."""
    unranked_count: int = 0
    """The number of items whose id is no number, or that share the id of another one."""
    shown: tuple[int, int] | None = None
    """The first and the last rank of the reply's items; None if none of them has one."""
    first_rank: int | None = None
    """On the first page of a piece: the first rank that was shown, which may be `after` itself."""
    beyond: int | None = None
    """The first rank that was shown after the end of the piece."""
    is_end: bool = False
    """True if the service showed the end of the list: there are no items in this last page, and `covered`
    is the end of the piece, if it has one.
    """


@final
class PieceReader(Generic[T]):
    """Reads pieces of the list of `walk`, from where that begins, in one direction.

    The items are messages, or rows (`core.replies.rows`): whatever has an `id`. `walk` is not moved, and must
    have no limit. Several pieces can be read at the same time.
    """

    def __init__(self, walk: PagedList[T], direction: Affix = "append") -> None:
        self._walk = walk
        self._direction: Affix = direction

    async def pages(self, piece: ListPiece[Any]) -> AsyncGenerator[PiecePage[T]]:
        """Read a piece, page by page; the next page is asked for when it is wanted.

        `piece.until` may be moved down at any time, but not below what the last page covers. Close the
        generator (`aclosing`) where it is left early. Raises `PositionRefusedError` and `NotOrderedByIdError`
        as above, and the errors of a walk.
        """
        start = self._entry(piece)
        walk, asked, is_open = self._walk.at(start), start.position, piece.is_open
        part: PiecePage[T] = PiecePage([], piece.after, piece.after, piece.position, asked, None)
        while True:
            # A page may claim to be the last one only where the end of the list is the end of the piece.
            walk = walk if is_open else walk.thorough()
            async with aclosing(walk.pages()) as pages:
                while (page := await self._next(pages, piece, is_first=part.page is None)) is not None:
                    part = self._part(page, piece, asked, part.covered, is_first=part.page is None)
                    asked = page.cursor.position
                    yield part
                    if part.covered >= piece.until:
                        return
            if is_open is piece.is_open:
                break
            is_open = False  # it was cut meanwhile: the page that seemed to be the last is asked for again
        end = part.covered if piece.is_open else piece.until
        yield PiecePage([], part.covered, end, part.position, asked, None, is_end=True)

    def _entry(self, piece: ListPiece[Any]) -> Cursor:
        """Return the cursor at which a piece is entered."""
        base, last = self._walk.cursor, piece.after
        position = piece.position
        if piece.is_guess:
            last = piece.entry
            last -= last != 1  # no service knows an id 0
            position = (("affix", self._direction), ("id", str(abs(last))))
        elif not position:  # the walk's own beginning
            others = [pair for pair in base.position if pair[0] != "affix"]
            position = (("affix", self._direction), *others)
            return structs.replace(base, position=position, direction=self._direction)
        place = rank_of(dict(position).get("id", ""), self._direction)
        is_early = piece.is_guess or (place is not None and place < last)
        return structs.replace(
            base,
            position=position,
            direction=self._direction,
            last=str(abs(last)),
            time=None,
            skip=0,
            # From an early position, what is before the piece is dropped, and no fault. From any other one,
            # it shows a list that goes by something else.
            inside=is_early,
            by_id=True,
        )

    async def _next(
        self, pages: AsyncGenerator[Page[T]], piece: ListPiece[Any], *, is_first: bool
    ) -> Page[T] | None:
        """Return the next page of the walk; None at its end."""
        is_entry = is_first and (piece.is_guess or bool(piece.position))
        try:
            page = await anext(pages, None)
        except (ApiError, CursorError) as error:
            if not is_entry or isinstance(error, AuthenticationError | RateLimitError | ServerError):
                raise
            raise PositionRefusedError(is_guess=piece.is_guess) from error
        if page is None and is_first and piece.is_guess:
            raise PositionRefusedError(is_guess=True)
        if page is not None and not page.cursor.by_id:
            raise NotOrderedByIdError
        return page

    def _part(
        self, page: Page[T], piece: ListPiece[Any], asked: Pairs, covered: int, *, is_first: bool
    ) -> PiecePage[T]:
        """Return what is in a piece of a page that was asked for at `asked`, after the rank `covered`."""
        items, until = page.items, piece.until
        low, high, shown = self._ranked(items, page.unordered_count)
        # Most pages are in their piece as a whole.
        begin = low if shown is None or shown[0] > covered else self._place(items, covered, low, high)
        end = high if shown is None or shown[1] <= until else self._place(items, until, begin, high)
        others = [
            item
            for item in (*items[:low], *items[high:])
            if (rank := rank_of(id_of(item), self._direction)) is None or covered < rank <= until
        ]
        beyond = rank_of(id_of(items[end]), self._direction) if end < high else None
        last, position = until, page.cursor.position
        if beyond is None:  # after the end of the piece the page's own position would leave items out
            place = rank_of(dict(position).get("id", ""), self._direction)
            reached = covered if shown is None else max(covered, shown[1])
            last = min(until, reached if place is None else max(reached, place - 1))
            # A position before the last id, such as that of a page whose own position was wrong, would show
            # ids again.
            position = position if place is not None and place >= last else ()
        return PiecePage(
            items if begin == 0 and end == len(items) else [*others, *items[begin:end]],
            covered,
            last,
            position if beyond is None else (),
            asked,
            page,
            unranked_count=len(others),
            shown=shown,
            first_rank=shown[0] if is_first and shown is not None else None,
            beyond=beyond,
        )

    def _ranked(self, items: list[T], unordered_count: int) -> tuple[int, int, tuple[int, int] | None]:
        """Return the bounds of the items that are in the order of their ranks, and their first and last rank.

        No ranks for no items.
        """
        low, high, first, last = unordered_count, len(items), None, None
        while low < high and (first := rank_of(id_of(items[low]), self._direction)) is None:
            low += 1
        while low < high and (last := rank_of(id_of(items[high - 1]), self._direction)) is None:
            high -= 1
        return low, high, None if first is None or last is None else (first, last)

    def _place(self, items: list[T], rank: int, low: int, high: int) -> int:
        """Return where the first item after a rank is, among those that are in the order of their ranks."""
        sign = 1 if self._direction == "append" else -1
        return bisect_right(items, rank, low, high, key=lambda item: sign * int(id_of(item)))


def id_of(item: Any) -> str:
    """The id of a message, a row, or whatever else has one."""
    text: str = item.id
    return text
