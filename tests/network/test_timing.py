"""The session's time, and how the tests of what waits run in virtual time."""

import asyncio

import pytest
from hypothesis import given, settings, strategies as st

from chatrest._network.timing import Timing
from tests.network.clocks import Clock


@settings(deadline=None, database=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.none() | st.floats(0, 1e4)), max_size=30))
def test_the_time_never_decreases_and_includes_all_sleeps(steps: list[tuple[float, float | None]]) -> None:
    async def main() -> None:
        clock = Clock()
        time = Timing(clock, clock.sleep)
        last = time.now()
        for clock.now, seconds in steps:
            before = time.now()
            assert before >= last
            assert before >= clock.now
            if seconds is not None:
                await time.sleep(seconds)
                assert time.now() == before + seconds
            last = time.now()

    asyncio.run(main())


async def test_a_sleep_with_an_advancing_clock_does_not_count_twice() -> None:
    clock = Clock(100.0)

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    time = Timing(clock, sleep)
    await time.sleep(3.0)
    assert time.now() == 103.0


async def test_concurrent_sleeps_do_not_add_up() -> None:
    clock, go_on = Clock(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        await go_on.wait()

    time = Timing(clock, sleep)
    tasks = [asyncio.create_task(time.sleep(seconds)) for seconds in (3.0, 10.0, 7.0)]
    await asyncio.sleep(0)
    assert time.now() == 0.0
    go_on.set()
    await asyncio.gather(*tasks)
    assert time.now() == 10.0


@pytest.mark.parametrize("how", ["cancel", "error"])
async def test_a_cancelled_sleep_does_not_count(how: str) -> None:
    async def sleep(seconds: float) -> None:
        if how == "error":
            raise KeyError
        await asyncio.Event().wait()

    time = Timing(Clock(), sleep)
    task = asyncio.create_task(time.sleep(9.0))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert time.now() == 0.0
