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


async def turns(number: int) -> None:
    """Lets the loop turn, without any time passing."""
    for _ in range(number):
        await asyncio.sleep(0)


async def ended(tasks: list[Task]) -> None:
    for done in await asyncio.gather(*tasks, return_exceptions=True):
        assert done is None or isinstance(done, asyncio.CancelledError), done


@dataclass(frozen=True)
class Visit:
    """One that comes, stays, leaves, and may be cancelled; in half seconds and turns of the loop."""

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
        await turns(visit.turns)
        task.cancel()


async def played(visits: list[Visit], work: Callable[[int, Visit], Coroutine[Any, Any, None]]) -> None:
    tasks = spawn(*(work(number, visit) for number, visit in enumerate(visits)))
    await ended(tasks + spawn(*(cancel(*pair) for pair in zip(tasks, visits, strict=True))))


# ── places ──


class Hall:
    """PrioritySemaphore with an eye on them: `order` is who was let in, `inside` who is there now."""

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
def test_no_place_is_lost_and_nobody_waits_for_ever(visits: list[Visit], count: int) -> None:
    async def main() -> None:
        hall = Hall(count)

        async def work(number: int, visit: Visit) -> None:
            await asyncio.sleep(visit.comes / 2)
            await hall.visit(visit.lane, number, visit.stays / 2)

        await played(visits, work)
        assert all(visit.cancelled is not None or number in hall.order for number, visit in enumerate(visits))
        assert hall.is_empty()
        assert all(hall.places.try_acquire("interactive") for _ in range(count))
        assert not hall.places.try_acquire("interactive")

    virtually(main())


@settings(max_examples=100, deadline=None, database=None)
@given(visits, st.integers(1, 4))
def test_places_are_given_in_order_and_to_interactive_calls_first(visits: list[Visit], count: int) -> None:
    async def main() -> None:
        hall = Hall(count)
        first = spawn(*(hall.visit("interactive", "first", 5) for _ in range(count)))
        await turns(2)
        tasks = spawn(*(hall.visit(visit.lane, number, 1) for number, visit in enumerate(visits)))
        await turns(2)
        assert hall.places.waiting == len(visits)
        gone = [number for number, visit in enumerate(visits) if visit.cancelled is not None]
        for number in gone:
            tasks[number].cancel()
        await turns(2)
        assert hall.places.waiting == len(visits) - len(gone)
        await ended(first + tasks)
        left = [number for number in range(len(visits)) if number not in gone]
        assert hall.order[count:] == sorted(left, key=lambda number: visits[number].lane == "bulk")
        assert hall.is_empty()

    virtually(main())


@pytest.mark.parametrize(("count", "bulk"), [(1, 1), (9, 9), (10, 9), (25, 23), (100, 90)])
def test_a_tenth_of_the_places_is_kept_for_interactive_calls(count: int, bulk: int) -> None:
    places = PrioritySemaphore(count)
    assert [places.try_acquire("bulk") for _ in range(count)].count(True) == bulk
    assert [places.try_acquire("interactive") for _ in range(count)].count(True) == count - bulk
    assert places.active == count
    places.release("interactive")
    assert not places.try_acquire("bulk") or count == bulk


def test_a_thousand_bulk_calls_do_not_delay_an_interactive_one() -> None:
    async def main() -> None:
        hall, loop = Hall(10), asyncio.get_running_loop()
        tasks = spawn(*(hall.visit("bulk", number, 1.0) for number in range(1000)))
        await asyncio.sleep(0.5)
        assert (hall.places.active, hall.places.waiting) == (9, 991)
        began = loop.time()
        await hall.visit("interactive", "first")
        assert loop.time() == began  # on the place that was kept
        tasks += spawn(*(hall.visit("interactive", f"i{number}", 1.0) for number in range(4)))
        await asyncio.sleep(0.6)
        assert [str(name)[0] for name in hall.order].count("i") == 4
        for task in tasks:
            task.cancel()
        await ended(tasks)
        assert hall.is_empty()

    virtually(main())


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_place_handed_to_a_call_that_is_cancelled_in_that_moment_is_handed_on(late: int) -> None:
    async def main() -> None:
        hall = Hall(1)
        assert hall.places.try_acquire("bulk")
        tasks = spawn(*(hall.visit("bulk", number) for number in range(4)))
        await turns(1)
        hall.places.release("bulk")  # to the first, which does not know it yet
        for task in tasks[: late + 1]:
            task.cancel()
        await ended(tasks)
        assert hall.order == list(range(late + 1, 4))
        assert hall.is_empty()

    virtually(main())


# ── slots ──


class Door:
    """A gate with an eye on it: `order` is who went, and when."""

    def __init__(self, rate: float | None = None, window: float = 60.0) -> None:
        self.gate = RateGate(Pacer(Pace(rate=rate, window=window)), timing())
        self.began = asyncio.get_running_loop().time()
        self.order: list[tuple[object, float]] = []

    async def go(self, lane: Priority, name: object) -> None:
        await self.gate.enter(lane)
        self.order.append((name, asyncio.get_running_loop().time() - self.began))

    def spend(self) -> "Door":
        """Take every slot that can be had now."""
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
def test_no_turn_is_lost_and_nobody_waits_for_one_for_ever(visits: list[Visit], rate: float) -> None:
    async def main() -> None:
        door = Door(rate)

        async def work(number: int, visit: Visit) -> None:
            await asyncio.sleep(visit.comes / 2)
            await door.go(visit.lane, number)

        await played(visits, work)
        stayed = {number for number, visit in enumerate(visits) if visit.cancelled is None}
        assert stayed <= set(door.names)
        assert door.is_free()
        times = [time for _, time in door.order]
        assert times == sorted(times)
        gap, ahead = 60 / rate, max(1.0, 0.02 * rate - 1)
        for first, last in combinations(range(len(times)), 2):
            assert times[last] - times[first] >= (last - first - ahead) * gap - 1e-3
        # Nobody comes after 3 s: from then on a turn is given as soon as it has come.
        assert not times or times[-1] <= 3 + gap * len(visits) + 1e-3

    virtually(main())


@settings(max_examples=100, deadline=None, database=None)
@given(visits)
def test_turns_come_in_order_and_to_interactive_calls_first(visits: list[Visit]) -> None:
    async def main() -> None:
        door = Door(60.0).spend()
        tasks = spawn(*(door.go(visit.lane, number) for number, visit in enumerate(visits)))
        await turns(2)
        assert door.gate.waiting == len(visits)
        gone = [number for number, visit in enumerate(visits) if visit.cancelled is not None]
        for number in gone:
            tasks[number].cancel()
        await turns(2)
        left = [number for number in range(len(visits)) if number not in gone]
        assert door.gate.waiting == len(left)
        await ended(tasks)
        assert door.names == sorted(left, key=lambda number: visits[number].lane == "bulk")
        times = [time for _, time in door.order]
        assert all(abs(b - a - 1.0) < 1e-3 for a, b in pairwise(times))
        assert not times or 0 < times[0] <= 1.001
        assert door.is_free()

    virtually(main())


def test_a_thousand_bulk_requests_delay_an_interactive_one_by_no_more_than_a_turn() -> None:
    async def main() -> None:
        door, loop = Door(60.0), asyncio.get_running_loop()
        tasks = spawn(*(door.go("bulk", number) for number in range(1000)))
        await asyncio.sleep(10.5)
        began = loop.time()
        assert door.gate.waiting > 980
        await door.go("interactive", "me")
        assert loop.time() - began <= 1.001
        for task in tasks:
            task.cancel()
        await ended(tasks)
        assert door.is_free()

    virtually(main())


def test_the_leader_of_a_lane_may_be_cancelled_again_and_again() -> None:
    async def main() -> None:
        door = Door(60.0)
        tasks = spawn(*(door.go("bulk", number) for number in range(200)))
        for task in tasks[:190]:
            await asyncio.sleep(0.01)
            await turns(1)
            task.cancel()
        await turns(3)
        assert door.gate.waiting <= 10
        await ended(tasks)
        assert set(range(190, 200)) <= set(door.names)
        assert door.order[-1][1] <= 13
        assert door.is_free()

    virtually(main())


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_new_leader_cancelled_in_the_moment_of_its_waking_is_followed_by_the_next(late: int) -> None:
    async def main() -> None:
        door = Door(60.0).spend()
        tasks = spawn(*(door.go("bulk", number) for number in range(4)))
        await turns(2)
        for task in tasks[: late + 1]:
            task.cancel()
            await turns(1)
        await ended(tasks)
        assert door.names == list(range(late + 1, 4))
        assert door.is_free()

    virtually(main())


def test_a_turn_handed_to_a_call_that_is_cancelled_in_that_moment_stops_nobody() -> None:
    async def main() -> None:
        door = Door(60.0)
        tasks = spawn(*(door.go("bulk", number) for number in range(6)))
        await asyncio.sleep(1.5)
        last = door.order[-1][1]

        def cancel_all_but_the_last() -> None:
            for task in tasks[:5]:
                task.cancel()

        asyncio.get_running_loop().call_at(door.began + last + 1.0 + 1e-6, cancel_all_but_the_last)
        await ended(tasks)
        assert door.names[-1] == 5
        assert door.order[-1][1] <= last + 2.001
        assert door.is_free()

    virtually(main())


def test_a_sleep_that_fails_fails_its_own_call_alone() -> None:
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


def test_a_reply_that_shows_the_end_of_a_limit_lets_the_waiting_go_within_a_moment() -> None:
    async def main() -> None:
        door = Door()
        for _ in range(6000):
            door.gate.observe(Signal(False))
        door.gate.observe(Signal(True))
        await asyncio.sleep(20)  # the hold is over; the next to go is a probe
        tasks = spawn(*(door.go("bulk", number) for number in range(3)))
        await asyncio.sleep(0.5)
        assert door.names == [0]
        door.gate.observe(Signal(False))
        await ended(tasks)
        assert door.order[-1][1] <= 22.5

    virtually(main())


def test_what_a_request_would_wait_is_known_beforehand() -> None:
    async def main() -> None:
        door = Door(60.0)
        assert (door.gate.expected("bulk"), door.gate.expected("interactive")) == (0, 0)
        door.spend()
        tasks = spawn(*(door.go("bulk", number) for number in range(10)))
        await turns(2)
        seconds = door.gate.expected("bulk")
        assert seconds - door.gate.expected("interactive") == pytest.approx(10)
        await door.go("bulk", "me")
        assert door.order[-1] == ("me", pytest.approx(seconds, abs=1e-3))
        await ended(tasks)

    virtually(main())
