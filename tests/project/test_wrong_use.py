"""A session used in another loop, thread or process than its own: it says so, and nothing is sent."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from chatrest import AsyncSession, RequestInvalidError
from tests.support.cases import loop_over
from tests.support.scripted_server import FaultyServer, reply


def in_a_thread(main: Callable[[], Coroutine[Any, Any, Any]]) -> BaseException | None:
    """The error of `main`, run by a new loop in a new thread."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(asyncio.wait_for(main(), 60))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
    return errors[0] if errors else None


async def request(session: AsyncSession) -> Any:
    return await session.request("POST", "/a", json={})


async def walk(session: AsyncSession) -> Any:
    return await session.users.list().collect()


async def close(session: AsyncSession) -> None:
    await session.close()


async def enter(session: AsyncSession) -> None:
    async with session:
        pass


@loop_over("use", [request, walk, close, enter])
@loop_over("deadline", [None, 9.0])
async def test_a_session_refuses_the_loop_of_another_thread(
    use: Callable[[AsyncSession], Any], deadline: float | None
) -> None:
    async with FaultyServer(reply()) as server, server.session() as session:
        await session.request("GET", "/a")
        if use in (request, walk):
            session = session.with_options(deadline=deadline)
        error = await asyncio.to_thread(in_a_thread, lambda: use(session))
        assert type(error) is RequestInvalidError
        assert "another event loop" in str(error)
        assert "open another session here" in str(error)
        assert len(server.requests) == 1
        await session.request("GET", "/b")  # it is as good as before here
    assert len(server.requests) == 2


def test_a_session_refuses_a_later_loop() -> None:
    async def opened() -> AsyncSession:
        async with FaultyServer(reply()) as server:
            session = await server.session().__aenter__()
            assert await session.request("GET", "/a") == {}
            await session._client.pool("us").close()  # its connections alone: the session stays open
            return session

    session = asyncio.run(opened())
    for use in (request, walk, close):
        with pytest.raises(RequestInvalidError, match="another event loop"):
            asyncio.run(use(session))


FORKS = """
import asyncio, os
from chatrest import App, AsyncSession, RequestInvalidError

loop = asyncio.new_event_loop()
session = AsyncSession(App("app-1", "a-key", base_url="http://127.0.0.1:1"))
loop.run_until_complete(session.__aenter__())
if os.fork() == 0:
    try:
        loop.run_until_complete(session.request("GET", "/a"))
    except RequestInvalidError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
loop.run_until_complete(session.close())
"""


def test_a_session_refuses_a_fork_that_runs_the_loop_of_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, check=True
    )
    assert "belongs to another event loop or process" in done.stdout


async def test_a_thread_may_call_in_the_loop_of_the_session() -> None:
    async with FaultyServer(reply()) as server, server.session() as session:
        loop = asyncio.get_running_loop()

        def work() -> Any:
            return asyncio.run_coroutine_threadsafe(session.request("GET", "/a"), loop).result(60)

        assert await asyncio.to_thread(work) == {}
