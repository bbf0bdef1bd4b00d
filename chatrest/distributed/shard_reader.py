"""Reads a shard: an export in a temporary folder, whose files become fragments of the real one.

When the budget of the shard is used up, no further request goes: it ends at pages' borders, and nothing that
was fetched is thrown away. What is under way then has some seconds left.

The lists are read, divided among requests, proven and written by the same code as in a run on one machine,
but with a journal in memory, and without a wait for the disk: each file is synced once, when it is sealed.
Nothing here knows Dask.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from .._core.replies.decode import Listing
from .._core.requests.endpoint import Call
from .._core.send import Send
from .._threads import in_thread
from ..errors import ChatRestError, NotFoundError
from ..export.fetch.jobs import ListJob
from ..export.fetch.list_reader import LEAST_PAGES
from ..export.fetch.worker_pool import WorkerPool
from ..export.folder.adoption import AttemptSource, ShardAttempt
from ..export.folder.export_folder import ExportFolder
from ..export.plan.file_names import STEM
from ..export.plan.intervals import Gap
from ..export.plan.report import Progress
from ..export.store.disk import Disk
from ..export.store.fragments import Fragment
from ..export.store.journal import StoreFile
from ..export.store.segments import NEW
from .attempt_place import AttemptPlace
from .shard import Budget, OpenJob, Shard, ShardResult, SourceResult

if TYPE_CHECKING:
    from ..session import AsyncSession


R = TypeVar("R")

_LEAST_REQUESTS: Final = 8  # that a shard may send however long they wait: each attempt gets on
_LEAST_PAGES: Final = 4
"""Pages that have to be left of a list for it to be divided, while the rate allows more requests than are
made: the pages that are read twice for it cost no time then."""
_MEMORY: Final = Path(":memory:")


class BudgetUsedError(ChatRestError):
    """The budget of the shard is used up; what is left is read by another one."""


@final
class BudgetedSender:
    """A `Send` that sends as many requests as a budget allows; all else is as of the one that it is given.

    `fade` is called when less than half as many calls are under way as there were.
    """

    def __init__(
        self, send: Send, budget: Budget, clock: Callable[[], float], fade: Callable[[], object]
    ) -> None:
        self.sent: int = 0
        self.page_items: int = 0  # of the largest page that came
        self._under_way = self._most = 0
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send
        self._budget = budget
        self._clock, self._fade = clock, fade
        self._end = clock() + budget.seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._send, name)

    async def __call__(self, call: Call[R], /) -> R:
        self._check()
        self.sent += 1
        self._under_way += 1
        self._most = max(self._most, self._under_way)
        try:
            reply: R = await self._send(call)
        finally:
            self._under_way -= 1
            if 2 * self._under_way < self._most:
                self._fade()
        if isinstance(reply, Listing):
            self.page_items = max(self.page_items, len(reply.items))
        return reply

    def _check(self) -> None:
        is_late = self.sent >= _LEAST_REQUESTS and self._clock() >= self._end
        is_idle = self._under_way + 1 < self._budget.idle <= self._most / 2
        if is_late or is_idle or self.sent >= self._budget.requests:
            raise BudgetUsedError("the budget of the shard is used up")


class ScratchDisk(Disk):
    """A disk whose files need not survive anything before they are sealed: else they are read again."""

    def sync(self, file: int) -> None:
        """Do nothing."""


async def read_shard(
    shard: Shard,
    job: OpenJob,
    session: "AsyncSession",
    place: AttemptPlace,
    *,
    clock: Callable[[], float] = time.monotonic,
    waits_for_rate: Callable[[], bool] = lambda: True,
    fade: Callable[[], object] = lambda: None,
) -> ShardResult:
    """Read a shard until it is done or its budget is used up; return what has arrived of it.

    `waits_for_rate` returns False while requests go as soon as they are made. `fade` is called when this
    shard alone does not use the worker any more. Costs a temporary folder with as many bytes as are read.
    Raises `AuthenticationError` where the key is refused, and OSError; nothing is left then.
    """
    sender = BudgetedSender(session.with_options(priority="bulk").sender, shard.budget, clock, fade)
    with TemporaryDirectory(prefix="chatrest-", suffix=NEW, dir=place.scratch) as folder:
        archive = await in_thread(
            lambda: ExportFolder(
                Path(folder), job.plan, app_id=job.app_id, disk=ScratchDisk(), journal=_MEMORY
            ),
            ExportFolder.close,
        )
        with archive:
            reading = ShardReading(shard, job, archive, sender, waits_for_rate)
            await reading.read()
            return await in_thread(lambda: reading.result(place))


@final
class ShardReading:
    """A shard while it is read into its own folder."""

    def __init__(
        self, shard: Shard, job: OpenJob, archive: ExportFolder, sender: BudgetedSender,
        waits_for_rate: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._shard, self._archive, self._sender = shard, archive, sender
        self._suffix = archive.store.kind(STEM).format.suffix
        self._progress, self._waits_for_rate, self._is_held = Progress(), waits_for_rate, False
        self._silent: set[str] = set()
        """The sources, as text, of which a request that was sent long before the end brought no reply."""
        session: Any = SimpleNamespace(sender=sender)  # the pool needs nothing else of it
        self._pool = WorkerPool(
            session, archive, job.rules(), self._progress, shard.concurrency,
            lambda: LEAST_PAGES if waits_for_rate() else _LEAST_PAGES,
        )  # fmt: skip
        sources = job.sources([each.number for each in shard.sources])
        with archive.journal.transaction():
            archive.journal.add_sources(sources.values())
        own = {known.source: known.number for known in archive.journal.sources()}
        self._jobs: dict[int, ListJob] = {
            number: ListJob(number=own[source], source=source, until=shard.until)
            for number, source in sources.items()
        }
        self._numbers: dict[int, int] = {each.number: number for number, each in self._jobs.items()}
        """The coordinator's numbers of sources, by those in the archive."""

    async def read(self) -> None:
        """Read the gaps, until the time of the shard is over."""
        pieces = (
            self._pool.piece(self._jobs[each.number], Gap(*gap))
            for each in self._shard.sources
            for gap in each.gaps
        )
        budget, reading = self._shard.budget, asyncio.create_task(self._pool.read(pieces))
        try:
            await asyncio.wait({reading}, timeout=budget.seconds + budget.grace)
            self._is_held = not reading.done() and self._waits_for_rate()
            if not reading.done() and not self._is_held:
                self._silent = {active.name for active in self._progress.active.values()}
        finally:
            reading.cancel()
            await asyncio.wait({reading})
        if not reading.cancelled():
            reading.result()

    def result(self, place: AttemptPlace) -> ShardResult:
        """Put the files into their place; return what has arrived of the shard."""
        self._archive.finish()
        journal = self._archive.journal
        proven = {known.number: known.proven for known in journal.sources()}
        files = [(self._archive.folder / file.name, self._fragment(file)) for file in journal.files()]
        place.put(self._shard.job, files)
        sources = [self._source(number, job, proven[job.number]) for number, job in self._jobs.items()]
        return ShardResult(
            shard=self._shard.id,
            attempt=ShardAttempt([each for _, each in files], [own for own, _ in sources]),
            sources=[result for _, result in sources],
            requests=self._sender.sent,
            received=self._progress.received,
            page_items=self._sender.page_items,
            warnings=self._archive.warnings(),
            is_held=self._is_held,
        )

    def _fragment(self, file: StoreFile) -> Fragment:
        """Return a file as the coordinator adopts it: with a name that no other one has, and its sources."""
        assert file.sha256 is not None, "finish() has sealed it"
        blocks = self._archive.journal.blocks(file.number)
        return Fragment(
            name=f"{file.stem}-{self._shard.id:05d}-{secrets.token_hex(8)}{self._suffix}",
            stem=file.stem,
            size=file.size,
            sha256=file.sha256,
            blocks=[
                block._replace(source=self._numbers[block.source], ids=block.ids.numbers) for block in blocks
            ],
            others=[
                (self._numbers[block.source], key)
                for block in blocks
                for key in self._archive.journal.keys_of(block.ids).values()
            ],
        )

    def _source(self, number: int, job: ListJob, proven: int) -> tuple[AttemptSource, SourceResult]:
        own, pool, journal = job.number, self._pool, self._archive.journal
        seen, intervals = journal.seen(own), journal.intervals(own)
        error = pool.failed.get(own)
        is_gone = isinstance(error, NotFoundError)
        trouble = "" if error is None or is_gone or isinstance(error, BudgetUsedError) else str(error)
        if not trouble and str(job.source) in self._silent:
            trouble = f"no reply within {self._shard.budget.grace:g} s"
        by_time, other_ids = own in pool.by_time, list(journal.keys_of(seen).values())
        seen = seen.numbers
        adopted = AttemptSource(
            number=number, intervals=intervals, seen=seen, other_ids=other_ids, proven=proven, by_time=by_time
        )
        return adopted, SourceResult(
            number=number, intervals=intervals, shown=len(seen),
            newest=max(pool.newest.get(own, 0), seen.last if proven else 0), is_proven=proven > 0,
            may_be_cut=own not in pool.uncut, is_left=is_gone or by_time or own in pool.refused,
            trouble=trouble,
        )  # fmt: skip
