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
from tests.scripted_server import Time, until

SENT = {"receiver": "user-002", "receiverType": "user", "type": "text", "data": {"text": "hi"}}


class Raw(NamedTuple):
    """The bytes that came over the connection until it ended."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""
    error: type[Exception] | None = None
    """The error of a reply that did not come to its end."""


class Line:
    def __init__(self, emulator: Emulator, http: ClientSession, time: Time) -> None:
        self.emulator, self.http, self.time = emulator, http, time

    async def ask(self, *, body: Any = None) -> Raw:
        raw = Raw()
        url, method = f"{self.emulator.base_url}/messages", "GET" if body is None else "POST"
        try:
            async with self.http.request(method, url, json=body) as response:
                raw = Raw(response.status, response.headers)
                async for piece in response.content.iter_any():
                    raw = raw._replace(body=raw.body + piece)
        except ClientError as error:
            return raw._replace(error=type(error.__cause__ or error))
        return raw

    @property
    def noted(self) -> list[tuple[int, str | None]]:
        return [(request.status, request.fault) for request in self.emulator.requests]

    @property
    def count(self) -> int:
        return len(self.emulator.store.ids())


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    time = Time()
    time.now = 1_900_000_000.0
    async with Emulator(3, 60, groups=0, seed=1, clock=time.clock, sleep=time.sleep) as emulator:
        headers, connector = {"apikey": emulator.app.api_key}, TCPConnector(force_close=True)
        async with ClientSession(headers=headers, connector=connector) as http:
            yield Line(emulator, http, time)


@pytest.mark.parametrize(("status", "body"), [(408, None), (417, b"<h1>417</h1>"), (503, b"")])
async def test_statuses(line: Line, status: int, body: bytes | None) -> None:
    line.emulator.weather.add(Status(status, body, headers={"X-Why": "weather"}, when=First()))
    raw = await line.ask()
    assert (raw.status, raw.error, raw.headers["x-why"]) == (status, None, "weather")
    kind = "application/json" if body is None else "text/html"
    assert (raw.headers["content-type"], raw.body) == (kind, raw.body if body is None else body)
    assert (await line.ask()).status == 200
    assert line.noted == [(status, "status"), (200, None)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (TooManyRequests(2.5), {"x-ratelimit-limit": "500", "x-ratelimit-reset": "1900000003"}),
        (TooManyRequests(2, "b"), {"x-rate-limit-reset": "1900000002", "retry-after": "2"}),
        (TooManyRequests(headers="none"), {}),
    ],
)
async def test_429(line: Line, fault: Fault, expected: dict[str, str]) -> None:
    line.emulator.weather.add(fault)
    raw = await line.ask(body=SENT)
    assert raw.status == 429
    assert {name: raw.headers.get(name) for name in expected} == expected
    assert bool(expected) is any("Retry" in name or "Rate" in name for name in raw.headers)
    assert line.count == 60


@pytest.mark.parametrize(
    "fault", [Status(502, processed=True), Reset(processed=True), Reset(after=5), Cut(5)], ids=repr
)
async def test_a_reply_may_be_lost_after_the_work_was_done(line: Line, fault: Fault) -> None:
    line.emulator.weather.add(fault)
    await line.ask(body=SENT)
    assert line.count == 61
    assert line.emulator.requests[0].fault == fault.name


async def test_latency_waits_with_the_sleep_that_was_given(line: Line) -> None:
    line.emulator.weather.add(Latency(300.0), Status(when=First()))
    assert [(await line.ask()).status for _ in range(2)] == [503, 200]
    assert line.time.slept == [300.0, 300.0]
    assert line.noted == [(503, "latency+status"), (200, "latency")]


async def test_a_reply_is_cut_off_or_reset(line: Line) -> None:
    whole = (await line.ask()).body
    line.emulator.weather.add(Cut(100, when=First()), Reset(100, when=First()), Reset())
    for _ in range(2):
        raw = await line.ask()
        assert (raw.headers["content-length"], raw.body) == (str(len(whole)), whole[:100])
        assert raw.error is ContentLengthError
    assert await line.ask() == Raw(error=ConnectionResetError)
    assert line.noted[1:4] == [(200, "cut"), (200, "reset"), (0, "reset")]


async def test_half_open_until_released(line: Line) -> None:
    line.emulator.weather.add(HalfOpen(when=First()))
    asking = asyncio.create_task(line.ask(body=SENT))
    await until(lambda: line.noted)
    assert (line.noted, line.count, asking.done()) == ([(0, "half_open")], 60, False)
    line.emulator.weather.release()
    assert (await asking).status == 200
    assert line.count == 61


async def test_half_open_until_the_client_gives_up_or_it_is_closed(line: Line) -> None:
    line.emulator.weather.add(HalfOpen(processed=True))
    tasks = len(asyncio.all_tasks())
    asking = asyncio.create_task(line.ask())
    await until(lambda: line.noted)
    assert line.noted == [(0, "half_open")]
    asking.cancel()
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    asking = asyncio.create_task(line.ask(body=SENT))
    await until(lambda: len(line.noted) > 1)
    assert line.count == 61
    async with asyncio.timeout(60):
        await line.emulator.close()
    assert (await asking).status == 0


@pytest.mark.parametrize(("uid", "sender"), [(None, "app_system"), ("user-003", "user-003")])
async def test_a_message_sent_for_a_user_is_one_of_another_where_that_is_ignored(
    uid: str | None, sender: str
) -> None:
    ignores = Emulator(users=3, messages=0, weather=[IgnoredActingUser(uid)])
    async with ignores as emulator, AsyncSession(emulator.app) as session:
        sent = await session.messages.send(NewMessage.text("user-002", "hi"), on_behalf_of="user-001")
    assert sent.sender == sender
