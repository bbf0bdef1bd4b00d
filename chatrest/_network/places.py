"""The places of a pool: how many calls run at once, and how the apps of a region share them.

| a call                                           | may take a place                                      |
|--------------------------------------------------|-------------------------------------------------------|
| of any app, interactive                          | while fewer than `count` are taken                    |
| of any app, bulk                                 | while bulk calls hold fewer than nine tenths of them  |
| of an app below its share, while the pool lends  | beyond `count`                                        |

The share of an app is `count` divided by the number of apps that hold or await a place, at least 1; bulk
calls have nine tenths of it. A free place goes to an interactive waiter before a bulk one, then to the app
that holds the fewest, then in turn.
"""

from asyncio import Future, TimerHandle, get_running_loop
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
        loop = get_running_loop()
        self.lane = lane
        self.joined: float = loop.time()
        """When it began to wait, in seconds of the event loop's clock."""
        self.served: bool = False
        self.is_gone: bool = False
        """True once it does not wait any more, served or not."""
        self.woken: Future[None] = loop.create_future()

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


class AppPlaces:
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
    """The places of a pool, for calls of many apps.

    Cancellation is safe at any await: a place that was given to a cancelled call goes to the next one. Every
    operation costs the same for any number of apps.
    """

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
        self._timer: TimerHandle | None = None
        self._apps: WeakValueDictionary[str, AppPlaces] = WeakValueDictionary()

    def of_app(self, app_id: str) -> AppPlaces:
        """Return the places of an app; the same object as long as anything refers to it."""
        return self._apps.setdefault(app_id, AppPlaces())

    def try_acquire(self, app: AppPlaces, lane: Priority) -> bool:
        # This overtakes no waiter: whoever may take a place does not wait.
        is_free = self.active < self.count and lane == "interactive"  # the most frequent case
        if not is_free and not self._admits(app, lane):
            return False
        self._count_place(app, lane, 1)
        return True

    async def acquire(self, app: AppPlaces, lane: Priority) -> None:
        """Take a place, and wait for it if need be. A cancel takes none."""
        if self.try_acquire(app, lane):
            return
        waiter = self._join(app, lane)
        try:
            await waiter.woken
        except BaseException:  # a cancellation, or the end of a coroutine that no one awaits any more
            if waiter.served:  # it got a place at the same moment
                self.release(app, lane)
            else:
                self._drop(app, waiter)
            raise

    def release(self, app: AppPlaces, lane: Priority) -> None:
        self._count_place(app, lane, -1)
        if self.waiting or self.is_lending:
            self._serve()

    # ── the rules ──

    def _has_room(self, lane: Priority) -> bool:
        return self.active < self.count and (lane == "interactive" or self._bulk_active < self._limits[lane])

    def _admits(self, app: AppPlaces, lane: Priority) -> bool:
        return self._has_room(lane) or (self.is_lending and self._is_below_share(app, lane))

    def _is_below_share(self, app: AppPlaces, lane: Priority) -> bool:
        limit = self._limits[lane]
        apps = self._app_count + app.is_idle
        # The shares add up to no more than the limit, unless there are more apps than places.
        return app.active < max(1, limit // apps) and self._holder_count < limit

    def _serve(self) -> None:
        if self._has_room("interactive") and self._has_room("bulk"):
            self.is_lending = False
        for lane in PRIORITIES:
            ranking = self._rankings[lane]
            # If the app with the fewest places gets none, no other app does.
            while (app := ranking.first()) is not None and self._admits(app, lane):
                waiter = app.lanes.first(lane)
                assert waiter is not None
                self._count_place(app, lane, 1)
                app.lanes.serve(waiter)
                self._leave(app, lane)
        self._watch()

    # ── lending ──
    #
    # Places cannot be taken back from calls that are never answered. So once a call of an app below its share
    # has waited for `MOMENT`, such apps get places beyond `count` at once, and those that hold more than
    # their share get none, until fewer than `count` are taken again.
    #
    # So while fewer than `count` apps hang (nine tenths of it, for bulk calls), a call of another app that
    # holds less than its share waits for a moment at most. The app with the i-th most places holds at most
    # `count / i`: of 100 places, one app that hangs lets 150 be taken, and any number of them 482.

    def _watch(self) -> None:
        """Start the timer if a call waits whose app is below its share."""
        if self._timer is not None or self.is_lending or not self.waiting:
            return
        # Neither one app alone nor more apps than places have an app below its share: the frequent cases.
        may_be_below = self._app_count > 1 and self._holder_count < self.count
        waiter = self._longest_below_share() if may_be_below else None
        if waiter is not None:
            # The time of the loop: a session's own sleep may return at once, with no one having waited.
            loop = get_running_loop()
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
            app.lanes.first(lane)
            for lane in PRIORITIES
            for app in self._rankings[lane].heads()
            if self._is_below_share(app, lane)
        )
        return min(filter(None, waiters), key=attrgetter("joined"), default=None)

    # ── counts ──

    def _count_place(self, app: AppPlaces, lane: Priority, difference: int) -> None:
        """Take a place for an app (`difference` is 1) or free it (-1).

        Four counts are updated, as each call needs them, and to count thousands of apps takes a millisecond.
        An app is ranked by `active`, so it leaves its rankings before that changes. For most calls no app
        waits, and they spend 0.3 µs here.
        """
        ranked = self._unrank(app) if app.waiting else None
        before = app.active
        app.active = before + difference
        self.active += difference
        if lane == "bulk":
            self._bulk_active += difference
        if not before or not app.active:
            self._holder_count += difference
            if not app.waiting:
                self._app_count += difference
        if ranked is not None:
            for ranking in ranked:
                ranking.add(app)

    def _join(self, app: AppPlaces, lane: Priority) -> Waiter:
        self._app_count += app.is_idle
        self.waiting += 1
        app.waiting += 1
        waiter = app.lanes.join(lane)
        if len(app.lanes.queue(lane)) == 1:
            self._rankings[lane].add(app)
        self._watch()
        return waiter

    def _drop(self, app: AppPlaces, waiter: Waiter) -> None:
        app.lanes.drop(waiter)
        self._leave(app, waiter.lane)
        self._app_count -= app.is_idle
        self._serve()  # with fewer apps, the others have larger shares

    def _leave(self, app: AppPlaces, lane: Priority) -> None:
        self.waiting -= 1
        app.waiting -= 1
        if not app.lanes.queue(lane):
            self._rankings[lane].remove(app)

    def _unrank(self, app: AppPlaces) -> tuple["_Ranking", ...]:
        ranked = tuple(self._rankings[lane] for lane in PRIORITIES if app.lanes.queue(lane))
        for ranking in ranked:
            ranking.remove(app)
        return ranked


class _Ranking:
    """The apps that wait in one lane by the number of places that they hold; equal ones in turn."""

    def __init__(self) -> None:
        self._levels: dict[int, OrderedDict[AppPlaces, None]] = {}

    def add(self, app: AppPlaces) -> None:
        self._levels.setdefault(app.active, OrderedDict())[app] = None

    def remove(self, app: AppPlaces) -> None:
        """Remove an app, which must hold as many places as when it was added."""
        level = self._levels[app.active]
        del level[app]
        if not level:
            del self._levels[app.active]

    def first(self) -> AppPlaces | None:
        # There are few levels: apps with 0, 1, … k places hold k (k + 1) / 2 together.
        return next(iter(self._levels[min(self._levels)])) if self._levels else None

    def heads(self) -> Iterator[AppPlaces]:
        return (next(iter(level)) for level in self._levels.values())
