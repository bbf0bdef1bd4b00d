"""Every fault on a real socket, as raw bytes."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

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
from tests.scripted_server import until

NOW = 1_900_000_000.0
SENT = {"receiver": "user-002", "receiverType": "user", "type": "text", "data": {"text": "hi"}}


class Raw(NamedTuple):
    """The bytes that came over the connection until it ended."""

    status: int
    headers: dict[str, str]
    body: bytes
    end: str
    """`closed`, `reset`, or `open` where the connection is still there."""


class Line:
    """One connection to the emulator, byte by byte."""

    def __init__(
        self, emulator: Emulator, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.emulator, self.reader, self.writer = emulator, reader, writer

    async def ask(self, path: str = "/v3/messages", *, body: Any = None, **headers: str) -> Raw:
        data = b"" if body is None else json.dumps(body).encode()
        sent = {
            "Host": "x", "apikey": self.emulator.app.api_key, "Content-Length": str(len(data)), **headers
        }  # fmt: skip
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", *map(": ".join, sent.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        return await self.reply()

    async def reply(self) -> Raw:
        reply = bytearray()
        try:
            while not _is_whole(bytes(reply)):
                piece = await self.reader.read(1 << 16)
                if not piece:
                    return _raw(bytes(reply), "closed")
                reply += piece
        except ConnectionResetError:
            return _raw(bytes(reply), "reset")
        return _raw(bytes(reply), "open")


def _is_whole(reply: bytes) -> bool:
    raw = _raw(reply, "")
    return bool(raw.headers) and len(raw.body) >= int(raw.headers["content-length"])


def _raw(reply: bytes, end: str) -> Raw:
    head, gap, body = reply.partition(b"\r\n\r\n")
    if not gap:
        return Raw(0, {}, b"", end)
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Raw(int(first.split()[1]), headers, body, end)


class Sleeper:
    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


@pytest.fixture
async def emulator(sleeper: Sleeper) -> AsyncIterator[Emulator]:
    async with Emulator(3, 60, groups=0, seed=1, clock=lambda: NOW, sleep=sleeper) as emulator:
        yield emulator


@pytest.fixture
async def line(emulator: Emulator) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", emulator.port)
    yield Line(emulator, reader, writer)
    writer.transport.abort()


@pytest.fixture
async def faithful(line: Line) -> bytes:
    """The body of the page in fair weather."""
    body = (await line.ask()).body
    line.emulator.requests.clear()
    return body


def noted(emulator: Emulator) -> list[tuple[int, str | None]]:
    return [(request.status, request.fault) for request in emulator.requests]


@pytest.mark.parametrize(
    ("status", "body_kind", "kind"),
    [(408, "json", "json"), (417, "html", "html"), (500, "text", "plain"), (503, "empty", "")],
)
async def test_statuses(emulator: Emulator, line: Line, status: int, body_kind: Any, kind: str) -> None:
    emulator.weather.add(Status(status, body_kind, headers={"X-Why": "weather"}, when=First()))
    raw = await line.ask()
    assert (raw.status, raw.end, raw.headers["x-why"]) == (status, "open", "weather")
    assert kind in raw.headers["content-type"]
    assert bool(raw.body) is (body_kind != "empty")
    assert (await line.ask()).status == 200
    assert noted(emulator) == [(status, "status"), (200, None)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            TooManyRequests(2.5),
            {"x-ratelimit-limit": "500", "x-ratelimit-reset": "1900000003", "retry-after": "3"},
        ),
        (TooManyRequests(2, "b"), {"x-rate-limit": "500", "x-rate-limit-reset": "1900000002"}),
        (TooManyRequests(20, "retry-after", as_date=True), {"retry-after": "sun, 17 mar 2030 17:47:00 gmt"}),
        (TooManyRequests(headers="none"), {}),
    ],
)
async def test_429(emulator: Emulator, line: Line, fault: Fault, expected: dict[str, str]) -> None:
    emulator.weather.add(fault)
    raw = await line.ask(body=SENT)
    assert raw.status == 429
    assert expected.items() <= raw.headers.items()
    assert bool(expected) is any("retry" in name or "rate" in name for name in raw.headers)
    assert len(emulator.store.ids()) == 60


@pytest.mark.parametrize(
    "fault",
    [
        Status(502, processed=True), Reset(processed=True),
        Reset(after=5), Cut(5),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_reply_may_be_lost_after_the_work_was_done(
    emulator: Emulator, line: Line, fault: Fault
) -> None:
    emulator.weather.add(fault)
    await line.ask(body=SENT)
    assert len(emulator.store.ids()) == 61
    assert emulator.requests[0].fault == fault.name


async def test_latency_waits_with_the_sleep_that_was_given(
    emulator: Emulator, line: Line, faithful: bytes, sleeper: Sleeper
) -> None:
    emulator.weather.add(Latency(300.0), Status(when=First()))
    assert (await line.ask()).status == 503
    assert (await line.ask()).body == faithful
    assert sleeper.slept == [300.0, 300.0]
    assert noted(emulator) == [(503, "latency+status"), (200, "latency")]


async def test_cut(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(Cut(100))
    raw = await line.ask()
    assert (raw.headers["content-length"], raw.body, raw.end) == (
        str(len(faithful)),
        faithful[:100],
        "closed",
    )


async def test_reset_before_any_reply(emulator: Emulator, line: Line) -> None:
    emulator.weather.add(Reset())
    assert await line.ask() == Raw(0, {}, b"", "reset")
    assert noted(emulator) == [(0, "reset")]


async def test_half_open_until_released(emulator: Emulator, line: Line) -> None:
    emulator.weather.add(HalfOpen(when=First()))
    asking = asyncio.create_task(line.ask(body=SENT))
    await until(lambda: emulator.requests)
    assert noted(emulator) == [(0, "half_open")]
    assert len(emulator.store.ids()) == 60
    assert not asking.done()
    emulator.weather.release()
    assert (await asking).status == 200
    assert len(emulator.store.ids()) == 61


async def test_half_open_until_closed(line: Line) -> None:
    emulator = line.emulator
    emulator.weather.add(HalfOpen(processed=True))
    asking = asyncio.create_task(line.ask(body=SENT))
    await until(lambda: emulator.requests)
    assert len(emulator.store.ids()) == 61
    async with asyncio.timeout(60):
        await emulator.close()
    assert (await asking).status == 0


async def test_a_client_that_gives_up_leaves_no_task(emulator: Emulator, line: Line) -> None:
    emulator.weather.add(HalfOpen())
    asking = asyncio.create_task(line.ask())
    await until(lambda: emulator.requests)
    tasks = len(asyncio.all_tasks())
    line.writer.transport.abort()
    await asking
    await until(lambda: len(asyncio.all_tasks()) <= tasks - 2)


# ── a service that ignores the acting user ──


async def test_a_message_sent_for_a_user_is_stored_as_sent_by_the_app() -> None:
    ignores = Emulator(users=3, messages=0, weather=[IgnoredActingUser()])
    async with ignores as emulator, AsyncSession(emulator.app) as session:
        sent = await session.messages.send(NewMessage.text("user-002", "hi"), on_behalf_of="user-001")
    assert sent.sender == "app_system"


async def test_everybody_gets_the_conversations_of_one_user() -> None:
    async with Emulator(users=3, messages=0, weather=[IgnoredActingUser("user-001")]) as emulator:
        emulator.store.add_message("user-001", "user-002", "hi")
        emulator.store.add_message("user-003", "user-002", "ho")
        async with AsyncSession(emulator.app, check_acting_user=False) as session:
            conversations = await session.conversations.list(on_behalf_of="user-003").collect()
    assert [each.conversation_id for each in conversations] == ["user-001_user_user-002"]
