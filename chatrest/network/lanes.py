"""Waiting calls in two lanes: interactive calls are served before all waiting bulk calls."""

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias, final

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")

_MOST_DROPPED: Final = 100  # waiters that are kept in a queue after their end, beside as many as wait


@final
class Waiter:
    """A waiting call: it is woken when it is served or becomes the leader of its lane."""

    __slots__ = ("_future", "dropped", "joined", "lane", "served")

    def __init__(self, lane: Priority) -> None:
        loop = asyncio.get_running_loop()
        self.lane = lane
        self.joined: float = loop.time()
        self.served: bool = False
        self.dropped: bool = False
        self._future: asyncio.Future[None] = loop.create_future()

    async def wait(self) -> None:
        """Wait until `wake` is called."""
        await self._future

    def wake(self) -> None:
        """End the call of `wait`."""
        if not self._future.done():
            self._future.set_result(None)


@final
class LaneQueues:
    """The waiting calls of each lane, in the order of arrival; a queue is made when it is first used."""

    __slots__ = ("_queues", "bulk", "interactive")

    def __init__(self) -> None:
        # Kept as numbers, as counting the queue for each of many calls would be slow.
        self.interactive: int = 0
        self.bulk: int = 0
        self._queues: dict[Priority, deque[Waiter]] = {}

    def __len__(self) -> int:
        return self.interactive + self.bulk

    def count(self, lane: Priority) -> int:
        """Return the number of waiters in `lane`."""
        return self.interactive if lane == "interactive" else self.bulk

    def ahead(self, lane: Priority) -> int:
        """Return the number of waiters that are served before a new one in `lane`."""
        return self.interactive if lane == "interactive" else self.interactive + self.bulk

    def join(self, lane: Priority) -> Waiter:
        """Add a waiter at the end of a lane."""
        waiter = Waiter(lane)
        self._queues.setdefault(lane, deque()).append(waiter)
        self._add(lane, 1)
        return waiter

    def serve(self, waiter: Waiter) -> None:
        """Mark the waiter as served and wake it."""
        waiter.served = True
        self._add(waiter.lane, -1)
        waiter.wake()

    def drop(self, waiter: Waiter) -> None:
        """Remove the waiter, served or not."""
        waiter.dropped = True
        if not waiter.served:
            self._add(waiter.lane, -1)
        queue = self._queues[waiter.lane]
        if len(queue) > 2 * self.count(waiter.lane) + _MOST_DROPPED:
            # The first one may wait for minutes, while thousands behind it are cancelled.
            waiting = [each for each in queue if not (each.served or each.dropped)]
            queue.clear()
            queue.extend(waiting)

    def first(self, lane: Priority) -> Waiter | None:
        """Return the oldest waiter of a lane that is neither served nor dropped."""
        queue = self._queues.get(lane)
        while queue and (queue[0].dropped or queue[0].served):
            queue.popleft()
        return queue[0] if queue else None

    def _add(self, lane: Priority, number: int) -> None:
        if lane == "interactive":
            self.interactive += number
        else:
            self.bulk += number
