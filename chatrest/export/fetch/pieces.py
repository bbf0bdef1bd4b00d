"""The pieces of lists that are to be read, shared by several readers.

A list of millions would keep one reader busy for days while the others have nothing to do. So where a reader
is idle, a busy one gives away a part of its piece.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar, final

from msgspec import Struct, structs

from ..._core.requests.endpoint import Pairs
from ..plan.intervals import LAST

L = TypeVar("L")


class ListPiece(Struct, Generic[L], kw_only=True, eq=False):
    """The ids above `after` up to `until` of one list, read by one reader."""

    of: L
    """The list, and whatever else its reader has to know; both parts of a piece that is cut have it."""
    after: int
    until: int = LAST
    """Moves down when the piece is cut; `LAST` for a piece that ends with its list."""
    position: Pairs = ()
    """The position that it is entered at, as the service named it."""
    is_guess: bool = False
    """True if the service named none: it is entered at an id that is made up. Without a position and no
    guess, it is read from the start of the list, and what is up to `after` is dropped.
    """
    may_be_cut: bool = True

    @property
    def is_open(self) -> bool:
        """True for a piece that ends with its list."""
        return self.until == LAST


def cut(piece: ListPiece[L], last: int) -> ListPiece[L]:
    """Cut a piece at an id inside it: it ends there, and the part above is returned."""
    upper = structs.replace(piece, after=last, position=(), is_guess=True)
    piece.until = last
    return upper


@final
class PieceQueue(Generic[L]):
    """The pieces that wait for a reader, in the order in which they came; only `take` ever waits."""

    def __init__(self, pieces: Iterable[ListPiece[L]] = ()) -> None:
        self._waiting = deque(pieces)
        self._changed = asyncio.Event()
        self._busy = 0
        self._idle = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_wanting(self) -> bool:
        """True while a reader is idle and no piece waits for it: a busy one should give a part away."""
        return self._idle > 0 and not self._waiting

    async def take(self) -> ListPiece[L] | None:
        """Return the next piece, which is the caller's until `done`; waits while a busy reader may give one.

        Returns None when all pieces are done. A cancel takes no piece.
        """
        while not self._waiting:
            if not self._busy:
                return None
            self._idle += 1
            self._changed.clear()
            try:
                await self._changed.wait()
            finally:
                self._idle -= 1
        self._busy += 1
        return self._waiting.popleft()

    def give(self, piece: ListPiece[L]) -> None:
        self._waiting.append(piece)
        self._changed.set()

    def done(self) -> None:
        """End the work on a piece that was taken: it was read, or given up."""
        self._busy -= 1
        self._changed.set()
