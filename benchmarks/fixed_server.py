"""A server of fixed replies in a separate process, and a client of it by hand with aiohttp and msgspec."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

import aiohttp
import msgspec

from chatrest import App

from . import hand, pages

LATENCY: Final = 0.02
"""Seconds that the server waits before it replies to `/late`."""
_SERVER: Final = (sys.executable, "-c", "from benchmarks.fixed_server import serve; serve()")
_END: Final = b"\r\n\r\n"
_TEXT: Final = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"}}


class PlainClient:
    """A hand-written client: one kept session, decoders created once, and a check of the status."""

    def __init__(self, app: App) -> None:
        self._base = app.chat_url
        self._user = msgspec.json.Decoder(hand.OneUser)
        self._page = msgspec.json.Decoder(hand.TaggedPage)
        self._message = msgspec.json.Decoder(hand.OneMessage)
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(headers={"apikey": app.api_key}, connector=connector)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def _get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        async with self._session.get(self._base + path, params=params) as response:
            response.raise_for_status()
            return await response.read()

    async def request(self) -> Any:
        """Get a user as plain JSON."""
        return msgspec.json.decode(await self._get("/users/bob"))

    async def user(self) -> Any:
        """Get a user, typed."""
        return self._user.decode(await self._get("/users/bob")).data

    async def page(self, uid: str = "bob") -> Any:
        """Get a page of one typed message; of the user `late` after `LATENCY` seconds."""
        return self._page.decode(await self._get(f"/users/{uid}/messages", {"perPage": "1"})).data

    async def send(self) -> Any:
        """Send a text message and return the stored message, typed."""
        body, headers = msgspec.json.encode(_TEXT), {"Content-Type": "application/json"}
        async with self._session.post(self._base + "/messages", data=body, headers=headers) as response:
            response.raise_for_status()
            return self._message.decode(await response.read()).data

    async def walk(self, uid: str, size: int) -> int:
        """Read all messages of a user, item by item; return their count."""
        params, count = {"affix": "append", "perPage": str(size)}, 0
        while True:
            page = self._page.decode(await self._get(f"/users/{uid}/messages", params))
            for _ in page.data:
                count += 1
            if page.meta.cursor is None or len(page.data) < size:
                return count
            params["id"] = str(page.meta.cursor.id)


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
    store = pages.talk(50)
    message = next(record for record in store.records(store.ids()) if b'"type":"text"' in record)
    for name, uid in ((b"sender", b"bob"), (b"receiver", b"late")):  # the users whose lists are asked for
        message = re.sub(rb'"%b":"[^"]*"' % name, b'"%b":"%b"' % (name, uid), message, count=1)
    user = msgspec.json.encode(store.people.user(pages.UID))
    numbers = b'{"total":9,"count":1,"per_page":1,"current_page":1,"total_pages":9}'
    [number] = re.findall(rb'^{"id":"([0-9]+)"', message)
    meta = b'{"pagination":%b,"cursor":{"id":%b,"affix":"append"}}'
    later = b"1" + number
    bodies = {
        b"GET bob": b'{"data":%b}' % user,
        b"GET late": b'{"data":%b}' % user,
        b"GET messages": b'{"data":[%b],"meta":%b}' % (message, meta % (numbers, number)),
        b"GET messages from": b'{"data":[%b],"meta":%b}'
        % (message.replace(number, later, 1), meta % (numbers, later)),
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
        is_later = b"&id=" in target or b"?id=" in target
        reply = self._replies[b"%b %b%b" % (method, name, b" from" if is_later else b"")]
        if b"/late" in target:
            asyncio.get_running_loop().call_later(LATENCY, self._transport.write, reply)
        else:
            self._transport.write(reply)
