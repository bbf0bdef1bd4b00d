"""Jobs: the lists that are to be read, their pieces, and what reading them has shown.

A run reads the jobs that the journal leaves, a dry run counts them, and `app_list` skips sources without one:

| unread in a list            | condition                                                                    |
|-----------------------------|------------------------------------------------------------------------------|
| ids that no interval covers | they are between ids that were read                                          |
| ids after its last id       | its end is not proven for the frozen end of the run                          |
| all of it                   | its ids are no positions, and do not show what is new: read by each run      |
| ids up to which it was read | a recheck reads messages since a time again, and has not come to its end     |

Messages that were seen and are not on the disk are unread, too. The sources that may have them are determined
during the reading (`rereads`).
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
    state: SourceState
    """The source, as the journal knows it."""
    gaps: Sequence[Gap] = ()
    """The ids that are to be read."""
    purpose: Purpose = "walk"
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    until: int = LAST
    """The frozen end: what is after it is for the next run."""
    has_newest: bool = False
    """True if the app's newest message belongs to the list."""

    @property
    def number(self) -> int:
        return self.state.number

    @property
    def source(self) -> Source:
        return self.state.source

    @property
    def proven(self) -> int:
        """The frozen end for which an earlier run has proven the end of the list."""
        return self.state.proven if self.purpose == "walk" else 0

    def includes(self, row: Row) -> bool:
        """Return True for a row that is to be read; one whose id is not a number may be anywhere."""
        numbered = number(row.id)
        return numbered is None or any(gap.after < numbered <= gap.until for gap in self.gaps)


class ListPiece(Struct, frozen=True, eq=False):
    """The ids above `after` up to `until` of one list, read by one reader."""

    job: ListJob
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
    """The pieces that wait to be read, and so many `readers`; who reads a piece may add others."""

    def __init__(self, readers: int) -> None:
        self.readers = readers
        self._free_readers = asyncio.Semaphore(readers)
        self._group = asyncio.TaskGroup()
        self._waiting = 0
        """The number of added pieces that no reader has begun."""
        self._read: Callable[[ListPiece], Awaitable[object]]

    @property
    def has_free_reader(self) -> bool:
        """True if a reader is free, and no piece waits for it."""
        return not (self._waiting or self._free_readers.locked())

    async def read_all(
        self, pieces: Iterable[ListPiece], read: Callable[[ListPiece], Awaitable[object]]
    ) -> None:
        """Read all pieces, and those that are added meanwhile; an error ends all readers."""
        self._read = read
        async with self._group:
            for piece in pieces:
                await self._free_readers.acquire()
                self._group.create_task(self._read_one(piece))

    def add(self, piece: ListPiece) -> None:
        self._waiting += 1
        self._group.create_task(self._wait_and_read(piece))

    async def _wait_and_read(self, piece: ListPiece) -> None:
        await self._free_readers.acquire()
        self._waiting -= 1
        await self._read_one(piece)

    async def _read_one(self, piece: ListPiece) -> None:
        await self._read(piece)
        self._free_readers.release()


class Ending(Enum):
    PIECE_END = auto()
    """It was read; its list continues after it."""
    LIST_END = auto()
    """It was read to the end of its list, which is proven."""
    ID_REFUSED = auto()
    """The service does not let the list be entered at an id that is made up: read it from its start."""
    POSITION_REFUSED = auto()
    """It rejects positions that it named itself, too."""
    FAILED = auto()
    """It could not be read."""


class PieceResult(NamedTuple):
    number: int
    """That of the source."""
    ending: Ending
    highest_id: int = 0
    """The highest id that the list has shown, after the frozen end, too."""
    is_all_read: bool = False
    """True if all of the list was read, instead of the piece: its ids are no positions."""
    error: ChatRestError | None = None
    """Why it could not be read."""


class Findings:
    """The facts that lists have shown, by the numbers of their sources."""

    def __init__(self) -> None:
        self.errors: dict[int, ChatRestError] = {}
        """The errors of those that could not be read."""
        self.proven: set[int] = set()
        """Those whose end was proven."""
        self.id_refused: set[int] = set()
        """Those that the service does not let be entered at an id that is made up."""
        self.position_refused: set[int] = set()
        """Those of them for which it rejects its own positions, too."""
        self.highest_id = 0
        """The highest id that any list has shown, after the frozen end, too."""

    def add(self, result: PieceResult) -> None:
        number, ending = result.number, result.ending
        self.highest_id = max(self.highest_id, result.highest_id)
        if result.error is not None:
            self.errors[number] = result.error
        if ending is Ending.LIST_END:
            self.proven.add(number)
        if ending in (Ending.ID_REFUSED, Ending.POSITION_REFUSED):
            self.id_refused.add(number)
        if ending is Ending.POSITION_REFUSED:
            self.position_refused.add(number)


def unread_jobs(
    journal: Journal,
    sources: Iterable[SourceState],
    until: int,
    *,
    proven: Collection[int] = (),
    asks_all: bool = False,
) -> Iterator[ListJob]:
    """Yield what is unread in the lists of sources up to the id `until`.

    `proven` are the numbers of sources whose end was proven in this run; with `asks_all` the proofs of
    earlier runs do not count.
    """
    for state in sources:
        is_proven = state.number in proven
        if state.order == "other":
            unread = [] if is_proven else [Gap(0, until)]
        else:
            is_proven = is_proven or (state.proven >= until and not asks_all)
            unread = gaps(journal.intervals(state.number), until)
            unread = [gap for gap in unread if gap.until < until or not is_proven]
        if unread:
            yield ListJob(state, unread)


def unfinished_rechecks(journal: Journal, sources: Iterable[SourceState]) -> Iterator[ListJob]:
    rechecks = journal.rechecks.all()
    for state in sources if rechecks else ():
        recheck = rechecks.get(state.number)
        if recheck is not None and not recheck.is_done:
            gap = Gap(recheck.after, recheck.until, recheck.position)
            yield ListJob(state, [gap], "recheck", recheck.since)
