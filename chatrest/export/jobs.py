"""Jobs: what a worker has to know of a list beside the piece that it reads, and the sides of pairs.

The messages of two users are in the list of either, on behalf of the other one. A service that ignores the
acting user shows, in both lists, what the owner of its login token has with the user in the path. So one of
the two lists may be that of the pair, if the owner is one of them, and the other one is empty or not of the
pair. The side that was found is kept in the journal for later runs.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias, final

from msgspec import Struct

from ..core.paging.intervals import LAST
from ..core.replies.rows import Row
from ..core.requests.endpoint import Pairs
from ..parameters.messages import MessageQuery
from ..resources.messages import Messages
from ..walk.split.piece_queue import ListPiece
from ..walk.split.piece_reader import NotOrderedByIdError
from ..walk.walk import Walk
from .archive import Purpose
from .journal import Journal
from .message_ids import PageIds, number
from .ownership import Source

_OTHER_SIDES: Final = "other_sides"
"""In the journal's meta: the pairs whose messages are read from the list of the second of the two."""


class Place(NamedTuple):
    """The position of a message in a list that goes by time."""

    sent_at: int
    id: int

    @classmethod
    def of(cls, row: Row) -> "Place":
        return cls(row.sent_at, number(row.id) or 0)

    @classmethod
    def named_by(cls, position: Pairs) -> "Place | None":
        """Return the place that a position names; None for one by an id alone."""
        members = dict(position)
        sent_at, last = number(members.get("sentAt", "")), number(members.get("id", ""))
        return cls(sent_at, last) if sent_at and last else None

    @property
    def position(self) -> Pairs:
        """The position after it."""
        return (("affix", "append"), ("id", str(self.id)), ("sentAt", str(self.sent_at)))


def latest(rows: list[Row]) -> Place:
    """Return the place of the latest of some rows, one at least."""
    return max(map(Place.of, rows))


@final
class Newest(Struct, frozen=True):
    """The newest messages of a list."""

    rows: list[Row]
    ids: PageIds
    is_timed: bool
    """True if the service's positions tell times."""
    is_by_id: bool
    """False if the ids do not ascend with the times."""

    @property
    def place(self) -> Place:
        return latest(self.rows)


@final
class ListJob(Struct, kw_only=True, eq=False):
    """A list that is read for a purpose, all of it or pieces of it."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    until: int = LAST
    """The frozen end: what is after it comes with the next run."""
    since: int = 0
    """A recheck reads what was sent at this time or later."""
    by_time: bool = False
    """True if the list goes by time: all of it is read, and then its ids are covered at once."""
    newest: int = 0
    """The highest id that the list is known to have; 0 before that was asked for."""
    is_other_side: bool = False
    """True if the messages of a pair are read from the list of the other one of the two."""
    may_change_side: bool = False
    """True if the list of the other one is to be read if this one shows nothing."""
    has_shown: bool = False
    """True once the list has shown a message."""
    proven: int = 0
    """The frozen end for which an earlier run has proven the end of the list: nothing up to there is left."""
    end: Newest | None = None
    """The newest messages of the list when its reading began, where they are its frozen end."""
    has_newest: bool = False
    """True if the app's newest message belongs to the list."""
    first_look: Newest | None = None
    """The newest messages of the list when its reading began, where its frozen end is the app's."""
    is_end_sure: bool = False
    """True if the service was seen to show the newest messages where it is asked for them."""

    def list(self, messages: Messages, query: MessageQuery) -> Walk[Any]:
        names = self.source.names[::-1] if self.is_other_side else self.source.names
        return Source(self.source.kind, names).list(messages, query)


class OtherSideError(Exception):
    """A pair's list shows nothing, and that of the other one of the two is to be read."""


JobPiece: TypeAlias = ListPiece[ListJob]


@final
class Sides:
    """The sides from which the pairs of an export are read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.others: set[Source] = {Source.parse(key) for key in json.loads(journal[_OTHER_SIDES] or "[]")}
        """The pairs that are read from their other side."""
        self._tried: set[Source] = set()

    def choose(self, job: ListJob) -> None:
        """Let a job read the side that is known; a pair may change it once a run."""
        job.is_other_side = job.source in self.others
        job.may_change_side = job.source.kind == "pair" and job.source not in self._tried

    @contextmanager
    def changed(self, job: ListJob) -> Iterator[None]:
        """Let a job read the other side within the block, and the next jobs too if it has shown something."""
        self._tried.add(job.source)
        job.is_other_side, job.may_change_side = not job.is_other_side, False
        try:
            yield
        except NotOrderedByIdError:  # the list is read again, by time, and on this side
            job.has_shown = True
            raise
        finally:
            if job.has_shown:
                self.others ^= {job.source}

    def save(self) -> None:
        """Keep the sides for later runs; within a transaction."""
        if self.others or self._journal[_OTHER_SIDES]:
            self._journal[_OTHER_SIDES] = json.dumps(sorted(source.key for source in self.others))
