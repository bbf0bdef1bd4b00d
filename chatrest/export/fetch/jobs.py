"""Jobs: the lists that are read, the pieces that readers share, and what reading them finds out."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct

from ..._core.requests.endpoint import Pairs
from ...errors import ChatRestError
from ..folder.fetched_page import ListOrder, Purpose
from ..plan.message_ids import LAST
from ..plan.ownership import Source


class ListJob(Struct, frozen=True, kw_only=True):
    """A list that is read for a purpose, all of it or pieces of it."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    until: int = LAST
    """The frozen end: what is after it is for the next run."""
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    order: ListOrder = "ids"
    proven: int = 0
    """The frozen end for which an earlier run has proven the end of the list: nothing up to there is left."""
    has_newest: bool = False
    """True if the app's newest message belongs to the list."""


class ListPiece(Struct, kw_only=True, frozen=True, eq=False):
    """The ids above `after` up to `until` of one list, read by one reader."""

    of: ListJob
    """Both parts of a piece that is cut have it."""
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


class PieceQueue:
    """The pieces that wait for a reader, in the order in which they came, and the readers at work.

    A list of millions would keep one reader busy for days while the others have nothing to do. So where fewer
    readers are at work than may be, a busy one gives away a part of its piece.
    """

    def __init__(self, pieces: Iterable[ListPiece] = (), most: int = 1) -> None:
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

    async def read_all(self, read: Callable[[ListPiece], Awaitable[object]]) -> None:
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

    def give(self, piece: ListPiece) -> None:
        """Hand over a part of a piece that is being read; called by its reader, where one is wanted."""
        self._waiting.append(piece)
        if self._busy < self._most:
            self._start()


class Ending(Enum):
    """The ways in which the reading of a piece ends."""

    READ = auto()
    """It was read; its list continues after it."""
    ENDED = auto()
    """It was read to the end of its list, which is proven."""
    UNCUT = auto()
    """The service does not let the list be entered at an id of our own: it has to be read from its start."""
    REFUSED = auto()
    """It rejects its own positions, too."""
    FAILED = auto()
    """It could not be read."""


class PieceResult(NamedTuple):
    """The findings of reading a piece of a list."""

    number: int
    """That of the source."""
    ending: Ending
    highest: int = 0
    """The highest id that the list has shown, after the frozen end, too."""
    is_whole: bool = False
    """True if all of the list was read, instead of the piece: its ids are no positions."""
    error: ChatRestError | None = None
    """Why it could not be read."""


class Findings(Struct, frozen=True):
    """The facts that lists have shown, by the numbers of their sources; `|` adds what was found later."""

    failed: Mapping[int, ChatRestError] = {}
    """The errors of those that could not be read."""
    ended: frozenset[int] = frozenset()
    """Those whose end was proven."""
    uncut: frozenset[int] = frozenset()
    """Those that the service does not let be entered at an id of our own."""
    refused: frozenset[int] = frozenset()
    """Those for which it rejects its own positions, too."""
    highest: int = 0
    """The highest id that any list has shown, after the frozen end, too."""

    @classmethod
    def of(cls, results: Iterable[PieceResult]) -> "Findings":
        """Return what the pieces that were read together have found out."""
        numbers: dict[Ending, set[int]] = {ending: set() for ending in Ending}
        failed, highest = dict[int, ChatRestError](), 0
        for result in results:
            numbers[result.ending].add(result.number)
            highest = max(highest, result.highest)
            if result.error is not None:
                failed[result.number] = result.error
        ended, uncut, refused = map(
            frozenset, (numbers[Ending.ENDED], numbers[Ending.UNCUT], numbers[Ending.REFUSED])
        )
        return cls(failed, ended, uncut, refused, highest)

    def __or__(self, later: "Findings") -> "Findings":
        return Findings(
            {**self.failed, **later.failed},
            self.ended | later.ended,
            self.uncut | later.uncut,
            self.refused | later.refused,
            max(self.highest, later.highest),
        )

    def needs_start(self, number: int) -> bool:
        """Return True if a list cannot be entered at an id of our own, and is read from its start."""
        return number in self.uncut or number in self.refused
