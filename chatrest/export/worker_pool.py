"""Walks a list of jobs: several workers fetch, one writer commits.

Pages of one job are committed in the order in which they came. Whatever ends the walks, a cancel too, what
has been fetched by then is committed first.
"""

import asyncio
from collections import Counter
from contextlib import aclosing
from typing import Any, Final, final

from msgspec import structs

from ..core.intervals import Gap
from ..core.rows import AsRows, Row
from ..errors import ApiError, AuthenticationError, ChatRestError, CursorError, ServerError
from ..queries.messages import MessageQuery
from ..resources.messages import Messages
from ..session import AsyncSession
from ..walk import Page
from .archive import Archive, CommitStats, FetchedPage
from .backlog import Backlog
from .in_thread import in_thread
from .job_queue import Job, JobQueue, split
from .message_ids import number, span
from .ownership import Ownership, OwnershipRules, SourceOwnership
from .page_partition import Window, cut, partition_page, place_of
from .progress import Active, Progress
from .workspace import LAST

WORKERS: Final = 32


@final
class WorkerPool:
    """Workers and a writer, over one archive."""

    def __init__(
        self,
        session: AsyncSession,
        archive: Archive,
        claims: OwnershipRules,
        progress: Progress,
        workers: int,
    ):
        self._messages = Messages(AsRows(session.sender))
        self._archive = archive
        self._claims = claims
        self._progress = progress
        self._workers = workers
        self._window = Window(*archive.plan.window)
        self.kept: CommitStats = CommitStats()
        self.failed: dict[int, ChatRestError] = {}
        """Why sources could not be walked, by their number."""
        self.ended: set[int] = set()
        """Sources that were walked to the end that the service shows, where no other end is set."""
        self.unsplit: set[int] = set()
        """Sources that the service does not let be entered in their midst."""
        self.refused: set[int] = set()
        """Sources that it does not let be gone on with from a place that it named itself."""
        self.by_time: set[int] = set()
        """Sources whose lists go by time, with ids in any order."""
        self._left: Counter[int] = Counter()  # of each source, the pieces that are not done

    async def walk(self, jobs: list[Job]) -> None:
        """Walks the jobs. Sources that fail are noted; a refused key, or a disk that fails, is raised."""
        if ranges := _ranges(jobs):
            await in_thread(lambda: self._archive.prepare(ranges))
        shared, backlog = JobQueue(jobs), Backlog()
        self._left.update(job.number for job in jobs)
        self._progress.ids += sum(job.until - job.after for job in jobs if job.until != LAST)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write(backlog))
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._workers):
                        workers.create_task(self._work(shared, backlog))
                await backlog.close()
        except BaseExceptionGroup as errors:
            first = _first(errors)
        else:
            return
        raise first  # outside: what else failed at the same time says no more

    def starts_over(self, source: int, hole: Gap, *, whole: bool) -> bool:
        """Whether a list has to be read from its start to get at a hole."""
        return source in self.refused or (not hole.at and (whole or source in self.unsplit))

    # ── fetching ──

    async def _work(self, jobs: JobQueue, backlog: Backlog) -> None:
        while (job := await jobs.take()) is not None:
            self._progress.jobs = len(jobs)
            self._progress.active[id(job)] = Active(str(job.source))
            try:
                if job.number not in self.failed:
                    await self._walk(job, jobs, backlog)
            except AuthenticationError:
                raise  # no other source would fare better
            except ChatRestError as error:
                self._fail(job, error)
            finally:
                del self._progress.active[id(job)]
                self._done(job)
                await jobs.done()

    def _fail(self, job: Job, error: ChatRestError) -> None:
        refused = isinstance(error, ApiError | CursorError) and not isinstance(error, ServerError)
        if refused and job.after and not job.from_start:
            (self.unsplit if job.guessed else self.refused).add(job.number)
        else:
            self.failed[job.number] = error
        self._progress.ids -= job.until - job.after if job.until != LAST else 0

    async def _walk(self, job: Job, jobs: JobQueue, backlog: Backlog) -> None:
        if job.by_time:
            await self._walk_by_time(job, backlog)
            return
        judge = self._claims.of(job.source)
        hole = Gap(job.after, job.until, job.at)
        walk = job.source.walk(self._messages, self._query(job), hole, from_start=job.from_start)
        begin, after, at = job.after, job.after, job.at
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                if not page.cursor.by_id:
                    self.by_time.add(job.number)
                    return  # ids that come in any order are not covered up to the last one
                found, last, passed = cut(page.items, after, job.until)
                if not passed:  # behind the hole's end the page's own place would leave something out
                    place = place_of(page.cursor.position)
                    last = min(job.until, max(last, place - 1))
                    # A place before the last id, such as that of a page whose own position was wrong, would
                    # show ids again that no later run remembers.
                    at = page.cursor.position if place >= last else ()
                self._progress.waits_for_disk = backlog.is_full
                await backlog.put(self._taken(job, judge, found, after, last, at, len(page.raw)))
                self._show(job, begin, after, last, page)
                after = last
                if after >= job.until:
                    return
                await self._share(job, jobs, after, page)
        if after == job.after and job.guessed and not job.from_start:
            self.unsplit.add(job.number)
            return  # an empty page may be how a service refuses a place: asked again, from one of its own
        if job.until != LAST:
            self._progress.covered += job.until - after
            await backlog.put(self._taken(job, judge, [], after, job.until, at, 0))
        else:
            self.ended.add(job.number)

    async def _walk_by_time(self, job: Job, backlog: Backlog) -> None:
        """Read all of a list that goes by time. Only at its end is it known that no lower id comes."""
        judge, highest = self._claims.of(job.source), job.after
        walk = job.source.walk(self._messages, self._query(job), Gap(0, job.until))
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                rows = sorted(page.items, key=lambda row: number(row.id) or 0)  # as files hold them
                if job.mode == "adopt":
                    rows = [row for row in rows if job.after < (number(row.id) or 0) <= job.until]
                highest = max(highest, span(rows)[1])
                self._progress.waits_for_disk = backlog.is_full
                await backlog.put(self._taken(job, judge, rows, job.after, job.after, (), len(page.raw)))
                self._show(job, job.after, job.after, job.after, page)
        last = job.until
        if job.mode == "compare":  # the newest message need not have the highest id
            last = highest if job.until == LAST else max(highest, job.until)
            self.ended.add(job.number)
        self._progress.covered += job.until - job.after if job.until != LAST else 0
        await backlog.put(self._taken(job, judge, [], job.after, last, (), 0))

    def _taken(
        self, job: Job, judge: SourceOwnership, rows: list[Row], after: int, last: int, at: Any, size: int
    ) -> FetchedPage:
        # Whatever time it tells now, a message that is shown has not been deleted.
        looks_again = job.mode in ("recheck", "confirm")
        shown = frozenset(number(row.id) or 0 for row in rows) if looks_again else frozenset()
        if job.mode == "confirm":
            rows = []
        rows = self._window.within(rows)
        if job.since:  # a service that does not heed it must not be read as if it did
            rows = Window(job.since).within(rows)
        found = None if job.mode == "adopt" else partition_page(rows, judge)
        return FetchedPage(
            number=job.number,
            source=job.source,
            after=after,
            last=last,
            at=at,
            mode=job.mode,
            since=job.since,
            rows=rows if found is None else found.rows,
            unclaimed=frozenset() if found is None else found.unclaimed,
            shared=[] if found is None else found.shared,
            theirs=[] if found is None else found.theirs,
            shown=shown,
            adopted=[row for row in rows if judge(row) is Ownership.FOREIGN] if job.mode == "recheck" else [],
            bytes=size,
        )

    def _query(self, job: Job) -> MessageQuery:
        """The plan's filter, with the times to ask for."""
        if job.mode == "confirm":  # whatever the service makes of times
            return self._archive.plan.query
        since, until = self._window.asked(job.since if job.mode == "recheck" else None)
        return structs.replace(self._archive.plan.query, from_timestamp=since, to_timestamp=until)

    async def _share(self, job: Job, jobs: JobQueue, after: int, page: Page[Any]) -> None:
        """Gives a part of the job away where somebody is idle and there is much of it left."""
        if not jobs.wanted or job.number in self.unsplit or job.until == LAST:
            return
        first = number(page.items[0].id)
        ids_a_page = len(page.items) if first is None else max(1, after - first)
        other = split(job, after, ids_a_page)
        if other is not None:
            self._left[other.number] += 1
            await jobs.give(other)

    def _show(self, job: Job, begin: int, after: int, last: int, page: Page[Any]) -> None:
        active, progress = self._progress.active[id(job)], self._progress
        active.messages += len(page.items)
        active.share = (last - begin) / (job.until - begin) if job.until != LAST else 0.0
        progress.covered += last - after if job.until != LAST else 0
        progress.received += len(page.raw)

    def _done(self, job: Job) -> None:
        self._left[job.number] -= 1
        if not self._left[job.number]:
            del self._left[job.number]
        progress = self._progress
        progress.failed = len(self.failed)
        progress.done = max(0, progress.sources - len(self._left) - progress.failed)

    # ── writing ──

    async def _write(self, backlog: Backlog) -> None:
        try:
            while batch := await backlog.batch():
                await self._commit(batch)
        except asyncio.CancelledError:
            while batch := backlog.rest():  # what has been fetched is kept
                await self._commit(batch)
            raise

    async def _commit(self, batch: list[FetchedPage]) -> None:
        # Counted in the thread: a cancel that comes meanwhile takes nothing back.
        await in_thread(lambda: self._count(self._archive.commit(batch)))

    def _count(self, kept: CommitStats) -> None:
        for name in ("written", "changed", "vanished"):
            setattr(self.kept, name, getattr(self.kept, name) + getattr(kept, name))
            setattr(self._progress, name, getattr(self._progress, name) + getattr(kept, name))


def _ranges(jobs: list[Job]) -> list[tuple[int, int, int]]:
    """What has to be known of the disk for these jobs: first id, last id, and sent since when."""
    again = [job for job in jobs if job.mode in ("compare", "adopt")]
    last = max((LAST if job.by_time else job.until for job in again), default=0)
    found = [(min(job.after for job in again) + 1, last, 0)] if again else []
    times = [job.since for job in jobs if job.mode == "recheck"]
    return [*found, (0, LAST, min(times))] if times else found


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
