"""Pages on their way from the walks to the disk: as many as fit into a fixed number of bytes.

The walks fetch on while a batch is written, and wait where the disk is slower than the service.
"""

import asyncio
from collections import deque
from typing import Final, final

from .archive import FetchedPage

ROOM: Final = 8 << 20
"""Bytes of pages that wait to be written; about four times as much is held while a batch is."""
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

    @property
    def is_full(self) -> bool:
        """Whether the walks wait for the disk."""
        return self._held >= self._room

    async def put(self, page: FetchedPage) -> None:
        """Adds a page, once there is room for more."""
        async with self._changed:
            while self.is_full:
                await self._changed.wait()
            self._pages.append(page)
            self._held += page.bytes
            self._changed.notify_all()

    async def batch(self) -> list[FetchedPage]:
        """All that waits, once there is something; empty at the end."""
        async with self._changed:
            while not self._pages and not self._closed:
                await self._changed.wait()
            found = self.rest()
            self._changed.notify_all()
            return found

    def rest(self) -> list[FetchedPage]:
        """What waits now, up to the size of a batch."""
        found = [self._pages.popleft() for _ in range(min(MOST, len(self._pages)))]
        self._held -= sum(page.bytes for page in found)
        return found

    def open(self) -> None:
        """Expect pages."""
        self._closed = False

    async def close(self) -> None:
        """No more pages come."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
