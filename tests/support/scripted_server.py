"""A server on loopback with scripted replies, byte by byte, for tests of bad servers.

Every request takes the next step, on any connection; the last step repeats. A step is bytes to send, or a
coroutine function of the `Peer`.
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
"""The key that no output may contain."""


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.fields if key.lower() == name.lower()]
        assert len(values) < 2, f"{name} was sent {len(values)} times: {values}"
        return values[0] if values else None


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.open = True

    async def request(self) -> ReceivedRequest | None:
        """Return the next request; None if the client has closed the connection."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("utf-8", "surrogateescape")
            first, *lines = head.rstrip("\r\n").split("\r\n")
            method, target, _ = first.split(" ")
            fields = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
            sizes = [value for name, value in fields if name.lower() == "content-length"]
            body = await (self.reader.readexactly(int(*sizes)) if sizes else self._chunked(fields))
            return ReceivedRequest(method, target, fields, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def _chunked(self, fields: tuple[tuple[str, str], ...]) -> bytes:
        """Return a body of unknown length, or none where the headers announce none."""
        body = b""
        while ("Transfer-Encoding", "chunked") in fields:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            body += (await self.reader.readexactly(size + 2))[:-2]
            if not size:
                break
        return body

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        """Close the connection after the data that is sent so far."""
        self.open = False
        self.writer.close()

    def reset(self) -> None:
        self.open = False
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


Step: TypeAlias = bytes | Callable[[Peer], Awaitable[None]]


def reply(body: bytes | str | dict[str, Any] | list[Any] = b"{}", status: int = 200, **headers: str) -> bytes:
    """Return the bytes of a reply; keywords like `retry_after="3"` are headers, empty ones are left out."""
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    fields |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + data


def cut(data: bytes) -> Step:
    async def step(peer: Peer) -> None:
        await peer.send(data)
        peer.close()

    return step


async def reset(peer: Peer) -> None:
    peer.reset()


async def hang(peer: Peer) -> None:
    """Send nothing until the client closes the connection."""
    await peer.reader.read()
    peer.close()


async def deaf(peer: Peer) -> None:
    """Read nothing, so that the client's writes fill the buffers."""
    peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.Event().wait()


class FaultyServer:
    """The server; `requests` are the received ones, `most` is the largest number of concurrent requests."""

    def __init__(self, *steps: Step, greet: Step | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.steps = list(steps)
        self.greet = greet
        """The step for a new connection, before any request."""
        self.tls = tls
        self.requests: list[ReceivedRequest] = []
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
        """Return a session on this server that never waits, with the default `retry`."""
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
    """Return at once: a sleep that takes no time."""


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the state of aiohttp sets no event
            await asyncio.sleep(0)


class Time:
    """A clock that advances only by its own sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def chain(error: BaseException) -> list[BaseException]:
    errors: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is not None and all(current is not known for known in errors):
            errors.append(current)
            pending += [current.__cause__, current.__context__]
    return errors
