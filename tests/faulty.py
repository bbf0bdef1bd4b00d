"""A server on loopback with given answers, byte by byte: for what a bad server does.

Every request that arrives takes the next step, whatever connection it came on; the last step repeats. A
step is bytes to be sent, or a coroutine function that is handed the `Peer`.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from chatrest import App, AsyncSession

KEY = "k3y-0f-th3-app-9f2c"
"""The key that must never be seen again."""


@dataclass(frozen=True)
class Arrived:
    """A request as it came over the wire."""

    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.fields if key.lower() == name.lower()]
        assert len(values) < 2, f"{name} was sent {len(values)} times: {values}"
        return values[0] if values else None


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.open = True

    async def request(self) -> Arrived | None:
        """The next request; None where the client has gone."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("utf-8", "surrogateescape")
            first, *lines = head.rstrip("\r\n").split("\r\n")
            method, target, _ = first.split(" ")
            fields = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
            sizes = [value for name, value in fields if name.lower() == "content-length"]
            return Arrived(method, target, fields, await self.reader.readexactly(int(*sizes or "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        """An orderly end of what is sent so far."""
        self.open = False
        self.writer.close()

    def reset(self) -> None:
        """RST instead of FIN."""
        self.open = False
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


Step: TypeAlias = bytes | Callable[[Peer], Awaitable[None]]


def reply(body: bytes | str | dict[str, Any] | list[Any] = b"{}", status: int = 200, **headers: str) -> bytes:
    """A whole reply; a keyword such as `retry_after="3"` is a header, one that is empty is left out."""
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    fields |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + data


def cut(data: bytes) -> Step:
    """Sends `data`, and hangs up."""

    async def step(peer: Peer) -> None:
        await peer.send(data)
        peer.close()

    return step


async def reset(peer: Peer) -> None:
    """Hangs up with a RST, and no word."""
    peer.reset()


async def hang(peer: Peer) -> None:
    """Says nothing, until the client has gone."""
    await peer.reader.read()
    peer.close()


async def deaf(peer: Peer) -> None:
    """Reads nothing at all: the client's writes pile up."""
    peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.Event().wait()


class Faulty:
    """The server. `requests` are those that arrived, `most` is how many were under way at once."""

    def __init__(self, *steps: Step, greet: Step | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.steps = list(steps)
        self.greet = greet
        """The step that meets a connection, before any request."""
        self.tls = tls
        self.requests: list[Arrived] = []
        self.connections = 0
        self.active = self.most = 0
        self.arrived = asyncio.Event()
        """Set by every request; a test may clear it."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24, ssl=self.tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def app(self, region: str = "us", app_id: str = "app-1", key: str = KEY) -> App:
        return App(app_id, key, region, base_url=self.url)

    def session(self, **options: Any) -> AsyncSession:
        """A session on this server that never waits; `retry` is as it is by default."""
        return AsyncSession(self.app(), **{"sleep": no_wait, "dice": lambda: 0.5, **options})

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            peer = Peer(reader, writer)
            if self.greet is not None:
                await self._take(self.greet, peer)
            await self._talk(peer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _talk(self, peer: Peer) -> None:
        while peer.open and (request := await peer.request()) is not None:
            self.requests.append(request)
            self.active += 1
            self.most = max(self.most, self.active)
            self.arrived.set()
            try:
                await self._take(self.steps.pop(0) if len(self.steps) > 1 else self.steps[0], peer)
            finally:
                self.active -= 1

    @staticmethod
    async def _take(step: Step, peer: Peer) -> None:
        await (peer.send(step) if isinstance(step, bytes) else step(peer))


async def no_wait(seconds: float) -> None:
    """A sleep that takes no time."""


async def until(condition: Callable[[], object]) -> None:
    """Lets the loop turn until `condition` holds."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the state of aiohttp sets no event
            await asyncio.sleep(0)


class Time:
    """A clock that only its own sleep moves on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def chain(error: BaseException) -> list[BaseException]:
    """The error, and all that its `__cause__` and `__context__` lead to."""
    errors: list[BaseException] = []
    ahead: list[BaseException | None] = [error]
    while ahead:
        here = ahead.pop()
        if here is not None and all(here is not known for known in errors):
            errors.append(here)
            ahead += [here.__cause__, here.__context__]
    return errors
