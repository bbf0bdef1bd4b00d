"""Jobs: what a reader has to know of a list beside the piece that it reads, and what reading it finds out."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._walk.walk import Walk
from ...errors import ChatRestError
from ..folder.export_folder import Purpose
from ..plan.intervals import LAST
from ..plan.ownership import Source
from .pieces import ListPiece


class ListJob(Struct, frozen=True, kw_only=True):
    """A list that is read for a purpose, all of it or pieces of it."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    until: int = LAST
    """The frozen end: what is after it is for the next run."""
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    by_time: bool = False
    """True if ids are no positions in the list: all of it is read, and then its ids are covered at once."""
    proven: int = 0
    """The frozen end for which an earlier run has proven the end of the list: nothing up to there is left."""
    has_newest: bool = False
    """True if the app's newest message belongs to the list."""

    def list(self, messages: Messages, query: MessageQuery) -> Walk[Any]:
        return self.source.list(messages, query)


JobPiece: TypeAlias = ListPiece[ListJob]


class Ending(Enum):
    """The ways in which the reading of a piece ends."""

    READ = auto()
    """It was read; its list continues after it."""
    ENDED = auto()
    """It was read to the end of its list, which is proven."""
    READ_WHOLE = auto()
    """All of its list was read, and the end is proven; its ids are no positions."""
    BY_TIME = auto()
    """The ids of its list are no positions: all of it has to be read."""
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
    error: ChatRestError | None = None
    """Why it could not be read."""


class Findings(Struct, frozen=True):
    """The facts that lists have shown, by the numbers of their sources; `|` adds what was found later."""

    failed: Mapping[int, ChatRestError] = {}
    """The errors of those that could not be read."""
    ended: frozenset[int] = frozenset()
    """Those whose end was proven."""
    by_time: frozenset[int] = frozenset()
    """Those whose lists go by time, with ids in any order."""
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
        ended, whole, disordered = (
            numbers[each] for each in (Ending.ENDED, Ending.READ_WHOLE, Ending.BY_TIME)
        )
        return cls(
            failed=failed,
            # Another piece of such a list may have come to its end: all of it is read by time.
            ended=frozenset((ended | whole) - disordered),
            by_time=frozenset(whole | disordered),
            uncut=frozenset(numbers[Ending.UNCUT]),
            refused=frozenset(numbers[Ending.REFUSED]),
            highest=highest,
        )

    def __or__(self, later: "Findings") -> "Findings":
        return Findings(
            failed={**self.failed, **later.failed},
            ended=(self.ended - (later.by_time - later.ended)) | later.ended,
            by_time=self.by_time | later.by_time,
            uncut=self.uncut | later.uncut,
            refused=self.refused | later.refused,
            highest=max(self.highest, later.highest),
        )

    def needs_start(self, number: int) -> bool:
        """Return True if a list cannot be entered at an id of our own, and is read from its start."""
        return number in self.uncut or number in self.refused
