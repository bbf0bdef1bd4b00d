"""Pages on their way from the walks to the disk: as many as fit into a fixed number of bytes.

The walks fetch on while a batch is written, and wait where the disk is slower than the service.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from ..folder.fetched_page import FetchedPage

ROOM: Final = 2 << 20
"""Bytes of pages that wait to be written; about four times as much is held while a batch is."""
FETCH_ROOM: Final = 8 << 20
"""Bytes of pages that are being fetched, or held by their readers: where pages are large, fewer are fetched
at the same time. Ten full pages: with half of them a service that takes 0.2 s a page is read half as fast."""
MOST: Final = 2_000
"""Pages of one batch: small ones are written together, for every batch waits for the disk once."""


class Backlog:
    """Pages that wait to be written, in the order in which they came."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._pages: deque[FetchedPage] = deque()
        self._held = 0
        self._closed = False
        self._has_room = asyncio.Event()
        self._has_pages = asyncio.Event()
        self._largest = 1
        self._fetching = 0
        self._may_fetch = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._held >= self._room

    @asynccontextmanager
    async def fetching(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Hold the room of the page that a reader fetches or holds, once there is room for it.

        What the block gets is called between two pages: it gives the room back, and waits for another.
        """
        has_room = False

        def end() -> None:
            nonlocal has_room
            self._fetching -= has_room
            has_room = False
            self._may_fetch.set()

        async def next_page() -> None:
            nonlocal has_room
            end()
            while self._fetching * self._largest >= FETCH_ROOM:  # as if all were as large as the largest
                self._may_fetch.clear()
                await self._may_fetch.wait()
            self._fetching += 1
            has_room = True

        try:
            await next_page()
            yield next_page
        finally:
            end()

    async def put(self, page: FetchedPage) -> None:
        while self.is_full:
            self._has_room.clear()
            await self._has_room.wait()
        self._pages.append(page)
        self._held += page.bytes
        self._largest = max(self._largest, page.bytes)
        self._has_pages.set()

    async def batch(self) -> list[FetchedPage]:
        """Return all that waits, once there is something; an empty list at the end."""
        while not self._pages and not self._closed:
            self._has_pages.clear()
            await self._has_pages.wait()
        return self.rest()

    def rest(self) -> list[FetchedPage]:
        """Return the pages that wait now, up to the size of a batch."""
        batch = [self._pages.popleft() for _ in range(min(MOST, len(self._pages)))]
        self._held -= sum(page.bytes for page in batch)
        self._has_room.set()
        return batch

    def open(self) -> None:
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        self._has_pages.set()
