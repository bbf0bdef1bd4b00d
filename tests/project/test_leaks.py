"""No task and no socket stays behind for any reply of the service."""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from chatrest import RetryPolicy, Timeouts
from tests.support.scripted_server import FaultyServer, Peer, Step, cut, hang, reply, reset

pytestmark = pytest.mark.usefixtures("tidy")

ONCE = RetryPolicy(attempts=1)


@pytest.fixture
def transports(note_transports: Any) -> Iterator[list[asyncio.BaseTransport]]:
    """Every transport that the client opens."""
    made: list[asyncio.BaseTransport] = []
    note_transports(made.append)
    yield made
    made.clear()


async def stray(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    await hang(peer)


@pytest.mark.parametrize(
    "step", [reply(), reply(b"", 404), reply(b"<"), cut(b"HTTP/1.1 2"), reset, hang, stray]
)
@pytest.mark.parametrize("how", ["raise", "cancel", "plain"])
async def test_a_closed_session_leaves_no_task_and_no_socket(
    transports: list[asyncio.BaseTransport], step: Step, how: str
) -> None:
    async with FaultyServer(step) as server:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            await _use(server, how)
            for _ in range(3):
                await asyncio.sleep(0)
            assert transports
            assert all(transport.is_closing() for transport in transports)
            assert all(transport.get_extra_info("socket").fileno() == -1 for transport in transports)
            gc.collect(1)
        assert warned == []
        mine = {task for task in asyncio.all_tasks() if task not in server._tasks}
        assert mine == {asyncio.current_task()}


async def _use(server: FaultyServer, how: str) -> None:
    """Three calls, some of them under way when the session is left in one of three ways."""
    calls: list[asyncio.Task[Any]] = []
    try:
        async with server.session(concurrency=2, retry=ONCE, timeouts=Timeouts(read=0.05)) as session:
            calls = [asyncio.create_task(session.request("GET", "/a")) for _ in range(3)]
            await server.arrived.wait()
            if how == "cancel":
                calls[0].cancel()
            elif how == "raise":
                raise KeyError("the caller's own")
            await asyncio.gather(*calls, return_exceptions=True)
    except KeyError:
        pass
    await asyncio.gather(*calls, return_exceptions=True)


async def test_an_unused_session_leaves_no_resources(transports: list[asyncio.BaseTransport]) -> None:
    async with FaultyServer(reply()) as server, server.session():
        pass
    server.session()
    assert transports == []


async def test_an_abandoned_walk_leaves_no_resources() -> None:
    page = {"data": [{"uid": f"u{n}", "name": "n"} for n in range(5)]}
    async with FaultyServer(reply(page)) as server, server.session() as session:
        async for _ in session.users.list():
            break
        async for _ in session.users.list().pages():
            break
        assert session.pools["us"].active == 0
