"""The coordinator's loop: gaps become shards, shards become attempts, attempts are adopted.

A bounded number of shards is under way, and nothing of one counts before its attempt is committed to the
archive. A shard that is lost, with its worker or otherwise, is a gap that is still open. Nothing here knows
Dask. Memory: the results of the shards under way, and nothing of a source beside what any run has.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol, final

from .._threads import in_thread
from ..errors import ChatRestError
from ..export.folder.adoption import adopt
from ..export.folder.journal import SourceState
from ..export.plan.ownership import Source
from ..export.plan.report import Active
from ..export.run.run import OpenWalk
from ..export.store.fragments import FragmentLostError
from .shard import Budget, Shard, ShardResult, ShardSource
from .shard_cutter import ShardCutter

MOST_LOST: Final = 10  # shards one after the other, beside those that are under way
MOST_TROUBLES: Final = 3  # shards in which a list may fail, or show nothing; then it has failed
_AHEAD: Final = 2  # shards under way for each slot: the next one is there when one ends


class ClusterError(ChatRestError):
    """The cluster cannot continue; what was adopted stays, and the next run continues from there."""


class ShardLostError(Exception):
    """A shard brought no result: its worker died, or could not read it."""


class ShardRunner(Protocol):
    """The workers, as the loop sees them."""

    async def slots(self) -> int:
        """Return how many shards the workers read at the same time, at least 1; raises `ClusterError`."""

    async def run(self, shard: Shard, operation: str) -> ShardResult:
        """Return what has arrived of a shard whose lists an operation reads; raises `ShardLostError`, too."""


def operation_of(source: Source) -> str:
    """Return the name of the operation that reads the list of a source."""
    match source.kind:
        case "everything":
            return "messages.list"
        case "group":
            return "messages.list_group"
        case _:
            return "messages.list_user"


@final
class Coordinator:
    """The shards of one run."""

    def __init__(self, walk: OpenWalk, runner: ShardRunner, job: str, budget: Budget | None = None) -> None:
        self._walk, self._runner = walk, runner
        self._sources = count = sum(1 for _ in self._known())
        self._cutter = ShardCutter(self._lists(), until=walk.until, job=job, count=count, budget=budget)
        self._lost, self._troubles = 0, Counter[int]()
        self.requests: int = 0

    async def read(self) -> None:
        """Read until no gap is left that a worker can read. However it ends, what was adopted stays."""
        progress = self._walk.pool.progress
        progress.ids += self._sources * self._walk.until
        tasks: dict[asyncio.Task[ShardResult], Shard] = {}
        try:
            while True:
                slots = await self._runner.slots()
                while len(tasks) < slots * _AHEAD:
                    if (shard := self._cutter.next(slots, len(tasks))) is None:
                        break
                    tasks[asyncio.create_task(self._run(shard))] = shard
                progress.jobs = len(self._cutter)
                if not tasks:
                    break
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    await self._take(tasks.pop(task), task)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._walk.sources.refresh()

    def _known(self) -> Iterator[SourceState]:
        """Yield the sources that workers can read."""
        return (known for known in self._walk.sources.known if not known.by_time)

    def _lists(self) -> Iterator[ShardSource]:
        """Yield the gaps of each source that has any."""
        for known in self._known():
            gaps = [gap for work in self._walk.left([known]) for gap in work.gaps]
            self._walk.pool.progress.covered += self._walk.until - sum(gap.until - gap.after for gap in gaps)
            if gaps:
                yield ShardSource(known.number, gaps)

    async def _run(self, shard: Shard) -> ShardResult:
        number = shard.sources[0].number
        first = self._walk.pool.archive.journal.sources_of([number])[number]
        active, progress = self._walk.pool.progress.active, self._walk.pool.progress
        more = len(shard.sources) - 1
        active[-shard.id] = Active(f"{first} and {more:,} more" if more else str(first))
        try:
            return await self._runner.run(shard, operation_of(first))
        finally:
            del progress.active[-shard.id]

    async def _take(self, shard: Shard, task: asyncio.Task[ShardResult]) -> None:
        """Adopt what has arrived of a shard, and cut what is left of it."""
        try:
            result = task.result()
            self._note_trouble(shard, result)
            await self._adopt(result)
        except (ShardLostError, FragmentLostError) as error:
            self._lost += 1
            if self._lost > MOST_LOST + await self._runner.slots() * _AHEAD:
                text = f"{self._lost} shards in a row were lost, the last one as {error}"
                raise ClusterError(text) from None
            self._cutter.give_back(shard)
            return
        self._lost = 0
        self._count(shard, result)

    def _note_trouble(self, shard: Shard, result: ShardResult) -> None:
        """Note lists that fail: the last time that one may, its error becomes that of the run."""
        for each in result.sources:
            if not each.trouble:
                continue
            self._troubles[each.number] += 1
            if self._troubles[each.number] >= MOST_TROUBLES:
                times = f"{MOST_TROUBLES} times, on workers of the cluster: "
                self._walk.pool.failed[each.number] = ChatRestError(times + each.trouble)
                self._walk.pool.progress.failed += 1

    async def _adopt(self, result: ShardResult) -> None:
        stats = await in_thread(lambda: adopt(self._walk.pool.archive, result.attempt))
        self._walk.pool.stats.written += stats.written
        self._walk.pool.progress.written += stats.written

    def _count(self, shard: Shard, result: ShardResult) -> None:
        progress, pool = self._walk.pool.progress, self._walk.pool
        pool.warned.update(dict.fromkeys(result.warnings))
        pool.ended.update(each.number for each in result.sources if each.is_proven)
        for _, ids in self._cutter.divide(shard, result, pool.failed):
            progress.covered += ids
        progress.done = len(pool.ended)
        progress.received += result.received
        progress.requests += result.sent
        progress.limited += result.limited
        self.requests += result.sent
