"""The service for walks and exports in a separate process: the emulator's rules with minimal HTTP.

`python -m benchmarks.server --messages N` prints its port, serves on 127.0.0.1, and ends with its standard
input, so also when its parent process ends in any way. A page is created once and then served from memory, so
that clients do not wait for the server.

The paths below `/packed` are the same service with gzip for clients that accept it; a page is compressed
once. Those below `/limited` answer `--latency` milliseconds late, and 429 beyond `--limit`, a `RateLimit` as
JSON; `/limited/counts` has the number of requests, and `/limited/times` their times. `--users` spreads the
messages over many users. `--endless` is for millions of messages: one user's list that is composed of few
records and not stored.
"""

import asyncio
import gzip
import subprocess
import sys
import time
import urllib.request
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from math import ceil
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias
from urllib.parse import parse_qsl

import msgspec

from chatrest.app import App
from chatrest.emulator import RateLimit
from chatrest.emulator.limits import TOO_MANY
from chatrest.emulator.service.dispatch import Keys, Service
from chatrest.emulator.service.handler_input import Context, OutgoingReply as Reply, ServiceRequest as Request

from . import pages

KEY: Final = "benchmark-key"
_PACKED: Final = "/packed"
_LIMITED: Final = b" /limited"
_COUNTS: Final = "/limited/counts"
_TIMES: Final = "/limited/times"
_LEVEL: Final = 6  # the usual default of servers
_END: Final = b"\r\n\r\n"

Answer: TypeAlias = Callable[[Request], Reply]


class ServerCounts(NamedTuple):
    """The requests below `/limited`, and the CPU seconds of the server, since its start."""

    allowed: int
    refused: int
    cpu: float


class ServerProcess:
    """The server as a child process, which ends with the `with` block.

    `app` is the app for clients, `packed` the same app with gzip replies, `limited` the one with a limit,
    whose replies are `latency` milliseconds late.
    """

    def __init__(
        self,
        messages: int,
        *,
        users: int = 2,
        endless: bool = False,
        latency: int = 0,
        limit: RateLimit | None = None,
    ) -> None:
        sizes = ("--messages", str(messages), "--users", str(users), *(["--endless"] if endless else []))
        limits = ("--limit", msgspec.json.encode(limit).decode(), "--latency", str(latency))
        command = (sys.executable, "-m", "benchmarks.server", *sizes, *limits)
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        port = self._child.stdout.readline()
        if not port:
            raise RuntimeError(f"the server ended with status {self._child.wait()}")
        origin = f"http://127.0.0.1:{int(port)}"
        self.app = App("benchmark", KEY, base_url=f"{origin}/v3")
        self.packed = App("benchmark", KEY, base_url=f"{origin}{_PACKED}/v3")
        self.limited = App("benchmark", KEY, base_url=f"{origin}/limited/v3")
        self._origin = origin

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._child.communicate(timeout=10)  # closes its standard input, which ends it
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()

    def counts(self) -> ServerCounts:
        """Return the counts of the server."""
        with urllib.request.urlopen(f"{self._origin}{_COUNTS}", timeout=10) as reply:
            return msgspec.json.decode(reply.read(), type=ServerCounts)

    def times(self) -> list[float]:
        """Return when each request was accepted below `/limited`, in seconds of the server's clock."""
        with urllib.request.urlopen(f"{self._origin}{_TIMES}", timeout=10) as reply:
            return msgspec.json.decode(reply.read(), type=list[float])


class _Pages:
    """The replies of `answer` as bytes, stored by request if `store` is True."""

    def __init__(self, answer: Answer, *, store: bool) -> None:
        self._answer = answer
        self._store = store
        self._stored: dict[tuple[bool, str, str], bytes] = {}

    def reply(self, head: bytes) -> bytes:
        """Return the bytes of the reply to a GET with this head."""
        first, _, rest = head.decode("latin-1").partition("\r\n")
        path, _, query = first.split(" ")[1].partition("?")
        packed = path.startswith(_PACKED) and _accepts_gzip(rest)
        key = (packed, path, "&".join(sorted(query.split("&"))))
        reply = self._stored.get(key)
        if reply is None:
            request = Request("GET", path.removeprefix(_PACKED), query, _headers(rest))
            reply = _to_bytes(self._answer(request), packed=packed)
            if self._store:
                self._stored[key] = reply
        return reply


class ComposedList:
    """One user's list of `last` messages with ids from 1 on, composed of few records for every page."""

    def __init__(self, last: int) -> None:
        store = pages.talk(100)
        records = store.records(store.ids())
        self._tails = [record.partition(b'"id":"')[2].partition(b'"')[2] for record in records]
        self._last = last

    def answer(self, request: Request) -> Reply:
        """Return a page of the list, for the path of any list."""
        params = dict(parse_qsl(request.query))
        size = int(params.get("perPage") or params.get("limit") or 100)
        after = int(params.get("id", "0")) if params.get("affix") == "append" else max(0, self._last - size)
        until = min(after + size, self._last)
        cursor = b'{"id":%d,"affix":"append"}' % until
        numbers = b'{"total":%d,"count":%d,"per_page":%d,"current_page":1,"total_pages":%d}'
        left = self._last - after
        pagination = numbers % (left, until - after, size, max(1, -(-left // size)))
        data = b",".join(self._records(after, until))
        return Reply(200, b'{"data":[%b],"meta":{"pagination":%b,"cursor":%b}}' % (data, pagination, cursor))

    def _records(self, after: int, until: int) -> list[bytes]:
        tails, count = self._tails, len(self._tails)
        return [b'{"id":"%d"%b' % (number, tails[number % count]) for number in range(after + 1, until + 1)]


class _Throttle:
    """The rate limit and the latency of the paths below `/limited`."""

    def __init__(self, limit: RateLimit | None, latency: float) -> None:
        self._limit, self._limiter = limit, limit.limiter() if limit is not None else None
        self._refused = 0
        self._times: list[float] = []
        self.latency = latency

    def refusal(self) -> bytes | None:
        """Count a request; return the reply that refuses it, or None."""
        now = time.monotonic()
        verdict = self._limiter.allow(now) if self._limiter is not None else None
        if verdict is None or verdict.allowed:
            self._times.append(now)
            return None
        self._refused += 1
        is_named = self._limit is not None and self._limit.headers != "none"
        named = f"Retry-After: {max(1, ceil(verdict.wait))}\r\n" if is_named else ""
        return _to_bytes(Reply(429, TOO_MANY), headers=named)

    def counts(self) -> bytes:
        """Return the reply with the counts."""
        counts = ServerCounts(len(self._times), self._refused, time.process_time())
        return _to_bytes(Reply(200, msgspec.json.encode(counts)))

    def times(self) -> bytes:
        """Return the reply with the times of what was accepted."""
        return _to_bytes(Reply(200, msgspec.json.encode(self._times)))


class _Connection(asyncio.Protocol):
    """A connection that answers its GET requests in order."""

    def __init__(self, replies: _Pages, throttle: _Throttle) -> None:
        self._pages = replies
        self._throttle = throttle
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._buffer = (self._buffer + data).split(_END)
        for head in heads:
            if _LIMITED not in head[:64]:
                self._transport.write(self._pages.reply(head))
            elif _COUNTS.encode() in head[:64]:
                self._transport.write(self._throttle.counts())
            elif _TIMES.encode() in head[:64]:
                self._transport.write(self._throttle.times())
            else:
                self._answer_late(head.replace(_LIMITED, b" ", 1))

    def _answer_late(self, head: bytes) -> None:
        reply = self._throttle.refusal() or self._pages.reply(head)
        asyncio.get_running_loop().call_later(self._throttle.latency, self._transport.write, reply)


def _accepts_gzip(lines: str) -> bool:
    return "gzip" in lines.lower().partition("accept-encoding:")[2].partition("\r\n")[0]


def _headers(lines: str) -> dict[str, str]:
    parted = (line.partition(":") for line in lines.split("\r\n"))
    return {name.lower(): value.strip() for name, _, value in parted}


def _to_bytes(reply: Reply, *, packed: bool = False, headers: str = "") -> bytes:
    body = gzip.compress(reply.body, _LEVEL, mtime=0) if packed else reply.body
    coding = "Content-Encoding: gzip\r\n" if packed else ""
    head = (
        f"HTTP/1.1 {reply.status} -\r\nContent-Type: application/json; charset=utf-8\r\n{coding}{headers}"
        f"Content-Length: {len(body)}\r\nServer: benchmark\r\n\r\n"
    )
    return head.encode() + body


async def _serve(args: Namespace) -> None:
    limit = msgspec.json.decode(args.limit, type=RateLimit | None)
    throttle = _Throttle(limit, args.latency / 1000)
    if args.endless:
        await _listen(_Pages(ComposedList(args.messages).answer, store=False), throttle)
        return
    store = pages.talk(args.messages, args.users)
    keys = Keys(KEY, "", "", "")
    service = Service(Context(store, {"id": "benchmark"}, lambda: 0.0), keys)
    await _listen(_Pages(service.answer, store=True), throttle)


async def _listen(replies: _Pages, throttle: _Throttle) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(replies, throttle), "127.0.0.1", 0)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def main() -> None:
    """Serve until standard input ends."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--limit", default="null")
    parser.add_argument("--latency", type=int, default=0)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
