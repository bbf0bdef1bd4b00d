"""Reads pieces of lists into an export: several workers fetch, one writer commits.

Pages of one piece are committed in the order of their arrival. However the walks end, also by a cancel, the
pages fetched by then are committed first. A pool requests only the lists that it is given.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from ..._core.send import AsRows
from ..._resources.messages import Messages
from ..._threads import in_thread
from ...errors import AuthenticationError, ChatRestError, NotFoundError, RequestInvalidError
from ...session import AsyncSession
from ..folder.export_folder import ExportFolder
from ..folder.fetched_page import FetchedPage
from ..folder.id_continuity import IdContinuity
from ..plan.message_ids import LAST, Gap
from ..plan.report import Progress
from .jobs import Ending, Findings, ListJob, ListPiece, PieceQueue, PieceResult
from .list_end import ListEnds
from .list_reader import ListReader
from .page_check import PageCheck
from .page_queue import PageQueue

WORKERS: Final = 32


class WorkerPool:
    def __init__(
        self,
        session: AsyncSession,
        export: ExportFolder,
        check: PageCheck,
        progress: Progress | None = None,
        workers: int = WORKERS,
    ):
        self.session = session
        self.export = export
        self.check = check
        self.progress = progress or Progress()
        self.progress.done = 0  # of an earlier part
        self._workers = workers
        messages = Messages(AsRows(session.sender, drops_mismatches=True))
        self.ids: IdContinuity = IdContinuity(messages, export.store.written.numbers.last, export.journal)
        self.ends: ListEnds = ListEnds(messages, export, check, self.ids)
        self._pages = PageQueue(check, self.progress)
        self._reader = ListReader(messages, self.ends, self._pages)
        self.written: int = 0
        """Messages that were added by now."""
        self.findings: Findings = Findings()
        """What all lists that were read have shown of themselves."""

    async def read(self, pieces: Iterable[ListPiece]) -> None:
        """Read pieces. Sources that fail are noted; a refused key or a failing disk is raised."""
        pieces, queue, whole, findings = list(pieces), PieceQueue(self._workers), set[int](), self.findings

        async def read(piece: ListPiece) -> None:
            number = piece.job.number
            if number in findings.errors or number in whole:
                return
            result = await self._read(piece, queue)
            if result.error is not None:
                # A deleted user is not a failure; whether the source is one is known at the end.
                is_first = number not in findings.errors
                self.progress.failed += is_first and not isinstance(result.error, NotFoundError)
            if result.is_all_read:
                whole.add(number)
            findings.add(result)
            self.progress.done = len(findings.proven)

        self._pages.open()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write())
                await queue.read_all(pieces, read)
                self._pages.close()
        except BaseExceptionGroup as errors:
            first = first_error(errors)
        else:
            return
        raise first  # outside: other failures at the same time add no information

    async def read_again(self, jobs: Iterable[ListJob]) -> None:
        """Read known messages again; if the service refuses a position, read the list from its start."""
        jobs, findings = list(jobs), self.findings
        ids_refused, positions_refused = set(findings.id_refused), set(findings.position_refused)
        await self.read([self.piece(job, gap) for job in jobs for gap in job.gaps])
        newly_refused = findings.id_refused - ids_refused | findings.position_refused - positions_refused
        again = [job for job in jobs if job.number in newly_refused]
        await self.read([self.piece(job, gap, from_start=True) for job in again for gap in job.gaps])

    def piece(self, job: ListJob, gap: Gap, *, from_start: bool = False) -> ListPiece:
        """Return the piece of a gap; one whose end is the frozen end is read to the end of the list.

        With `from_start` the list before the gap is read, too, if the service named no position for it, or
        none that continues.
        """
        cannot_enter = job.number in self.findings.id_refused
        is_refused = job.number in self.findings.position_refused or (from_start and cannot_enter)
        position = () if is_refused else gap.position
        if not position and job.state.order == "times" and not cannot_enter:
            # Such a list is entered at the last id that it has shown, and not at one that is made up.
            position = (("affix", "append"), ("id", str(gap.after))) if gap.after else ()
        from_start = from_start or cannot_enter
        if job.until != LAST:
            self.progress.ids += min(gap.until, job.until) - gap.after
        return ListPiece(
            job=job,
            after=gap.after,
            until=LAST if gap.until >= job.until else gap.until,
            position=position,
            is_guess=bool(gap.after) and not position and not from_start,
            may_be_divided=not from_start,
        )

    async def _read(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        failed = PieceResult(piece.job.number, Ending.FAILED)
        try:
            return await self._reader.read(piece, queue)
        except AuthenticationError:
            raise  # every other source would fail, too
        except RequestInvalidError as error:  # the plan's own names are checked before anything is sent
            text = f"the service lists a name that cannot be asked for: {error}"
            return failed._replace(error=RequestInvalidError(text))
        except ChatRestError as error:
            return failed._replace(error=error)

    async def _write(self) -> None:
        try:
            while batch := await self._pages.next_batch():
                await self.commit(batch)
        except asyncio.CancelledError:
            while batch := self._pages.take_waiting():  # fetched pages are kept
                await self.commit(batch)
            raise

    async def salvage(self) -> None:
        self.written += await in_thread(self.export.salvage)

    async def commit(self, batch: list[FetchedPage]) -> None:
        """Write pages and note the ids they cover, in a thread: all or nothing."""
        # Counted in the thread: a cancel during the commit does not undo it.
        # Taken out of the batch one by one: they need no memory while files are converted after the commit.
        batch.reverse()
        pages = (batch.pop() for _ in range(len(batch)))
        await in_thread(lambda: self._commit(pages))

    def _commit(self, pages: Iterable[FetchedPage]) -> None:
        stats = self.export.commit(pages)
        self.written += stats.written
        self.progress.written += stats.written
        self.progress.changed += stats.changed


def first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
