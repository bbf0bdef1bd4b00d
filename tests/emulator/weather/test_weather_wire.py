"""Every fault on a real socket, as raw bytes."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from chatrest.emulator import Emulator
from chatrest.emulator.weather import (
    BadGzip,
    CloseIdle,
    CursorCycles,
    CursorMovesBack,
    CursorRepeats,
    Cut,
    Drip,
    EmptyPage,
    Fault,
    First,
    Gzip,
    GzipBomb,
    HalfOpen,
    Latency,
    OddRecords,
    Redirect,
    Reset,
    Skew,
    Status,
    TooManyRequests,
    WrongLength,
)

NOW = 1_900_000_000.0
SENT = {"receiver": "user-02", "receiverType": "user", "type": "text", "data": {"text": "hi"}}


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

    async def end(self) -> str:
        """Return the end of the connection: open, closed or reset."""
        try:
            return "open" if await self.reader.read() else "closed"
        except ConnectionResetError:
            return "reset"


def _is_whole(reply: bytes) -> bool:
    raw = _raw(reply, "")
    if raw.headers.get("transfer-encoding") == "chunked":
        return raw.body.endswith(b"0\r\n\r\n")
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
        Status(502, processed=True), Redirect("/elsewhere", processed=True), Reset(processed=True),
        Reset(after=5), Cut(5), Cut(chunked=True), WrongLength(5), CloseIdle("reply"), BadGzip(),
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


async def test_drip(emulator: Emulator, line: Line, faithful: bytes, sleeper: Sleeper) -> None:
    emulator.weather.add(Drip(100, 7.0))
    raw = await line.ask()
    assert (raw.body, raw.end) == (faithful, "open")
    assert sleeper.slept == [7.0] * ((len(faithful) - 1) // 100)
    assert (await line.ask()).body == faithful, "the connection is kept"


async def test_cut(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(Cut(100))
    raw = await line.ask()
    assert (raw.headers["content-length"], raw.body, raw.end) == (
        str(len(faithful)),
        faithful[:100],
        "closed",
    )


@pytest.mark.parametrize("after", [0, 100])
async def test_chunks_cut(emulator: Emulator, line: Line, faithful: bytes, after: int) -> None:
    emulator.weather.add(Cut(after, chunked=True))
    raw = await line.ask()
    assert raw.body == (b"64\r\n" + faithful[:100] + b"\r\n" if after else b"")
    assert (raw.headers["transfer-encoding"], raw.end) == ("chunked", "closed")


async def test_reset_before_any_reply(emulator: Emulator, line: Line) -> None:
    emulator.weather.add(Reset())
    assert await line.ask() == Raw(0, {}, b"", "reset")
    assert noted(emulator) == [(0, "reset")]


async def test_reset_in_mid_body(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(Reset(after=50))
    raw = await line.ask()
    assert (raw.status, raw.body, raw.end) == (200, faithful[:50], "reset")


@pytest.mark.parametrize("by", [7, -7])
async def test_wrong_lengths(emulator: Emulator, line: Line, faithful: bytes, by: int) -> None:
    emulator.weather.add(WrongLength(by))
    raw = await line.ask()
    assert (raw.headers["content-length"], raw.body) == (str(len(faithful) + by), faithful)
    assert await line.end() == "closed"


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
    async with asyncio.timeout(0.5):
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


async def test_close_idle_after_the_reply(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(CloseIdle("reply"))
    raw = await line.ask()
    assert (raw.body, raw.headers.get("connection")) == (faithful, None)
    assert await line.end() == "closed"


async def test_close_idle_upon_the_next_request(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(CloseIdle("request", method="GET", when=First()))
    assert (await line.ask()).body == faithful
    assert (await line.ask(body=SENT)).status == 200, "another method is not meant"
    assert await line.ask() == Raw(0, {}, b"", "closed")
    assert noted(emulator) == [(200, "close_idle"), (200, None), (0, "close_idle")]


async def test_gzip(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(Gzip())
    raw = await line.ask(**{"Accept-Encoding": "gzip, br"})
    assert raw.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw.body) == faithful
    assert (await line.ask()).body == faithful, "not every client accepts it"


@pytest.mark.parametrize("wrong", ["garbage", "cut", "checksum"])
async def test_bad_gzip(emulator: Emulator, line: Line, wrong: Any) -> None:
    emulator.weather.add(BadGzip(wrong), Gzip())
    raw = await line.ask(**{"Accept-Encoding": "gzip"})
    assert raw.headers["content-encoding"] == "gzip"
    with pytest.raises((OSError, EOFError, zlib.error)):
        gzip.decompress(raw.body)


@pytest.mark.parametrize("size", [1, 1 << 20, (5 << 20) + 3])
async def test_a_bomb(emulator: Emulator, line: Line, size: int) -> None:
    emulator.weather.add(GzipBomb(size))
    raw = await line.ask()
    assert len(raw.body) < 20_000
    assert len(gzip.decompress(raw.body)) == size


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
async def test_skew(emulator: Emulator, line: Line, seconds: float) -> None:
    emulator.weather.add(Skew(seconds), TooManyRequests(5.0, when=First()))
    raw, plain = await line.ask(), await line.ask()
    assert raw.headers["x-ratelimit-reset"] == str(int(NOW + seconds) + 5)
    assert raw.headers["date"] == plain.headers["date"]
    assert ("18:46:40" if seconds > 0 else "16:46:40") in raw.headers["date"]


# ── pages ──

LIST = "/v3/users/user-01/messages?perPage=5"


async def page(line: Line, query: str = "", path: str = LIST) -> Any:
    return json.loads((await line.ask(path + query)).body)


@pytest.mark.parametrize("affix", ["append", "prepend"])
@pytest.mark.parametrize("path", [LIST, "/v3/messages?limit=5"])
async def test_a_cursor_that_is_another(emulator: Emulator, line: Line, affix: str, path: str) -> None:
    query = f"&id=30&affix={affix}&sentAt=7"
    fair = await page(line, query, path)
    positions = []
    for fault in (CursorRepeats(), CursorMovesBack(4), CursorCycles((9, 8))):
        emulator.weather.clear()
        emulator.weather.add(fault)
        reply = await page(line, query, path)
        assert reply["data"] == fair["data"]
        cursor = reply["meta"].get("cursor") or reply["meta"]["next"]
        assert type(cursor["id"]) is (int if "cursor" in reply["meta"] else str)
        assert cursor.get("sentAt") == (
            7 if fault.name == "cursor_repeats" and "next" in reply["meta"] else None
        )
        positions.append(int(cursor["id"]))
    assert positions == [30, 34 if affix == "prepend" else 26, 9]
    assert int((await page(line, "", LIST))["meta"]["cursor"]["id"]) == 8


async def test_an_empty_page_moves_on(emulator: Emulator, line: Line) -> None:
    fair = await page(line, "&affix=append")
    emulator.weather.add(EmptyPage())
    reply = await page(line, "&affix=append")
    assert reply["data"] == []
    assert reply["meta"]["cursor"] == fair["meta"]["cursor"]
    numbers = reply["meta"]["pagination"]
    assert numbers["count"] == 0
    assert numbers["total_pages"] > numbers["current_page"]


@pytest.mark.parametrize("affix", ["append", "prepend"])
async def test_an_empty_page_that_loses_nothing(emulator: Emulator, line: Line, affix: str) -> None:
    for number in range(4):
        emulator.store.add_records([json.dumps({"id": str(1000 * (number + 1))}).encode()])
    emulator.weather.add(EmptyPage(lossless=True, when=First()))
    query, path = f"&affix={affix}&id={1500 if affix == 'append' else 3500}", "/v3/messages?limit=2"
    emptied, fair = await page(line, query, path), await page(line, query, path)
    assert (emptied["data"], emptied["meta"]["current"]["count"]) == ([], 0)
    position = emptied["meta"]["next"]["id"]
    assert position == ("1999" if affix == "append" else "3001")
    again = await page(line, f"&affix={affix}&id={position}", path)
    assert again["data"] == fair["data"] != []


# ── records ──


@pytest.mark.parametrize(
    ("oddity", "fits"),
    [
        ("integer-ids", lambda record: type(record["id"]) is int),
        ("empty-lists", lambda record: record["data"]["metadata"] == []),
        ("unknown-category", lambda record: record["category"] == "unheard-of"),
        ("lone-surrogate", lambda record: record["data"]["text"].endswith("\ud83d")),
        ("nan", lambda record: record["data"]["score"] != record["data"]["score"]),
    ],
)
async def test_odd_records(
    emulator: Emulator, line: Line, oddity: Any, fits: Callable[[dict[str, Any]], bool]
) -> None:
    emulator.weather.add(OddRecords(oddity, step=2))
    odd = []
    for record in (await page(line))["data"]:
        try:
            odd.append(fits(record))
        except KeyError:
            odd.append(False)
    assert odd == [True, False, True, False, True]
    emulator.weather.clear()
    emulator.weather.add(OddRecords(oddity))
    assert fits((await page(line, "", "/v3/messages/1"))["data"]), "a record by itself too"
    assert "error" in await page(line, "", "/v3/nowhere")


async def test_a_byte_order_mark(emulator: Emulator, line: Line, faithful: bytes) -> None:
    emulator.weather.add(OddRecords("byte-order-mark"))
    assert (await line.ask()).body == b"\xef\xbb\xbf" + faithful


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until `condition` is true."""
    async with asyncio.timeout(2):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)
