"""The places of a pool: how many calls run at once, and how the apps of a region share them.

| a call                                           | may take a place                                      |
|--------------------------------------------------|-------------------------------------------------------|
| of any app, interactive                          | while fewer than `count` are taken                    |
| of any app, bulk                                 | while bulk calls hold fewer than nine tenths of them  |
| of an app below its share, while the pool lends  | beyond `count`                                        |

The share of an app is `count` divided by the number of apps that hold or await a place, at least 1; bulk
calls have nine tenths of it. One app alone has all places. A free place goes to an interactive waiter before
a bulk one, then to the app that holds the fewest, then in turn.

Places cannot be taken back from calls that are never answered. So the pool lends: once a call of an app below
its share has waited for `MOMENT`, such apps get places beyond `count` at once, and those that hold more than
their share get none, until fewer than `count` are taken again. While calls are answered within a moment, no
more than `count` places are ever taken.

Guarantee: while fewer than `count` apps hang (nine tenths of it, for bulk calls), a call of another app that
holds less than its share waits for a moment at most, and not at all while the pool lends already. With one
place there is nothing to share; `count` apps that hang fill the pool with a place each.

Price: the app with the i-th most places holds at most `count / i`. With 100 places, one app that hangs lets
150 be taken at most, two 183, five 244, and any number 482.

Cancellation is safe at any await: a place that was given to a cancelled call goes to the next one. Every
operation costs the same for any number of apps.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, Literal, TypeAlias
from weakref import WeakValueDictionary

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")
MOMENT: Final = 0.1
"""Seconds that a call of an app below its share waits before the pool lends."""


class Waiter:
    """A waiting call: it is woken when it is served or becomes the leader of its lane."""

    __slots__ = ("is_gone", "joined", "lane", "served", "woken")

    def __init__(self, lane: Priority) -> None:
        loop = asyncio.get_running_loop()
        self.lane = lane
        self.joined: float = loop.time()
        """When it began to wait, in seconds of the event loop's clock."""
        self.served: bool = False
        self.is_gone: bool = False
        """True once it does not wait any more, served or not."""
        self.woken: asyncio.Future[None] = loop.create_future()

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


_NO_WAITERS: Final[OrderedDict[Waiter, None]] = OrderedDict()
"""The queue of every lane that no call has waited in: most apps have no other."""


class LaneQueues:
    """The waiting calls of each lane, in the order of arrival."""

    __slots__ = ("bulk", "interactive")

    # Ordered dictionaries, as a cancelled call may leave from anywhere, and the first of thousands must be
    # found at once: a dictionary searches for it among those that left.
    def __init__(self) -> None:
        self.interactive = self.bulk = _NO_WAITERS

    def __len__(self) -> int:
        return len(self.interactive) + len(self.bulk)

    def queue(self, lane: Priority) -> OrderedDict[Waiter, None]:
        return self.interactive if lane == "interactive" else self.bulk

    def count_ahead(self, lane: Priority) -> int:
        """Return the number of waiters that are served before a new one in `lane`."""
        return len(self.interactive) if lane == "interactive" else len(self)

    def join(self, lane: Priority) -> Waiter:
        waiter, queue = Waiter(lane), self.queue(lane)
        if queue is _NO_WAITERS:
            queue = OrderedDict()
            setattr(self, lane, queue)
        queue[waiter] = None
        return waiter

    def serve(self, waiter: Waiter) -> None:
        waiter.served = True
        self.drop(waiter)
        waiter.wake()

    def drop(self, waiter: Waiter) -> None:
        waiter.is_gone = True
        self.queue(waiter.lane).pop(waiter, None)

    def first(self, lane: Priority) -> Waiter | None:
        return next(iter(self.queue(lane)), None)


class AppShare:
    """The places that one app holds, and its calls that wait for one."""

    __slots__ = ("__weakref__", "active", "lanes", "waiting")

    def __init__(self) -> None:
        self.active: int = 0
        self.waiting: int = 0
        self.lanes: LaneQueues = LaneQueues()

    @property
    def is_idle(self) -> bool:
        return not self.active and not self.waiting


class PrioritySemaphore:
    """The places of a pool, shared by apps: the rules are at the top of this file."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.active: int = 0
        """The number of places that are taken, with those beyond `count`."""
        self.waiting: int = 0
        self.is_lending: bool = False
        self._limits: dict[Priority, int] = {"interactive": count, "bulk": count - count // 10}
        self._bulk_active = 0  # places that bulk calls hold
        self._app_count = 0  # apps that hold or await a place
        self._holder_count = 0  # apps that hold a place
        self._rankings = {lane: _Ranking() for lane in PRIORITIES}
        self._timer: asyncio.TimerHandle | None = None
        self._shares: WeakValueDictionary[str, AppShare] = WeakValueDictionary()

    def share(self, app_id: str) -> AppShare:
        """Return the share of an app; it is the same one as long as anything refers to it."""
        return self._shares.setdefault(app_id, AppShare())

    def try_acquire(self, share: AppShare, lane: Priority) -> bool:
        # This overtakes no waiter: whoever may take a place does not wait.
        is_free = self.active < self.count and lane == "interactive"  # the most frequent case
        if not is_free and not self._admits(share, lane):
            return False
        self._count_place(share, lane, 1)
        return True

    async def acquire(self, share: AppShare, lane: Priority) -> None:
        """Take a place, and wait for it if need be. A cancel takes none."""
        if self.try_acquire(share, lane):
            return
        waiter = self._join(share, lane)
        try:
            await waiter.woken
        except BaseException:  # a cancellation, or the end of a coroutine that no one awaits any more
            if waiter.served:  # it got a place at the same moment
                self.release(share, lane)
            else:
                self._drop(share, waiter)
            raise

    def release(self, share: AppShare, lane: Priority) -> None:
        self._count_place(share, lane, -1)
        if self.waiting or self.is_lending:
            self._serve()

    # ── the rules ──

    def _has_room(self, lane: Priority) -> bool:
        return self.active < self.count and (lane == "interactive" or self._bulk_active < self._limits[lane])

    def _admits(self, share: AppShare, lane: Priority) -> bool:
        return self._has_room(lane) or (self.is_lending and self._is_below_share(share, lane))

    def _is_below_share(self, share: AppShare, lane: Priority) -> bool:
        limit = self._limits[lane]
        apps = self._app_count + share.is_idle
        # The shares add up to no more than the limit, unless there are more apps than places.
        return share.active < max(1, limit // apps) and self._holder_count < limit

    def _serve(self) -> None:
        if self._has_room("interactive") and self._has_room("bulk"):
            self.is_lending = False
        for lane in PRIORITIES:
            ranking = self._rankings[lane]
            # If the app with the fewest places gets none, no other app does.
            while (share := ranking.first()) is not None and self._admits(share, lane):
                waiter = share.lanes.first(lane)
                assert waiter is not None
                self._count_place(share, lane, 1)
                share.lanes.serve(waiter)
                self._leave(share, lane)
        self._watch()

    # ── lending ──

    def _watch(self) -> None:
        """Start the timer if a call waits whose app is below its share."""
        if self._timer is not None or self.is_lending or not self.waiting:
            return
        # Neither one app alone nor more apps than places have an app below its share: the frequent cases.
        may_be_below = self._app_count > 1 and self._holder_count < self.count
        waiter = self._longest_below_share() if may_be_below else None
        if waiter is not None:
            # The time of the loop: a session's own sleep may return at once, with no one having waited.
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(waiter.joined + MOMENT, self._lend_to, waiter)

    def _lend_to(self, waiter: Waiter) -> None:
        self._timer = None
        self.is_lending = not waiter.is_gone and self._longest_below_share() is not None
        self._serve()

    def _longest_below_share(self) -> Waiter | None:
        """Return the waiter that waits longest and whose app is below its share; None if there is none.

        Of apps that hold as many places, only the one whose turn it is counts.
        """
        waiters = (
            share.lanes.first(lane)
            for lane in PRIORITIES
            for share in self._rankings[lane].heads()
            if self._is_below_share(share, lane)
        )
        return min(filter(None, waiters), key=attrgetter("joined"), default=None)

    # ── counts ──

    def _count_place(self, share: AppShare, lane: Priority, difference: int) -> None:
        """Take a place for an app (`difference` is 1) or free it (-1).

        Four counts are updated, as each call needs them, and to count thousands of apps takes a millisecond.
        An app is ranked by `active`, so it leaves its rankings before that changes. For most calls no app
        waits, and they spend 0.3 µs here.
        """
        ranked = self._unrank(share) if share.waiting else None
        before = share.active
        share.active = before + difference
        self.active += difference
        if lane == "bulk":
            self._bulk_active += difference
        if not before or not share.active:
            self._holder_count += difference
            if not share.waiting:
                self._app_count += difference
        if ranked is not None:
            for ranking in ranked:
                ranking.add(share)

    def _join(self, share: AppShare, lane: Priority) -> Waiter:
        self._app_count += share.is_idle
        self.waiting += 1
        share.waiting += 1
        waiter = share.lanes.join(lane)
        if len(share.lanes.queue(lane)) == 1:
            self._rankings[lane].add(share)
        self._watch()
        return waiter

    def _drop(self, share: AppShare, waiter: Waiter) -> None:
        share.lanes.drop(waiter)
        self._leave(share, waiter.lane)
        self._app_count -= share.is_idle
        self._serve()  # with fewer apps, the others have larger shares

    def _leave(self, share: AppShare, lane: Priority) -> None:
        self.waiting -= 1
        share.waiting -= 1
        if not share.lanes.queue(lane):
            self._rankings[lane].remove(share)

    def _unrank(self, share: AppShare) -> tuple["_Ranking", ...]:
        ranked = tuple(self._rankings[lane] for lane in PRIORITIES if share.lanes.queue(lane))
        for ranking in ranked:
            ranking.remove(share)
        return ranked


class _Ranking:
    """The apps that wait in one lane by the number of places that they hold; equal ones in turn."""

    def __init__(self) -> None:
        self._levels: dict[int, OrderedDict[AppShare, None]] = {}

    def add(self, share: AppShare) -> None:
        self._levels.setdefault(share.active, OrderedDict())[share] = None

    def remove(self, share: AppShare) -> None:
        """Remove an app, which must hold as many places as when it was added."""
        level = self._levels[share.active]
        del level[share]
        if not level:
            del self._levels[share.active]

    def first(self) -> AppShare | None:
        # There are few levels: apps with 0, 1, … k places hold k (k + 1) / 2 together.
        return next(iter(self._levels[min(self._levels)])) if self._levels else None

    def heads(self) -> Iterator[AppShare]:
        return (next(iter(level)) for level in self._levels.values())
