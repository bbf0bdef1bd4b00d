"""One call under way, in virtual time: its waits, its attempts, its deadline and its errors."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from multidict import CIMultiDict

from chatrest._core.pace.pacer import Pace, Pacer
from chatrest._core.replies.rate_signal import Signal
from chatrest._core.requests.arguments import Timeouts
from chatrest._core.requests.endpoint import Replay
from chatrest._core.requests.wire import Request
from chatrest._network.places import Priority
from chatrest._network.pool import Pool
from chatrest._network.rate_gate import RateGate
from chatrest._network.transport import Reply
from chatrest.errors import (
    ChatRestError,
    ConnectError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    NotFoundError,
    OutcomeUnknownError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from tests.network.calls import forever, in_time, make_call
from tests.network.clocks import timing, virtually
from tests.support.cases import loop_over

STEP = 1e-3


def reply(status: int = 200, after: str = "", body: bytes = b"{}") -> Reply:
    return Reply(status, CIMultiDict({"Retry-After": after} if after else {}), body)


OK, BUSY, LIMITED, GONE = reply(), reply(503, body=b""), reply(429, body=b""), reply(404, body=b"")


class VirtualPool:
    """A pool in virtual time; its transport gives each answer after `slow` seconds and repeats the last."""

    def __init__(
        self,
        *answers: Any,
        slow: float = 0.0,
        pace: Pace | None = None,
        concurrency: int = 50,
        dice: float = 0.5,
        app_id: str = "app-1",
    ) -> None:
        self.app_id = app_id
        self.answers, self.slow, self.dice = list(answers), slow, dice
        self.sent: list[float] = []
        self.timing = timing()
        self.began = self.timing.now()
        connect: Any = lambda: self  # noqa: E731
        self.pool = Pool("us", concurrency, self.timing, connect, pace or Pace())

    @property
    def now(self) -> float:
        return self.timing.now() - self.began

    @property
    def gate(self) -> RateGate:
        return self.pool.gates[self.app_id, "standard"]

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        self.sent.append(self.now)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await asyncio.sleep(self.slow)
        if isinstance(answer, Exception):
            raise type(answer)(*answer.args)
        return answer if isinstance(answer, Reply) else await answer()  # type: ignore[no-any-return]

    async def close(self) -> None: ...

    async def call(
        self,
        replay: Replay = "safe",
        deadline: float | None = None,
        lane: Priority = "interactive",
        **policy: Any,
    ) -> Any:
        return await make_call(
            self.pool, self.timing, replay, app_id=self.app_id, deadline=deadline, priority=lane,
            dice=self.dice, **policy,
        )  # fmt: skip

    async def fails_beside(self, *args: Any, **options: Any) -> ChatRestError:
        """Return the error of a call while other calls are active."""
        with pytest.raises(ChatRestError) as caught:
            await self.call(*args, **options)
        return caught.value

    async def fails(self, *args: Any, **options: Any) -> ChatRestError:
        error = await self.fails_beside(*args, **options)
        assert (self.pool.state.active, self.pool.state.waiting, self.gate.waiting) == (0, 0, 0)
        return error


@in_time
async def test_the_last_failure_is_raised_also_after_429_replies() -> None:
    harness = VirtualPool(BUSY, LIMITED, LIMITED, BUSY, LIMITED, BUSY)
    error = await harness.fails(attempts=3, limited=9)
    assert isinstance(error, ServerError)
    assert (error.attempts, len(harness.sent)) == (6, 6)


@in_time
async def test_a_call_of_a_session_closed_between_attempts_raises_the_earlier_error() -> None:
    harness = VirtualPool(RequestTimeoutError("no reply"), RequestTimeoutError("no reply"), OK)
    task = asyncio.create_task(harness.call("idempotent"))
    await asyncio.sleep(0.4)
    await harness.pool.close()
    with pytest.raises(RequestTimeoutError, match=r"attempts 1-2: .* waited [0-9., ]+ s\)$"):
        await task
    assert len(harness.sent) == 2


@in_time
async def test_repetitions_beyond_the_budget_are_delayed_one_by_one() -> None:
    harness = VirtualPool(*[BUSY] * 120, OK, concurrency=200, dice=0.0)
    assert await asyncio.gather(*(harness.call() for _ in range(120))) == [{}] * 120
    repeated = harness.sent[120:]
    assert sum(time <= STEP for time in repeated) == 100
    assert [time for time in repeated if time > STEP] == pytest.approx(
        [n / 10 for n in range(1, 21)], abs=STEP
    )


@in_time
async def test_a_delay_by_the_budget_beyond_the_deadline_is_an_error() -> None:
    harness = VirtualPool(*[BUSY] * 150, OK, concurrency=200, dice=0.0)
    done = await asyncio.gather(*(harness.call(deadline=2.0) for _ in range(150)), return_exceptions=True)
    late = [each for each in done if isinstance(each, DeadlineExceededError)]
    assert (done.count({}), len(late)) == (119, 31)
    assert harness.now <= 2


@in_time
async def test_a_bulk_call_waits_for_a_host_that_has_replied_before() -> None:
    harness = VirtualPool(OK, *[ConnectError("refused")] * 30, OK, dice=1.0)
    await harness.call()
    assert await harness.call(lane="bulk") == {}
    assert harness.now > 60
    with pytest.raises(ConnectError):
        await VirtualPool(ConnectError("refused")).call(lane="bulk")  # may not exist at all


BY_CODE = reply(400, "10", b'{"error":{"code":"ERR_TOO_MANY_REQUESTS"}}')


@pytest.mark.parametrize("limited", [reply(429, "10"), BY_CODE], ids=["status", "code"])
def test_a_rate_limit_delays_every_call(limited: Reply) -> None:
    virtually(_held_back_after(limited))


async def _held_back_after(limited: Reply) -> None:
    harness = VirtualPool(limited, OK, dice=0.0)
    first = asyncio.create_task(harness.call())
    await asyncio.sleep(1)
    assert await asyncio.gather(*(harness.call() for _ in range(5))) == [{}] * 5
    assert await first == {}
    assert harness.sent[1] >= 10


OF_USER = Reply(429, CIMultiDict({"X-Rate-Limit": "30", "Retry-After": "20"}), b"")


@in_time
async def test_a_probe_that_meets_the_limit_of_one_user_lets_another_one_go() -> None:
    harness = VirtualPool(LIMITED, OF_USER, OK, dice=0.0)
    limited = asyncio.create_task(harness.call(user_limit=30))
    await asyncio.sleep(2.5)
    assert len(harness.sent) == 2
    assert await harness.call() == {}
    assert harness.now < 4.0  # and not when the probe is taken for lost
    assert await limited == {}


@pytest.mark.parametrize("lane", ["interactive", "bulk"])
@in_time
async def test_a_call_that_waited_for_a_place_is_not_sent_during_a_rate_limit(lane: Priority) -> None:
    """More workers than places: calls in the queue got their slot before the rate limit."""
    harness = VirtualPool(*[reply(429, "10")] * 2, OK, slow=0.1, concurrency=2)
    assert await asyncio.gather(*(harness.call(lane=lane) for _ in range(50))) == [{}] * 50
    assert [time for time in harness.sent if 0 < time < 10] == []


@in_time
async def test_unused_slots_do_not_accumulate_while_the_pool_is_full() -> None:
    harness = VirtualPool(OK, slow=0.0, pace=Pace(rate=60), concurrency=1)
    assert harness.pool.places.try_acquire(harness.gate.app, "interactive")
    calls = [asyncio.create_task(harness.call()) for _ in range(60)]
    await asyncio.sleep(30)
    harness.gate.release("interactive")
    await asyncio.gather(*calls)
    for first in harness.sent:
        assert sum(first <= time < first + 10 for time in harness.sent) <= 10 + 2


@in_time
async def test_a_retry_after_of_a_day_does_not_delay_the_next_call() -> None:
    harness = VirtualPool(reply(429, "86400"), OK)
    error = await harness.fails()
    assert (type(error), harness.now) == (RateLimitError, 0)
    with suppress(ChatRestError):
        assert await harness.call() == {}
    assert harness.now <= 121


@in_time
async def test_a_wait_beyond_the_deadline_is_an_error_at_once() -> None:
    harness = VirtualPool(reply(429, "30"), OK, dice=0.0)
    first = asyncio.create_task(harness.call())
    await asyncio.sleep(1)
    error = await harness.fails_beside(deadline=28.5)
    assert type(error) is DeadlineExceededError
    assert (harness.now, len(harness.sent)) == (1, 1)
    assert str(error) == (
        "x.do: the rate limit's next slot is 29.0 s away, and the deadline of 28.5 s leaves 28.5 s"
    )
    assert (error.operation, error.attempts, error.reason, error.retry_after) == ("x.do", 0, "rate limit", 29)
    assert await harness.call(deadline=29.9) == {}
    assert await first == {}


@in_time
async def test_a_refused_call_waits_once_for_the_later_of_reply_and_pacer() -> None:
    harness = VirtualPool(reply(429, "10"), reply(429, "2"), OK, slow=0.1, dice=0.0)
    first = asyncio.create_task(harness.call())
    await asyncio.sleep(0)
    error = await harness.fails_beside(deadline=5.0)
    assert isinstance(error, DeadlineExceededError)
    assert (error.reason, error.attempts) == ("rate limit", 1)
    assert error.retry_after == pytest.approx(10.0)
    assert harness.now == pytest.approx(0.1)  # not after the 2 s that its own reply named
    assert await first == {}


@in_time
async def test_a_queue_longer_than_the_deadline_is_an_error_at_once() -> None:
    harness = VirtualPool(OK, pace=Pace(rate=60))
    bulk = [asyncio.create_task(harness.call(lane="bulk")) for _ in range(30)]
    await asyncio.sleep(0.5)
    assert type(await harness.fails_beside(lane="bulk", deadline=20.0)) is DeadlineExceededError
    assert harness.now == 0.5
    assert await harness.call(deadline=2.0) == {}  # an interactive one overtakes them
    assert harness.now <= 2
    await asyncio.gather(*bulk)


@pytest.mark.parametrize("lane", ["interactive", "bulk"])
@pytest.mark.parametrize("workers", [1, 10])
@pytest.mark.parametrize("struck", [False, True])
@in_time
async def test_an_app_that_fills_the_pool_does_not_starve_a_paced_app(
    struck: bool, workers: int, lane: Priority
) -> None:
    busy = VirtualPool(OK, slow=0.2, concurrency=5)
    paced = VirtualPool(OK, app_id="app-2")
    paced.pool = busy.pool
    paced.gate.pacer = Pacer(Pace(rate=60))
    done: list[float] = []

    async def work(harness: VirtualPool, lane: Priority) -> None:
        while True:
            await harness.call(lane=lane)
            if harness is paced:
                done.append(harness.now)

    tasks = [asyncio.create_task(work(busy, "bulk")) for _ in range(20)]
    if struck:
        paced.gate.pacer.observe(paced.timing.now(), Signal(True, retry_after=5), paced.now)
    await asyncio.sleep(1)
    tasks += [asyncio.create_task(work(paced, lane)) for _ in range(workers)]
    await asyncio.sleep(30)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert 15 <= len(done) <= 32


@in_time
async def test_the_error_of_a_missed_deadline_lists_all_durations() -> None:
    harness = VirtualPool(BUSY, forever, slow=1.0, pace=Pace(rate=60), concurrency=1)
    while harness.gate.delay("interactive") <= 0:
        harness.gate.pacer.take(harness.timing.now(), urgent=True)
    paced = harness.gate.expected_wait("interactive")
    assert harness.pool.places.try_acquire(harness.gate.app, "interactive")
    call = asyncio.create_task(harness.fails_beside(deadline=9.0, first_wait=4.0))
    await asyncio.sleep(2.0)
    harness.gate.release("interactive")
    assert str(await call) == (
        f"x.do: no reply came within the deadline of 9.0 s ({paced:.1f} s held back by the rate limit, "
        f"{2 - paced:.1f} s waiting for a place, 5.0 s on the network in 2 attempts, "
        "2.0 s waiting between attempts; attempt 1: x.do: 503: Service Unavailable; waited 2.0 s)"
    )
    assert harness.now == pytest.approx(9.0)


@in_time
async def test_a_late_reply_by_the_sessions_clock_misses_the_deadline() -> None:
    """The clock of a test moves when the service sleeps, unknown to the loop's timers."""

    async def late() -> Reply:
        harness.timing._reached += 5.0
        return OK

    harness = VirtualPool(late)
    error = await harness.fails(deadline=2.0)
    assert (type(error), error.attempts) == (DeadlineExceededError, 1)
    assert "no reply came within the deadline of 2.0 s (5.0 s on the network" in str(error)
    error = await harness.fails("never", deadline=2.0)
    assert type(error) is DeadlineOutcomeUnknownError
    assert await harness.call(deadline=6.0) == {}


@pytest.mark.parametrize(("deadline", "shown"), [(2.99987728300038, "3.0"), (0.25, "0.25"), (2e-05, "2e-05")])
@in_time
async def test_a_deadline_is_shown_to_the_millisecond_unless_it_is_less(deadline: float, shown: str) -> None:
    error = await VirtualPool(forever).fails(deadline=deadline)
    assert f"within the deadline of {shown} s" in str(error)


@pytest.mark.parametrize("replay", ["safe", "idempotent", "never"])
@in_time
async def test_a_deadline_ends_a_call_in_any_stage_at_the_exact_time(replay: Replay) -> None:
    harness = VirtualPool(forever, concurrency=1)
    on_network = asyncio.create_task(harness.fails_beside(replay, deadline=3.0))
    await asyncio.sleep(0)
    queued = await harness.fails_beside(replay, deadline=2.0)
    assert harness.now == pytest.approx(2.0)
    assert type(queued) is DeadlineExceededError
    assert str(queued) == (
        "x.do: no place in the pool became free within the deadline of 2.0 s (2.0 s waiting for a place)"
    )
    assert (queued.reason, queued.retry_after, queued.__cause__) == ("place", None, None)
    assert isinstance(await on_network, DeadlineExceededError)
    assert isinstance(await on_network, OutcomeUnknownError) == (replay == "never")
    assert harness.now == pytest.approx(3.0)
    assert (harness.pool.state.active, harness.pool.state.waiting) == (0, 0)


@in_time
async def test_a_deadline_between_attempts_is_no_unknown_outcome() -> None:
    for answer in (ConnectError("refused"), reply(429, "5")):
        error = await VirtualPool(answer).fails("never", deadline=4.0, first_wait=20.0)
        assert type(error) is DeadlineExceededError
        assert "may have been applied" not in str(error)


@in_time
async def test_a_deadline_limits_the_call_and_not_an_attempt() -> None:
    harness = VirtualPool(BUSY, slow=1.0, dice=1.0)
    error = await harness.fails(deadline=10.0, attempts=9)
    assert isinstance(error, DeadlineExceededError)
    assert harness.sent == pytest.approx([0.0, 1.5, 3.5, 6.5])  # after 7.5 s a wait of 4 s has no room
    assert str(error).startswith(
        "x.do: the next attempt is 4.0 s away, and the deadline of 10.0 s leaves 2.5 s (4.0 s on the network"
    )
    assert (error.attempts, error.reason, error.retry_after) == (4, "wait", 4.0)
    assert isinstance(error.__cause__, ServerError)
    assert harness.now == pytest.approx(7.5)


@in_time
async def test_the_log_of_attempts_names_equal_errors_once() -> None:
    error = await VirtualPool(
        ConnectError("refused"), reply(429, "7", b""), BUSY, BUSY, GONE, dice=0.0
    ).fails()
    assert isinstance(error, NotFoundError)
    assert error.attempts == 5
    assert str(error) == (
        "x.do: 404: Not Found (no record is named: the service may not serve this operation) "
        "(after 5 attempts; attempt 1: refused; waited 0.0 s; "
        "attempt 2: x.do: 429: Too Many Requests; waited 7.0 s; "
        "attempts 3-4: x.do: 503: Service Unavailable; waited 0.0, 0.0 s)"
    )


@loop_over("moment", [0.0, 0.05, 0.5, 0.99, 1.0, 1.5, 2.0, 2.05, 3.0])
@in_time
async def test_a_cancelled_call_leaves_no_place_and_no_slot_taken(moment: float) -> None:
    harness = VirtualPool(BUSY, reply(429, "1"), OK, slow=0.5, concurrency=1, pace=Pace(rate=60))
    calls = [asyncio.create_task(harness.call(attempts=9)) for _ in range(4)]
    await asyncio.sleep(moment)
    for call in calls[:3]:
        call.cancel()
    await asyncio.gather(*calls[:3], return_exceptions=True)
    assert await calls[3] == {}
    assert (harness.pool.state.active, harness.pool.state.waiting, harness.gate.waiting) == (0, 0, 0)
    assert await harness.call() == {}
