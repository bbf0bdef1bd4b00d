"""Reads messages again: to find those that were edited, and those that the service does not show any more.

```
deleted = on disk in the window - shown by any source, of the ids that were asked for again
```

An id was asked for again where every source that saw it was read to the end of its recheck, or is a user that
was deleted, and at least one was read. What is not shown is looked for once more without any times, for a
service may read them in a way of its own.
"""

from typing import final

from ..core.intervals import Gap
from ..core.paging import LARGEST_PAGE
from ..models.message import Message
from .archive import Archive
from .discovery import ago
from .id_set import IdSet
from .in_thread import in_thread
from .jobs import Job
from .journal import SourceState
from .missing import clusters
from .source_list import SourceList
from .worker_pool import WorkerPool


@final
class Rechecks:
    """The rechecks of a run, and those that an earlier one has left."""

    def __init__(self, archive: Archive, pool: WorkerPool, sources: SourceList, seconds: int | None) -> None:
        """`seconds` is the time before the newest message that is read again; None for no new recheck."""
        self._seconds = seconds
        self._archive = archive
        self._journal = archive.journal
        self._pool = pool
        self._sources = sources

    def begin(self, newest: Message | None, now: float) -> None:
        """Note what is to be read again, if anything: up to what is covered by now."""
        if self._seconds is None:
            return
        since = ago(int(now) if newest is None else newest.sent_at, self._seconds)
        with self._journal.transaction():
            for known in self._sources.known:
                if intervals := self._journal.intervals(known.number):
                    self._journal.recheck(known.number, since, intervals[-1].last)

    def unread(self) -> list[SourceState]:
        """Return the sources whose recheck is not done, without users that were deleted."""
        rechecks, errors = self._journal.rechecks(), self._pool.failed
        return [
            known
            for known in self._sources.known
            if known.number in rechecks and not rechecks[known.number].is_done
            if not self._sources.is_deleted(known, errors.get(known.number))
        ]

    async def read(self, now: int) -> int:
        """Read again what is noted; return how many messages are not shown any more."""
        rechecks = self._journal.rechecks()
        if not rechecks:
            return 0
        since = max(recheck.since for recheck in rechecks.values())
        await in_thread(lambda: self._archive.prepare(min(each.since for each in rechecks.values())))
        await self._pool.read_again(
            (
                Job(number=known.number, source=known.source, purpose="recheck", since=recheck.since,
                    by_time=known.by_time),
                Gap(recheck.after, recheck.until, recheck.position),
            )
            for known in self._sources.known
            if (recheck := rechecks.get(known.number)) is not None and not recheck.is_done
        )  # fmt: skip
        return await self._conclude(since, now)

    async def _conclude(self, since: int, now: int) -> int:
        unshown = await in_thread(lambda: self._unshown(since))
        if unshown:
            await self._pool.read_again(
                (Job(number=known.number, source=known.source, purpose="confirm"), gap)
                for known in self._sources.known
                if not known.by_time  # all of it was read
                for gap in self._gaps(known, unshown)
            )
        return await in_thread(lambda: self._note(since, now))

    def _gaps(self, known: SourceState, unshown: IdSet) -> list[Gap]:
        """Return where a source has seen what is not shown."""
        seen = self._journal.seen(known.number)
        gaps = list(clusters(unshown & seen, seen, LARGEST_PAGE))
        unshown.discard(seen)  # one source is enough
        return gaps

    def _unshown(self, since: int) -> IdSet:
        """Return the ids on disk that were asked for again, and not shown."""
        rechecks, asked = self._journal.rechecks(), IdSet()
        unshown = self._archive.stored_since(since) - self._journal.shown()
        for known in self._journal.sources():
            if self._sources.is_deleted(known, self._pool.failed.get(known.number)) or not known.asked:
                continue
            seen, recheck = self._journal.seen(known.number), rechecks.get(known.number)
            if recheck is not None and recheck.is_done:
                again = seen.between(1, recheck.until)
                asked.update(again)
                seen.discard(again)
            unshown.discard(seen)
        return unshown & asked

    def _note(self, since: int, now: int) -> int:
        """Note what is deleted; return how many messages that are."""
        unshown = self._unshown(since)
        count = len(unshown)
        for known in self._journal.sources():
            if not unshown:
                break
            ids = unshown & self._journal.seen(known.number)
            unshown.discard(ids)
            self._archive.note_deleted(known.number, ids, now)
        if not self.unread():
            with self._journal.transaction():
                self._journal.end_rechecks()
        return count
