"""The time limits of exchanges: one timer, each task cancelled at its end and no other one."""

import asyncio
import weakref
from contextvars import Context, ContextVar

import pytest

from chatrest._network.timing import Exchange, ExpiryTimer

pytestmark = pytest.mark.usefixtures("tidy")

SOON = 0.001


async def waits(timer: ExpiryTimer, seconds: float) -> str:
    """Wait without end; the result shows how the wait was ended."""
    expiry = timer.start(seconds)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if not expiry.has_cancelled():
            raise
    finally:
        timer.stop(expiry)
    return "expired"


async def test_each_task_ends_at_its_own_time() -> None:
    timer = ExpiryTimer()
    long = asyncio.create_task(waits(timer, 60.0))
    short = [asyncio.create_task(waits(timer, seconds)) for seconds in (3 * SOON, SOON, 2 * SOON)]
    assert await asyncio.gather(*short) == ["expired"] * 3
    assert not long.done()
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    timer.close()


async def test_a_task_that_was_stopped_is_not_cancelled() -> None:
    timer = ExpiryTimer()
    timer.stop(timer.start(SOON))
    assert await waits(timer, 2 * SOON) == "expired"
    timer.close()


async def test_a_task_continues_after_an_expired_limit() -> None:
    task = asyncio.current_task()
    assert task is not None
    timer = ExpiryTimer()
    for _ in range(2):
        assert await waits(timer, SOON) == "expired"
        assert task.cancelling() == 0
    await asyncio.sleep(0)
    timer.close()


async def test_a_cancellation_from_outside_wins_over_the_end_of_the_time() -> None:
    timer = ExpiryTimer()
    expiries: list[Exchange] = []

    async def wait() -> None:
        expiries.append(expiry := timer.start(60.0))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert not expiry.has_cancelled()
            raise
        finally:
            timer.stop(expiry)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    expiries[0].expire()  # in the same iteration of the loop
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1
    timer.close()


async def test_a_task_that_was_cancelled_before_expires_all_the_same() -> None:
    """A clean-up after a cancellation may make a request, too: `cancelling` is 1 from its beginning."""
    timer = ExpiryTimer()

    async def clean_up() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await waits(timer, SOON)
        raise AssertionError

    task = asyncio.create_task(clean_up())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "expired"
    timer.close()


async def test_long_limits_share_one_timer_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, times = asyncio.get_running_loop(), list[float]()
    call_at = loop.call_at
    monkeypatch.setattr(
        loop, "call_at", lambda at, *call, **more: times.append(at) or call_at(at, *call, **more)
    )
    timer = ExpiryTimer()
    tasks = [asyncio.create_task(waits(timer, seconds)) for seconds in (60.0, 60.0, 60.0, 2.5)]
    await asyncio.sleep(0)
    assert times[0] == int(times[0])
    assert times[1:] == [timer.exchanges[tasks[-1]].ends]  # a short limit is exact
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    timer.close()


async def test_a_closed_timer_leaves_nothing_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, handles = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_at = loop.call_at
    monkeypatch.setattr(
        loop, "call_at", lambda *call, **more: handles.append(made := call_at(*call, **more)) or made
    )
    timer = ExpiryTimer()
    timer.stop(timer.start(60.0))
    timer.close()
    assert [handle.cancelled() for handle in handles] == [True]


async def test_a_time_limit_that_is_active_when_the_timer_is_closed_still_ends() -> None:
    timer = ExpiryTimer()
    task = asyncio.create_task(waits(timer, SOON))
    await asyncio.sleep(0)
    timer.close()
    assert await task == "expired"


async def test_the_timer_has_no_reference_to_the_context_of_its_task() -> None:
    class Value:
        """A value as a web framework keeps it for each of its requests."""

    variable, timer = ContextVar[Value]("variable"), ExpiryTimer()

    def exchange() -> weakref.ref[Value]:
        variable.set(value := Value())
        timer.stop(timer.start(60.0))
        return weakref.ref(value)

    reference = Context().run(exchange)
    assert reference() is None
    timer.close()
