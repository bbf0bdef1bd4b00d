"""The breaker and the budget by themselves, and a region that is down as its callers see it."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st
from multidict import CIMultiDict

from chatrest.core.pace.breaker import FAILURES, Breaker, Breakers, RetryBudget
from chatrest.core.requests.timeouts import Timeouts
from chatrest.core.requests.wire import Request
from chatrest.errors import ConnectError, ReplyUnreadableError, RequestTimeoutError, TransportError
from chatrest.network.places import Priority
from chatrest.network.pool import Pool
from chatrest.network.transport import Reply
from tests.network.calls import in_time, make_call
from tests.network.test_timing import timing, virtually

HOST = "app-1.api-us.example.com"
RESTS = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        assert breaker.wait(now) == 0
        breaker.record_failure(now)
    assert breaker.is_open
    return breaker


# ── the breaker by itself ──


class Model:
    """A model of the breaker, written in another way."""

    def __init__(self) -> None:
        self.row = self.rests = 0
        self.next = 0.0

    def wait(self, now: float) -> float:
        if self.row < FAILURES or now >= self.next:
            return 0.0
        return self.next - now

    def probes(self, now: float) -> None:
        self.next = now + RESTS[min(self.rests, 6)]

    def fails(self, now: float, probe: bool) -> None:
        self.row += 1
        self.rests += probe
        if probe or self.row == FAILURES:
            self.next = now + RESTS[min(self.rests, 6)]

    def replies(self) -> None:
        self.row = self.rests = 0


steps = st.tuples(
    st.sampled_from(["ask", "ask", "fail", "fail", "fail", "reply", "rest"]),
    st.sampled_from([0.0, 0.3, 1.0, 7.0]),
)


@given(st.lists(steps, max_size=80), st.integers(0, 15))
def test_the_states_whatever_happens(events: list[tuple[str, float]], failed: int) -> None:
    """A probe that is under way is answered before any other exchange."""
    breakers, model, now, probing = Breakers(), Model(), 100.0, False
    for what, passed in [("fail", 0.0)] * failed + events:
        now += passed
        breaker = breakers.get(HOST)
        if what == "rest":
            now += model.wait(now)
        elif what == "fail":
            breakers.record_failure(HOST, now, probe=probing)
            model.fails(now, probing)
            probing = False
        elif what == "reply":
            breakers.record_reply(HOST)
            model.replies()
            probing = False
        else:
            wait = breaker.wait(now) if breaker is not None else 0.0
            assert wait == pytest.approx(model.wait(now))
            if model.wait(now) == 0 and model.row >= FAILURES:
                model.probes(now)
                probing = True
        down = [(host.host, host.failures) for host in breakers.down(now)]
        assert down == ([(HOST, model.row)] if model.row >= FAILURES else [])
        assert len(breakers) == (model.row > 0)


def test_rests_double_up_to_half_a_minute() -> None:
    breaker, now = opened(), 0.0
    for rest in RESTS:
        assert breaker.wait(now) == rest
        now += rest
        assert breaker.wait(now) == 0  # the probe
        breaker.record_failure(now)


def test_a_reply_closes_a_breaker_and_resets_its_rest() -> None:
    breakers, now = Breakers(), 0.0
    for rests in (RESTS[:3], RESTS[:1]):
        for _ in range(FAILURES):
            breakers.record_failure(HOST, now, probe=False)
        for rest in rests:
            [host] = breakers.down(now)
            assert host.next_probe == rest
            now += rest
            breaker = breakers.get(HOST)
            assert breaker is not None
            assert breaker.wait(now) == 0  # the probe
            breakers.record_failure(HOST, now, probe=True)
        breakers.record_reply(HOST)
        assert breakers.down(now) == ()


def test_one_failure_less_does_not_open_it() -> None:
    breakers = Breakers()
    for _ in range(5):
        for _ in range(FAILURES - 1):
            breakers.record_failure(HOST, 0.0, probe=False)
        assert breakers.down(0.0) == ()
        breakers.record_reply(HOST)


def test_the_state_of_a_host_that_is_down_names_the_next_probe() -> None:
    breakers = Breakers()
    for _ in range(12):
        breakers.record_failure(HOST, 5.0, probe=False)
    [host] = breakers.down(5.25)
    assert (host.host, host.failures, host.next_probe) == (HOST, 12, 0.75)
    assert str(host) == f"{HOST}: 12 failures in a row, next probe in 0.8 s"


def test_breakers_of_many_hosts_are_let_go_but_not_an_open_one() -> None:
    breakers = Breakers()
    for _ in range(FAILURES):
        breakers.record_failure(HOST, 0.0, probe=False)
    for number in range(20_000):
        breakers.record_failure(f"host-{number}", number / 1000, probe=False)
        assert len(breakers) <= 1002
    assert [host.host for host in breakers.down(20.0)] == [HOST]
    for number in range(2000):
        breakers.record_failure(f"later-{number}", 320.0, probe=False)
    assert breakers.get(HOST) is None  # its last failure is five minutes old


def test_a_probe_that_never_comes_back_blocks_nobody_for_longer_than_a_rest() -> None:
    breaker = opened()
    assert breaker.wait(1.0) == 0
    assert [breaker.wait(1.0), breaker.wait(1.75), breaker.wait(2.0)] == [1.0, 0.25, 0.0]


def test_failures_that_were_under_way_do_not_lengthen_the_rest() -> None:
    breaker = opened()
    for _ in range(50):
        breaker.record_failure(0.5)
    assert breaker.wait(0.5) == 0.5


# ── the budget ──


@given(st.lists(st.tuples(st.sampled_from(["call", "repeat", "repeat"]), st.floats(0, 3)), max_size=300))
def test_repeats_are_a_quarter_of_the_calls_and_ten_a_second_and_what_was_saved(
    events: list[tuple[str, float]],
) -> None:
    budget, now, calls = RetryBudget(), 50.0, 0
    times: list[float] = []
    for what, passed in events:
        now += passed / 20
        if what == "call":
            budget.earn()
            calls += 1
        else:
            wait = budget.spend(now)
            assert wait >= 0
            times.append(now + wait)
    for number, time in enumerate(sorted(times), 1):
        assert number <= 101 + calls / 4 + 10 * (time - 50.0)
    if len(times) <= 100:
        assert all(budget.spend(now) == 0 for _ in range(100 - len(times)))


def test_what_is_saved_has_an_end_and_what_goes_beyond_is_put_off() -> None:
    budget = RetryBudget()
    for _ in range(10_000):
        budget.earn()
    waits = [budget.spend(1.0) for _ in range(105)]
    assert waits == pytest.approx([0.0] * 100 + [0.1, 0.2, 0.3, 0.4, 0.5])
    assert [budget.spend(10_000.0) for _ in range(101)] == pytest.approx([0.0] * 100 + [0.1])


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    budget = RetryBudget()
    assert [budget.spend(now) for now in [500.0] * 60 + [0.0] * 41] == pytest.approx([0.0] * 100 + [0.1])


# ── a region that is down ──


class Region:
    """A pool on a transport with one answer: `answer` is a reply, an error, or a coroutine function."""

    def __init__(self, name: str = "us", answer: Any = None, concurrency: int = 50) -> None:
        self.answer = answer if answer is not None else ConnectError("refused")
        self.sent: list[float] = []
        self.timing = timing()
        self.pool = Pool(name, concurrency, self.timing, lambda: self)  # type: ignore[arg-type, return-value]

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        self.sent.append(self.timing.now())
        answer = await self.answer() if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise type(answer)(*answer.args)
        return answer  # type: ignore[no-any-return]

    async def call(self, lane: Priority = "interactive", **policy: Any) -> Any:
        return await make_call(self.pool, self.timing, priority=lane, **policy)

    async def goes_down(self) -> None:
        self.pool.has_replied = True  # it was there before
        for _ in range(FAILURES):
            with pytest.raises(TransportError):
                await self.call(attempts=1)
        assert "down after 10 failures in a row" in repr(self.pool)


OK = Reply(200, CIMultiDict(), b"{}")


@in_time
async def test_a_region_that_is_down_is_reported_at_once_and_nothing_is_sent() -> None:
    region = Region()
    await region.goes_down()
    for _ in range(5):
        with pytest.raises(ConnectError, match="region us is down: 10 exchanges in a row") as caught:
            await region.call()
        assert caught.value.retry_after == 1.0
        assert "nothing was sent, the next probe goes in 1.0 s" in str(caught.value)
    assert len(region.sent) == region.pool.sent == FAILURES
    assert (region.pool.state.active, region.timing.now()) == (0, 1000.0)


@in_time
async def test_it_comes_back_by_itself() -> None:
    region = Region()
    await region.goes_down()
    region.answer = OK
    await asyncio.sleep(1.0)
    assert await region.call() == {}
    assert "down" not in repr(region.pool)
    assert await asyncio.gather(*(region.call() for _ in range(20))) == [{}] * 20


@in_time
async def test_one_probe_at_a_time() -> None:
    region = Region()
    await region.goes_down()

    async def slowly() -> Reply:
        await asyncio.sleep(0.5)
        return OK

    region.answer = slowly
    await asyncio.sleep(1.0)
    done = await asyncio.gather(*(region.call() for _ in range(30)), return_exceptions=True)
    assert len(region.sent) == FAILURES + 1
    assert done.count({}) == 1
    assert sum(isinstance(each, ConnectError) for each in done) == 29
    assert await region.call() == {}


@in_time
async def test_a_cancelled_probe_is_followed_by_another() -> None:
    region = Region()
    await region.goes_down()
    region.answer = asyncio.Event().wait
    await asyncio.sleep(1.0)
    probe = asyncio.create_task(region.call())
    await asyncio.sleep(0.1)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    region.answer = OK
    await asyncio.sleep(1.0)
    assert await region.call() == {}


@in_time
async def test_exchanges_from_before_it_opened_do_not_count_as_the_probe() -> None:
    """A region that hangs: whoever was under way times out in the end, while the probe is under way too."""
    region, hang = Region(), asyncio.Event()

    async def hung() -> TransportError:
        await hang.wait()
        return RequestTimeoutError("slow")

    region.answer = hung
    old = [asyncio.create_task(region.call(attempts=1)) for _ in range(20)]
    await asyncio.sleep(0.1)
    region.answer = ConnectError("refused")
    await region.goes_down()
    region.answer = asyncio.Event().wait
    await asyncio.sleep(1.0)
    probe = asyncio.create_task(region.call())
    await asyncio.sleep(0.1)
    hang.set()
    await asyncio.gather(*old, return_exceptions=True)
    with pytest.raises(ConnectError) as caught:
        await region.call()
    assert caught.value.retry_after == pytest.approx(0.9)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)


@pytest.mark.parametrize("answer", [ReplyUnreadableError("cut off"), Reply(503, CIMultiDict(), b"")], ids=str)
def test_replies_of_any_kind_do_not_open_it(answer: Any) -> None:
    async def main() -> None:
        region = Region(answer=answer)
        for _ in range(3 * FAILURES):
            with pytest.raises(Exception, match=r"cut off|503"):
                await region.call(attempts=1)
        region.answer = OK
        assert await region.call() == {}

    virtually(main())


@in_time
async def test_a_bulk_call_waits_for_a_region_that_is_down() -> None:
    region = Region()
    await region.goes_down()
    region.answer = OK
    assert await asyncio.gather(*(region.call("bulk") for _ in range(20))) == [{}] * 20
    assert 1000.5 <= region.timing.now() <= 1005


@pytest.mark.parametrize("workers", [1, 20])
def test_a_bad_minute_ends_no_bulk_call(workers: int) -> None:
    """An export of days must not end by it."""

    async def main() -> None:
        region = Region()
        await region.goes_down()
        calls = [asyncio.create_task(region.call("bulk")) for _ in range(workers)]
        await asyncio.sleep(60)
        region.answer = OK
        assert await asyncio.gather(*calls) == [{}] * workers
        assert len(region.sent) <= FAILURES + workers + 10  # a probe now and then, no more

    virtually(main())


@in_time
async def test_an_interactive_call_ends_as_the_region_goes_down_under_it() -> None:
    region = Region()
    calls = [asyncio.create_task(region.call()) for _ in range(20)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, ConnectError) for each in done)
    assert region.timing.now() <= 1002
    assert len(region.sent) == FAILURES
