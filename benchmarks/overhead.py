"""What a call costs above bare aiohttp and msgspec: pace, place, attempt, deadline, judgement and all.

The server is a process of its own and does next to nothing; CPU time is counted in the clients' process
alone. Bare is a loop as one writes it by hand: a session that is kept, a decoder made once, a status that
is looked at; it checks, repeats and survives nothing. All are asked for the same bytes in the same turn.
"""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias

import aiohttp
import msgspec

from chatrest import App, AsyncSession, NewMessage
from chatrest.telemetry import Listener

from . import hand, pages
from .measure import Times, arguments, count, ratio, table, title, turns

LATE: Final = 0.02
"""Seconds that the server takes for `/late`."""
BARE: Final = "aiohttp + msgspec"
OURS: Final = "chatrest"
LISTENED: Final = "chatrest, with a listener"
MOST_ABOVE: Final = 60.0
"""µs that a call may cost above bare, one after another."""
MOST_TIMES: Final = 1.3
"""Times bare that a call may cost among many at once."""

_TEXT: Final = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"}}
_SENT: Final = NewMessage.text("bob", "hello")
_SERVER: Final = (sys.executable, "-c", "from benchmarks.overhead import serve; serve()")
_END: Final = b"\r\n\r\n"


# ── the clients ──


class Client(Protocol):
    """Who is measured: the same four calls by each."""

    async def request(self) -> Any:
        """GET of a user, as plain JSON."""

    async def late(self) -> Any:
        """The same, answered after `LATE` seconds."""

    async def page(self) -> Any:
        """GET of a page of one message, typed."""

    async def send(self) -> Any:
        """POST of a text message; the message that it became, typed."""


class Bare:
    """aiohttp and msgspec by hand."""

    def __init__(self, app: App) -> None:
        self._base = app.chat_url
        self._page = msgspec.json.Decoder(hand.TaggedPage)
        self._one = msgspec.json.Decoder(_One)
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(headers={"apikey": app.api_key}, connector=connector)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def _got(self, path: str) -> bytes:
        async with self._session.get(self._base + path) as response:
            response.raise_for_status()
            return await response.read()

    async def request(self) -> Any:
        """See `Client`."""
        return msgspec.json.decode(await self._got("/users/bob"))

    async def late(self) -> Any:
        """See `Client`."""
        return msgspec.json.decode(await self._got("/late"))

    async def page(self) -> Any:
        """See `Client`."""
        asked = {"perPage": "1"}
        async with self._session.get(self._base + "/users/bob/messages", params=asked) as response:
            response.raise_for_status()
            return self._page.decode(await response.read()).data

    async def send(self) -> Any:
        """See `Client`."""
        body, headers = msgspec.json.encode(_TEXT), {"Content-Type": "application/json"}
        async with self._session.post(self._base + "/messages", data=body, headers=headers) as response:
            response.raise_for_status()
            return self._one.decode(await response.read()).data


class _One(msgspec.Struct, gc=False):
    data: hand.TaggedMessage


class Chatrest:
    """What is measured."""

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
def serving() -> Iterator[App]:
    """The server as a child process, for as long as the `with` lasts."""
    with subprocess.Popen(_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            port = int(child.stdout.readline())
            yield App("benchmark", "benchmark-key", base_url=f"http://127.0.0.1:{port}/v3")
        finally:
            child.stdin.close()  # and so it ends


def serve() -> None:
    """Writes the port on a line, and serves on 127.0.0.1 until standard input ends."""
    asyncio.run(_serve())


async def _serve() -> None:
    loop, replies = asyncio.get_running_loop(), _replies()
    server = await loop.create_server(lambda: _Connection(replies), "127.0.0.1", 0, backlog=4096)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def _replies() -> Mapping[bytes, bytes]:
    """What is replied, by the last word of the path: made before anybody asks."""
    with pages.talk(50) as store:
        message = next(one for one in store.records(store.ids()) if b'"type":"text"' in one)
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
    return {asked: head % len(body) + body for asked, body in bodies.items()}


class _Connection(asyncio.Protocol):
    """Requests, one after another."""

    def __init__(self, replies: Mapping[bytes, bytes]) -> None:
        self._replies = replies
        self._come = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._come += data
        while (end := self._come.find(_END)) >= 0:
            head = self._come[:end].lower()
            rest = end + len(_END) + int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self._come) < rest:
                return
            self._answer(self._come[:end])
            self._come = self._come[rest:]

    def _answer(self, head: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        word = target.partition(b"?")[0].rpartition(b"/")[2]
        reply = self._replies[b"%b %b" % (method, word)]
        if word == b"late":
            asyncio.get_running_loop().call_later(LATE, self._transport.write, reply)
        else:
            self._transport.write(reply)


# ── the turns ──

Ask: TypeAlias = Callable[[], Awaitable[Any]]


class Case(NamedTuple):
    """One row group: what is called, and how."""

    told: str
    call: Callable[[Client], Ask]
    at_once: bool = False


def cases(at_once: int) -> list[Case]:
    """What is measured."""
    return [
        Case("session.request(…)", lambda client: client.request),
        Case("messages.list_user(…).limit(1).collect()", lambda client: client.page),
        Case("messages.send(…)", lambda client: client.send),
        Case(
            f"session.request(…), {at_once} at once, {LATE * 1e3:.0f} ms late",
            lambda client: client.late,
            True,
        ),
    ]


async def _turn(ask: Ask, calls: int, at_once: bool) -> float:
    """CPU seconds a call."""
    await ask()  # not counted: the first one after another's turn has to find its memory anew
    began = process_time()
    if at_once:
        found = await asyncio.gather(*(ask() for _ in range(calls)))
    else:
        found = [await ask() for _ in range(calls)]
    spent = process_time() - began
    assert all(found)
    return spent / calls


async def measured(app: App, rounds: int, calls: int, at_once: int) -> dict[Case, Times]:
    """CPU seconds a call, by case and client."""
    times: dict[Case, Times] = {}
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {
            BARE: await stack.enter_async_context(Bare(app)),
            OURS: await stack.enter_async_context(Chatrest(app, at_once)),
            LISTENED: await stack.enter_async_context(Chatrest(app, at_once, lambda _: None)),
        }
        for case in cases(at_once):
            its: dict[str, list[float]] = {name: [] for name in clients}
            for name, counts in turns(clients, rounds):
                spent = await _turn(
                    case.call(clients[name]), at_once if case.at_once else calls, case.at_once
                )
                if counts:
                    its[name].append(spent)
            times[case] = its
    return times


def _above(times: Times, name: str) -> float:
    """µs a call above bare: the median of the rounds' own differences."""
    return median(mine - its for mine, its in zip(times[name], times[BARE], strict=True)) * 1e6


def _rows(case: Case, times: Times) -> list[tuple[str, ...]]:
    goal = f"<= {MOST_TIMES} x" if case.at_once else f"<= +{MOST_ABOVE:.0f} µs"
    return [
        (
            case.told,
            name,
            f"{median(spent) * 1e6:.1f}",
            "" if name == BARE else f"{_above(times, name):+.1f}",
            "" if name == BARE else f"{ratio(times, name, BARE):.2f}",
            goal if name == OURS else "",
        )
        for name, spent in times.items()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--calls", type=count, default=500, help="calls one after another, a turn (500)")
    parser.add_argument("--at-once", type=count, default=1000, help="calls at once, a turn (1000)")
    asked = parser.parse_args(argv)
    with serving() as app:
        found = asyncio.run(measured(app, asked.rounds, asked.calls, asked.at_once))
    print(
        title(
            f"A call through the whole engine, above {BARE} by hand",
            f"CPU time of the client a call, medians of {asked.rounds} rounds of {asked.calls} calls",
            "aiohttp",
            "msgspec",
        )
    )
    heads = ("call", "client", "µs a call", "above bare", "ratio", "goal")
    print(table(heads, (row for case, times in found.items() for row in _rows(case, times))))


if __name__ == "__main__":
    main()
