"""The proof of an export, and what is done where it fails: messages that were seen, and are not on disk.

Whatever the reason (a file is lost, a list does not show what the rule of ownership says, a user was
deleted), they are read from a source that saw them, and then from the next one; what none of them shows any
more is noted as missing.
"""

from collections.abc import Iterator
from typing import final

from ..core.intervals import LAST, Gap
from ..core.paging import LARGEST_PAGE
from .archive import Archive
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job
from .journal import SourceState
from .source_list import SourceList
from .worker_pool import WorkerPool


@final
class MissingMessages:
    """The messages that are missing, and the sources that were asked for each of them."""

    def __init__(self, archive: Archive, pool: WorkerPool, sources: SourceList) -> None:
        self._archive = archive
        self._pool = pool
        self._sources = sources
        self._asked: dict[int, IdSet] = {}
        self._asked_keys: dict[int, set[str]] = {}

    async def read(self, now: int) -> bool:
        """Read what is missing; return True where all is on disk then, or not shown by any source."""
        while gaps := await in_thread(self._gaps):
            await self._pool.read_again(
                (Job(number=known.number, source=known.source, purpose="missing", by_time=known.by_time), gap)
                for known, gap in gaps
            )
        return await in_thread(lambda: self._conclude(now))

    def _gaps(self) -> list[tuple[SourceState, Gap]]:
        """Return ranges of ids that are to be read, each id from one source that was not asked for it yet."""
        missing, keys = self._archive.missing(), self._archive.missing_keys()
        gaps: list[tuple[SourceState, Gap]] = []
        for known in self._archive.journal.sources() if missing or keys else ():
            if known.number in self._pool.failed or self._sources.is_deleted(known, None):
                continue
            seen = self._archive.journal.seen(known.number)
            asked = self._asked.setdefault(known.number, IdSet())
            asked_keys = self._asked_keys.setdefault(known.number, set())
            ids = (missing & seen) - asked
            others = keys.get(known.number, set()) - asked_keys
            asked.update(ids)
            asked_keys |= others
            missing.discard(ids)
            keys = {number: left - others for number, left in keys.items()}
            if others or (ids and known.by_time):
                gaps.append((known, Gap(0, LAST)))  # an id that is no number may stand anywhere in a list
            else:
                gaps += [(known, gap) for gap in clusters(ids, seen, LARGEST_PAGE)]
        return gaps

    def _conclude(self, now: int) -> bool:
        """Note what no source shows any more; return False where one could not be asked."""
        missing, keys = self._archive.missing(), self._archive.missing_keys()
        known_sources = self._archive.journal.sources() if missing or keys else []
        is_whole = True
        for known in known_sources:
            error = self._pool.failed.get(known.number)
            if error is not None and not self._sources.is_deleted(known, error):
                ids = missing & self._archive.journal.seen(known.number)
                others = keys.pop(known.number, set())
                is_whole = is_whole and not ids and not others
                missing.discard(ids)
                keys = {number: left - others for number, left in keys.items()}
        for known in known_sources:
            seen = self._archive.journal.seen(known.number)
            unshown: list[int | str] = [*(missing & seen), *keys.get(known.number, ())]
            if unshown and self._sources.is_deleted(known, self._pool.failed.get(known.number)):
                is_whole = False  # nobody else can be asked: this run says so, and the report from now on
            self._archive.note_deleted(known.number, unshown, now, missing=True)
        return is_whole


def clusters(ids: IdSet, seen: IdSet, apart: int) -> Iterator[Gap]:
    """Group ids into gaps that have `apart` ids of `seen` or more between them."""
    first = last = 0
    for low, high in ids.ranges():
        if first and seen.count(last + 1, low - 1) >= apart:
            yield Gap(first - 1, last)
            first = 0
        first, last = first or low, high
    if first:
        yield Gap(first - 1, last)
