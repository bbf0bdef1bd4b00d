"""Pages on their way from the walks to the disk: as many as fit into a fixed number of bytes.

The walks fetch on while a batch is written, and wait where the disk is slower than the service.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, final

from .archive import FetchedPage

ROOM: Final = 8 << 20
"""Bytes of pages that wait to be written; about four times as much is held while a batch is."""
FETCH_ROOM: Final = 8 << 20
"""Bytes of pages that are being fetched, or held by their readers: where pages are large, fewer are fetched
at the same time."""
MOST: Final = 2_000
"""Pages of one batch: small ones are written together, for every batch waits for the disk once."""


@final
class Backlog:
    """Pages that wait to be written, in the order in which they came."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._pages: deque[FetchedPage] = deque()
        self._held = 0
        self._closed = False
        self._changed = asyncio.Condition()
        self._largest = 1
        self._fetching = 0
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def is_full(self) -> bool:
        """True if the walks wait for the disk."""
        return self._held >= self._room

    @asynccontextmanager
    async def fetching(self) -> AsyncIterator["Fetching"]:
        """Wait for room for a page; whoever fetches several calls `Fetching.next_page` between them."""
        turn = Fetching(self)
        await turn.next_page()
        try:
            yield turn
        finally:
            turn.end()

    async def begin_fetch(self) -> None:
        """Wait until there is room for another page as large as the largest so far."""
        while self._fetching * self._largest >= FETCH_ROOM:
            wait = asyncio.get_running_loop().create_future()
            self._waiting.add(wait)
            try:
                await wait
            finally:
                self._waiting.discard(wait)
        self._fetching += 1

    def end_fetch(self) -> None:
        """Give the room of a page back."""
        self._fetching -= 1
        for wait in self._waiting:
            if not wait.done():
                wait.set_result(None)

    async def put(self, page: FetchedPage) -> None:
        """Adds a page, once there is room for more."""
        async with self._changed:
            while self.is_full:
                await self._changed.wait()
            self._pages.append(page)
            self._held += page.bytes
            self._largest = max(self._largest, page.bytes)
            self._changed.notify_all()

    async def batch(self) -> list[FetchedPage]:
        """All that waits, once there is something; empty at the end."""
        async with self._changed:
            while not self._pages and not self._closed:
                await self._changed.wait()
            batch = self.rest()
            self._changed.notify_all()
            return batch

    def rest(self) -> list[FetchedPage]:
        """Return the pages that wait now, up to the size of a batch."""
        batch = [self._pages.popleft() for _ in range(min(MOST, len(self._pages)))]
        self._held -= sum(page.bytes for page in batch)
        return batch

    def open(self) -> None:
        """Expect pages."""
        self._closed = False

    async def close(self) -> None:
        """No more pages come."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()


@final
class Fetching:
    """The room of one reader: that of the page that it fetches or holds."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._has_room = False

    async def next_page(self) -> None:
        """Give the room of the last page back, and wait for that of another."""
        self.end()
        await self._backlog.begin_fetch()
        self._has_room = True

    def end(self) -> None:
        """Give the room back; twice is fine."""
        if self._has_room:
            self._has_room = False
            self._backlog.end_fetch()
