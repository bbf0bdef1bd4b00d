"""Bytes that go to the transport past aiohttp's own response: what a fault of the connection sends.

A fault names what is sent as a value, `Transmission`, and only `send` writes it. aiohttp then gets a
`SilentResponse`, which writes nothing.
"""

import socket
import struct
from http import HTTPStatus
from typing import Literal, NamedTuple

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from ..service.context import OutgoingReply


class Transmission(NamedTuple):
    """The bytes of a reply as they are sent, and what becomes of the connection."""

    data: bytes
    """Empty where nothing is sent."""
    end: Literal["open", "closed", "reset"] = "closed"


def head(reply: OutgoingReply, length: int) -> bytes:
    """Return the reply's head with this Content-Length."""
    try:
        reason = HTTPStatus(reply.status).phrase
    except ValueError:
        reason = ""
    headers = reply.headers | {"Content-Length": str(length)}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {reply.status} {reason}", *lines, "", ""]).encode()


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


async def send(request: web.BaseRequest, sending: Transmission) -> SilentResponse:
    """Send the bytes, and end the connection; a client that has gone is no error."""
    transport = request.transport
    if transport is None or transport.is_closing():
        return SilentResponse(keep_alive=False)
    # Bytes must have left before a connection is reset: drain waits for the last one.
    transport.set_write_buffer_limits(high=0)
    try:
        transport.write(sending.data)
        await request.writer.drain()
    except ConnectionError:
        return SilentResponse(keep_alive=False)
    if sending.end == "reset":
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return SilentResponse(keep_alive=sending.end == "open")
