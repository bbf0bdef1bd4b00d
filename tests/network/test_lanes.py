"""Semaphore and rate gate in virtual time: the order, how many at once, and what a cancel leaves behind."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from chatrest.core.pacer import Pace, Pacer, Signal
from chatrest.network.lanes import PRIORITIES, Priority, PrioritySemaphore, RateGate
from chatrest.network.timing import Timing
from tests.network.test_timing import timing, virtually

Task = asyncio.Task[None]


def spawn(*works: Coroutine[Any, Any, None]) -> list[Task]:
    return [asyncio.create_task(work) for work in works]


async def run_loop(number: int) -> None:
    """Run iterations of the event loop without passing time."""
    for _ in range(number):
        await asyncio.sleep(0)


async def ended(tasks: list[Task]) -> None:
    for done in await asyncio.gather(*tasks, return_exceptions=True):
        assert done is None or isinstance(done, asyncio.CancelledError), done


@dataclass(frozen=True)
class Visit:
    """A call that arrives, stays, ends, and may be cancelled; in half seconds and loop iterations."""

    lane: Priority
    comes: int
    stays: int
    cancelled: int | None
    turns: int


visits = st.lists(
    st.builds(
        Visit,
        lane=st.sampled_from(PRIORITIES),
        comes=st.integers(0, 6),
        stays=st.integers(0, 4),
        cancelled=st.none() | st.integers(0, 12),
        turns=st.integers(0, 3),
    ),
    max_size=25,
)


async def cancel(task: Task, visit: Visit) -> None:
    if visit.cancelled is not None:
        await asyncio.sleep(visit.cancelled / 2)
        await run_loop(visit.turns)
        task.cancel()


async def played(visits: list[Visit], work: Callable[[int, Visit], Coroutine[Any, Any, None]]) -> None:
    tasks = spawn(*(work(number, visit) for number, visit in enumerate(visits)))
    await ended(tasks + spawn(*(cancel(*pair) for pair in zip(tasks, visits, strict=True))))


# ── places ──


class MonitoredSemaphore:
    """A `PrioritySemaphore` with a record of its calls: `order` of all, `inside` for the active ones."""

    def __init__(self, count: int) -> None:
        self.places = PrioritySemaphore(count)
        self.most_bulk = count - count // 10
        self.inside: list[tuple[Priority, object]] = []
        self.waiting: list[tuple[Priority, object]] = []
        self.order: list[object] = []

    async def visit(self, lane: Priority, name: object, seconds: float = 0.0) -> None:
        me = (lane, name)
        self.waiting.append(me)
        try:
            await self.places.acquire(lane)
        finally:
            self.waiting.remove(me)
        self.inside.append(me)
        self.order.append(name)
        self.check()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.inside.remove(me)
            self.places.release(lane)

    def check(self) -> None:
        assert len(self.inside) <= self.places.active <= self.places.count
        assert sum(lane == "bulk" for lane, _ in self.inside) <= self.most_bulk

    def is_empty(self) -> bool:
        return (self.places.active, self.places.waiting, self.inside, self.waiting) == (0, 0, [], [])


@settings(max_examples=150, deadline=None, database=None)
@given(visits, st.sampled_from([1, 2, 3, 9, 10, 11]))
@example([Visit("bulk", 0, 1, None, 0), Visit("bulk", 0, 1, 1, 0), Visit("bulk", 0, 1, None, 0)], 1)
def test_no_place_is_lost_and_every_waiter_is_served(visits: list[Visit], count: int) -> None:
    async def main() -> None:
        semaphore = MonitoredSemaphore(count)

        async def work(number: int, visit: Visit) -> None:
            await asyncio.sleep(visit.comes / 2)
            await semaphore.visit(visit.lane, number, visit.stays / 2)

        await played(visits, work)
        assert all(
            visit.cancelled is not None or number in semaphore.order for number, visit in enumerate(visits)
        )
        assert semaphore.is_empty()
        assert all(semaphore.places.try_acquire("interactive") for _ in range(count))
        assert not semaphore.places.try_acquire("interactive")

    virtually(main())


@settings(max_examples=100, deadline=None, database=None)
@given(visits, st.integers(1, 4))
def test_places_go_to_interactive_calls_first_in_order_of_arrival(visits: list[Visit], count: int) -> None:
    async def main() -> None:
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

    virtually(main())


@pytest.mark.parametrize(("count", "bulk"), [(1, 1), (9, 9), (10, 9), (25, 23), (100, 90)])
def test_a_tenth_of_the_places_is_reserved_for_interactive_calls(count: int, bulk: int) -> None:
    places = PrioritySemaphore(count)
    assert [places.try_acquire("bulk") for _ in range(count)].count(True) == bulk
    assert [places.try_acquire("interactive") for _ in range(count)].count(True) == count - bulk
    assert places.active == count
    places.release("interactive")
    assert not places.try_acquire("bulk") or count == bulk


def test_a_thousand_bulk_calls_do_not_delay_an_interactive_one() -> None:
    async def main() -> None:
        semaphore, loop = MonitoredSemaphore(10), asyncio.get_running_loop()
        tasks = spawn(*(semaphore.visit("bulk", number, 1.0) for number in range(1000)))
        await asyncio.sleep(0.5)
        assert (semaphore.places.active, semaphore.places.waiting) == (9, 991)
        began = loop.time()
        await semaphore.visit("interactive", "first")
        assert loop.time() == began  # on the place that was kept
        tasks += spawn(*(semaphore.visit("interactive", f"i{number}", 1.0) for number in range(4)))
        await asyncio.sleep(0.6)
        assert [str(name)[0] for name in semaphore.order].count("i") == 4
        for task in tasks:
            task.cancel()
        await ended(tasks)
        assert semaphore.is_empty()

    virtually(main())


@pytest.mark.parametrize("late", [0, 1, 2])
def test_the_place_of_a_cancelled_waiter_goes_to_the_next_one(late: int) -> None:
    async def main() -> None:
        semaphore = MonitoredSemaphore(1)
        assert semaphore.places.try_acquire("bulk")
        tasks = spawn(*(semaphore.visit("bulk", number) for number in range(4)))
        await run_loop(1)
        semaphore.places.release("bulk")  # to the first, which does not know it yet
        for task in tasks[: late + 1]:
            task.cancel()
        await ended(tasks)
        assert semaphore.order == list(range(late + 1, 4))
        assert semaphore.is_empty()

    virtually(main())


# ── slots ──


class MonitoredGate:
    """A `RateGate` with a record of its calls and their times in `order`."""

    def __init__(self, rate: float | None = None, window: float = 60.0) -> None:
        self.gate = RateGate(Pacer(Pace(rate=rate, window=window)), timing())
        self.began = asyncio.get_running_loop().time()
        self.order: list[tuple[object, float]] = []

    async def go(self, lane: Priority, name: object) -> None:
        await self.gate.enter(lane)
        self.order.append((name, asyncio.get_running_loop().time() - self.began))

    def spend(self) -> "MonitoredGate":
        """Take every available slot."""
        while self.gate.try_enter("bulk", self.began):
            pass
        return self

    @property
    def names(self) -> list[object]:
        return [name for name, _ in self.order]

    def is_free(self) -> bool:
        return self.gate.waiting == 0


@settings(max_examples=150, deadline=None, database=None)
@given(visits, st.sampled_from([60.0, 120.0, 600.0]))
def test_no_slot_is_lost_and_every_waiter_gets_one(visits: list[Visit], rate: float) -> None:
    async def main() -> None:
        monitored = MonitoredGate(rate)

        async def work(number: int, visit: Visit) -> None:
            await asyncio.sleep(visit.comes / 2)
            await monitored.go(visit.lane, number)

        await played(visits, work)
        stayed = {number for number, visit in enumerate(visits) if visit.cancelled is None}
        assert stayed <= set(monitored.names)
        assert monitored.is_free()
        times = [time for _, time in monitored.order]
        assert times == sorted(times)
        gap, ahead = 60 / rate, max(1.0, 0.02 * rate - 1)
        for first, last in combinations(range(len(times)), 2):
            assert times[last] - times[first] >= (last - first - ahead) * gap - 1e-3
        # Nobody comes after 3 s: from then on a turn is given as soon as it has come.
        assert not times or times[-1] <= 3 + gap * len(visits) + 1e-3

    virtually(main())


@settings(max_examples=100, deadline=None, database=None)
@given(visits)
def test_slots_go_to_interactive_calls_first_in_order_of_arrival(visits: list[Visit]) -> None:
    async def main() -> None:
        monitored = MonitoredGate(60.0).spend()
        tasks = spawn(*(monitored.go(visit.lane, number) for number, visit in enumerate(visits)))
        await run_loop(2)
        assert monitored.gate.waiting == len(visits)
        gone = [number for number, visit in enumerate(visits) if visit.cancelled is not None]
        for number in gone:
            tasks[number].cancel()
        await run_loop(2)
        left = [number for number in range(len(visits)) if number not in gone]
        assert monitored.gate.waiting == len(left)
        await ended(tasks)
        assert monitored.names == sorted(left, key=lambda number: visits[number].lane == "bulk")
        times = [time for _, time in monitored.order]
        assert all(abs(b - a - 1.0) < 1e-3 for a, b in pairwise(times))
        assert not times or 0 < times[0] <= 1.001
        assert monitored.is_free()

    virtually(main())


def test_a_thousand_bulk_requests_delay_an_interactive_one_by_at_most_one_slot() -> None:
    async def main() -> None:
        monitored, loop = MonitoredGate(60.0), asyncio.get_running_loop()
        tasks = spawn(*(monitored.go("bulk", number) for number in range(1000)))
        await asyncio.sleep(10.5)
        began = loop.time()
        assert monitored.gate.waiting > 980
        await monitored.go("interactive", "me")
        assert loop.time() - began <= 1.001
        for task in tasks:
            task.cancel()
        await ended(tasks)
        assert monitored.is_free()

    virtually(main())


def test_the_leader_of_a_lane_can_be_cancelled_repeatedly() -> None:
    async def main() -> None:
        monitored = MonitoredGate(60.0)
        tasks = spawn(*(monitored.go("bulk", number) for number in range(200)))
        for task in tasks[:190]:
            await asyncio.sleep(0.01)
            await run_loop(1)
            task.cancel()
        await run_loop(3)
        assert monitored.gate.waiting <= 10
        await ended(tasks)
        assert set(range(190, 200)) <= set(monitored.names)
        assert monitored.order[-1][1] <= 13
        assert monitored.is_free()

    virtually(main())


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_leader_cancelled_while_it_wakes_up_is_replaced_by_the_next(late: int) -> None:
    async def main() -> None:
        monitored = MonitoredGate(60.0).spend()
        tasks = spawn(*(monitored.go("bulk", number) for number in range(4)))
        await run_loop(2)
        for task in tasks[: late + 1]:
            task.cancel()
            await run_loop(1)
        await ended(tasks)
        assert monitored.names == list(range(late + 1, 4))
        assert monitored.is_free()

    virtually(main())


def test_the_slot_of_a_cancelled_waiter_does_not_block_the_others() -> None:
    async def main() -> None:
        monitored = MonitoredGate(60.0)
        tasks = spawn(*(monitored.go("bulk", number) for number in range(6)))
        await asyncio.sleep(1.5)
        last = monitored.order[-1][1]

        def cancel_all_but_the_last() -> None:
            for task in tasks[:5]:
                task.cancel()

        asyncio.get_running_loop().call_at(monitored.began + last + 1.0 + 1e-6, cancel_all_but_the_last)
        await ended(tasks)
        assert monitored.names[-1] == 5
        assert monitored.order[-1][1] <= last + 2.001
        assert monitored.is_free()

    virtually(main())


def test_a_failing_sleep_fails_only_its_own_call() -> None:
    async def main() -> None:
        loop, broken = asyncio.get_running_loop(), [True]

        async def sleep(seconds: float) -> None:
            if broken:
                broken.clear()
                raise KeyError("the caller's own")
            await asyncio.sleep(seconds)

        gate = RateGate(Pacer(Pace(rate=60.0)), Timing(loop.time, sleep))
        tasks = spawn(*(gate.enter("bulk") for _ in range(5)))
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in done].count(KeyError) == 1
        assert done.count(None) == 4

    virtually(main())


def test_a_reply_that_shows_the_end_of_a_limit_releases_the_waiters() -> None:
    async def main() -> None:
        monitored = MonitoredGate()
        for _ in range(6000):
            monitored.gate.observe(Signal(False))
        monitored.gate.observe(Signal(True))
        await asyncio.sleep(20)  # the hold is over; the next to go is a probe
        tasks = spawn(*(monitored.go("bulk", number) for number in range(3)))
        await asyncio.sleep(0.5)
        assert monitored.names == [0]
        monitored.gate.observe(Signal(False))
        await ended(tasks)
        assert monitored.order[-1][1] <= 22.5

    virtually(main())


def test_the_expected_wait_of_a_request_is_known_before_it_waits() -> None:
    async def main() -> None:
        monitored = MonitoredGate(60.0)
        assert (monitored.gate.expected("bulk"), monitored.gate.expected("interactive")) == (0, 0)
        monitored.spend()
        tasks = spawn(*(monitored.go("bulk", number) for number in range(10)))
        await run_loop(2)
        seconds = monitored.gate.expected("bulk")
        assert seconds - monitored.gate.expected("interactive") == pytest.approx(10)
        await monitored.go("bulk", "me")
        assert monitored.order[-1] == ("me", pytest.approx(seconds, abs=1e-3))
        await ended(tasks)

    virtually(main())
