"""The pieces of lists that are to be read, shared by several readers.

A list of millions would keep one reader busy for days while the others have nothing to do. So where a reader
is idle, a busy one gives away the upper half of the rest of its piece.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterable
from itertools import count
from typing import Final, Generic, TypeVar, final

from msgspec import Struct, structs

from ...core.paging.intervals import LAST, Gap
from ...core.requests.endpoint import Pairs

L = TypeVar("L")

LEAST_PAGES: Final = 8
"""The pages that have to be left in a piece for it to be divided, unless the caller says otherwise."""


@final
class Piece(Struct, Generic[L], kw_only=True, eq=False):
    """The ranks above `after` up to `until` of one list, read by one reader (see `core.paging.intervals`)."""

    of: L
    """The list, and whatever else its reader has to know; both halves of a divided piece have it."""
    after: int
    until: int = LAST
    """Moves down when the piece is divided; `LAST` for a piece that ends with its list."""
    position: Pairs = ()
    """The position that it is entered at, as the service named it."""
    is_guess: bool = False
    """True where the service named none: it is entered at an id that is made up. Without a position and no
    guess, it is read from the start of the list, and what lies up to `after` is dropped.
    """
    may_be_cut: bool = True
    empty_until: int | None = None
    """The rank up to which it is known to have no items: a guess is made there, and not at `after`."""

    @property
    def entry(self) -> int:
        """The rank behind which its first item may be."""
        return self.after if self.empty_until is None else max(self.after, self.empty_until)

    @property
    def is_open(self) -> bool:
        """True for a piece that ends with its list."""
        return self.until == LAST


def piece_of(gap: Gap, of: L, *, is_first: bool = False) -> Piece[L]:
    """Return the piece for a gap; `is_first` for one that is read from the start of the list.

    A gap after the rank 0 always is: no id is lower.
    """
    is_guess = not (gap.position or is_first or gap.after == 0)
    return Piece(of=of, after=gap.after, until=gap.until, position=gap.position, is_guess=is_guess)


def cut(piece: Piece[L], rank: int) -> Piece[L]:
    """Cut a piece at a rank inside it: it ends there, and the part above is returned."""
    upper = structs.replace(piece, after=rank, position=(), is_guess=True)
    piece.until = rank
    return upper


def divide(
    piece: Piece[L], covered: int, ranks_per_page: float, least_pages: float = LEAST_PAGES
) -> Piece[L] | None:
    """Take away the upper half of the ranks of `piece` above `covered`; None where that is not worth it.

    It is worth it where `least_pages` of `ranks_per_page` ranks are left. Only a piece with an end of its own
    that may be cut is divided.
    """
    left = piece.until - covered
    if piece.is_open or not piece.may_be_cut or left < max(2.0, least_pages * ranks_per_page):
        return None
    return cut(piece, covered + left // 2)


@final
class PieceQueue(Generic[L]):
    """The pieces that wait for a reader; all methods but `take` change it at once, and never wait.

    They are taken in the order in which they came, or by `key`, the least first.
    """

    def __init__(self, pieces: Iterable[Piece[L]] = (), key: Callable[[Piece[L]], int] = lambda _: 0) -> None:
        self._key = key
        self._serials = count()
        self._waiting: list[tuple[int, int, Piece[L]]] = []
        self._changed = asyncio.Event()
        self._busy = 0
        self._idle = 0
        for piece in pieces:
            self.give(piece)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_wanting(self) -> bool:
        """True while a reader is idle and no piece waits for it: a busy one should give half away."""
        return self._idle > 0 and not self._waiting

    @property
    def first(self) -> Piece[L] | None:
        """The piece that is taken next; None where none waits."""
        return self._waiting[0][2] if self._waiting else None

    def take_now(self) -> Piece[L] | None:
        """Return the next piece, which is the caller's until `done`; None where none waits."""
        if not self._waiting:
            return None
        self._busy += 1
        return heapq.heappop(self._waiting)[2]

    async def take(self) -> Piece[L] | None:
        """Return the next piece, which is the caller's until `done`; waits while a busy reader may give one.

        Returns None when all pieces are done. A cancel takes no piece.
        """
        while (piece := self.take_now()) is None and self._busy:
            self._idle += 1
            self._changed.clear()
            try:
                await self._changed.wait()
            finally:
                self._idle -= 1
        return piece

    def give(self, piece: Piece[L]) -> None:
        """Add a piece."""
        heapq.heappush(self._waiting, (self._key(piece), next(self._serials), piece))
        self._changed.set()

    def done(self) -> None:
        """End the work on a piece that was taken: it was read, or given up."""
        self._busy -= 1
        self._changed.set()
