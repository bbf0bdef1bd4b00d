"""Queues with two lanes: a semaphore for the places in a pool, and a gate for the slots of a rate limit.

A thousand bulk requests that wait do not keep an interactive one waiting: it is served before all of them.
Everything here survives a cancel at any await: a place that was handed to a call that was cancelled is
handed on, and so is the leadership of a lane.
"""

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias, final

from ..core.pacer import Pacer, Signal
from .timing import Timing

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")

_POLL_SECONDS: Final = 0.25  # while a limit's end is not known, a reply may show it at any moment
_YIELD_SECONDS: Final = 0.01  # how soon bulk looks again while an interactive call is to go first


class _Waiter:
    """A call that waits: woken when it is served, or when it becomes the leader of its lane."""

    __slots__ = ("_future", "dropped", "lane", "served")

    def __init__(self, lane: Priority) -> None:
        self.lane = lane
        self.served = False
        self.dropped = False
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self) -> None:
        """Wait for `wake`."""
        await self._future

    def wake(self) -> None:
        """End its `wait`."""
        if not self._future.done():
            self._future.set_result(None)


class _LaneQueues:
    """The waiters, lane by lane."""

    def __init__(self) -> None:
        self._queues: dict[Priority, deque[_Waiter]] = {lane: deque() for lane in PRIORITIES}
        # Counted, not looked up: a thousand calls must not each look at the thousand others.
        self._counts: dict[Priority, int] = dict.fromkeys(PRIORITIES, 0)

    def __len__(self) -> int:
        return self.ahead("bulk")

    def ahead(self, lane: Priority) -> int:
        """The number of waiters that a newcomer in `lane` would wait for."""
        return self._counts["interactive"] + (self._counts["bulk"] if lane == "bulk" else 0)

    def join(self, lane: Priority) -> _Waiter:
        """Add a waiter at the end of a lane."""
        waiter = _Waiter(lane)
        self._queues[lane].append(waiter)
        self._counts[lane] += 1
        return waiter

    def serve(self, waiter: _Waiter) -> None:
        """Give the waiter what it waits for."""
        waiter.served = True
        self._counts[waiter.lane] -= 1
        waiter.wake()

    def drop(self, waiter: _Waiter) -> None:
        """Remove the waiter, served or not."""
        waiter.dropped = True
        if not waiter.served:
            self._counts[waiter.lane] -= 1

    def first(self, lane: Priority) -> _Waiter | None:
        """The waiter that has waited longest, without those that were served or gave up."""
        queue = self._queues[lane]
        while queue and (queue[0].dropped or queue[0].served):
            queue.popleft()
        return queue[0] if queue else None

    def is_free(self, lane: Priority) -> bool:
        """True if a newcomer in `lane` would overtake no waiter."""
        return not self._counts["interactive"] and not self._counts[lane]


@final
class PrioritySemaphore:
    """The places of a pool: how many calls run at once. A tenth is kept for interactive calls."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.active = 0
        self._bulk = 0
        self._bulk_limit = count - count // 10
        self._lanes = _LaneQueues()

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return len(self._lanes)

    def try_acquire(self, lane: Priority) -> bool:
        """Take a place if one is free now."""
        free = self._has_room(lane) and self._lanes.is_free(lane)
        if free:
            self._take(lane)
        return free

    async def acquire(self, lane: Priority) -> None:
        """Wait for a place."""
        if self.try_acquire(lane):
            return
        waiter = self._lanes.join(lane)
        try:
            await waiter.wait()
        except asyncio.CancelledError:
            self._lanes.drop(waiter)
            if waiter.served:  # a place was handed over in the same moment
                self.release(lane)
            raise

    def release(self, lane: Priority) -> None:
        """Give a place back, to the next waiter if there is one."""
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
    """The gate for requests of one app and rate class: at the pacer's rate, and with a place in the pool.

    Slot and place are taken in one moment. Neither is held while the other is waited for: paced calls of
    one app would fill the pool for all, and slots would pile up before a full pool and go in one burst,
    though the limit struck meanwhile. Leader and followers: in each lane one of the waiters is the leader,
    sleeps until the next slot, and waits for the place, for all of them; there is no task to leave behind.
    """

    def __init__(self, pacer: Pacer, timing: Timing, places: PrioritySemaphore | None = None) -> None:
        self.pacer = pacer
        self.seeking = 0
        """Leaders that wait in the pool's queue, each for the whole of its lane."""
        self._timing = timing
        self._semaphore = places
        self._lanes = _LaneQueues()
        self._leaders: dict[Priority, _Waiter | None] = dict.fromkeys(PRIORITIES)

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._lanes)

    def delay(self, lane: Priority) -> float:
        """Seconds until the next slot, for the first waiter of a lane."""
        return self.pacer.delay(self._timing.now(), urgent=lane == "interactive")

    def expected(self, lane: Priority) -> float:
        """Seconds that a request would wait for its slot from now on, as far as can be known."""
        rate = self.pacer.rate
        queued = self._lanes.ahead(lane) * self.pacer.window / rate if rate else 0.0
        return self.delay(lane) + queued

    def observe(self, signal: Signal) -> None:
        """Hand a reply's signal to the pacer."""
        self.pacer.observe(self._timing.now(), signal)

    def forget(self) -> None:
        """Note that a request that was let through brought no reply."""
        self.pacer.forget()

    def try_enter(self, lane: Priority, now: float) -> bool:
        """Let a request through if there is nothing to wait for."""
        if not self._lanes.is_free(lane) or self.pacer.delay(now, urgent=lane == "interactive") > 0:
            return False
        if self._semaphore is not None and not self._semaphore.try_acquire(lane):
            return False
        self.pacer.take(now)
        return True

    async def enter(self, lane: Priority) -> None:
        """Wait until the request is let through."""
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
            if waiter.served:  # it was let through in the same moment
                self._give_back(lane)
            raise
        finally:
            self._lanes.drop(waiter)
            if self._leaders[lane] is waiter:
                self._promote(lane)

    async def _lead(self, lane: Priority, own: _Waiter) -> None:
        """Let the first of the lane through, again and again, until `own` has had its slot."""
        while not own.served:
            delay = self.delay(lane)
            if delay > 0:
                await self._timing.sleep(min(delay, _POLL_SECONDS) if self.pacer.is_probing else delay)
            elif lane == "bulk" and self._lanes.ahead("interactive"):
                await self._timing.sleep(_YIELD_SECONDS)
            elif await self._wait_for_place(lane):
                self.pacer.take(self._timing.now())
                self._lanes.serve(self._lanes.first(lane) or own)

    async def _wait_for_place(self, lane: Priority) -> bool:
        """Wait for a place, and give it up again if the slot has passed meanwhile."""
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
        """Make the next of the lane its leader."""
        self._leaders[lane] = first = self._lanes.first(lane)
        if first is not None:
            first.wake()
