"""One run of an export: from a plan to a folder that holds all of it.

```
newest id → sources → pieces of lists → archive.commit → … until no gap is left → missing → finish
```

- The end is frozen: no id above the newest of the app at the beginning. What comes later comes with the next
  run, whose gaps begin where this one's intervals end.
- A source that the service refuses is noted, and the rest goes on; a key that it refuses ends the run.
- Gaps are looked for more than once: users may be made while others are read, and a worker that begins in the
  middle of a list may be told that there is no such position.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final, final

from ..core.intervals import LAST, Gap, gaps
from ..models.message import Message
from ..session import AsyncSession
from .archive import Archive
from .discovery import GOES_BACKWARDS, goes_backwards, newest, user_with_messages
from .in_thread import in_thread
from .jobs import Job, JobPiece
from .journal import SourceState
from .message_ids import number
from .missing import MissingMessages
from .news import News
from .progress import Progress
from .rechecks import Rechecks
from .report import Failure, Report
from .source_list import SourceList
from .worker_pool import WORKERS, WorkerPool

ROUNDS: Final = 4
"""How often gaps are looked for."""


@final
class Run:
    """One run over an open archive."""

    def __init__(
        self,
        session: AsyncSession,
        archive: Archive,
        progress: Progress,
        *,
        workers: int = WORKERS,
        recheck: int | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._session = session.with_options(priority="bulk")
        self._archive = archive
        self._progress = progress
        self._now = now
        self._sources = SourceList(self._session, archive, progress)
        self._pool = WorkerPool(self._session, archive, self._sources.rules, progress, workers)
        self._rechecks = Rechecks(archive, self._pool, self._sources, recheck)
        self._until = LAST
        self._has_checked_end = False

    async def result(self) -> Report:
        """Run to the end; return what has come of it. However it ends, what was committed stays."""
        self._progress.phase = "asking what there is"
        last = await self._newest()
        self._until = (number(last.id) if last else None) or LAST
        await self._sources.learn(set())
        self._rechecks.begin(last, self._now())
        self._progress.phase = "asking what is new"
        news = News(self._session, self._archive, self._sources, self._pool, self._until)
        if await news.read():
            self._sources.refresh()
        self._asks_all = news.asks_all
        self._progress.phase = "walking"
        await self._walk()
        self._progress.phase = "reading again"  # after what is new: a message must not come by two ways
        self._progress.deleted = await self._rechecks.read(int(self._now()))
        self._progress.phase = "checking that nothing is missing"
        is_whole = await MissingMessages(self._archive, self._pool, self._sources).read(int(self._now()))
        self._progress.phase = "finishing"
        amended = await in_thread(self._archive.finish)
        return await self._report(amended, is_whole=is_whole)

    async def _newest(self) -> Message | None:
        """Return the app's newest message; None where it is not known: the export has an open end then."""
        last, journal = await newest(self._session), self._archive.journal
        if last is None or journal[GOES_BACKWARDS]:
            return last
        self._has_checked_end = await goes_backwards(self._session, last)
        return last if self._has_checked_end else None

    # ── what is to be read ──

    async def _walk(self) -> None:
        for count in range(ROUNDS):
            pieces = list(self._pieces(is_last=count == ROUNDS - 1))
            if not pieces:
                break
            await self._pool.read(pieces)
            await self._sources.learn(self._pool.by_time)

    def _pieces(self, *, is_last: bool) -> Iterator[JobPiece]:
        """The gaps of the sources, those between intervals first."""
        ends: list[JobPiece] = []
        for known in self._sources.known:
            job = Job(number=known.number, source=known.source, until=self._until, by_time=known.by_time)
            for gap in self._gaps(known):
                piece = self._pool.piece(job, gap, from_start=is_last)
                if piece.is_open:
                    ends.append(piece)
                else:
                    yield piece
        yield from ends

    def _gaps(self, known: SourceState) -> list[Gap]:
        """Return the ids of a source that are to be read; behind its last one where the end is not proven."""
        if known.number in self._pool.failed:
            return []
        is_proven = known.number in self._pool.ended
        if known.by_time:  # ids do not tell what is new in it, so each run reads all of it
            return [] if is_proven else [Gap(0, self._until)]
        is_proven = is_proven or (known.proven >= self._until and not self._asks_all)
        left = gaps(self._archive.journal.intervals(known.number), self._until)
        return [gap for gap in left if gap.until < self._until or not is_proven]

    # ── what has come of it ──

    async def _report(self, amended: int, *, is_whole: bool) -> Report:
        pool, journal = self._pool, self._archive.journal
        report = Report(
            until=None if self._until == LAST else self._until,
            written=pool.stats.written,
            changed=pool.stats.changed if self._archive.sink.upserts else amended,
            deleted=self._progress.deleted,
            missing=len(journal.deleted(missing=True)),
            messages=sum(self._archive.sink.counts().values()),
        )
        unread = [*filter(self._gaps, self._sources.known), *self._rechecks.unread()]
        is_read = all(known.number in pool.failed for known in unread)
        with journal.transaction():
            for known in journal.sources():
                if known in self._sources.known or known.number in pool.failed:
                    self._note(known, report)
            if self._has_checked_end and report.messages > 1:  # of one, the oldest is the newest
                journal[GOES_BACKWARDS] = "yes"
        report.kept = self._sources.kept
        report.sources = len(self._sources.known) - len(report.deleted_users)
        if not is_read:
            report.reasons.append("some sources are not read to their end; run it again")
        if not is_whole:
            report.reasons.append("some messages could not be read from any source that has shown them")
        report.reasons += filter(None, [self._sources.fault, await self._empty_fault(report)])
        report.complete = not report.failed and not report.reasons
        return report

    def _note(self, known: SourceState, report: Report) -> None:
        """Note what has become of a source."""
        error, journal = self._pool.failed.get(known.number), self._archive.journal
        if error is None:
            journal.set_state(known.number, "open")
        elif self._sources.is_deleted(known, error):
            journal.set_state(known.number, "deleted_user", str(error))
            # Of a name that the service never listed nothing is kept.
            if journal.seen(known.number) or self._sources.lists(known):
                report.deleted_users.append(str(known.source))
        else:
            journal.set_state(known.number, "failed", str(error))
            report.failed.append(Failure(str(known.source), str(error)))

    async def _empty_fault(self, report: Report) -> str | None:
        """Return the reason why an export that holds nothing is not whole: the app has messages."""
        plan = self._archive.plan
        if plan.all_users and self._until != LAST and not self._archive.journal.sources():
            return "the service lists no users, although the app has messages"
        if not plan.everything or report.messages or report.failed:
            return None
        uid = await user_with_messages(self._session, plan.query)
        return uid and f"the app's own list of messages is empty, although the list of user {uid} is not"
