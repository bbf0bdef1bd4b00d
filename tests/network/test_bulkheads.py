"""The state of a pool: what it shows of its apps, and the idle state that it lets go."""

import asyncio
import gc
import tracemalloc

import pytest

from chatrest._core.pace.pacer import Pace
from chatrest._core.replies.rate_signal import Signal
from chatrest._network.pool import Pool
from chatrest._network.rate_gate import MAX_IDLE_GATES
from chatrest._network.timing import Timing
from tests.network.calls import in_time
from tests.network.test_timing import Clock, timing

USER = "/users/user-001"
NO_RAMP = Pace(rate=1e6, window=1.0)
"""A pace that lets bulk calls begin all at once."""


# ── what is let go ──


def make_pool(clock: Clock, pace: Pace = Pace()) -> Pool:  # noqa: B008, a frozen value
    """A pool whose transport is never used."""

    def connect() -> None:
        raise AssertionError("nothing is sent")

    return Pool("us", 10, Timing(clock, clock.sleep), connect, pace)  # type: ignore[arg-type]


def apps_of(pool: Pool) -> list[str]:
    return [limit.app_id for limit in pool.state.limits]


def call_app(pool: Pool, clock: Clock, app_id: str, signal: Signal = Signal(False)) -> None:  # noqa: B008
    """A call that goes at once and gets a reply."""
    gate = pool.gates[app_id, "standard"]
    assert gate.try_enter("interactive", clock())
    gate.release("interactive")
    gate.observe(clock(), signal, clock())


def learn_limit(pool: Pool, clock: Clock, app_id: str) -> None:
    """Calls at 10 a second, a 429, and a call after it."""
    for _ in range(50):
        call_app(pool, clock, app_id)
        clock.now += 0.1
    call_app(pool, clock, app_id, Signal(True, retry_after=1.0))
    clock.now += 1.0
    call_app(pool, clock, app_id)


def test_the_memory_of_many_thousands_of_apps_is_bounded() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    for number in range(2 * MAX_IDLE_GATES):
        call_app(pool, clock, f"early-{number}")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(3_000):
            call_app(pool, clock, f"app-{number}", Signal(False, limit=1e6, remaining=1e6))
            clock.now += 0.001
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 750_000  # 580,000 for those kept
    finally:
        tracemalloc.stop()
    assert len(apps_of(pool)) == MAX_IDLE_GATES


def test_an_app_that_is_held_back_stays_held_back_for_as_long_as_it_must() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    call_app(pool, clock, "limited", Signal(True, retry_after=30.0))
    for number in range(3 * MAX_IDLE_GATES):
        call_app(pool, clock, f"app-{number}")
        clock.now += 0.01
    assert "limited" in apps_of(pool)
    assert pool.gates["limited", "standard"].delay("interactive") == pytest.approx(15.0)
    assert len(apps_of(pool)) == MAX_IDLE_GATES


def test_a_learnt_limit_is_kept_for_minutes_and_one_that_was_told_is_not() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    learn_limit(pool, clock, "learnt")
    call_app(pool, clock, "stated", Signal(False, limit=600, remaining=599))
    learnt, stated = pool.state.limits
    assert (learnt.source, stated.source) == ("learnt", "stated")
    began, limits = clock.now, []
    for seconds in (100.0, 250.0, 310.0):
        clock.now = began + seconds
        for number in range(2 * MAX_IDLE_GATES):
            call_app(pool, clock, f"app-{seconds}-{number}")
        limits.append([limit.limit for limit in pool.state.limits if limit.app_id == "learnt"])
        assert "stated" not in apps_of(pool)
    assert limits == [[learnt.limit], [learnt.limit], []]


def test_a_gate_that_a_call_still_uses_is_never_made_twice() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    gate = pool.gates["app", "standard"]
    assert gate.try_enter("interactive", clock())
    for number in range(3 * MAX_IDLE_GATES):
        call_app(pool, clock, f"app-{number}")
    assert pool.gates["app", "standard"] is gate
    assert pool.state.active == 1
    gate.release("interactive")
    assert pool.state.active == 0


# ── what is shown ──


def test_the_limits_of_a_pool_show_source_rate_and_next_slot() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    learn_limit(pool, clock, "learnt")
    call_app(pool, clock, "free")
    call_app(pool, clock, "stated", Signal(False, limit=600, remaining=10))
    call_app(pool, clock, "struck", Signal(True, retry_after=7.0))
    learnt, free, stated, struck = pool.state.limits
    assert learnt.rate is not None
    assert (learnt.limit, learnt.source) == (learnt.rate, "learnt")
    assert 7 < learnt.rate < 10
    assert f" limit {learnt.rate:.4g}/s learnt, now {learnt.rate:.4g}/s, " in str(learnt)
    assert (free.limit, free.rate, free.source, free.next_slot) == (None, None, "none", 0)
    assert (stated.limit, stated.source, stated.rate_class) == (10, "stated", "standard")
    assert stated.rate is None  # nothing is spread before a 429 came
    assert (struck.source, struck.next_slot) == ("none", 7.0)
    assert str(free) == "free standard: no limit known, 0 under way"
    assert str(stated) == "stated standard: limit 10/s stated, 0 under way"
    assert str(struck).endswith("0 under way, next slot in 7.0 s")


@in_time
async def test_the_state_of_a_pool_says_who_holds_and_who_waits() -> None:
    pool = Pool("us", 4, timing(), lambda: None)  # type: ignore[arg-type, return-value]
    stuck, well = pool.gates["stuck", "standard"], pool.gates["well", "standard"]
    tasks = [asyncio.create_task(stuck.enter("interactive")) for _ in range(6)]
    await asyncio.sleep(1.0)
    tasks.append(asyncio.create_task(well.enter("interactive")))
    await asyncio.sleep(1.0)  # more than the moment after which a place is lent
    state = pool.state
    assert [(limit.app_id, limit.held, limit.interactive, limit.bulk) for limit in state.limits] == [
        ("stuck", 4, 2, 0), ("well", 1, 0, 0),
    ]  # fmt: skip
    assert (state.active, state.waiting, state.is_full, state.is_lending) == (5, 2, True, True)
    assert "5 of 4 places in use, lending, 2 waiting" in repr(state)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_given_pace_is_shown_as_given() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock, Pace(rate=30, window=1.0))
    call_app(pool, clock, "app")
    [limit] = pool.state.limits
    assert (limit.limit, limit.rate, limit.source) == (30, 30, "given")


async def test_the_repr_names_the_apps_that_are_held_back() -> None:
    pool = Pool("us", 10, Timing(lambda: 0.0, asyncio.sleep), lambda: None)  # type: ignore[arg-type, return-value]
    tasks = []
    for number in range(5):
        gate = pool.gates[f"app-{number}", "standard"]
        gate.observe(0.0, Signal(True, retry_after=60.0), 0.0)
        tasks.append(asyncio.create_task(gate.enter("bulk" if number % 2 else "interactive")))
    await asyncio.sleep(0)
    assert repr(pool.state) == (
        "<Pool us: 0 of 10 places in use, 5 waiting, 0 sent, held back: app-0, app-1, app-2 and 2 more>"
    )
    first, second = pool.state.limits[:2]
    assert (first.interactive, first.bulk, second.interactive, second.bulk) == (1, 0, 0, 1)
    assert first.is_held_back
    assert " 1 interactive and 0 bulk waiting, next slot in 60.0 s" in str(first)
    assert not pool.state.is_full
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
