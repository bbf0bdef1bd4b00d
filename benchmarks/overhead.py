"""The cost of a call above plain aiohttp and msgspec, with pacing, pool, retries and decoding.

The server is a separate process with fixed replies; only CPU time of the clients' process is measured. The
plain client is hand-written code: a kept session, a decoder created once, a check of the status, no retries
and no error handling. All clients get the same bytes in every round.
"""

import asyncio
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from time import process_time
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias

import aiohttp
import msgspec

from chatrest import App, AsyncSession, NewMessage
from chatrest._telemetry import Listener

from . import hand, pages
from .comparison import Comparison, Goal
from .measure import Benchmark, Size, Times, compare_times, turns

LATENCY: Final = 0.02
"""Seconds that the server waits before it replies to `/late`."""
BARE: Final = "aiohttp + msgspec"
OURS: Final = "chatrest"
WITH_LISTENER: Final = "chatrest, with a listener"
MOST_ADDED: Final = 25.0
"""The largest allowed cost of a call above plain aiohttp, in µs, for calls one after another."""
MOST_ADDED_BY_WALK: Final = 45.0
"""The largest allowed cost of a walk of one page above plain aiohttp, in µs."""
MOST_TIMES: Final = 1.2
"""The largest allowed ratio to plain aiohttp, for many calls at once."""

_TEXT: Final = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"}}
_SENT: Final = NewMessage.text("bob", "hello")
_SERVER: Final = (sys.executable, "-c", "from benchmarks.overhead import serve; serve()")
_END: Final = b"\r\n\r\n"


# ── the clients ──


class Client(Protocol):
    """A measured client: four calls that every client makes."""

    async def request(self) -> Any:
        """Get a user as plain JSON."""

    async def late(self) -> Any:
        """Get a user; the reply comes after `LATENCY` seconds."""

    async def page(self) -> Any:
        """Get a page of one typed message."""

    async def send(self) -> Any:
        """Send a text message and return the stored message, typed."""


class PlainClient:
    """A hand-written client with aiohttp and msgspec."""

    def __init__(self, app: App) -> None:
        self._base = app.chat_url
        self._page = msgspec.json.Decoder(hand.TaggedPage)
        self._envelope = msgspec.json.Decoder(_Envelope)
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(headers={"apikey": app.api_key}, connector=connector)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def _get(self, path: str) -> bytes:
        async with self._session.get(self._base + path) as response:
            response.raise_for_status()
            return await response.read()

    async def request(self) -> Any:
        """See `Client`."""
        return msgspec.json.decode(await self._get("/users/bob"))

    async def late(self) -> Any:
        """See `Client`."""
        return msgspec.json.decode(await self._get("/late"))

    async def page(self) -> Any:
        """See `Client`."""
        return await self._messages("bob")

    async def late_page(self) -> Any:
        """Get a page of one typed message; the reply comes after `LATENCY` seconds."""
        return await self._messages("late")

    async def _messages(self, uid: str) -> Any:
        url, params = f"{self._base}/users/{uid}/messages", {"perPage": "1"}
        async with self._session.get(url, params=params) as response:
            response.raise_for_status()
            return self._page.decode(await response.read()).data

    async def send(self) -> Any:
        """See `Client`."""
        body, headers = msgspec.json.encode(_TEXT), {"Content-Type": "application/json"}
        async with self._session.post(self._base + "/messages", data=body, headers=headers) as response:
            response.raise_for_status()
            return self._envelope.decode(await response.read()).data


class _Envelope(msgspec.Struct, gc=False):
    data: hand.TaggedMessage


class ChatrestClient:
    """The client with chatrest."""

    def __init__(self, app: App, concurrency: int, *telemetry: Listener) -> None:
        self._session = AsyncSession(app, concurrency=concurrency, telemetry=telemetry)

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def request(self) -> Any:
        """See `Client`."""
        return await self._session.request("GET", "/users/bob")

    async def late(self) -> Any:
        """See `Client`."""
        return await self._session.request("GET", "/late")

    async def page(self) -> Any:
        """See `Client`."""
        return await self._session.messages.list_user("bob").limit(1).collect()

    async def send(self) -> Any:
        """See `Client`."""
        return await self._session.messages.send(_SENT)


# ── the server ──


@contextmanager
def run_server() -> Iterator[App]:
    """Run the server as a child process during the block, and yield its app."""
    with subprocess.Popen(_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            port = int(child.stdout.readline())
            yield App("benchmark", "benchmark-key", base_url=f"http://127.0.0.1:{port}/v3")
        finally:
            child.stdin.close()  # the server ends with its input


def serve() -> None:
    """Serve on 127.0.0.1 until standard input ends; print the port first."""
    asyncio.run(_serve())


async def _serve() -> None:
    loop, replies = asyncio.get_running_loop(), _replies()
    server = await loop.create_server(lambda: _Connection(replies), "127.0.0.1", 0, backlog=4096)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def _replies() -> Mapping[bytes, bytes]:
    """Return the fixed replies by method and last segment of the path."""
    with pages.talk(50) as store:
        message = next(record for record in store.records(store.ids()) if b'"type":"text"' in record)
        for name, uid in ((b"sender", b"bob"), (b"receiver", b"late")):  # the users whose lists are asked for
            message = re.sub(rb'"%b":"[^"]*"' % name, b'"%b":"%b"' % (name, uid), message, count=1)
        user = store.people.user(pages.UID) or b"{}"
    numbers = b'{"total":9,"count":1,"per_page":1,"current_page":1,"total_pages":9}'
    meta = b'{"pagination":%b,"cursor":{"id":1,"affix":"append"}}' % numbers
    bodies = {
        b"GET bob": b'{"data":%b}' % user,
        b"GET late": b'{"data":%b}' % user,
        b"GET messages": b'{"data":[%b],"meta":%b}' % (message, meta),
        b"POST messages": b'{"data":%b}' % message,
    }
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return {request: head % len(body) + body for request, body in bodies.items()}


class _Connection(asyncio.Protocol):
    """A connection that answers its requests in order."""

    def __init__(self, replies: Mapping[bytes, bytes]) -> None:
        self._replies = replies
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(_END)) >= 0:
            head = self._buffer[:end].lower()
            next_start = (
                end + len(_END) + int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
            )
            if len(self._buffer) < next_start:
                return
            self._answer(self._buffer[:end])
            self._buffer = self._buffer[next_start:]

    def _answer(self, head: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        name = target.partition(b"?")[0].rpartition(b"/")[2]
        reply = self._replies[b"%b %b" % (method, name)]
        if b"/late" in target:
            asyncio.get_running_loop().call_later(LATENCY, self._transport.write, reply)
        else:
            self._transport.write(reply)


# ── the measurement ──

MakeCall: TypeAlias = Callable[[], Awaitable[Any]]


class Case(NamedTuple):
    """A measured call: its text for the table, the call, its goal, and True for many at once."""

    name: str
    call: Callable[[Client], MakeCall]
    goal: Goal
    at_once: bool = False


def cases(at_once: int) -> list[Case]:
    """Return the measured calls, with `at_once` concurrent calls in the last one."""
    call, walk = Goal(MOST_ADDED, "difference"), Goal(MOST_ADDED_BY_WALK, "difference")
    return [
        Case("session.request(…)", lambda client: client.request, call),
        Case("messages.list_user(…).limit(1).collect()", lambda client: client.page, walk),
        Case("messages.send(…)", lambda client: client.send, call),
        Case(
            f"session.request(…), {at_once} at once, {LATENCY * 1e3:.0f} ms late",
            lambda client: client.late,
            Goal(MOST_TIMES),
            True,
        ),
    ]


async def _measure(make_call: MakeCall, calls: int, at_once: bool) -> float:
    """Return CPU seconds per call."""
    await make_call()  # not measured: the first call after another contestant allocates its memory
    began = process_time()
    if at_once:
        results = await asyncio.gather(*(make_call() for _ in range(calls)))
    else:
        results = [await make_call() for _ in range(calls)]
    spent = process_time() - began
    assert all(results)
    return spent / calls


async def measure_all(app: App, rounds: int, calls: int, at_once: int) -> dict[Case, Times]:
    """Return CPU seconds per call, by case and client."""
    times: dict[Case, Times] = {}
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {
            BARE: await stack.enter_async_context(PlainClient(app)),
            OURS: await stack.enter_async_context(ChatrestClient(app, at_once)),
            WITH_LISTENER: await stack.enter_async_context(ChatrestClient(app, at_once, lambda _: None)),
        }
        for case in cases(at_once):
            case_times: dict[str, list[float]] = {name: [] for name in clients}
            for name, counts in turns(clients, rounds):
                spent = await _measure(
                    case.call(clients[name]), at_once if case.at_once else calls, case.at_once
                )
                if counts:
                    case_times[name].append(spent)
            times[case] = case_times
    return times


def _compare(case: Case, times: Times) -> list[Comparison]:
    return [
        compare_times(
            times,
            name,
            BARE,
            case=f"{case.name}{name.removeprefix(OURS)}",
            against=f"{BARE} by hand",
            unit="CPU µs a call",
            scale=1e6,
            goal=case.goal if name == OURS else None,
        )
        for name in times
        if name != BARE
    ]


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of all calls, with and without a listener."""
    with run_server() as app:
        results = asyncio.run(measure_all(app, sizes.rounds, sizes.calls, sizes.at_once))
    return [row for case, times in results.items() for row in _compare(case, times)]


BENCHMARK: Final = Benchmark(
    "A call with all features, above hand-written aiohttp + msgspec",
    "CPU time of the client per call, medians of {rounds} rounds of {calls} calls",
    {
        "rounds": Size("counted rounds", 15, 15),
        "calls": Size("calls one after another, per round", 500, 500),
        "at_once": Size("calls at once, per round", 1000, 1000),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
