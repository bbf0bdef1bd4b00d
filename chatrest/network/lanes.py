"""Queues with two lanes, and what uses them: places in a pool, and turns of a schedule.

A thousand bulk requests that wait do not keep an interactive one waiting: it is served before all of them.
Everything here survives a cancel at any await: a place that was handed to a call that is gone is handed on,
and so is the keeping of the time.
"""

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias, final

from ..core.pacer import Schedule, Signal
from .timing import Timing

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")

_SLICE: Final = 0.25  # seconds: while a limit's end is not known, a reply may show it at any moment
_POLITE: Final = 0.01  # seconds: how soon bulk looks again while an interactive call is to go first


class _Waiter:
    """One that waits: woken when it is served, or when it is to keep the time."""

    __slots__ = ("_future", "gone", "lane", "served")

    def __init__(self, lane: Priority) -> None:
        self.lane = lane
        self.served = False
        self.gone = False
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def woken(self) -> None:
        """Waits for `wake`."""
        await self._future

    def wake(self) -> None:
        """Lets it go on."""
        if not self._future.done():
            self._future.set_result(None)


class _Lanes:
    """Who waits, lane by lane."""

    def __init__(self) -> None:
        self._queues: dict[Priority, deque[_Waiter]] = {lane: deque() for lane in PRIORITIES}
        # Counted, not looked up: a thousand calls must not each look at the thousand others.
        self._counts: dict[Priority, int] = dict.fromkeys(PRIORITIES, 0)

    def __len__(self) -> int:
        return self.ahead("bulk")

    def ahead(self, lane: Priority) -> int:
        """How many a newcomer in `lane` would wait for."""
        return self._counts["interactive"] + (self._counts["bulk"] if lane == "bulk" else 0)

    def join(self, lane: Priority) -> _Waiter:
        """A waiter at the end of a lane."""
        waiter = _Waiter(lane)
        self._queues[lane].append(waiter)
        self._counts[lane] += 1
        return waiter

    def serve(self, waiter: _Waiter) -> None:
        """The waiter has what it waits for."""
        waiter.served = True
        self._counts[waiter.lane] -= 1
        waiter.wake()

    def drop(self, waiter: _Waiter) -> None:
        """The waiter is no longer there, whether it was served or not."""
        waiter.gone = True
        if not waiter.served:
            self._counts[waiter.lane] -= 1

    def first(self, lane: Priority) -> _Waiter | None:
        """The one that has waited longest, without those that were served or gave up."""
        queue = self._queues[lane]
        while queue and (queue[0].gone or queue[0].served):
            queue.popleft()
        return queue[0] if queue else None

    def is_free(self, lane: Priority) -> bool:
        """Whether nobody waits whom a newcomer in `lane` would overtake."""
        return not self._counts["interactive"] and not self._counts[lane]


@final
class Places:
    """How many calls run at once. A tenth of the places is kept for interactive calls."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.active = 0
        self._bulk = 0
        self._bulk_most = count - count // 10
        self._lanes = _Lanes()

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return len(self._lanes)

    def takes(self, lane: Priority) -> bool:
        """Takes a place if one is free now."""
        free = self._has(lane) and self._lanes.is_free(lane)
        if free:
            self._take(lane)
        return free

    async def enter(self, lane: Priority) -> None:
        """Waits for a place."""
        if self.takes(lane):
            return
        waiter = self._lanes.join(lane)
        try:
            await waiter.woken()
        except asyncio.CancelledError:
            self._lanes.drop(waiter)
            if waiter.served:  # a place was handed over in the same moment
                self.leave(lane)
            raise

    def leave(self, lane: Priority) -> None:
        """Gives a place back, to whom it belongs next."""
        self.active -= 1
        self._bulk -= lane == "bulk"
        for next_lane in PRIORITIES:
            waiter = self._lanes.first(next_lane)
            if waiter is not None and self._has(next_lane):
                self._take(next_lane)
                self._lanes.serve(waiter)
                return

    def _has(self, lane: Priority) -> bool:
        return self.active < self.count and (lane == "interactive" or self._bulk < self._bulk_most)

    def _take(self, lane: Priority) -> None:
        self.active += 1
        self._bulk += lane == "bulk"


@final
class Gate:
    """Lets requests of one app and rate class through: on a schedule, and only with a place in their pool.

    Turn and place are taken in one moment. Neither is held while the other is waited for: paced calls of
    one app would fill the pool for all, and turns would pile up before a full pool and go in one burst,
    though the limit struck meanwhile. In each lane one of those that wait keeps the time, and waits for
    the place, for all of them: there is no task to leave behind.
    """

    def __init__(self, schedule: Schedule, timing: Timing, places: Places | None = None) -> None:
        self.schedule = schedule
        self.seeking = 0
        """How many of those that wait stand in the pool's queue, for the rest of their lane."""
        self._timing = timing
        self._places = places
        self._lanes = _Lanes()
        self._keepers: dict[Priority, _Waiter | None] = dict.fromkeys(PRIORITIES)

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return len(self._lanes)

    def delay(self, lane: Priority) -> float:
        """Seconds until the schedule has a turn, for whoever is next in a lane."""
        return self.schedule.delay(self._timing.now(), urgent=lane == "interactive")

    def expected(self, lane: Priority) -> float:
        """Seconds that a request would wait for its turn from now on, as far as can be known."""
        rate = self.schedule.rate
        queued = self._lanes.ahead(lane) * self.schedule.window / rate if rate else 0.0
        return self.delay(lane) + queued

    def observe(self, signal: Signal) -> None:
        """A reply came."""
        self.schedule.observe(self._timing.now(), signal)

    def lost(self) -> None:
        """A request that was let through brought no reply."""
        self.schedule.lost()

    def passes(self, lane: Priority, now: float) -> bool:
        """Lets a request through if nothing is to be waited for."""
        if not self._lanes.is_free(lane) or self.schedule.delay(now, urgent=lane == "interactive") > 0:
            return False
        if self._places is not None and not self._places.takes(lane):
            return False
        self.schedule.take(now)
        return True

    async def enter(self, lane: Priority) -> None:
        """Waits until the request is let through."""
        if self.passes(lane, self._timing.now()):
            return
        waiter = self._lanes.join(lane)
        try:
            while not waiter.served:
                if self._keepers[lane] in (None, waiter):
                    self._keepers[lane] = waiter
                    await self._keep(lane, waiter)
                else:
                    await waiter.woken()
        except asyncio.CancelledError:
            if waiter.served:  # it was let through in the same moment
                self._undo(lane)
            raise
        finally:
            self._lanes.drop(waiter)
            if self._keepers[lane] is waiter:
                self._appoint(lane)

    async def _keep(self, lane: Priority, own: _Waiter) -> None:
        """Lets through whoever is first in the lane, until `own` has had its turn."""
        while not own.served:
            delay = self.delay(lane)
            if delay > 0:
                await self._timing.sleep(min(delay, _SLICE) if self.schedule.is_probing else delay)
            elif lane == "bulk" and self._lanes.ahead("interactive"):
                await self._timing.sleep(_POLITE)
            elif await self._has_place(lane):
                self.schedule.take(self._timing.now())
                self._lanes.serve(self._lanes.first(lane) or own)

    async def _has_place(self, lane: Priority) -> bool:
        """Waits for a place, and gives it up again if the turn has passed meanwhile."""
        if self._places is None or self._places.takes(lane):
            return True
        self.seeking += 1
        try:
            await self._places.enter(lane)
        finally:
            self.seeking -= 1
        if self.delay(lane) > 0:
            self._places.leave(lane)
            return False
        return True

    def _undo(self, lane: Priority) -> None:
        self.schedule.give_back()
        if self._places is not None:
            self._places.leave(lane)

    def _appoint(self, lane: Priority) -> None:
        """The next in the lane keeps the time from now on."""
        self._keepers[lane] = first = self._lanes.first(lane)
        if first is not None:
            first.wake()
