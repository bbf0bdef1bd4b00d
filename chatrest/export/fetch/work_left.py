"""The lists that are left to read, from the notes of the journal.

A run reads them, a dry run counts them, and `news` skips sources that have nothing left.

| left of a source             | where or when                                                            |
|------------------------------|--------------------------------------------------------------------------|
| ids that no interval covers  | between the ids that were read                                           |
| ids after its last id        | until its end is proven for the frozen end of the run                    |
| all of it                    | its ids are no positions, and do not show what is new: in each run       |
| ids up to which it was read  | messages since a time are read again (`recheck`), until that is done     |

Messages that were seen and are not on the disk are left, too. The sources that may have them are determined
during the reading (see `rereads`).
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..._core.replies.rows import Row
from ..folder.fetched_page import Purpose
from ..folder.journal import Journal, SourceState
from ..plan.message_ids import LAST, Gap, gaps, number
from ..plan.ownership import Source
from .jobs import ListJob


class Work(Struct, frozen=True):
    """The reading that is left of one source, for one purpose."""

    known: SourceState
    gaps: list[Gap]
    """The ids, one gap at least."""
    purpose: Purpose = "walk"
    since: int = 0
    """Of a recheck: the time from which on it reads again."""

    @property
    def source(self) -> Source:
        return self.known.source

    def holds(self, row: Row) -> bool:
        """Return True for a row that is to be read; one whose id is not a number may be anywhere."""
        numbered = number(row.id)
        return numbered is None or any(gap.after < numbered <= gap.until for gap in self.gaps)

    def job(self, **more: Any) -> ListJob:
        """Return the job of a worker that reads it; `more` are further fields of it."""
        known = self.known
        return ListJob(
            number=known.number, source=known.source, purpose=self.purpose, since=self.since,
            order=known.order, proven=known.proven if self.purpose == "walk" else 0, **more,
        )  # fmt: skip


def work_left(
    journal: Journal,
    sources: Iterable[SourceState],
    until: int,
    *,
    ended: Collection[int] = (),
    asks_all: bool = False,
) -> Iterator[Work]:
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
            yield Work(known, left)


def rechecks_left(journal: Journal, sources: Iterable[SourceState]) -> Iterator[Work]:
    rechecks = journal.rechecks()
    for known in sources if rechecks else ():
        recheck = rechecks.get(known.number)
        if recheck is not None and not recheck.is_done:
            left = Gap(recheck.after, recheck.until, recheck.position)
            yield Work(known, [left], "recheck", recheck.since)


def rechecks_since(
    journal: Journal, sources: Iterable[SourceState], since: int, *, is_behind: bool
) -> Iterator[Work]:
    """Yield the work of a recheck of messages sent since a time, up to the last id that was read.

    If earlier runs have trusted the app's own list (`is_behind`), their messages are not covered, but
    proven. If the window has become wider, nothing is covered, although ids have been seen. An id that is
    not a number may be anywhere in a list, so all of it is read.
    """
    for known in sources:
        intervals = journal.intervals(known.number)
        until = max(intervals[-1].last if intervals else 0, known.proven if is_behind else 0)
        until = min(LAST, max(until, journal.seen(known.number).last))
        if until:
            yield Work(known, [Gap(0, until)], "recheck", since)
