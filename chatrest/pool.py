"""One pool a region: its connections and how many calls run at once. Regions share nothing.

This is the one place that limits concurrency: a region that hangs fills its own pool and no other.
"""

import asyncio
from collections.abc import Callable
from typing import final

from .core.timeouts import Timeouts
from .core.wire import Request
from .transport import Reply, Transport


@final
class Pool:
    """The connections to one region."""

    def __init__(self, region: str, concurrency: int, connect: Callable[[], Transport]) -> None:
        self.region = region
        self.concurrency = concurrency
        self.active = 0
        """Calls that hold a place now."""
        self.waiting = 0
        """Calls that wait for a place."""
        self.sent = 0
        """Requests sent since the pool was made."""
        self._places = asyncio.Semaphore(concurrency)
        self._connect = connect
        self._transport: Transport | None = None

    def __repr__(self) -> str:
        return (
            f"<Pool {self.region}: {self.active} of {self.concurrency} places in use, "
            f"{self.waiting} waiting, {self.sent} sent>"
        )

    async def enter(self) -> None:
        """Waits for a place. A cancel while waiting leaves none taken."""
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        self.active += 1

    def leave(self) -> None:
        """Gives the place back."""
        self.active -= 1
        self._places.release()

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Sends `request` once; to be called with a place."""
        if self._transport is None:
            self._transport = self._connect()
        self.sent += 1
        return await self._transport.exchange(request, timeouts)

    async def close(self) -> None:
        """Closes the connections."""
        if self._transport is not None:
            await self._transport.close()
