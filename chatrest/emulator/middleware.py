"""Between a socket and the service: the rate limit and the weather of one emulator.

Rules:
- The limit is checked before the service does anything; a request that the weather withholds from the
  service takes nothing from the limit either.
- A request is noted, keys hidden, before its reply is sent, so a reply that is late or lost is noted too.
- Where there is no weather, a request costs one look at an empty script.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web
from msgspec import Struct, structs

from .limits import TOO_MANY, LimitCounter, limit_headers
from .media import PATH as MEDIA_PATH, media_file
from .service.context import ServiceRequest as Request
from .service.dispatch import Service
from .service.refusals import ServiceRefusal as Refusal
from .service.router import rate_class
from .weather.faults import JSON, Fault, OutgoingReply
from .weather.script import FaultSet, Weather
from .weather.sending import send

LAST_REQUESTS: Final = 10_000
HEALTH_PATH: Final = "/health"
"""Answered without a key, whatever the weather, and not noted: for a container's health check."""
_HIDDEN: Final = "[hidden]"
_SECRET_HEADERS: Final = frozenset({"apikey", "authtoken", "key", "secret", "authorization"})
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999
_TOO_LARGE: Final = OutgoingReply(413, Refusal(413, "ERR_BAD_REQUEST", "The body is too large.").body)
_NOTHING: Final = OutgoingReply(0, b"")
_NONE: Final = Fault()


class IncomingRequest(Struct, frozen=True):
    """A request that has reached the emulator."""

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
    """The way of every request of one emulator, from the socket to the service and back."""

    def __init__(
        self,
        service: Service,
        weather: Weather,
        limit_counter: LimitCounter,
        requests: deque[IncomingRequest],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._service, self._weather, self._limit_counter = service, weather, limit_counter
        self._requests, self._clock, self._sleep = requests, clock, sleep
        self._busy: set[asyncio.Task[object]] = set()

    async def handle(self, http_request: web.BaseRequest) -> web.StreamResponse:
        """Return the response to a request; a `SilentResponse` where it is on its way already."""
        path, _, query = http_request.raw_path.partition("?")
        if path == HEALTH_PATH:
            return web.json_response({"status": "ok"})
        if path.startswith(MEDIA_PATH):
            return self._serve_file(http_request.method, path)
        headers = {name.lower(): value for name, value in http_request.headers.items()}
        try:
            request = Request(http_request.method, path, query, headers, await http_request.read())
        except web.HTTPRequestEntityTooLarge:
            self._note(Request(http_request.method, path, query, headers), _TOO_LARGE.status, None)
            return _response(_TOO_LARGE)
        if not self._weather:
            reply = self._process(request)
            self._note(request, reply.status, None)
            # aiohttp's own Date is the time of the machine.
            return _response(reply if self._clock is time.time else self._dated(reply))
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            return await self._handle_in_weather(http_request, request)
        finally:
            self._busy.discard(task)

    def _serve_file(self, method: str, path: str) -> web.Response:
        file = media_file(path) if method in ("GET", "HEAD") else None
        self._note(Request(method, path, "", {}), 404 if file is None else 200, None)
        if file is None:
            return web.Response(status=404)
        return web.Response(body=file.body, content_type=file.content_type)

    def close(self) -> None:
        for task in self._busy:
            task.cancel()
        self._weather.release()  # an event belongs to its loop; the next start may be on another

    def _process(self, request: Request) -> OutgoingReply:
        limit = self._limit_counter.limit
        if limit is None:
            return self._service.answer(request)
        now = self._clock()
        verdict = self._limit_counter.allow(limit, rate_class(request.method, request.path), now)
        headers = dict(limit_headers(verdict, limit.headers, now))
        if not verdict.allowed:
            return OutgoingReply(429, TOO_MANY, headers)
        return structs.replace(self._service.answer(request), headers=headers)

    async def _handle_in_weather(self, http_request: web.BaseRequest, request: Request) -> web.StreamResponse:
        strike = self._weather.strike(request)
        fault = strike.fault or _NONE
        reply = self._reply(strike, request)
        sending = fault.sending(reply)
        is_silent = fault.holds or (sending is not None and not sending.data)
        self._note(request, 0 if is_silent else reply.status, strike.name)
        if fault.holds:
            await self._weather.released()
            reply = self._reply(FaultSet(None, strike.beside), request) if reply is _NOTHING else reply
        if delay := strike.delay:
            await self._sleep(delay)
        return _response(reply) if sending is None else await send(http_request, sending)

    def _reply(self, strike: FaultSet, request: Request) -> OutgoingReply:
        """Return the reply as the weather has it; `_NOTHING` where there is none."""
        fault, rewritten = strike.fault or _NONE, request
        for each in strike.all:
            rewritten = each.rewritten(rewritten)
        reply = _NOTHING if fault.is_withheld else self._process(rewritten)
        reply = fault.reply(self._clock()) or reply
        if reply is _NOTHING:
            return reply
        for each in strike.all:
            reply = each.changed(reply, request, strike.number)
        return self._dated(reply)

    def _dated(self, reply: OutgoingReply) -> OutgoingReply:
        headers = {"Content-Type": JSON, "Date": _date(int(self._clock())), **reply.headers}
        return structs.replace(reply, headers=headers)

    def _note(self, request: Request, status: int, fault: str | None) -> None:
        shown = {
            name: _HIDDEN if name in _SECRET_HEADERS else value for name, value in request.headers.items()
        }
        self._requests.append(
            IncomingRequest(request.method, request.path, request.query, shown, status, fault)
        )


def _response(reply: OutgoingReply) -> web.Response:
    if not reply.headers:
        return web.Response(status=reply.status, body=reply.body, content_type=JSON)
    return web.Response(status=reply.status, body=reply.body, headers={"Content-Type": JSON, **reply.headers})


@lru_cache(maxsize=16)
def _date(seconds: int) -> str:
    return formatdate(min(max(0, seconds), _LAST_SECOND), usegmt=True)
