"""Jobs: what a worker has to know of a list beside the piece that it reads, and what reading it finds out."""

from enum import Enum, auto
from typing import Any, TypeAlias

from msgspec import Struct

from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._walk.walk import Walk
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


class PieceOutcome(Enum):
    """The result of reading a piece."""

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
