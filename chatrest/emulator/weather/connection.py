"""Faults of the connection, and their delivery: bytes go to the transport, past aiohttp's own response.

aiohttp asks a handler for a response and sends it. Under such a fault the bytes were sent already, and
aiohttp gets a `SilentResponse`, which writes nothing.
"""

import socket
import struct
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Literal

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from ..checked import Count, FromZero, Seconds
from .faults import Fault, Outgoing


class ConnectionFault(Fault, kw_only=True):
    """A fault that damages the service's answer on its way."""


class LostReply(ConnectionFault, kw_only=True):
    """A request that gets no whole answer."""

    processed: bool = False
    """The service processes the request all the same: a message sent is then stored."""

    @property
    def is_withheld(self) -> bool:
        """True if the service never sees the request."""
        return not self.processed


class Reset(LostReply):
    """The connection is reset (RST) before any reply, or once `after` bytes of the body are sent."""

    after: FromZero | None = None
    """Bytes; None for before any reply. A reply that is sent in part was always processed."""

    @property
    def is_withheld(self) -> bool:
        return self.after is None and not self.processed


class HalfOpen(LostReply):
    """The request is read, and nothing happens until `weather.release()`: then it is answered."""


class Cut(ConnectionFault):
    """The connection is closed once `after` bytes of the body are sent, and at least one is missing."""

    after: FromZero = 0
    chunked: bool = False
    """The length is not announced, and the last chunk is missing."""


class WrongLength(ConnectionFault):
    """Content-Length is `by` bytes more than is sent, or less; then the connection is closed."""

    by: int = 10


class Drip(ConnectionFault):
    """The body in pieces of `size` bytes, with `pause` seconds between them."""

    size: Count = 64
    pause: Seconds = 0.01


class CloseIdle(ConnectionFault):
    """A keep-alive connection that is closed without notice after the reply to the request that is struck.

    `reply`: right after it. `request`: upon the next request of the same route on the same connection,
    which is not answered and not processed.
    """

    upon: Literal["reply", "request"] = "request"


# ── delivery ──


class SilentResponse(web.StreamResponse):
    """A response that is on its way already; with `keep_alive` the connection stays open."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._stays_open = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        return self._stays_open

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Write nothing."""


class Peer:
    def __init__(self, request: web.BaseRequest) -> None:
        if request.transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport = request.transport
        self._writer = request.writer
        # Bytes must have left before a connection is reset: drain waits for the last one.
        self._transport.set_write_buffer_limits(high=0)

    async def write(self, data: bytes) -> None:
        """Send `data` and wait until the kernel has it."""
        if self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()


async def deliver(
    fault: ConnectionFault,
    request: web.BaseRequest,
    reply: Outgoing,
    sleep: Callable[[float], Awaitable[None]],
) -> SilentResponse:
    """Send `reply` damaged by `fault`; a client that has gone is no error."""
    try:
        return await _deliver(fault, Peer(request), reply, sleep)
    except ConnectionError:
        return SilentResponse(keep_alive=False)


async def _deliver(
    fault: ConnectionFault, peer: Peer, reply: Outgoing, sleep: Callable[[float], Awaitable[None]]
) -> SilentResponse:
    body = reply.body
    match fault:
        case Reset():
            if fault.after is not None:
                await peer.write(head(reply, len(body)) + body[: min(fault.after, max(0, len(body) - 1))])
            peer.reset()
        case Cut():
            sent = body[: min(fault.after, max(0, len(body) - 1))]
            chunk = b"%x\r\n%b\r\n" % (len(sent), sent) if sent else b""
            cut = head(reply, None) + chunk if fault.chunked else head(reply, max(1, len(body))) + sent
            await peer.write(cut)
        case WrongLength():
            await peer.write(head(reply, max(0, len(body) + fault.by)) + body)
        case Drip():
            await _drip(fault, peer, reply, sleep)
            return SilentResponse(keep_alive=True)
        case _:
            await peer.write(head(reply, len(body)) + body)
    return SilentResponse(keep_alive=False)


async def _drip(fault: Drip, peer: Peer, reply: Outgoing, sleep: Callable[[float], Awaitable[None]]) -> None:
    await peer.write(head(reply, len(reply.body)))
    for at in range(0, len(reply.body), fault.size):
        if at:
            await sleep(fault.pause)
        await peer.write(reply.body[at : at + fault.size])


def head(reply: Outgoing, length: int | None) -> bytes:
    """Return the reply's head with this Content-Length, None for chunks."""
    try:
        reason = HTTPStatus(reply.status).phrase
    except ValueError:
        reason = ""
    size = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": str(length)}
    lines = [f"{name}: {value}" for name, value in (reply.headers | size).items()]
    return "\r\n".join([f"HTTP/1.1 {reply.status} {reason}", *lines, "", ""]).encode()
