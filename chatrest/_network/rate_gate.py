"""The gates of a pool, one for each app and rate class: a slot of the rate limit and a place in the pool.

Interactive requests are served before all waiting bulk requests. Cancellation is safe at any await: a slot
and a place that were given to a cancelled call go to the next one, and so does the leadership of a lane.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from .._core.pace.pacer import POLL_SECONDS, GatePacer
from .._core.requests.endpoint import RateClass
from .places import AppPlaces, LaneQueues, Priority, PrioritySemaphore, Waiter
from .timing import Timing

MakePacer: TypeAlias = Callable[[str, RateClass], GatePacer]

_YIELD_SECONDS: Final = 0.01
"""While an interactive call goes first, a bulk leader checks at this interval."""
_MAX_GATES: Final = 10_000


class RateGate:
    """The gate for requests of one app and rate class: it gives each one a slot of the pacer and a place.

    Slot and place are taken at the same moment, and neither is held while waiting for the other. Otherwise
    the paced calls of one app would fill the pool for all apps, and unused slots would accumulate at a full
    pool and be used in one burst. Waiters follow the leader–follower pattern: one waiter of each lane is the
    leader, which sleeps until the next slot and waits for a place for the whole lane. No background task.
    """

    def __init__(self, pacer: GatePacer, timing: Timing, places: PrioritySemaphore, app_id: str) -> None:
        self.pacer: GatePacer = pacer
        self.app: AppPlaces = places.of_app(app_id)
        """The places of the app, in all rate classes."""
        self.lanes: LaneQueues = LaneQueues()
        self._timing = timing
        self._places = places
        self._leaders: dict[Priority, Waiter] = {}

    @property
    def waiting(self) -> int:
        return len(self.lanes)

    @property
    def is_idle(self) -> bool:
        """True if the app has no requests, and the service has not refused it for a time that lasts."""
        return self.app.is_idle and not self.waiting and not self.pacer.is_probing

    def delay(self, lane: Priority) -> float:
        return self.pacer.delay(self._timing.now(), urgent=lane == "interactive")

    def expected_wait(self, lane: Priority) -> float:
        interval = 1 / self.pacer.rate if self.pacer.rate else 0.0
        earlier = self.lanes.interactive if lane == "interactive" else self.lanes
        return self.delay(lane) + len(earlier) * interval

    def try_enter(self, lane: Priority, now: float) -> bool:
        lanes, pacer, urgent = self.lanes, self.pacer, lane == "interactive"
        if (
            lanes.interactive
            or (lanes.bulk and not urgent)
            or pacer.delay(now, urgent=urgent) > 0
            or not self._places.try_acquire(self.app, lane)
        ):
            return False
        pacer.take(now, urgent=urgent)
        return True

    async def enter(self, lane: Priority) -> None:
        """Take a slot and a place, and wait for both if need be. A cancel takes none."""
        if self.try_enter(lane, self._timing.now()):
            return
        waiter = self.lanes.join(lane)
        try:
            while not waiter.served:
                if self._leaders.setdefault(lane, waiter) is waiter:
                    await self._lead(lane, waiter)
                else:
                    await waiter.woken
        except BaseException:  # a cancellation, or the end of a coroutine that no one awaits any more
            if waiter.served:  # it was served at the same moment
                self.pacer.give_back()
                self.release(lane)
            raise
        finally:
            self.lanes.drop(waiter)
            if self._leaders.get(lane) is waiter:
                self._promote(lane)

    def release(self, lane: Priority) -> None:
        self._places.release(self.app, lane)

    async def _lead(self, lane: Priority, leader: Waiter) -> None:
        while not leader.served:
            delay = self.delay(lane)
            if delay > 0:
                await self._sleep(min(delay, POLL_SECONDS) if self.pacer.is_probing else delay)
            elif lane == "bulk" and self.lanes.interactive:
                await self._sleep(_YIELD_SECONDS)
            else:
                await self._places.acquire(self.app, lane)
                if self.delay(lane) > 0:  # another request took the slot meanwhile
                    self.release(lane)
                else:
                    self.pacer.take(self._timing.now(), urgent=lane == "interactive")
                    self.lanes.serve(self.lanes.first(lane) or leader)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, and let other tasks run: a session's own sleep may return without doing so."""
        await self._timing.sleep(seconds)
        await asyncio.sleep(0)

    def _promote(self, lane: Priority) -> None:
        first = self.lanes.first(lane)
        if first is None:
            del self._leaders[lane]
        else:
            self._leaders[lane] = first
            first.wake()


class RateGates(dict[tuple[str, RateClass], RateGate]):
    """The gates by app id and rate class; `gates[key]` makes the one that is missing. Each takes 1.2 kB.

    From `_MAX_GATES` on, the idle ones are dropped, and the rates that they have learnt with them: an app
    that calls again begins as a new one, and its next 429 shows the limit again. A wait that the service has
    asked for is kept, as its gate is not idle.
    """

    def __init__(self, make_pacer: MakePacer, timing: Timing, places: PrioritySemaphore) -> None:
        super().__init__()
        self._make_pacer, self._timing, self._places = make_pacer, timing, places

    def __missing__(self, key: tuple[str, RateClass]) -> RateGate:
        if len(self) >= _MAX_GATES:
            for idle in [each for each, gate in self.items() if gate.is_idle]:
                del self[idle]
        gate = self[key] = RateGate(self._make_pacer(*key), self._timing, self._places, key[0])
        return gate
