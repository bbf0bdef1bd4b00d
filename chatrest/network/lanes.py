"""Queues with two lanes: a semaphore for the places in a pool, and a gate for the slots of a rate limit.

Interactive requests are served before all waiting bulk requests. Cancellation is safe at any await: a place
that was given to a cancelled call goes to the next one, and so does the leadership of a lane.
"""

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias, final

from ..core.pacer import Pacer, Signal
from .timing import Timing

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")

_POLL_SECONDS: Final = 0.25  # while the end of a limit is unknown, any reply may show it
_YIELD_SECONDS: Final = 0.01  # bulk checks again after this while an interactive call goes first


class _Waiter:
    """A waiting call: it is woken when it is served or becomes the leader of its lane."""

    __slots__ = ("_future", "dropped", "lane", "served")

    def __init__(self, lane: Priority) -> None:
        self.lane = lane
        self.served = False
        self.dropped = False
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self) -> None:
        """Wait until `wake` is called."""
        await self._future

    def wake(self) -> None:
        """End the call of `wait`."""
        if not self._future.done():
            self._future.set_result(None)


class _LaneQueues:
    """The waiting calls of each lane, in the order of arrival."""

    def __init__(self) -> None:
        self._queues: dict[Priority, deque[_Waiter]] = {lane: deque() for lane in PRIORITIES}
        # Kept as numbers, as counting the queue for each of many calls would be slow.
        self._counts: dict[Priority, int] = dict.fromkeys(PRIORITIES, 0)

    def __len__(self) -> int:
        return self.ahead("bulk")

    def ahead(self, lane: Priority) -> int:
        """Return the number of waiters that are served before a new one in `lane`."""
        return self._counts["interactive"] + (self._counts["bulk"] if lane == "bulk" else 0)

    def join(self, lane: Priority) -> _Waiter:
        """Add a waiter at the end of a lane."""
        waiter = _Waiter(lane)
        self._queues[lane].append(waiter)
        self._counts[lane] += 1
        return waiter

    def serve(self, waiter: _Waiter) -> None:
        """Mark the waiter as served and wake it."""
        waiter.served = True
        self._counts[waiter.lane] -= 1
        waiter.wake()

    def drop(self, waiter: _Waiter) -> None:
        """Remove the waiter, served or not."""
        waiter.dropped = True
        if not waiter.served:
            self._counts[waiter.lane] -= 1

    def first(self, lane: Priority) -> _Waiter | None:
        """Return the oldest waiter of a lane that is neither served nor dropped."""
        queue = self._queues[lane]
        while queue and (queue[0].dropped or queue[0].served):
            queue.popleft()
        return queue[0] if queue else None

    def is_free(self, lane: Priority) -> bool:
        """Return True if a new call in `lane` would overtake no waiter."""
        return not self._counts["interactive"] and not self._counts[lane]


@final
class PrioritySemaphore:
    """The places of a pool: at most `count` calls run at once, bulk calls in nine tenths of the places."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.active = 0
        self._bulk = 0
        self._bulk_limit = count - count // 10
        self._lanes = _LaneQueues()

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a place."""
        return len(self._lanes)

    def try_acquire(self, lane: Priority) -> bool:
        """Take a place if one is free; return False otherwise."""
        free = self._has_room(lane) and self._lanes.is_free(lane)
        if free:
            self._take(lane)
        return free

    async def acquire(self, lane: Priority) -> None:
        """Wait for a place and take it."""
        if self.try_acquire(lane):
            return
        waiter = self._lanes.join(lane)
        try:
            await waiter.wait()
        except asyncio.CancelledError:
            self._lanes.drop(waiter)
            if waiter.served:  # it got a place at the same moment
                self.release(lane)
            raise

    def release(self, lane: Priority) -> None:
        """Free a place, or pass it to the next waiter."""
        self.active -= 1
        self._bulk -= lane == "bulk"
        for next_lane in PRIORITIES:
            waiter = self._lanes.first(next_lane)
            if waiter is not None and self._has_room(next_lane):
                self._take(next_lane)
                self._lanes.serve(waiter)
                return

    def _has_room(self, lane: Priority) -> bool:
        return self.active < self.count and (lane == "interactive" or self._bulk < self._bulk_limit)

    def _take(self, lane: Priority) -> None:
        self.active += 1
        self._bulk += lane == "bulk"


@final
class RateGate:
    """The gate for requests of one app and rate class: it gives each one a slot of the pacer and a place.

    Slot and place are taken at the same moment, and neither is held while waiting for the other. Otherwise
    the paced calls of one app would fill the pool for all apps, and unused slots would accumulate at a full
    pool and be used in one burst. Waiters follow the leader–follower pattern: one waiter of each lane is the
    leader, which sleeps until the next slot and waits for a place for the whole lane. No background task.
    """

    def __init__(self, pacer: Pacer, timing: Timing, places: PrioritySemaphore | None = None) -> None:
        self.pacer = pacer
        self.seeking = 0
        """The number of leaders that wait for a place, each for its whole lane."""
        self._timing = timing
        self._semaphore = places
        self._lanes = _LaneQueues()
        self._leaders: dict[Priority, _Waiter | None] = dict.fromkeys(PRIORITIES)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._lanes)

    def delay(self, lane: Priority) -> float:
        """Return the seconds until the next slot for the first waiter of a lane."""
        return self.pacer.delay(self._timing.now(), urgent=lane == "interactive")

    def expected(self, lane: Priority) -> float:
        """Return the estimated seconds that a new request in `lane` would wait for its slot."""
        rate = self.pacer.rate
        queued = self._lanes.ahead(lane) / rate if rate else 0.0
        return self.delay(lane) + queued

    def observe(self, signal: Signal, sent: float) -> None:
        """Pass the rate limit signal of the reply to a request that was sent at `sent` to the pacer."""
        self.pacer.observe(self._timing.now(), signal, sent)

    def forget(self) -> None:
        """Tell the pacer that a request brought no reply."""
        self.pacer.forget()

    def try_enter(self, lane: Priority, now: float) -> bool:
        """Take a slot and a place if both are free at `now`; return False otherwise."""
        if not self._lanes.is_free(lane) or self.pacer.delay(now, urgent=lane == "interactive") > 0:
            return False
        if self._semaphore is not None and not self._semaphore.try_acquire(lane):
            return False
        self.pacer.take(now, urgent=lane == "interactive")
        return True

    async def enter(self, lane: Priority) -> None:
        """Wait for a slot and a place, and take both."""
        if self.try_enter(lane, self._timing.now()):
            return
        waiter = self._lanes.join(lane)
        try:
            while not waiter.served:
                if self._leaders[lane] in (None, waiter):
                    self._leaders[lane] = waiter
                    await self._lead(lane, waiter)
                else:
                    await waiter.wait()
        except asyncio.CancelledError:
            if waiter.served:  # it was served at the same moment
                self._give_back(lane)
            raise
        finally:
            self._lanes.drop(waiter)
            if self._leaders[lane] is waiter:
                self._promote(lane)

    async def _lead(self, lane: Priority, own: _Waiter) -> None:
        """Serve the waiters of the lane in order until `own` is served."""
        while not own.served:
            delay = self.delay(lane)
            if delay > 0:
                await self._timing.sleep(min(delay, _POLL_SECONDS) if self.pacer.is_probing else delay)
            elif lane == "bulk" and self._lanes.ahead("interactive"):
                await self._timing.sleep(_YIELD_SECONDS)
            elif await self._wait_for_place(lane):
                self.pacer.take(self._timing.now(), urgent=lane == "interactive")
                self._lanes.serve(self._lanes.first(lane) or own)

    async def _wait_for_place(self, lane: Priority) -> bool:
        """Wait for a place; release it and return False if there is no free slot by then."""
        if self._semaphore is None or self._semaphore.try_acquire(lane):
            return True
        self.seeking += 1
        try:
            await self._semaphore.acquire(lane)
        finally:
            self.seeking -= 1
        if self.delay(lane) > 0:
            self._semaphore.release(lane)
            return False
        return True

    def _give_back(self, lane: Priority) -> None:
        self.pacer.give_back()
        if self._semaphore is not None:
            self._semaphore.release(lane)

    def _promote(self, lane: Priority) -> None:
        """Make the next waiter of the lane its leader."""
        self._leaders[lane] = first = self._lanes.first(lane)
        if first is not None:
            first.wake()
