"""Views of a client: what they refuse when they are made."""

import asyncio
from typing import Any

import pytest

from chatrest import (
    App,
    AsyncManagement,
    AsyncSession,
    DeadlineExceededError,
    NotFoundError,
    RawReply,
    RequestInvalidError,
)
from chatrest.emulator import Emulator, First, Latency, Status
from tests.network.clocks import Clock
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY, FaultyServer, no_wait, reply
from tests.support.virtual_time import run

pytestmark = pytest.mark.usefixtures("tidy")

PROXY = "http://proxy.example.com:3128"
SAFE = App("app-1", "k3y-of-the-app", base_url="https://chat.example.com/v3")
OPEN = App("app-2", "k3y-of-the-app", base_url="http://chat.example.com", allow_http=True)


def test_a_proxy_of_a_company_is_taken_for_https_addresses_only() -> None:
    session = AsyncSession(SAFE, proxy=PROXY)
    assert session.as_user("ann").app is SAFE
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        session.for_app(OPEN)
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        AsyncSession(OPEN, proxy=PROXY)
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        AsyncManagement("http://127.0.0.1:1", key="k", secret="s", proxy=PROXY)
    assert AsyncSession(OPEN, proxy="http://127.0.0.1:3128").app is OPEN


async def test_all_calls_of_a_view_share_its_time() -> None:
    clock = Clock(100.0)
    async with Emulator(users=2, messages=0) as emulator, AsyncSession(emulator.app, clock=clock) as session:
        chat = session.within(2.0)
        clock.now += 1.9
        assert (await chat.users.get("user-001")).uid == "user-001"
        clock.now += 0.2
        requests = len(emulator.requests)
        with pytest.raises(DeadlineExceededError, match=r"users.get: the time that all calls") as caught:
            await chat.as_user("user-001").users.get("user-002")
        assert (caught.value.operation, caught.value.attempts) == ("users.get", 0)
        assert len(emulator.requests) == requests
        assert (await session.users.get("user-002")).uid == "user-002"


@pytest.mark.parametrize(
    ("outer", "inner", "deadline", "left"), [(5, 9, None, 5), (5, 3, None, 3), (5, 5, 1.5, 1.5), (2, 9, 4, 2)]
)
def test_the_earliest_end_counts(outer: float, inner: float, deadline: float | None, left: float) -> None:
    async def work() -> float:
        clock = asyncio.get_running_loop().time
        slow = Emulator(users=0, messages=0, weather=[Latency(1000)], clock=clock)
        async with slow as emulator, AsyncSession(emulator.app, clock=clock) as session:
            view = session.within(outer).within(inner).with_options(deadline=deadline)
            with pytest.raises(DeadlineExceededError):
                await view.users.get("ann")
            return clock()

    assert run(work()) == left


@loop_over("seconds", [0, -1, None, True, "2"])
def test_a_wrong_time_is_refused(seconds: Any) -> None:
    with pytest.raises(RequestInvalidError, match="seconds = "):
        AsyncSession(SAFE).within(seconds)


async def test_a_reply_is_given_on_request_for_each_attempt_and_each_page() -> None:
    replies: list[RawReply] = []
    fault = Status(503, route="users.get", when=First(1))
    async with (
        Emulator(users=5, messages=0, weather=[fault]) as emulator,
        AsyncSession(emulator.app, sleep=no_wait) as session,
    ):
        view = session.with_options(on_reply=replies.append)
        await view.users.get("user-001")
        first, second = replies
        assert (first.operation, first.attempt, first.status) == ("users.get", 1, 503)
        assert (second.attempt, second.status) == (2, 200)
        assert second.headers["content-type"].startswith("application/json")
        assert b'"user-001"' in second.body
        assert "user-001" not in repr(second)
        replies.clear()
        assert len(await view.users.list().collect()) == 5
        assert {reply.operation for reply in replies} == {"users.list"}
        replies.clear()
        await view.request("GET", "/users/user-002")
        await session.users.get("user-001")
        await view.with_options(on_reply=None).users.get("user-001")
        assert len(replies) == 1


async def test_a_reply_and_an_error_have_the_same_request_id_and_no_key() -> None:
    replies: list[RawReply] = []
    served = reply(b"{}", 404, x_request_id="abc-1", x_echo=KEY)
    async with FaultyServer(served) as server, server.session() as session:
        with pytest.raises(NotFoundError) as caught:
            await session.with_options(on_reply=replies.append).users.get("nobody")
    [raw] = replies
    assert raw.status == caught.value.status == 404
    assert raw.request_id == caught.value.request_id == "abc-1"
    assert "abc-1" in repr(raw)
    assert raw.headers["x-echo"] == caught.value.headers["x-echo"] == "[hidden]"


async def test_a_failure_of_the_function_does_not_fail_the_call(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: RawReply) -> None:
        raise ValueError("mine")

    async with Emulator(users=1, messages=0) as emulator, AsyncSession(emulator.app) as session:
        await session.with_options(on_reply=fail).users.get("user-001")
    assert "the function on_reply failed" in caplog.text
    with pytest.raises(RequestInvalidError, match="on_reply"):
        session.with_options(on_reply=5)  # type: ignore[arg-type]


async def test_a_view_knows_of_a_users_login_token_beside_the_key() -> None:
    async with FaultyServer() as server, server.session() as session:
        beside = session.with_options(headers={"AuthToken": "another"})
        views = (session, beside, beside.as_user("bob"))
        assert [view.sender.has_reader_token for view in views] == [False, True, True]
