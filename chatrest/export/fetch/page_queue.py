"""The pages that wait for the writer: each is checked once (`page_check`), and counted for the display.

Pages that wait to be written, or are being fetched, have a fixed number of bytes: the readers fetch on while
a batch is written, and wait where the disk is slower than the service.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from ..._core.replies.rows import Row
from ..._walk.source import Page
from ..folder.fetched_page import Coverage, FetchedPage, ListOrder
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds
from ..plan.report import Progress
from .jobs import Ending, ListJob, ListPiece, PieceResult
from .page_check import PageCheck, Window

WAITING_BYTES: Final = 2 << 20
"""Bytes of pages that wait to be written; about four times as much is held while a batch is."""
FETCHING_BYTES: Final = 8 << 20
"""Bytes of pages that are being fetched, or held by their readers: where pages are large, fewer are fetched
at the same time. Ten full pages: with half of them a service that takes 0.2 s a page is read half as fast."""
MAX_PAGES: Final = 2_000
"""Pages of one batch: small ones are written together, for every batch waits for the disk once."""


class _ByteLimit:
    """A limit of bytes in use: who needs some waits while it is reached."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_use = 0
        self._released = asyncio.Event()

    @property
    def is_reached(self) -> bool:
        return self._in_use >= self._limit

    async def acquire(self, size: int) -> None:
        while self.is_reached:
            self._released.clear()
            await self._released.wait()
        self._in_use += size

    def release(self, size: int) -> None:
        self._in_use -= size
        self._released.set()


class PageQueue:
    def __init__(self, check: PageCheck, progress: Progress) -> None:
        self.check = check
        self._progress = progress
        self._pages: deque[FetchedPage] = deque()
        self._waiting, self._fetching = _ByteLimit(WAITING_BYTES), _ByteLimit(FETCHING_BYTES)
        self._largest = 1
        self._closed = False
        self._has_pages = asyncio.Event()

    @asynccontextmanager
    async def fetching(self) -> AsyncIterator[None]:
        """Reserve bytes for the page that a reader fetches and hands over: as many as the largest had."""
        await self._fetching.acquire(size := self._largest)
        try:
            yield
        finally:
            self._fetching.release(size)

    async def add_reply(
        self, job: ListJob, served: Page[Row], rows: list[Row], ids: PageIds, asked: Window,
        covered: Coverage, order: ListOrder | None = None,
    ) -> None:  # fmt: skip
        """Hand over the rows of a reply; the ids of `covered` count as read once they are written.

        `asked` is the window that the service was asked for.
        """
        progress, size = self._progress, len(served.raw)
        progress.waits_for_disk = self._waiting.is_reached
        if self.check.window.since is not None:
            self.check.note_times(job, asked, rows)
        await self.add(self.check.page(job, rows, ids, covered=covered, order=order, bytes=size))
        progress.received += size
        if job.until != LAST:
            progress.covered += covered.last - covered.after

    async def add_unread_ids(self, job: ListJob, ids: IdSet) -> None:
        """Note ids as seen, so that they are missing until they are read."""
        if ids:
            await self.add(_page(job, seen=PageIds(ids, {})))

    async def end_piece(
        self, piece: ListPiece, covered: Coverage, order: ListOrder | None, *, is_empty: bool, highest_id: int
    ) -> PieceResult:
        """Note the end of a piece; that of a list that is walked is proven.

        Raises the error of a source whose list showed messages of others.
        """
        job, is_end = piece.job, piece.job.purpose == "walk" and piece.until >= piece.job.until
        if (fault := self.check.fault(job.source)) is not None:
            raise fault
        if job.until != LAST:
            self._progress.covered += max(0, min(piece.until, job.until) - max(covered.after, piece.after))
        if is_end and is_empty:
            self.check.rules.note_empty(job.source)
        if is_end:
            covered = covered._replace(proven=covered.last if job.until == LAST else job.until)
        else:
            covered = covered._replace(last=piece.until)  # there is nothing up to there
        await self.add(_page(job, covered=covered, order=order))
        return PieceResult(job.number, Ending.LIST_END if is_end else Ending.PIECE_END, highest_id)

    async def add(self, page: FetchedPage) -> None:
        await self._waiting.acquire(page.bytes)
        self._pages.append(page)
        self._largest = max(self._largest, page.bytes)
        self._has_pages.set()

    async def next_batch(self) -> list[FetchedPage]:
        """Return the pages that wait, once there is one; an empty list at the end."""
        while not self._pages and not self._closed:
            self._has_pages.clear()
            await self._has_pages.wait()
        return self.take_waiting()

    def take_waiting(self) -> list[FetchedPage]:
        batch = [self._pages.popleft() for _ in range(min(MAX_PAGES, len(self._pages)))]
        self._waiting.release(sum(page.bytes for page in batch))
        return batch

    def open(self) -> None:
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._has_pages.set()


def _page(job: ListJob, **fields: Any) -> FetchedPage:
    return FetchedPage(number=job.number, source=job.source, purpose=job.purpose, **fields)
