"""Jobs: the lists that are left to read, their pieces, and what reading them finds out.

A run reads what the journal's notes leave, a dry run counts it, and `news` skips sources that have nothing
left:

| left of a source             | where or when                                                            |
|------------------------------|--------------------------------------------------------------------------|
| ids that no interval covers  | between the ids that were read                                           |
| ids after its last id        | until its end is proven for the frozen end of the run                    |
| all of it                    | its ids are no positions, and do not show what is new: in each run       |
| ids up to which it was read  | messages since a time are read again (`recheck`), until that is done     |

Messages that were seen and are not on the disk are left, too. The sources that may have them are determined
during the reading (see `rereads`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct

from ..._core.replies.rows import Row
from ..._core.requests.endpoint import Pairs
from ...errors import ChatRestError
from ..folder.fetched_page import Purpose
from ..folder.journal import Journal, SourceState
from ..plan.message_ids import LAST, Gap, gaps, number
from ..plan.ownership import Source


class ListJob(Struct, frozen=True):
    known: SourceState
    gaps: Sequence[Gap] = ()
    """The ids that are left."""
    purpose: Purpose = "walk"
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    until: int = LAST
    """The frozen end: what is after it is for the next run."""
    has_newest: bool = False
    """True if the app's newest message belongs to the list."""

    @property
    def number(self) -> int:
        return self.known.number

    @property
    def source(self) -> Source:
        return self.known.source

    @property
    def proven(self) -> int:
        """The frozen end for which an earlier run has proven the end of the list: nothing up to there is
        left.
        """
        return self.known.proven if self.purpose == "walk" else 0

    def holds(self, row: Row) -> bool:
        """Return True for a row that is to be read; one whose id is not a number may be anywhere."""
        numbered = number(row.id)
        return numbered is None or any(gap.after < numbered <= gap.until for gap in self.gaps)


class ListPiece(Struct, frozen=True, eq=False):
    """The ids above `after` up to `until` of one list, read by one reader."""

    of: ListJob
    after: int
    until: int = LAST
    """`LAST` for a piece that ends with its list."""
    position: Pairs = ()
    """The position that it is entered at, as the service named it."""
    is_guess: bool = False
    """True if the service named none: it is entered at an id that is made up. Without a position and no
    guess, it is read from the start of the list, and what is up to `after` is dropped.
    """
    may_be_divided: bool = True

    @property
    def is_open(self) -> bool:
        return self.until == LAST

    @property
    def is_from_start(self) -> bool:
        return not (self.position or self.is_guess)


class PieceQueue:
    """The pieces that wait to be read, and so many `readers`; who reads a piece may give others."""

    def __init__(self, readers: int) -> None:
        self.readers = readers
        self._free = asyncio.Semaphore(readers)
        self._group = asyncio.TaskGroup()
        self._waiting = 0
        self._read: Callable[[ListPiece], Awaitable[object]]

    @property
    def has_free_reader(self) -> bool:
        """True if a reader is free, and no piece waits for it."""
        return not (self._waiting or self._free.locked())

    async def read_all(
        self, pieces: Iterable[ListPiece], read: Callable[[ListPiece], Awaitable[object]]
    ) -> None:
        """Read all pieces, and those that are given meanwhile; an error ends all readers."""
        self._read = read
        async with self._group:
            for piece in pieces:
                await self._free.acquire()
                self._group.create_task(self._work(piece))

    def give(self, piece: ListPiece) -> None:
        self._waiting += 1
        self._group.create_task(self._wait_and_work(piece))

    async def _wait_and_work(self, piece: ListPiece) -> None:
        await self._free.acquire()
        self._waiting -= 1
        await self._work(piece)

    async def _work(self, piece: ListPiece) -> None:
        await self._read(piece)
        self._free.release()


class Ending(Enum):
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
    number: int
    """That of the source."""
    ending: Ending
    highest: int = 0
    """The highest id that the list has shown, after the frozen end, too."""
    is_whole: bool = False
    """True if all of the list was read, instead of the piece: its ids are no positions."""
    error: ChatRestError | None = None
    """Why it could not be read."""


class Findings:
    """The facts that lists have shown, by the numbers of their sources."""

    def __init__(self) -> None:
        self.failed: dict[int, ChatRestError] = {}
        """The errors of those that could not be read."""
        self.ended: set[int] = set()
        """Those whose end was proven."""
        self.uncut: set[int] = set()
        """Those that the service does not let be entered at an id of our own."""
        self.refused: set[int] = set()
        """Those of them for which it rejects its own positions, too."""
        self.highest = 0
        """The highest id that any list has shown, after the frozen end, too."""

    def add(self, result: PieceResult) -> None:
        number, ending = result.number, result.ending
        self.highest = max(self.highest, result.highest)
        self.failed |= {} if result.error is None else {number: result.error}
        self.ended |= {number} if ending is Ending.ENDED else set()
        self.uncut |= {number} if ending in (Ending.UNCUT, Ending.REFUSED) else set()
        self.refused |= {number} if ending is Ending.REFUSED else set()


def work_left(
    journal: Journal,
    sources: Iterable[SourceState],
    until: int,
    *,
    ended: Collection[int] = (),
    asks_all: bool = False,
) -> Iterator[ListJob]:
    """Yield what the lists of sources have left up to the id `until`.

    `ended` are sources whose end was proven in this run; with `asks_all` the proofs of earlier runs do
    not count.
    """
    for known in sources:
        has_ended = known.number in ended
        if known.order == "other":
            left = [] if has_ended else [Gap(0, until)]
        else:
            has_ended = has_ended or (known.proven >= until and not asks_all)
            left = gaps(journal.intervals(known.number), until)
            left = [gap for gap in left if gap.until < until or not has_ended]
        if left:
            yield ListJob(known, left)


def rechecks_left(journal: Journal, sources: Iterable[SourceState]) -> Iterator[ListJob]:
    rechecks = journal.rechecks()
    for known in sources if rechecks else ():
        recheck = rechecks.get(known.number)
        if recheck is not None and not recheck.is_done:
            left = Gap(recheck.after, recheck.until, recheck.position)
            yield ListJob(known, [left], "recheck", recheck.since)
