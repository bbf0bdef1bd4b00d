"""Every fault on a real socket, as a client sees it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientError, ClientSession, TCPConnector
from aiohttp.http_exceptions import ContentLengthError

from chatrest import AsyncSession, NewMessage
from chatrest.emulator import (
    Cut,
    Emulator,
    Fault,
    First,
    HalfOpen,
    IgnoredActingUser,
    Latency,
    Reset,
    Status,
    TooManyRequests,
)
from tests.support.scripted_server import Time, until

SENT = {"receiver": "user-002", "receiverType": "user", "type": "text", "data": {"text": "hi"}}


class RawReply(NamedTuple):
    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""
    error: type[Exception] | None = None
    """The error of a reply that did not come to its end."""


class WireClient:
    def __init__(self, emulator: Emulator, http: ClientSession, time: Time) -> None:
        self.emulator, self.http, self.time = emulator, http, time

    async def ask(self, *, body: Any = None) -> RawReply:
        reply = RawReply()
        url, method = f"{self.emulator.base_url}/messages", "GET" if body is None else "POST"
        try:
            async with self.http.request(method, url, json=body) as response:
                reply = RawReply(response.status, response.headers)
                async for piece in response.content.iter_any():
                    reply = reply._replace(body=reply.body + piece)
        except ClientError as error:
            return reply._replace(error=type(error.__cause__ or error))
        return reply

    @property
    def statuses(self) -> list[tuple[int, str | None]]:
        return [(request.status, request.fault) for request in self.emulator.requests]

    @property
    def message_count(self) -> int:
        return len(self.emulator.store.ids())


@pytest.fixture
async def client() -> AsyncIterator[WireClient]:
    time = Time()
    time.now = 1_900_000_000.0
    async with Emulator(3, 60, groups=0, seed=1, clock=time.clock, sleep=time.sleep) as emulator:
        headers, connector = {"apikey": emulator.app.api_key}, TCPConnector(force_close=True)
        async with ClientSession(headers=headers, connector=connector) as http:
            yield WireClient(emulator, http, time)


@pytest.mark.parametrize(("status", "body"), [(408, None), (417, b"<h1>417</h1>"), (503, b"")])
async def test_a_status_has_its_body_and_its_headers(
    client: WireClient, status: int, body: bytes | None
) -> None:
    client.emulator.weather.add(Status(status, body, headers={"X-Why": "weather"}, when=First()))
    reply = await client.ask()
    assert (reply.status, reply.error, reply.headers["x-why"]) == (status, None, "weather")
    kind = "application/json" if body is None else "text/html"
    assert (reply.headers["content-type"], reply.body) == (kind, reply.body if body is None else body)
    assert (await client.ask()).status == 200
    assert client.statuses == [(status, "status"), (200, None)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (TooManyRequests(2.5), {"x-ratelimit-limit": "500", "x-ratelimit-reset": "1900000003"}),
        (TooManyRequests(2, "b"), {"x-rate-limit-reset": "1900000002", "retry-after": "2"}),
        (TooManyRequests(headers="none"), {}),
    ],
)
async def test_a_429_names_its_time_in_the_spelling_asked_for(
    client: WireClient, fault: Fault, expected: dict[str, str]
) -> None:
    client.emulator.weather.add(fault)
    reply = await client.ask(body=SENT)
    assert reply.status == 429
    assert {name: reply.headers.get(name) for name in expected} == expected
    assert bool(expected) is any("Retry" in name or "Rate" in name for name in reply.headers)
    assert client.message_count == 60


@pytest.mark.parametrize(
    "fault", [Status(502, processed=True), Reset(processed=True), Reset(after=5), Cut(5)], ids=repr
)
async def test_a_reply_may_be_lost_after_the_work_was_done(client: WireClient, fault: Fault) -> None:
    client.emulator.weather.add(fault)
    await client.ask(body=SENT)
    assert client.message_count == 61
    assert client.emulator.requests[0].fault == fault.name


async def test_latency_waits_with_the_sleep_that_was_given(client: WireClient) -> None:
    client.emulator.weather.add(Latency(300.0), Status(when=First()))
    assert [(await client.ask()).status for _ in range(2)] == [503, 200]
    assert client.time.slept == [300.0, 300.0]
    assert client.statuses == [(503, "latency+status"), (200, "latency")]


async def test_a_reply_is_cut_off_or_reset(client: WireClient) -> None:
    whole = (await client.ask()).body
    client.emulator.weather.add(Cut(100, when=First()), Reset(100, when=First()), Reset())
    for _ in range(2):
        reply = await client.ask()
        assert (reply.headers["content-length"], reply.body) == (str(len(whole)), whole[:100])
        assert reply.error is ContentLengthError
    assert await client.ask() == RawReply(error=ConnectionResetError)
    assert client.statuses[1:4] == [(200, "cut"), (200, "reset"), (0, "reset")]


async def test_half_open_until_released(client: WireClient) -> None:
    client.emulator.weather.add(HalfOpen(when=First()))
    asking = asyncio.create_task(client.ask(body=SENT))
    await until(lambda: client.statuses)
    assert (client.statuses, client.message_count, asking.done()) == ([(0, "half_open")], 60, False)
    client.emulator.weather.release()
    assert (await asking).status == 200
    assert client.message_count == 61


async def test_a_half_open_reply_lasts_until_the_client_or_server_closes(client: WireClient) -> None:
    client.emulator.weather.add(HalfOpen(processed=True))
    tasks = len(asyncio.all_tasks())
    asking = asyncio.create_task(client.ask())
    await until(lambda: client.statuses)
    assert client.statuses == [(0, "half_open")]
    asking.cancel()
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    asking = asyncio.create_task(client.ask(body=SENT))
    await until(lambda: len(client.statuses) > 1)
    assert client.message_count == 61
    async with asyncio.timeout(60):
        await client.emulator.close()
    assert (await asking).status == 0


@pytest.mark.parametrize(("uid", "sender"), [(None, "app_system"), ("user-003", "user-003")])
async def test_a_message_sent_for_a_user_is_one_of_another_where_that_is_ignored(
    uid: str | None, sender: str
) -> None:
    ignores = Emulator(users=3, messages=0, weather=[IgnoredActingUser(uid)])
    async with ignores as emulator, AsyncSession(emulator.app) as session:
        sent = await session.messages.send(NewMessage.text("user-002", "hi"), on_behalf_of="user-001")
    assert sent.sender == sender
