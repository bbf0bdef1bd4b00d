"""The rate gate in virtual time: the order, the pace, and what a cancel leaves behind."""

import asyncio
from email.utils import formatdate
from itertools import combinations, pairwise

import pytest
from hypothesis import given, strategies as st

from chatrest import AsyncSession, RateLimitError
from chatrest._core.pace.pacer import Pace, Pacer
from chatrest._core.replies.rate_signal import Signal
from chatrest._network.places import PRIORITIES, Priority, PrioritySemaphore
from chatrest._network.rate_gate import RateGate
from chatrest._network.timing import Timing
from tests.network.calls import in_time
from tests.network.clocks import timing
from tests.network.visits import Visit, ended, play, run_loop, spawn, visits
from tests.support.scripted_server import FaultyServer, reply
from tests.support.virtual_time import run


def make_gate(pacer: Pacer, timing: Timing, count: int = 10_000) -> RateGate:
    """A gate of a pool with so many places that only the pacer holds requests back."""
    return RateGate(pacer, timing, PrioritySemaphore(count), "app-1")


class MonitoredGate:
    """A `RateGate` with a record of its calls and their times in `order`."""

    def __init__(self, rate: float | None = None, window: float = 60.0) -> None:
        self.gate = make_gate(Pacer(Pace(rate=rate, window=window)), timing())
        self.began = asyncio.get_running_loop().time()
        self.order: list[tuple[object, float]] = []

    async def go(self, lane: Priority, name: object) -> None:
        await self.gate.enter(lane)
        self.order.append((name, asyncio.get_running_loop().time() - self.began))

    def spend(self) -> "MonitoredGate":
        while self.gate.try_enter("bulk", self.began):
            pass
        return self

    @property
    def names(self) -> list[object]:
        return [name for name, _ in self.order]

    def is_free(self) -> bool:
        return self.gate.waiting == 0


@given(visits, st.sampled_from([60.0, 120.0, 600.0]))
@in_time
async def test_no_slot_is_lost_and_every_waiter_gets_one(visits: list[Visit], rate: float) -> None:
    monitored = MonitoredGate(rate)

    async def work(number: int, visit: Visit) -> None:
        await asyncio.sleep(visit.comes / 2)
        await monitored.go(visit.lane, number)

    await play(visits, work)
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


@given(visits)
@in_time
async def test_slots_go_to_interactive_calls_first_in_order_of_arrival(visits: list[Visit]) -> None:
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
    # Bulk requests leave a twentieth of the slots to interactive ones.
    assert all(1.0 - 1e-3 < b - a < 1 / 0.95 + 1e-3 for a, b in pairwise(times))
    assert not times or 0 < times[0] <= 1.001
    assert monitored.is_free()


async def no_wait(seconds: float) -> None:
    """Return at once, without letting another task run."""


@in_time
async def test_a_probe_is_answered_while_others_wait_with_a_sleep_that_never_waits() -> None:
    gate = make_gate(Pacer(Pace()), Timing(lambda: 0.0, no_wait))
    gate.pacer.observe(0.0, Signal(True), 0.0)
    await gate.enter("interactive")  # the probe
    task = asyncio.create_task(gate.enter("interactive"))
    await run_loop(3)
    assert not task.done()
    gate.pacer.observe(0.0, Signal(False), 1.0)
    await task


@in_time
async def test_a_bulk_call_yields_to_an_interactive_one_with_instant_sleeps() -> None:
    places, order = PrioritySemaphore(1), list[Priority]()
    gate = RateGate(Pacer(Pace()), Timing(lambda: 0.0, no_wait), places, "app-1")

    async def call(lane: Priority) -> None:
        await gate.enter(lane)
        order.append(lane)
        gate.release(lane)

    await gate.enter("interactive")
    tasks = spawn(call("interactive"), call("bulk"))
    await run_loop(3)
    gate.release("interactive")
    await ended(tasks)
    assert order == ["interactive", "bulk"]


@pytest.mark.parametrize("late", [0, 1, 2])
@in_time
async def test_a_leader_cancelled_at_wake_up_is_replaced_by_the_next(late: int) -> None:
    monitored = MonitoredGate(60.0).spend()
    tasks = spawn(*(monitored.go("bulk", number) for number in range(4)))
    await run_loop(2)
    for task in tasks[: late + 1]:
        task.cancel()
        await run_loop(1)
    await ended(tasks)
    assert monitored.names == list(range(late + 1, 4))
    assert monitored.is_free()


@in_time
async def test_a_failing_sleep_fails_only_its_own_call() -> None:
    loop, broken = asyncio.get_running_loop(), [True]

    async def sleep(seconds: float) -> None:
        if broken:
            broken.clear()
            raise KeyError("the caller's own")
        await asyncio.sleep(seconds)

    gate = make_gate(Pacer(Pace(rate=60.0)), Timing(loop.time, sleep))
    tasks = spawn(*(gate.enter("bulk") for _ in range(5)))
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in done].count(KeyError) == 1
    assert done.count(None) == 4


@in_time
async def test_a_reply_that_shows_the_end_of_a_limit_releases_the_waiters() -> None:
    monitored = MonitoredGate()
    gate, began = monitored.gate, monitored.began
    assert gate.try_enter("interactive", began)
    gate.pacer.observe(began, Signal(True), began)  # names no time: after a short hold one goes as a probe
    tasks = spawn(*(monitored.go("interactive", number) for number in range(3)))
    await asyncio.sleep(5.0)
    assert monitored.names == [0]
    gate.pacer.observe(began + 5.0, Signal(False), began + 5.0)
    await ended(tasks)
    assert monitored.names == [0, 1, 2]
    assert monitored.order[1][1] <= 5.5


@in_time
async def test_the_expected_wait_of_a_request_is_known_in_advance() -> None:
    monitored = MonitoredGate(60.0)
    assert (monitored.gate.expected_wait("bulk"), monitored.gate.expected_wait("interactive")) == (0, 0)
    monitored.spend()
    tasks = spawn(*(monitored.go("bulk", number) for number in range(10)))
    await run_loop(2)
    seconds = monitored.gate.expected_wait("bulk")
    assert seconds - monitored.gate.expected_wait("interactive") == pytest.approx(10)
    await monitored.go("bulk", "me")
    assert monitored.order[-1] == ("me", pytest.approx(seconds, abs=1e-3))
    await ended(tasks)


NOW = 1_700_000_000
DATE = formatdate(NOW, usegmt=True)
MINUTE = 60.0
CALLERS = 25
DIALECTS: dict[str, dict[str, str]] = {
    "none": {},
    "zero": {"retry_after": "0"},
    "fraction": {"retry_after": "0.001"},
    "half a second": {"retry_after": "0.5"},
    "past date": {"retry_after": formatdate(NOW - 60, usegmt=True)},
    "this moment": {"retry_after": DATE},
    "passed reset": {"x_rate_limit_reset": str(NOW - 30)},
    "reset in milliseconds": {"x_ratelimit_reset": str(1000 * NOW - 5)},
    "seconds to go": {"x_ratelimit_reset": "0"},
    "draft": {"ratelimit_reset": "0"},
    "two that differ": {"retry_after": "0", "x_rate_limit_reset": str(NOW + 10)},
}


async def refused_for_a_minute(headers: dict[str, str], priority: Priority) -> int:
    """Return the requests that all callers make in a minute of a service that refuses all of them."""
    clock = asyncio.get_running_loop().time
    async with (
        FaultyServer(reply(b"", 429, date=DATE, **headers)) as server,
        AsyncSession(server.app(), clock=clock, sleep=asyncio.sleep, priority=priority) as session,
    ):

        async def call() -> None:
            while True:
                try:
                    await session.request("GET", "/a")
                except RateLimitError:
                    await asyncio.sleep(1.0)  # as a caller who tries again does

        callers = [asyncio.create_task(call()) for _ in range(CALLERS)]
        await asyncio.sleep(MINUTE)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        return len(server.requests)


@pytest.mark.parametrize("priority", PRIORITIES)
@pytest.mark.parametrize("headers", DIALECTS.values(), ids=DIALECTS)
def test_a_service_that_refuses_everything_is_asked_seldom(
    headers: dict[str, str], priority: Priority
) -> None:
    assert run(refused_for_a_minute(headers, priority)) <= 6 * CALLERS
