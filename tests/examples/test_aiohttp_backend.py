"""The aiohttp backend: unread counts of many users under one deadline, errors as statuses, the shutdown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import pytest
from aiohttp import web

from benchmarks.virtual_time import run
from chatrest import AsyncSession, Failure, MessageQuery, RequestInvalidError, RetryPolicy, Success
from chatrest.emulator import Emulator
from chatrest.emulator.weather import Drip, First, HalfOpen, Latency, Status, TooManyRequests
from chatrest.examples import aiohttp_backend
from chatrest.examples.aiohttp_backend import (
    AT_ONCE,
    LOGIN,
    MOST_USERS,
    PAGE,
    REQUEST_SECONDS,
    make_app,
    show_counts,
)
from tests.faulty import no_wait

USERS = [f"user-{number:02}" for number in range(1, 6)]
LIST = "&".join(f"uid={uid}" for uid in USERS)


class Backend(NamedTuple):
    """A running backend, and a browser that is signed in."""

    emulator: Emulator
    browser: aiohttp.ClientSession
    session: AsyncSession
    runner: web.AppRunner

    async def get(self, path: str) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        async with self.browser.get(path) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def running() -> AsyncIterator[Backend]:
    clock = asyncio.get_running_loop().time
    async with Emulator(users=len(USERS), messages=150, groups=0) as emulator:
        retry = RetryPolicy(attempts=2)
        session = AsyncSession(emulator.app, cursor_key=b"k", clock=clock, sleep=no_wait, retry=retry)
        runner = web.AppRunner(make_app(lambda: session, lambda login: login == LOGIN))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        headers = {"Authorization": f"Bearer {LOGIN}"}
        try:
            async with aiohttp.ClientSession(f"http://{host}:{port}", headers=headers) as browser:
                yield Backend(emulator, browser, session, runner)
        finally:
            await runner.cleanup()


@pytest.fixture
async def backend() -> AsyncIterator[Backend]:
    async with running() as backend:
        yield backend


async def test_unread_messages_are_counted_for_each_user(backend: Backend) -> None:
    backend.emulator.weather.add(Drip(pause=0.0, size=1, when=First()))  # so that the first user comes last
    status, answer = await backend.get(f"/unread?{LIST}&uid=user-01&uid=nobody")
    assert len(backend.emulator.requests) == len(USERS) + 1  # a user that is named twice is counted once
    unread = MessageQuery(unread=True)
    expected = {
        uid: sum(each.count for each in await backend.session.messages.counts(unread, on_behalf_of=uid))
        for uid in USERS
    }
    assert sum(expected.values()) > 0
    assert (status, answer) == (200, {"unread": expected, "failed": {"nobody": "not_found"}})
    assert list(answer["unread"]) == USERS


@pytest.mark.parametrize("count", [0, MOST_USERS + 1])
async def test_the_number_of_users_is_bounded(backend: Backend, count: int) -> None:
    query = "&".join(f"uid={number}" for number in range(count))
    async with backend.browser.get(f"/unread?{query}") as answer:
        assert answer.status == 400
    assert not backend.emulator.requests


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [(Status(401), 500, "misconfigured"), (TooManyRequests(wait=60.0), 503, "busy")],
    ids=["key", "limit"],
)
async def test_an_error_of_every_user_is_the_status(
    backend: Backend, fault: Status, status: int, code: str
) -> None:
    backend.emulator.weather.add(fault)
    async with backend.browser.get(f"/unread?{LIST}") as answer:
        assert (answer.status, (await answer.json())["error"]) == (status, code)
        assert ("Retry-After" in answer.headers) == (status == 503)


async def test_a_line_break_in_a_path_makes_no_line_of_the_log(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    status, _ = await backend.get("/users/x%0Aforged/messages")
    assert status == 400
    assert "forged" in caplog.text
    assert "\nforged" not in caplog.text


def test_a_mistake_of_a_worker_is_no_failure_of_its_user() -> None:
    counted = Success("user-01", 3, None, 0.1)
    with pytest.raises(KeyError):
        show_counts([counted, Failure("user-02", None, KeyError("x"), 0.1)])


async def test_nobody_is_served_without_a_login(backend: Backend) -> None:
    backend.browser.headers["Authorization"] = "Bearer other"
    for path in (f"/unread?{LIST}", "/users/user-01/messages", "/nowhere"):
        async with backend.browser.get(path) as answer:
            assert answer.status == 401
    assert not backend.emulator.requests


async def test_a_team_pages_through_a_users_messages(backend: Backend) -> None:
    walk = backend.session.messages.list_user("user-01")
    expected = sorted([message.id async for message in walk], key=int, reverse=True)
    ids, query = [], ""
    for _ in range(len(expected) // PAGE + 1):
        _, page = await backend.get(f"/users/user-01/messages{query}")
        ids += [message["id"] for message in page["messages"]]
        first, query = query or f"?cursor={page['next']}", f"?cursor={page['next']}"
    assert ids == expected
    assert page["next"] is None
    status, answer = await backend.get(f"/users/user-02/messages{first}")
    assert (status, answer["error"]) == (400, "cursor_refused")


def test_all_users_of_a_request_have_one_deadline_together() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with running() as backend:
            backend.emulator.weather.add(HalfOpen(when=First()))
            status, answer = await backend.get(f"/unread?{LIST}")
            assert now() == pytest.approx(REQUEST_SECONDS)
            assert (status, len(answer["unread"])) == (200, len(USERS) - 1)
            assert list(answer["failed"].values()) == ["timeout"]
            backend.emulator.weather.clear()

            backend.emulator.weather.add(HalfOpen())
            many = "&".join(f"uid=user-{number}" for number in range(3 * AT_ONCE))
            status, answer = await backend.get(f"/unread?{many}")
            assert now() == pytest.approx(2 * REQUEST_SECONDS)
            assert (status, answer["error"]) == (504, "timeout")
            assert backend.emulator.weather.struck["half_open"] == 1 + AT_ONCE
            backend.emulator.weather.release()

    run(main())


def test_a_request_under_way_is_answered_before_the_session_is_closed() -> None:
    async def main() -> None:
        async with running() as backend:
            backend.emulator.weather.add(Latency(1.0))
            answer = asyncio.create_task(backend.get("/unread?uid=user-01"))
            await asyncio.sleep(0.5)
            stopped = asyncio.create_task(backend.runner.cleanup())
            await asyncio.sleep(0.25)
            with pytest.raises(aiohttp.ClientConnectorError):
                await backend.get("/unread?uid=user-01")
            assert (await answer)[0] == 200
            await stopped
            with pytest.raises(RequestInvalidError, match="the session is not open"):
                await backend.session.users.get("user-01")

    run(main())


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    aiohttp_backend.main()
    printed = capsys.readouterr().out
    statuses = ["401", "200", "200", "200", "200", "400", "500", "200"]
    assert [line[4:7] for line in printed.splitlines() if line[4:7].isdigit()] == statuses
    assert printed.endswith("the backend has stopped.\n")
