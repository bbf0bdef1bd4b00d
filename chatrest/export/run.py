"""One run of an export: from a plan to a folder that holds all of it.

```
newest id → sources → jobs → walks → archive.commit → … until no hole is left → settle → finish
```

- The end is frozen: no id above the newest of the app at the beginning. What comes later comes with the next
  run, whose holes begin where this one's intervals end.
- A source that the service refuses is noted, and the rest goes on; a key that it refuses ends the run.
- Holes are looked for more than once: users may be made while others are walked, and a worker that begins
  in the middle of a source may be told that there is no such place.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final, final

import msgspec
from msgspec import structs

from ..core.intervals import gaps
from ..core.paging import LARGEST_PAGE
from ..errors import ChatRestError, NotFoundError
from ..models.message import Message
from ..session import AsyncSession
from .archive import Archive
from .deferred_ids import is_settled, orphans, settled
from .discovery import ago, newest, users
from .in_thread import in_thread
from .job_queue import Job
from .journal import SourceState
from .message_ids import number
from .ownership import OwnershipRules, Source
from .progress import Progress
from .report import Failure, Report
from .worker_pool import WORKERS, WorkerPool
from .workspace import LAST

ROUNDS: Final = 4
"""How often holes are looked for."""


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
        self._journal = archive.journal
        self._plan = archive.plan
        self._progress = progress
        self._recheck = recheck
        self._now = now
        self._claims = OwnershipRules()
        self._pool = WorkerPool(self._session, archive, self._claims, progress, workers)
        self._listed: set[Source] = set()
        self._known: list[SourceState] = []
        self._until = LAST

    async def result(self) -> Report:
        """Runs to its end; what has come of it. However it ends, what was committed stays."""
        self._progress.phase = "asking what there is"
        last = await newest(self._session)
        self._until = (number(last.id) if last else None) or LAST
        await self._learn_sources()
        self._begin_recheck(last)
        self._progress.phase = "walking"
        for count in range(ROUNDS):
            jobs = list(self._jobs(whole=count == ROUNDS - 1))
            if not jobs:
                break
            await self._pool.walk(jobs)
            self._note_lists_by_time()
            if self._plan.all_users:
                await self._learn_sources()
        # What is new comes first: a message must not come by two ways at once.
        if again := list(self._rechecks()):
            self._progress.phase = "reading again"
            await self._walk_again(again)
            await self._confirm_missing()
        await self._settle()
        self._progress.phase = "finishing"
        amended = await in_thread(self._archive.finish)
        return self._reported(amended)

    # ── what there is ──

    async def _learn_sources(self) -> None:
        """Notes the sources of the plan, and asks for the users where all of them are wanted."""
        self._listed = set(self._plan.sources)
        if self._plan.all_users:
            async for source in users(self._session):
                self._listed.add(source)
                self._progress.sources = len(self._listed)
        with self._journal.transaction():
            # In an order that is the same whichever page a user was on.
            self._journal.add_sources([*self._plan.sources, *sorted(self._listed, key=str)])
        every = self._journal.sources()
        self._pool.by_time.update(msgspec.json.decode(self._journal["by_time"] or "[]", type=set[int]))
        for known in every:  # a user that is gone may come back: what is its own stays so
            self._claims.add(known.source)
        self._known = [known for known in every if known.state != "gone"]
        self._progress.sources = len(self._known)

    def _note_lists_by_time(self) -> None:
        """Note which lists go by time: the next run has to read all of them, too."""
        if self._pool.by_time:
            with self._journal.transaction():
                self._journal["by_time"] = msgspec.json.encode(sorted(self._pool.by_time)).decode()

    def _begin_recheck(self, last: Message | None) -> None:
        """Notes what is to be read again: so many seconds before the newest message, where it ends by now."""
        if self._recheck is None:
            return
        end = int(self._now()) if last is None else last.sent_at
        since = ago(end, self._recheck)
        with self._journal.transaction():
            for known in self._known:
                if spans := self._journal.intervals(known.number):
                    self._journal.recheck(known.number, since, spans[-1].last)

    # ── what is to be done ──

    def _jobs(self, *, whole: bool) -> Iterator[Job]:
        """What is left to be read, holes between intervals first."""
        ends: list[Job] = []
        for known in self._known:
            if known.number in self._pool.failed:
                continue
            if known.number in self._pool.by_time:
                yield from self._whole_list(known)
                continue
            its = list(self._holes(known, whole=whole))
            if known.number in self._pool.ended:  # the open end alone is done
                its = its[:-1]
            yield from its[:-1]
            ends += its[-1:]
        yield from ends

    def _whole_list(self, known: SourceState) -> Iterator[Job]:
        """A list that goes by time: ids do not tell what is new in it, so each run reads all of it."""
        if known.number not in self._pool.ended:
            yield Job(
                number=known.number, source=known.source, after=0, until=self._until, mode="compare",
                whole=True, by_time=True,
            )  # fmt: skip

    def _rechecks(self) -> Iterator[Job]:
        """What is to be read again."""
        left = self._journal.rechecks()
        for known in self._known:
            if known.number in left and known.number not in self._pool.failed:
                since, after, until, at = left[known.number]
                by_time = known.number in self._pool.by_time
                again = {"after": 0 if by_time else after, "until": until, "at": at, "since": since}
                yield Job(
                    number=known.number,
                    source=known.source,
                    mode="recheck",
                    whole=True,
                    by_time=by_time,
                    **again,
                )

    async def _confirm_missing(self) -> None:
        """Look once more, without any times, for what the recheck did not find: a service may read them in a
        way of its own. Costs about a request for each page that lacks a message.
        """
        spans = await in_thread(lambda: self._archive.missing_spans(LARGEST_PAGE))
        sources = {known.number: known.source for known in self._known}
        jobs = [
            Job(number=source, source=sources[source], after=first - 1, until=last, mode="confirm",
            whole=True,
                guessed=first > 1)
            for source, first, last in spans
            if source not in self._pool.by_time  # all of it was read
        ]  # fmt: skip
        if jobs:  # where the service refuses the places, what the recheck said stands
            await self._pool.walk(jobs)

    def _holes(self, known: SourceState, *, whole: bool) -> Iterator[Job]:
        for hole in gaps(self._journal.intervals(known.number), self._until):
            held = self._archive.may_hold(known.number, hole.after + 1, hole.until)
            yield Job(
                number=known.number,
                source=known.source,
                after=hole.after,
                until=hole.until,
                at=hole.at,
                mode="compare" if held else "fresh",
                whole=whole or held or known.number in self._pool.unsplit,
                guessed=bool(hole.after and not hole.at),
                from_start=self._pool.starts_over(known.number, hole, whole=whole),
            )

    async def _settle(self) -> None:
        """Looks for what was left to others and is not there, and reads it from whoever saw it."""
        if is_settled(self._archive):
            return
        self._progress.phase = "checking what sources share"
        found = await in_thread(lambda: orphans(self._archive))
        sources = {known.number: known.source for known in self._journal.sources()}
        jobs = [
            Job(number=each.source, source=sources[each.source], after=each.first - 1, until=each.last,
                mode="adopt", whole=True, guessed=each.first > 1)
            for each in found
            if each.source not in self._pool.failed
        ]  # fmt: skip
        await self._walk_again(jobs)
        if len(jobs) == len(found) and not any(job.number in self._pool.failed for job in jobs):
            settled(self._archive)

    async def _walk_again(self, jobs: list[Job]) -> None:
        """Reads what was read before; where the service refuses a place, the list from its start."""
        self._pool.unsplit.clear()
        self._pool.refused.clear()
        if jobs:
            await self._pool.walk(jobs)
        pool = self._pool
        refused = pool.unsplit | pool.refused
        again = [
            structs.replace(job, from_start=True) for job in jobs if job.number in refused - pool.by_time
        ]
        for job in jobs:
            if job.number in pool.by_time and not job.by_time:
                after = 0 if job.mode == "recheck" else job.after
                again.append(structs.replace(job, by_time=True, after=after))
        if again:
            await pool.walk(again)

    # ── what has come of it ──

    def _reported(self, amended: int) -> Report:
        kept, pool, journal = self._pool.kept, self._pool, self._journal
        report = Report(
            until=None if self._until == LAST else self._until,
            written=kept.written,
            changed=kept.changed if self._archive.sink.upserts else amended,
            vanished=kept.vanished,
            lost=len(journal.vanished(lost=True)),
            messages=sum(self._archive.sink.counts().values()),
        )
        with journal.transaction():
            for known in self._known:
                self._note(known, pool.failed.get(known.number), report)
        report.sources = len(self._known) - len(report.gone)
        if any(known.number not in pool.failed for known in self._unwalked()):
            report.reasons.append("some sources are not walked to their end; run it again")
        if not is_settled(self._archive):
            report.reasons.append("some messages that two sources hold could not be read from either")
        report.complete = not report.failed and not report.reasons
        return report

    def _unwalked(self) -> Iterator[SourceState]:
        rechecks = self._journal.rechecks()
        for known in self._known:
            left = gaps(self._journal.intervals(known.number), self._until)
            if known.number in self._pool.ended:
                left = left[:-1]
            if left or known.number in rechecks:
                yield known

    def _note(self, known: SourceState, error: ChatRestError | None, report: Report) -> None:
        """What has become of a source."""
        if error is None:
            self._journal.set_state(known.number, "open")
        elif known.state != "lost" and isinstance(error, NotFoundError) and known.source not in self._listed:
            self._journal.set_state(known.number, "gone", str(error))
            report.gone.append(str(known.source))
        else:
            # Once lost, always so, until it is read again: a user that is gone meanwhile is no excuse.
            self._journal.set_state(known.number, "lost" if known.state == "lost" else "failed", str(error))
            report.failed.append(Failure(str(known.source), str(error)))
