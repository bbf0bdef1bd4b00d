"""Takes over what another process, such as a worker of a cluster, has read for an export.

It leaves fragments, which are files of the export as they are (`store/fragments.py`), and says what the
lists of its sources have shown, and what it has covered and proven. Nothing of it counts before it is
adopted, and then all of it does: in one transaction of the journal. So it may be adopted twice, or overlap.
"""

from collections.abc import Iterator

from msgspec import Struct

from ..._core.replies.rows import Row
from ..plan.id_set import IdSet
from ..plan.intervals import Interval
from ..plan.message_ids import PageIds
from ..store.fragments import Fragment
from .export_folder import CommitStats, ExportFolder, FetchedPage

_NONE = PageIds(IdSet(), {})


class AttemptSource(Struct, frozen=True, array_like=True):
    """The pages that were read of one source."""

    number: int
    """In the journal of the export."""
    seen: IdSet
    """The ids that its list has shown."""
    intervals: list[Interval] = []
    other_ids: list[str] = []
    """The keys of the ids that are no numbers."""
    proven: int = 0
    """The frozen end for which the end of its list was proven; 0 where it was not."""
    by_time: bool = False
    """True if its list goes by time."""


class ShardAttempt(Struct, frozen=True, array_like=True):
    """The pages that another process has read."""

    files: list[Fragment] = []
    sources: list[AttemptSource] = []


def adopt(archive: ExportFolder, attempt: ShardAttempt) -> CommitStats:
    """Take over an attempt, all of it or nothing; return how many messages it has added.

    Costs a rename a file, and the reading of files that are partly known. Waits for the disk. Raises
    `FragmentLostError` where a file is missing whose messages are, and OSError as `ExportFolder.commit` does.
    """
    return archive.commit(_pages(archive, attempt.sources), attempt.files)


def _pages(archive: ExportFolder, known: list[AttemptSource]) -> Iterator[FetchedPage]:
    """Yield what was seen and covered, without rows; called in a commit."""
    sources = archive.journal.sources_of(each.number for each in known)
    for each in known:
        seen = PageIds(each.seen, dict.fromkeys(each.other_ids, Row()))
        for interval in each.intervals or [Interval(1, 0)]:
            yield FetchedPage(
                number=each.number, source=sources[each.number], after=interval.first - 1, last=interval.last,
                position=interval.position, proven=each.proven, seen=seen, rows=[], ids=_NONE,
            )  # fmt: skip
            seen = _NONE
        if each.by_time:
            archive.journal.set_by_time(each.number)
