"""The places of a pool in virtual time: how many at once, in which order, and between apps."""

import asyncio
from collections import Counter

import pytest
from hypothesis import example, given, strategies as st

from chatrest._network.places import MOMENT, PRIORITIES, AppPlaces, Priority, PrioritySemaphore
from tests.network.calls import in_time
from tests.network.visits import Task, Visit, ended, play, run_loop, spawn, visits
from tests.support.cases import loop_over

SHOP, GAME, NEWS = "app-1", "app-2", "app-3"


class MonitoredSemaphore:
    """A `PrioritySemaphore` with a record of its calls: `order` of all, `inside` for the active ones."""

    def __init__(self, count: int) -> None:
        self.places = PrioritySemaphore(count)
        self.apps = {name: self.places.of_app(name) for name in (SHOP, GAME, NEWS)}
        self.most_bulk = count - count // 10
        self.inside: list[tuple[Priority, object]] = []
        self.waiting: list[tuple[Priority, object]] = []
        self.order: list[object] = []

    async def visit(self, lane: Priority, name: object, seconds: float = 0.0, app: str = SHOP) -> None:
        me, places = (lane, name), self.apps[app]
        self.waiting.append(me)
        try:
            await self.places.acquire(places, lane)
        finally:
            self.waiting.remove(me)
        self.inside.append(me)
        self.order.append(name)
        self.check()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.inside.remove(me)
            self.places.release(places, lane)

    def check(self) -> None:
        assert len(self.inside) <= self.places.active <= most_places(self.places.count, len(self.apps))
        if not self.places.is_lending and self.places.active <= self.places.count:
            assert sum(lane == "bulk" for lane, _ in self.inside) <= self.most_bulk

    def is_empty(self) -> bool:
        counts = (self.places.active, self.places.waiting, *(app.active for app in self.apps.values()))
        return not (any(counts) or self.inside or self.waiting)


def most_places(count: int, apps: int) -> int:
    """The number of places that are taken at most, with loans."""
    return sum(count // number for number in range(1, apps + 1))


def take_all(places: PrioritySemaphore, app: AppPlaces, lane: Priority = "interactive") -> AppPlaces:
    """Hold as many places as an app gets without waiting, for calls that are never answered."""
    while places.try_acquire(app, lane):
        pass
    return app


@given(visits, st.sampled_from([1, 2, 3, 9, 10, 11]))
@example([Visit("bulk", 0, 1, None, 0), Visit("bulk", 0, 1, 1, 0), Visit("bulk", 0, 1, None, 0)], 1)
@in_time
async def test_no_place_is_lost_and_every_waiter_is_served(visits: list[Visit], count: int) -> None:
    semaphore = MonitoredSemaphore(count)

    async def work(number: int, visit: Visit) -> None:
        await asyncio.sleep(visit.comes / 2)
        await semaphore.visit(visit.lane, number, visit.stays / 2, visit.app)

    await play(visits, work)
    assert all(
        visit.cancelled is not None or number in semaphore.order for number, visit in enumerate(visits)
    )
    assert semaphore.is_empty()
    assert not semaphore.places.is_lending
    assert take_all(semaphore.places, semaphore.apps[SHOP]).active == count


@given(visits, st.integers(1, 4))
@in_time
async def test_places_of_an_app_go_to_interactive_calls_first_in_order_of_arrival(
    visits: list[Visit], count: int
) -> None:
    semaphore = MonitoredSemaphore(count)
    first = spawn(*(semaphore.visit("interactive", "first", 5) for _ in range(count)))
    await run_loop(2)
    tasks = spawn(*(semaphore.visit(visit.lane, number, 1) for number, visit in enumerate(visits)))
    await run_loop(2)
    assert semaphore.places.waiting == len(visits)
    gone = [number for number, visit in enumerate(visits) if visit.cancelled is not None]
    for number in gone:
        tasks[number].cancel()
    await run_loop(2)
    assert semaphore.places.waiting == len(visits) - len(gone)
    await ended(first + tasks)
    left = [number for number in range(len(visits)) if number not in gone]
    assert semaphore.order[count:] == sorted(left, key=lambda number: visits[number].lane == "bulk")
    assert semaphore.is_empty()


@loop_over(("count", "bulk"), [(1, 1), (9, 9), (10, 9), (25, 23), (100, 90)])
def test_one_app_has_all_places_and_a_tenth_is_reserved_for_interactive_calls(count: int, bulk: int) -> None:
    places = PrioritySemaphore(count)
    app = places.of_app(SHOP)
    assert take_all(places, app, "bulk").active == bulk
    assert take_all(places, app, "interactive").active == places.active == count
    places.release(app, "interactive")
    assert not places.try_acquire(app, "bulk") or count == bulk


@pytest.mark.parametrize("is_served", [False, True])
@in_time
async def test_a_coroutine_closed_while_waiting_loses_no_place(is_served: bool) -> None:
    places = PrioritySemaphore(1)
    app = take_all(places, places.of_app(SHOP))
    waiting = places.acquire(app, "interactive")
    waiting.send(None)
    assert places.waiting == 1
    if is_served:
        places.release(app, "interactive")
    waiting.close()
    assert (places.active, places.waiting) == (1 - is_served, 0)


@pytest.mark.parametrize("lanes", [(stuck, lane) for stuck in PRIORITIES for lane in PRIORITIES], ids=str)
@pytest.mark.parametrize(("count", "hanging"), [(2, 1), (10, 8), (100, 50)])
@in_time
async def test_apps_that_hang_delay_another_app_by_a_moment_at_most(
    count: int, hanging: int, lanes: tuple[Priority, Priority]
) -> None:
    places, loop = PrioritySemaphore(count), asyncio.get_running_loop()
    stuck_lane, lane = lanes
    apps = [places.of_app(f"hanging {number}") for number in range(hanging)]
    stuck = spawn(*(places.acquire(app, stuck_lane) for app in apps for _ in range(count + 10)))
    await asyncio.sleep(1.0)
    healthy = places.of_app("healthy")
    for most_seconds in (MOMENT + 0.001, 0.0, 0.0):
        began = loop.time()
        await places.acquire(healthy, lane)
        assert loop.time() - began <= most_seconds
        await asyncio.sleep(0.2)
        places.release(healthy, lane)
    assert places.active <= most_places(count, hanging)
    for task in stuck:
        task.cancel()
    await ended(stuck)


@pytest.mark.parametrize(("count", "share"), [(2, 1), (10, 5), (100, 50)])
@in_time
async def test_an_app_has_a_full_share_while_another_hangs(count: int, share: int) -> None:
    semaphore = MonitoredSemaphore(count)
    places, stuck = semaphore.places, take_all(semaphore.places, semaphore.apps[GAME])
    tasks = spawn(*(semaphore.visit("interactive", number, 1.0) for number in range(3 * share)))
    await asyncio.sleep(0.5)
    assert (semaphore.apps[SHOP].active, places.active, places.is_lending) == (share, count + share, True)
    await asyncio.sleep(1.0)
    assert semaphore.apps[SHOP].active == share
    again = spawn(places.acquire(stuck, "interactive"))
    for _ in range(share):
        places.release(stuck, "interactive")
        await run_loop(2)
        assert not again[0].done()  # it held more than its share
    places.release(stuck, "interactive")
    await ended(again)
    assert (stuck.active, places.active, places.is_lending) == (count - share, count, False)
    await ended(tasks)
    assert not places.is_lending


@in_time
async def test_lending_ends_when_a_place_is_free_though_no_call_waits() -> None:
    places = PrioritySemaphore(4)
    take_all(places, stuck := places.of_app(GAME))
    await places.acquire(healthy := places.of_app(SHOP), "interactive")
    places.release(healthy, "interactive")
    assert (places.active, places.waiting, places.is_lending) == (4, 0, True)
    places.release(stuck, "interactive")
    assert not places.is_lending


@in_time
async def test_a_waiter_cancelled_in_the_first_moment_lends_no_place() -> None:
    places = PrioritySemaphore(4)
    take_all(places, stuck := places.of_app(GAME))
    tasks = spawn(places.acquire(places.of_app(SHOP), "bulk"))
    await asyncio.sleep(MOMENT / 2)
    tasks[0].cancel()
    await ended(tasks)
    await asyncio.sleep(1.0)
    assert (places.active, places.waiting, places.is_lending) == (stuck.active, 0, False) == (4, 0, False)


APPS = 3


class Model:
    """Calls of some apps in any order; a call stays until the test ends it, so that any app may hang."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.places = PrioritySemaphore(count)
        self.apps = [self.places.of_app(str(number)) for number in range(APPS)]
        self.waiting: list[tuple[int, Priority, Task]] = []
        self.active: list[tuple[int, Priority]] = []

    async def rest(self, seconds: float) -> None:
        """Pass time, and move the calls that got a place from `waiting` to `active`."""
        await asyncio.sleep(seconds)
        await run_loop(3)
        self.active += [(app, lane) for app, lane, task in self.waiting if task.done()]
        self.waiting = [call for call in self.waiting if not call[2].done()]

    def come(self, app: int, lane: Priority) -> None:
        self.waiting.append((app, lane, *spawn(self.places.acquire(self.apps[app], lane))))

    async def end(self, number: int) -> None:
        """End a call; its place goes to the app that holds the fewest, of those that wait in the lane."""
        app, lane = self.active.pop(number % len(self.active))
        waiting, active = list(self.waiting), len(self.active)
        self.places.release(self.apps[app], lane)
        held = Counter(app for app, _ in self.active)
        await self.rest(0)
        served = [call for call in waiting if call[2].done()]
        if len(served) == 1 and active < self.count:
            [(winner, winners_lane, _)] = served
            assert held[winner] == min(held[app] for app, lane, _ in waiting if lane == winners_lane)
            assert winners_lane == "interactive" or not any(lane == "interactive" for _, lane, _ in waiting)

    def cancel(self, number: int) -> None:
        self.waiting.pop(number % len(self.waiting))[2].cancel()

    def end_and_cancel(self, number: int) -> None:
        """Cancel a call at the moment at which it may be given a place."""
        app, lane = self.active.pop(number % len(self.active))
        self.places.release(self.apps[app], lane)
        self.cancel(number)

    def check(self) -> None:
        """Check the counts, the bounds, and that no call waits while it may have a place."""
        held = Counter(app for app, _ in self.active)
        assert [app.active for app in self.apps] == [held[number] for number in range(APPS)]
        assert (self.places.active, self.places.waiting) == (len(self.active), len(self.waiting))
        for number, most in enumerate(sorted(held.values(), reverse=True), 1):
            assert most <= self.count // number
        assert self.places.is_lending or len(self.active) <= self.count
        if any(lane == "interactive" for _, lane, _ in self.waiting):
            assert len(self.active) >= self.count

    def check_shares(self) -> None:
        """Check that no app below its share waits any more: nothing has happened for a while."""
        held = Counter(app for app, _ in self.active)
        share = self.count // max(1, len({*held, *(app for app, _, _ in self.waiting)}))
        assert all(held[app] >= share for app, lane, _ in self.waiting if lane == "interactive")


events = st.tuples(
    st.sampled_from(["come", "come", "end", "cancel", "end and cancel", "rest", "wait"]),
    st.integers(0, 59),
    st.sampled_from(PRIORITIES),
)


@given(st.lists(events, max_size=60), st.sampled_from([1, 2, 6, 10]))
@in_time
async def test_the_rules_hold_whatever_happens(events: list[tuple[str, int, Priority]], count: int) -> None:
    model = Model(count)
    for event, number, lane in events:
        if event == "come":
            for _ in range(1 + number // 12):
                model.come(number % APPS, lane)
        elif event == "end" and model.active:
            await model.end(number)
        elif event == "cancel" and model.waiting:
            model.cancel(number)
        elif event == "end and cancel" and model.active and model.waiting:
            model.end_and_cancel(number)
        await model.rest(2 * MOMENT if event == "wait" else number / 600 if event == "rest" else 0)
        model.check()
        if event == "wait":
            model.check_shares()
    while model.active:
        await model.end(0)
    assert (model.places.active, model.places.waiting, model.places.is_lending) == (0, 0, False)
    assert model.waiting == []
