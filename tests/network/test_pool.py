"""One pool a region: regions keep out of each other's way, and a cancel at any await leaves nothing taken."""

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest

from chatrest import App, AsyncSession, DeadlineExceededError, OutcomeUnknownError, RetryPolicy
from chatrest._core.pace.pacer import Pace
from chatrest._core.replies.rate_signal import Signal
from chatrest._network import rate_gate
from chatrest._network.pool import Pool, PoolState
from chatrest._network.timing import Timing
from tests.network.calls import in_time
from tests.network.clocks import Clock, timing
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY, FaultyServer, Peer, Step, deaf, hang, reply, reset, until

pytestmark = pytest.mark.usefixtures("tidy")

ONCE = RetryPolicy(attempts=1)


async def ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in done)


def at_rest(pool: PoolState) -> bool:
    return (pool.active, pool.waiting) == (0, 0)


async def test_a_pool_is_created_when_its_region_is_first_used() -> None:
    async with FaultyServer(reply()) as server, server.session() as session:
        assert dict(session.pools) == {}
        eu = session.for_app(server.app("eu", "app-2", "key-2"))
        assert dict(session.pools) == {}
        await eu.request("GET", "/a")
        assert list(session.pools) == ["eu"]
        await session.request("GET", "/a")
        assert list(session.pools) == ["eu", "us"]
        assert eu.pools == session.pools


async def test_apps_of_one_region_share_a_pool_and_send_different_keys() -> None:
    async with FaultyServer(reply()) as first, FaultyServer(reply()) as second, first.session() as session:
        other = session.for_app(second.app("us", "app-2", "key-2"))
        for view in (session, other, session):
            await view.request("GET", "/a")
        assert [request.header("apikey") for request in first.requests] == [KEY, KEY]
        assert [request.header("apikey") for request in second.requests] == ["key-2"]
        assert (list(session.pools), session.pools["us"].sent) == (["us"], 3)


async def test_a_region_that_hangs_does_not_delay_another() -> None:
    async with (
        FaultyServer(hang) as stuck,
        FaultyServer(reply(b'{"region":"eu"}')) as well,
        AsyncSession(stuck.app("us"), concurrency=2, retry=ONCE) as session,
    ):
        calls = [asyncio.create_task(session.request("GET", "/a")) for _ in range(5)]
        await until(lambda: len(stuck.requests) == 2 and session.pools["us"].waiting == 3)
        eu = session.for_app(well.app("eu", "app-2"))
        got = await asyncio.gather(*(eu.request("GET", "/a") for _ in range(20)))
        assert got == [{"region": "eu"}] * 20
        assert (len(stuck.requests), session.pools["us"].active, session.pools["us"].waiting) == (2, 2, 3)
        await ended(*calls)
        assert at_rest(session.pools["us"])


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_concurrency_limits_the_number_of_concurrent_requests(concurrency: int) -> None:
    together = asyncio.Barrier(concurrency)

    async def step(peer: Peer) -> None:
        await together.wait()  # passes only where so many are here at once
        await peer.send(reply())

    async with FaultyServer(step) as server, server.session(concurrency=concurrency) as session:
        await asyncio.gather(*(session.request("GET", "/a") for _ in range(4 * concurrency)))
        assert (server.most, len(server.requests)) == (concurrency, 4 * concurrency)
        assert server.connections <= concurrency
        assert at_rest(session.pools["us"])


async def test_a_wait_between_attempts_holds_no_place() -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await go_on.wait()

    async with (
        FaultyServer(reply(b"", 503), reply()) as server,
        server.session(concurrency=1, sleep=sleep) as session,
    ):
        first = asyncio.create_task(session.request("GET", "/a"))
        await waiting.wait()
        assert session.pools["us"].active == 0
        assert await session.request("GET", "/b") == {}
        go_on.set()
        assert await first == {}


async def test_every_kind_of_end_frees_the_place() -> None:
    ends: list[Step] = [reply(), reply(b"", 404), reply(b"<"), reset, reply(b"", 302), hang]
    async with (
        FaultyServer(*ends) as server,
        server.session(concurrency=1, retry=ONCE, deadline=0.1) as session,
    ):
        await asyncio.gather(*(session.request("GET", "/a") for _ in ends), return_exceptions=True)
        assert at_rest(session.pools["us"])
        server.steps[:] = [reply()]
        assert await session.with_options(deadline=60.0).request("GET", "/b") == {}


async def test_sent_is_the_number_of_requests() -> None:
    async with FaultyServer(reply(), reset, reply(b"", 503), reply()) as server, server.session() as session:
        for method in ("GET", "PUT", "DELETE", "GET"):
            await session.request(method, "/a")  # type: ignore[arg-type]
        await session.request("POST", "/a")
        assert session.pools["us"].sent == len(server.requests) == 7


async def half_a_head(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    await hang(peer)


async def half_a_body(peer: Peer) -> None:
    await peer.send(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"half":')
    await hang(peer)


async def half_a_chunk(peer: Peer) -> None:
    await peer.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"half":')
    await hang(peer)


@loop_over("turns", [0, 1, 5, 20])
@loop_over("step", [hang, half_a_head, half_a_body, half_a_chunk])
async def test_a_cancel_while_a_reply_is_awaited(step: Step, turns: int) -> None:
    async with FaultyServer(step) as server, server.session(concurrency=1) as session:
        task = asyncio.create_task(session.request("GET", "/a"))
        await server.arrived.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        await ended(task)
        assert at_rest(session.pools["us"])
        server.steps[:] = [reply(b'{"whole":1}')]
        assert await session.request("GET", "/b") == {"whole": 1}
        assert server.connections == 2  # the one that was half read is not used again


async def in_pieces(peer: Peer) -> None:
    """A reply with the loop turning inside its head and its body."""
    whole = reply(b'{"data":[' + b" " * 99 + b"]}")
    for start in range(0, len(whole), 40):
        await peer.send(whole[start : start + 40])
        for _ in range(2):
            await asyncio.sleep(0)


@loop_over("turns", range(30))
async def test_a_cancel_after_any_number_of_loop_iterations(turns: int) -> None:
    async with FaultyServer(reply(b"", 503), in_pieces) as server, server.session(concurrency=2) as session:
        tasks = [asyncio.create_task(session.request("GET", f"/{n}")) for n in range(4)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(each == {"data": []} for each in done[1::2])
        assert all(each == {"data": []} or isinstance(each, asyncio.CancelledError) for each in done[::2])
        assert at_rest(session.pools["us"])
        assert await session.request("GET", "/b") == {"data": []}


async def test_every_call_gets_its_own_reply_despite_cancelled_calls() -> None:
    """The server repeats what it was asked; half of the calls are cut off at all sorts of moments."""
    async with _Echo() as server, server.session(concurrency=5) as session:
        tasks = [asyncio.create_task(session.request("GET", f"/{n}")) for n in range(60)]
        for number, task in enumerate(tasks[::2]):
            if number % 3 == 0:
                await asyncio.sleep(0)
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        for number, each in enumerate(done):
            assert isinstance(each, asyncio.CancelledError) or each == {"target": f"/{number}"}
        assert sum(isinstance(each, dict) for each in done) >= 30
        assert at_rest(session.pools["us"])


class _Echo(FaultyServer):
    """Replies with what it was asked, in two pieces."""

    def __init__(self) -> None:
        super().__init__(b"")

    async def _talk(self, peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            whole = reply({"target": request.target})
            await peer.send(whole[:50])
            await asyncio.sleep(0)
            await peer.send(whole[50:])


async def test_a_deadline_while_connecting_is_no_unknown_outcome() -> None:
    async with FaultyServer(reply(), greet=deaf) as server:
        app = App("app-1", KEY, base_url=f"https://127.0.0.1:{server.port}")  # and TLS is never answered
        async with AsyncSession(app, deadline=0.05, retry=ONCE) as session:
            with pytest.raises(DeadlineExceededError) as caught:
                await session.request("POST", "/a", json={})
    assert server.requests == []
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert "it was sent" not in str(caught.value)


def make_pool(clock: Clock, pace: Pace = Pace()) -> Pool:  # noqa: B008, a frozen value
    """A pool whose transport is never used."""

    def connect() -> None:
        raise AssertionError("nothing is sent")

    return Pool("us", 10, Timing(clock, clock.sleep), connect, pace)  # type: ignore[arg-type]


def apps_of(pool: Pool) -> list[str]:
    return [limit.app_id for limit in pool.state.limits]


def call_app(pool: Pool, clock: Clock, app_id: str, signal: Signal = Signal(False)) -> None:  # noqa: B008
    gate = pool.gates[app_id, "standard"]
    assert gate.try_enter("interactive", clock())
    gate.release("interactive")
    gate.pacer.observe(clock(), signal, clock())


def learn_limit(pool: Pool, clock: Clock, app_id: str) -> None:
    """Calls at 10 a second, a 429, and a call after it."""
    for _ in range(50):
        call_app(pool, clock, app_id)
        clock.now += 0.1
    call_app(pool, clock, app_id, Signal(True, retry_after=1.0))
    clock.now += 1.0
    call_app(pool, clock, app_id)


def test_the_memory_of_many_thousands_of_apps_is_small() -> None:
    clock = Clock(1000.0)
    pool = make_pool(clock)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(3_000):
            call_app(pool, clock, f"app-{number}", Signal(False, limit=1e6, remaining=1e6))
            clock.now += 0.001
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 3_000 * 1_500
    finally:
        tracemalloc.stop()
    assert len(apps_of(pool)) == 3_000


def test_of_many_apps_idle_ones_are_forgotten_and_refused_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_gate, "_MAX_GATES", 100)
    clock = Clock(1000.0)
    pool = make_pool(clock)
    assert pool.gates["busy", "standard"].try_enter("interactive", clock())
    call_app(pool, clock, "held back", Signal(True, retry_after=9.0))
    for number in range(1000):
        call_app(pool, clock, f"app-{number}")
        assert len(pool.gates) <= 100
    assert {"busy", "held back"} <= set(apps_of(pool))
    assert len(pool.places._apps) <= 100


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
async def test_the_state_of_a_pool_shows_holders_and_waiters() -> None:
    pool = Pool("us", 4, timing(), lambda: None)  # type: ignore[arg-type, return-value]
    stuck, well = pool.gates["stuck", "standard"], pool.gates["well", "standard"]
    tasks = [asyncio.create_task(stuck.enter("interactive")) for _ in range(6)]
    await asyncio.sleep(1.0)
    tasks.append(asyncio.create_task(well.enter("interactive")))
    await asyncio.sleep(1.0)  # more than the moment after which a place is lent
    state = pool.state
    assert [(limit.app_id, limit.active, limit.interactive, limit.bulk) for limit in state.limits] == [
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


async def test_the_repr_names_the_paused_apps() -> None:
    pool = Pool("us", 10, Timing(lambda: 0.0, asyncio.sleep), lambda: None)  # type: ignore[arg-type, return-value]
    tasks = []
    for number in range(5):
        gate = pool.gates[f"app-{number}", "standard"]
        gate.pacer.observe(0.0, Signal(True, retry_after=60.0), 0.0)
        tasks.append(asyncio.create_task(gate.enter("bulk" if number % 2 else "interactive")))
    await asyncio.sleep(0)
    assert repr(pool.state) == (
        "<Pool us: 0 of 10 places in use, 5 waiting, 0 sent, held back: app-0, app-1, app-2 and 2 more>"
    )
    first, second = pool.state.limits[:2]
    assert (first.interactive, first.bulk, second.interactive, second.bulk) == (1, 0, 0, 1)
    assert " 1 interactive and 0 bulk waiting, next slot in 60.0 s" in str(first)
    assert not pool.state.is_full
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
