"""Between a socket and the service: the rate limit and the weather of one emulator.

Rules:
- The limit is checked before the service does anything; a request that the weather withholds from the
  service takes nothing from the limit either.
- A request is noted, keys hidden, before its reply is sent, so a reply that is late or lost is noted too.
"""

import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web
from msgspec import Struct, structs

from .faults import JSON, Cut, HalfOpen, Latency, Reset
from .limits import TOO_MANY, LimitCounter, limit_headers
from .media import PATH as MEDIA_PATH, media_file
from .service.dispatch import Service, rate_class
from .service.handler_input import OutgoingReply, ServiceRequest
from .service.refusals import ServiceRefusal
from .weather import FaultSet, Weather

LAST_REQUESTS: Final = 10_000
HEALTH_PATH: Final = "/health"
"""Answered without a key, whatever the weather, and not noted: for a container's health check."""
_SECRET_HEADERS: Final = frozenset({"apikey", "authtoken", "key", "secret", "authorization"})
_TOO_LARGE: Final = OutgoingReply(
    413, ServiceRefusal(413, "ERR_BAD_REQUEST", "The body is too large.").body, {"Content-Type": JSON}
)
_NO_REPLY: Final = OutgoingReply(0, b"")


class LoggedRequest(Struct, frozen=True):
    """A request that has reached the emulator, with the status of its reply: of `emulator.requests`."""

    method: str
    path: str
    """As sent, percent-encoded, with the base address's own path, without the query."""
    query: str
    """As sent, percent-encoded; `pairs` are read from it."""
    headers: dict[str, str]
    """Names in lower case; the values of keys are hidden."""
    status: int
    """Of the reply, whole or not; 0 where the weather let none out."""
    fault: str | None = None
    """The faults that struck it, such as "reset" or "latency+status"; None for none."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query's names and values, decoded, in the order in which they were sent."""
        return parse_qsl(self.query, keep_blank_values=True)


class Middleware:
    def __init__(
        self,
        service: Service,
        weather: Weather,
        limit_counter: LimitCounter,
        requests: deque[LoggedRequest],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._service, self._weather, self._limit_counter = service, weather, limit_counter
        self._requests, self._clock, self._sleep = requests, clock, sleep

    async def handle(self, http_request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = http_request.raw_path.partition("?")
        if path == HEALTH_PATH:
            return web.json_response({"status": "ok"})
        if path.startswith(MEDIA_PATH):
            return self._serve_file(http_request.method, path)
        headers = {name.lower(): value for name, value in http_request.headers.items()}
        request = ServiceRequest(http_request.method, path, query, headers)
        try:
            request = request._replace(body=await http_request.read())
        except web.HTTPRequestEntityTooLarge:
            self._note(request, _TOO_LARGE.status, None)
            return _response(_TOO_LARGE)
        faults = self._weather.strike(request)
        fault, reply = faults.fault, self._reply(faults, request)
        is_half_open, cut = isinstance(fault, HalfOpen), fault if isinstance(fault, Reset) else None
        is_silent = is_half_open or (cut is not None and cut.after is None)
        names = "+".join(each.name for each in faults.all)
        self._note(request, 0 if is_silent else reply.status, names or None)
        if is_half_open:
            await self._weather.released()
            accompanying = FaultSet(None, faults.all[:-1])
            reply = self._reply(accompanying, request) if reply is _NO_REPLY else reply
        if delay := sum(each.seconds for each in faults.all if isinstance(each, Latency)):
            await self._sleep(delay)
        return _response(reply) if cut is None else await _send_beginning(http_request, reply, cut)

    def _serve_file(self, method: str, path: str) -> web.Response:
        file = media_file(path) if method in ("GET", "HEAD") else None
        self._note(ServiceRequest(method, path, "", {}), 404 if file is None else 200, None)
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.body, content_type=file.content_type)

    def _process(self, request: ServiceRequest) -> OutgoingReply:
        limit = self._limit_counter.limit
        if limit is None:
            return self._service.answer(request)
        now = self._clock()
        verdict = self._limit_counter.allow(limit, rate_class(request.method, request.path), now)
        headers = limit_headers(verdict, limit.headers, now)
        reply = self._service.answer(request) if verdict.allowed else OutgoingReply(429, TOO_MANY)
        return structs.replace(reply, headers=headers)

    def _reply(self, faults: FaultSet, request: ServiceRequest) -> OutgoingReply:
        """Return the reply as the weather has it; `_NO_REPLY` where there is none."""
        fault, rewritten = faults.fault, request
        for each in faults.all:
            rewritten = each.rewrite_request(rewritten)
        reply = _NO_REPLY if fault is not None and fault.is_withheld else self._process(rewritten)
        reply = (fault.replacement(self._clock()) if fault is not None else None) or reply
        if reply is _NO_REPLY:
            return reply
        for each in faults.all:
            reply = each.rewrite_reply(reply, request, faults.number)
        date = formatdate(self._clock(), usegmt=True)
        return structs.replace(reply, headers={"Content-Type": JSON, "Date": date, **reply.headers})

    def _note(self, request: ServiceRequest, status: int, fault: str | None) -> None:
        headers = {
            name: "[hidden]" if name in _SECRET_HEADERS else value for name, value in request.headers.items()
        }
        self._requests.append(
            LoggedRequest(request.method, request.path, request.query, headers, status, fault)
        )


def _response(reply: OutgoingReply) -> web.Response:
    return web.Response(status=reply.status, body=reply.body, headers=reply.headers)


async def _send_beginning(request: web.BaseRequest, reply: OutgoingReply, cut: Reset) -> web.StreamResponse:
    """Send the beginning of a reply, and end the connection; a client that has gone is no error."""
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    response.content_length = len(reply.body)
    transport = request.transport
    if transport is None:
        return response
    # Bytes must have left before a connection is reset: drain waits for the last one.
    transport.set_write_buffer_limits(high=0)
    if cut.after is not None:
        try:
            await response.prepare(request)
            await response.write(reply.body[: min(cut.after, len(reply.body) - 1)])
            await request.writer.drain()
        except ConnectionError:
            return response
    if isinstance(cut, Cut):
        transport.close()
    else:
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return response
