"""The way of the pages of lists to the writer: each is judged once, and counted in what is displayed.

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

ROOM: Final = 2 << 20
"""Bytes of pages that wait to be written; about four times as much is held while a batch is."""
FETCH_ROOM: Final = 8 << 20
"""Bytes of pages that are being fetched, or held by their readers: where pages are large, fewer are fetched
at the same time. Ten full pages: with half of them a service that takes 0.2 s a page is read half as fast."""
MOST: Final = 2_000
"""Pages of one batch: small ones are written together, for every batch waits for the disk once."""


class _ByteRoom:
    """A number of bytes, of which whoever takes some waits until one is free."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held = 0
        self._changed = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._held >= self._room

    async def take(self, size: int) -> None:
        while self.is_full:
            self._changed.clear()
            await self._changed.wait()
        self._held += size

    def give(self, size: int) -> None:
        self._held -= size
        self._changed.set()


class PageQueue:
    """Pages that wait to be written, in the order in which they came."""

    def __init__(self, check: PageCheck, progress: Progress) -> None:
        self.check = check
        self._progress = progress
        self._pages: deque[FetchedPage] = deque()
        self._room, self._fetch_room = _ByteRoom(ROOM), _ByteRoom(FETCH_ROOM)
        self._largest = 1
        self._closed = False
        self._has_pages = asyncio.Event()

    # ── of a reader ──

    @asynccontextmanager
    async def fetching(self) -> AsyncIterator[None]:
        """Hold the room of the page that a reader fetches and hands over, as large as the largest."""
        await self._fetch_room.take(size := self._largest)
        try:
            yield
        finally:
            self._fetch_room.give(size)

    async def put(
        self, job: ListJob, served: Page[Row], rows: list[Row], ids: PageIds, asked: Window,
        covered: Coverage, order: ListOrder | None = None,
    ) -> None:  # fmt: skip
        """Hand over the rows of a reply; the ids of `covered` count as read once they are written.

        `asked` is the window that the service was asked for.
        """
        progress, size = self._progress, len(served.raw)
        progress.waits_for_disk = self._room.is_full
        if self.check.window.since is not None:
            self.check.note_times(job, asked, rows)
        await self.add(self.check.page(job, rows, ids, covered=covered, order=order, bytes=size))
        progress.received += size
        if job.until != LAST:
            progress.covered += covered.last - covered.after

    async def put_seen(self, job: ListJob, ids: IdSet) -> None:
        """Note ids as seen, so that they are missing until they are read."""
        if ids:
            await self.add(_page(job, seen=PageIds(ids, {})))

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
            self._progress.covered += max(0, min(piece.until, job.until) - max(covered.after, piece.after))
        if is_end and is_empty:
            self.check.rules.note_empty(job.source)
        if is_end:
            covered = covered._replace(proven=covered.last if job.until == LAST else job.until)
        else:
            covered = covered._replace(last=piece.until)  # there is nothing up to there
        await self.add(_page(job, covered=covered, order=order))
        return PieceResult(job.number, Ending.ENDED if is_end else Ending.READ, highest)

    async def add(self, page: FetchedPage) -> None:
        await self._room.take(page.bytes)
        self._pages.append(page)
        self._largest = max(self._largest, page.bytes)
        self._has_pages.set()

    # ── of the writer ──

    async def batch(self) -> list[FetchedPage]:
        """Return all that waits, once there is something; an empty list at the end."""
        while not self._pages and not self._closed:
            self._has_pages.clear()
            await self._has_pages.wait()
        return self.rest()

    def rest(self) -> list[FetchedPage]:
        batch = [self._pages.popleft() for _ in range(min(MOST, len(self._pages)))]
        self._room.give(sum(page.bytes for page in batch))
        return batch

    def open(self) -> None:
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._has_pages.set()


def _page(job: ListJob, **fields: Any) -> FetchedPage:
    return FetchedPage(number=job.number, source=job.source, purpose=job.purpose, **fields)
