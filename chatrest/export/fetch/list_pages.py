"""The way of the pages of lists to the writer: each is judged once, and counted in what is displayed."""

from typing import Any

from ..._core.replies.rows import Row
from ..._walk.source import Page
from ..folder.fetched_page import Coverage, FetchedPage, ListOrder
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds
from ..plan.report import Progress
from .backlog import Backlog
from .jobs import Ending, ListJob, ListPiece, PieceResult
from .page_check import PageCheck, Window


class ListPages:
    """Hands the pages of lists over to be written."""

    def __init__(self, check: PageCheck, backlog: Backlog, progress: Progress) -> None:
        self.check = check
        self.backlog = backlog
        self.progress = progress

    async def put(
        self, job: ListJob, served: Page[Row], rows: list[Row], ids: PageIds, asked: Window,
        covered: Coverage, order: ListOrder | None = None,
    ) -> None:  # fmt: skip
        """Hand over the rows of a reply; the ids of `covered` count as read once they are written.

        `asked` is the window that the service was asked for.
        """
        progress, size = self.progress, len(served.raw)
        progress.waits_for_disk = self.backlog.is_full
        if self.check.window.since is not None:
            self.check.note_times(job, asked, rows)
        await self.backlog.put(self.check.page(
            job, rows, ids, covered=covered, order=order, bytes=size
        ))  # fmt: skip
        progress.received += size
        if job.until != LAST:
            progress.covered += covered.last - covered.after

    async def put_seen(self, job: ListJob, ids: IdSet) -> None:
        """Note ids as seen, so that they are missing until they are read."""
        if ids:
            await self.backlog.put(_page(job, seen=PageIds(ids, {})))

    async def end(
        self, piece: ListPiece, covered: Coverage, order: ListOrder | None, *, is_empty: bool, highest: int
    ) -> PieceResult:
        """Note the end of a piece; that of a list that is walked is proven.

        Raises the error of a source whose list showed messages of others.
        """
        job, is_end = piece.of, piece.of.purpose == "walk" and piece.until >= piece.of.until
        if (fault := self.check.fault(job.source)) is not None:
            raise fault
        if job.until != LAST:
            self.progress.covered += max(0, min(piece.until, job.until) - max(covered.after, piece.after))
        if is_end and is_empty:
            self.check.rules.note_empty(job.source)
        if is_end:
            covered = covered._replace(proven=covered.last if job.until == LAST else job.until)
        else:
            covered = covered._replace(last=piece.until)  # there is nothing up to there
        await self.backlog.put(_page(job, covered=covered, order=order))
        return PieceResult(job.number, Ending.ENDED if is_end else Ending.READ, highest)


def _page(job: ListJob, **fields: Any) -> FetchedPage:
    """Return a page without rows."""
    return FetchedPage(number=job.number, source=job.source, purpose=job.purpose, **fields)
