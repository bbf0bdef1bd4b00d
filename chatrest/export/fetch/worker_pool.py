"""Reads pieces of lists into an archive: several workers fetch, one writer commits.

Pages of one piece are committed in the order in which they came. Whatever ends the walks, a cancel too, what
has been fetched by then is committed first. A pool asks for nothing but the lists that it is given.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, final

from ..._core.send import AsRows
from ..._resources.messages import Messages
from ..._threads import in_thread
from ...errors import (
    AuthenticationError,
    ChatRestError,
    NotFoundError,
    RequestInvalidError,
)
from ...session import AsyncSession
from ..folder.export_folder import CommitStats, ExportFolder, FetchedPage
from ..folder.id_continuity import IdContinuity
from ..plan.intervals import LAST, Gap
from ..plan.ownership import OwnershipRules
from ..plan.report import Active, Progress
from .backlog import Backlog
from .jobs import JobPiece, ListJob, PieceOutcome
from .list_end import ListEnds
from .list_reader import ListReader
from .page_check import PageCheck
from .pieces import ListPiece, PieceQueue
from .work_left import Work

WORKERS: Final = 32


@final
class WorkerPool:
    """Workers and a writer, over one archive."""

    def __init__(
        self,
        session: AsyncSession,
        archive: ExportFolder,
        rules: OwnershipRules,
        progress: Progress | None = None,
        workers: int = WORKERS,
    ):
        self.session = session
        self.archive = archive
        self.rules = rules
        self.progress = progress or Progress()
        self._workers = workers
        self._backlog = Backlog()
        messages = Messages(AsRows(session.sender, leaves_out=True))
        self._reader = ListReader(messages, archive, rules, self._backlog, self.progress)
        self.ends: ListEnds = self._reader.ends
        self.check: PageCheck = self._reader.check
        self.ids: IdContinuity = self.ends.ids
        self.stats: CommitStats = CommitStats()
        self.failed: dict[int, ChatRestError] = {}
        """The errors of sources that could not be read, by their number."""
        self.ended: set[int] = set()
        """Sources whose end was proven in this run."""
        self.uncut: set[int] = set()
        """Sources that the service does not let be entered at an id of our own: they are not divided."""
        self.refused: set[int] = set()
        """Sources for which it rejects its own positions, too."""
        self.by_time: set[int] = set()
        """Sources whose lists go by time, with ids in any order."""
        self._disordered: set[int] = set()
        """Those of them that were found so while they were read by id."""

    async def read(self, pieces: Iterable[JobPiece]) -> None:
        """Read pieces. Sources that fail are noted; a refused key, or a disk that fails, is raised."""
        queue = PieceQueue(pieces)
        if not len(queue):
            return
        self._backlog.open()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write())
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._workers):
                        workers.create_task(self._work(queue))
                await self._backlog.close()
        except BaseExceptionGroup as errors:
            first = first_error(errors)
        else:
            # Another piece of such a list may have come to its end: all of it is read by time.
            self.ended.difference_update(self._disordered)
            self._disordered.clear()
            return
        raise first  # outside: what else failed at the same time says no more

    async def read_again(self, works: Iterable[Work]) -> None:
        """Read what was read before; where the service refuses a position, the list from its start."""
        self.uncut.clear()
        self.refused.clear()
        works = list(works)
        await self.read([self.piece(work.job(), gap) for work in works for gap in work.gaps])
        again: list[JobPiece] = []
        for work in works:
            number, was_by_time = work.known.number, work.known.by_time
            by_time = number in self.by_time or was_by_time
            if by_time != was_by_time or number in self.uncut | self.refused:
                jobs = ((work.job(by_time=by_time), gap) for gap in work.gaps)
                again += [self.piece(job, gap, from_start=True) for job, gap in jobs]
        await self.read(again)

    def piece(self, job: ListJob, gap: Gap, *, from_start: bool = False) -> JobPiece:
        """Return the piece of a gap; one whose end is the frozen end is read to the end of the list.

        `from_start`: what is before the gap is read, too, where the service named no position for it, or
        none that leads on.
        """
        cannot_enter = job.number in self.uncut | self.refused
        is_named = bool(gap.position) and job.number not in self.refused and not (from_start and cannot_enter)
        from_start = from_start or cannot_enter
        if job.until != LAST:
            self.progress.ids += min(gap.until, job.until) - gap.after
        return ListPiece(
            of=job,
            after=gap.after,
            until=LAST if gap.until >= job.until else gap.until,
            position=gap.position if is_named else (),
            is_guess=bool(gap.after) and not is_named and not from_start,
            may_be_cut=not from_start,
        )

    # ── reading ──

    async def _work(self, queue: PieceQueue[ListJob]) -> None:
        while (piece := await queue.take()) is not None:
            self.progress.jobs = len(queue)
            self.progress.active[id(piece)] = Active(str(piece.of.source))
            try:
                if piece.of.number not in self.failed:
                    await self._read(piece, queue)
            finally:
                del self.progress.active[id(piece)]
                queue.done()

    async def _read(self, piece: JobPiece, queue: PieceQueue[ListJob]) -> None:
        job = piece.of
        try:
            self._note(job.number, await self._reader.read(piece, queue))
        except AuthenticationError:
            raise  # no other source would fare better
        except RequestInvalidError as error:  # the plan's own names are checked before anything is sent
            name = RequestInvalidError(f"the service lists a name that cannot be asked for: {error}")
            self.failed[job.number] = name
        except ChatRestError as error:
            # A user that was deleted is no failure; whether the source is one is known at the end.
            if job.number not in self.failed and not isinstance(error, NotFoundError):
                self.progress.failed += 1
            self.failed[job.number] = error

    def _note(self, number: int, outcome: PieceOutcome) -> None:
        match outcome:
            case PieceOutcome.ENDED:
                self.ended.add(number)
            case PieceOutcome.READ_WHOLE:
                self.ended.add(number)
                self.by_time.add(number)
            case PieceOutcome.BY_TIME:
                self.by_time.add(number)
                self._disordered.add(number)
            case PieceOutcome.UNCUT:
                self.uncut.add(number)
            case PieceOutcome.REFUSED:
                self.refused.add(number)
            case PieceOutcome.READ:
                pass
        self.progress.done = len(self.ended)

    # ── writing ──

    async def _write(self) -> None:
        try:
            while batch := await self._backlog.batch():
                await self.commit(batch)
        except asyncio.CancelledError:
            while batch := self._backlog.rest():  # what has been fetched is kept
                await self.commit(batch)
            raise

    async def commit(self, batch: list[FetchedPage]) -> None:
        """Write pages and note what they cover, in a thread; all of them, or none."""
        # Counted in the thread: a cancel that comes meanwhile takes nothing back.
        # Taken out of the batch one by one: they need no memory while files are converted after the commit.
        batch.reverse()
        pages = (batch.pop() for _ in range(len(batch)))
        await in_thread(lambda: self._commit(pages))

    def _commit(self, pages: Iterable[FetchedPage]) -> None:
        stats = self.archive.commit(pages, note=self.ids.save_new)
        self.stats.written += stats.written
        self.stats.changed += stats.changed
        self.progress.written += stats.written
        self.progress.changed += stats.changed


def first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
