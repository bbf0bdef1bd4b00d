"""The pieces of lists that are to be read, shared by several readers.

A list of millions would keep one reader busy for days while the others have nothing to do. So where fewer
readers are at work than may be, a busy one gives away a part of its piece.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar, final

from msgspec import Struct

from ..._core.requests.endpoint import Pairs
from ..plan.intervals import LAST

L = TypeVar("L")


class ListPiece(Struct, Generic[L], kw_only=True, frozen=True, eq=False):
    """The ids above `after` up to `until` of one list, read by one reader."""

    of: L
    """The list, and whatever else its reader has to know; both parts of a piece that is cut have it."""
    after: int
    until: int = LAST
    """`LAST` for a piece that ends with its list."""
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

    @property
    def is_from_start(self) -> bool:
        """True if the list is read from its start."""
        return not (self.position or self.is_guess)


@final
class PieceQueue(Generic[L]):
    """The pieces that wait for a reader, in the order in which they came, and the readers at work."""

    def __init__(self, pieces: Iterable[ListPiece[L]] = (), most: int = 1) -> None:
        """`most` is how many pieces are read at the same time."""
        self._waiting = deque(pieces)
        self._most = most
        self._busy = 0
        self._start: Callable[[], object] = lambda: None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_wanting(self) -> bool:
        """True while no piece waits, and one more could be read: a busy reader should give a part away."""
        return not self._waiting and self._busy < self._most

    async def read_all(self, read: Callable[[ListPiece[L]], Awaitable[object]]) -> None:
        """Read all pieces, and those that are given meanwhile; an error ends all readers."""

        async def work() -> None:
            while self._waiting:
                await read(self._waiting.popleft())
            self._busy -= 1

        async with asyncio.TaskGroup() as group:

            def start() -> None:
                self._busy += 1
                group.create_task(work())

            self._start = start
            for _ in range(min(self._most, len(self._waiting))):
                start()

    def give(self, piece: ListPiece[L]) -> None:
        """Hand over a part of a piece that is being read; called by its reader, where one is wanted."""
        self._waiting.append(piece)
        if self._busy < self._most:
            self._start()
