"""From a request on a socket to a reply on it: rate limit and weather stand between it and the service.

Rules:
- The limit is judged before the service does anything; what the weather keeps from the service takes
  nothing from the limit either.
- A request is noted, keys hidden, before its reply is sent, so a reply that is held or lost is noted too.
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

from .limits import TOO_MANY, Limited, told
from .service.refusals import Refusal
from .service.request import Request
from .service.router import rate_class
from .service.service import Service
from .weather.connection_faults import CloseIdle, HalfOpen, Line, Reset, Unanswered
from .weather.delivery import Sent, deliver
from .weather.faults import JSON, Change, Instead, Outgoing
from .weather.script import Strike, Weather

KEPT_REQUESTS: Final = 10_000
_HIDDEN: Final = "[hidden]"
_SECRET_HEADERS: Final = frozenset({"apikey", "key", "secret", "authorization"})
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999
_TOO_LARGE: Final = Outgoing(413, Refusal(413, "ERR_BAD_REQUEST", "The body is too large.").body, {})


class Received(Struct, frozen=True):
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
    """What the weather did to it, such as "reset" or "latency+status"; None for nothing."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query's names and values, decoded, in the order in which they were sent."""
        return parse_qsl(self.query, keep_blank_values=True)


class Front:
    """Answers the requests of one emulator."""

    def __init__(
        self,
        service: Service,
        weather: Weather,
        limited: Limited,
        requests: deque[Received],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._service, self._weather, self._limited = service, weather, limited
        self._requests, self._clock, self._sleep = requests, clock, sleep
        self._has_own_time = clock is not time.time
        self._busy: set[asyncio.Task[object]] = set()
        self._doomed: dict[asyncio.Transport, CloseIdle] = {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The response to a request, or a `Sent` where it is on its way already."""
        path, _, query = request.raw_path.partition("?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            sent = Request(request.method, path, query, headers, await request.read())
        except web.HTTPRequestEntityTooLarge:
            self._note(Request(request.method, path, query, headers), _TOO_LARGE.status, None)
            return _response(_TOO_LARGE)
        if not self._weather and not self._doomed:
            reply = self._process(sent, 0.0)
            self._note(sent, reply.status, None)
            return _response(self._dated(reply, 0.0) if self._has_own_time else reply)
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            return await self._weathered(request, sent)
        finally:
            self._busy.discard(task)

    def close(self) -> None:
        """Ends what is held or late, unanswered."""
        for task in self._busy:
            task.cancel()
        self._weather.release()  # an event belongs to its loop; the next start may be on another

    def _process(self, sent: Request, skew: float) -> Outgoing:
        """What limit and service say; `skew` seconds are added to the times that are told."""
        limit = self._limited.limit
        if limit is None:
            reply = self._service.answer(sent)
            return Outgoing(reply.status, reply.body, {})
        now = self._clock()
        verdict = self._limited.judge(limit, rate_class(sent.method, sent.path), now)
        headers = dict(told(verdict, limit.headers, now + skew))
        if not verdict.allowed:
            return Outgoing(429, TOO_MANY, headers)
        reply = self._service.answer(sent)
        return Outgoing(reply.status, reply.body, headers)

    async def _weathered(self, request: web.BaseRequest, sent: Request) -> web.StreamResponse:
        if self._is_doomed(request, sent):
            self._note(sent, 0, "close_idle")
            return Sent(stays=False)
        strike = self._weather.strike(sent, self._clock())
        fault = strike.fault
        reply = self._reply(strike, sent)
        silent = isinstance(fault, HalfOpen) or (isinstance(fault, Reset) and fault.after is None)
        self._note(sent, 0 if silent or reply is None else reply.status, strike.name)
        if isinstance(fault, HalfOpen):
            await self._weather.released()
            reply = reply or self._reply(Strike(None, strike.beside), sent)
        if strike.latency:
            await self._sleep(strike.latency)
        if isinstance(fault, CloseIdle) and fault.upon == "request":
            self._doom(request, fault)
        elif isinstance(fault, Line) and not isinstance(fault, HalfOpen):
            return await deliver(fault, request, reply or _NOTHING, self._sleep)
        assert reply is not None
        return _response(reply)

    def _reply(self, strike: Strike, sent: Request) -> Outgoing | None:
        """The reply as the weather has it; None for none, and then nothing was processed."""
        fault = strike.fault
        if isinstance(fault, Instead):
            if fault.processed:
                self._process(sent, strike.skew)
            reply = fault.reply(self._clock() + strike.skew)
        elif isinstance(fault, Unanswered) and fault.is_kept_from_service:
            return None
        else:
            reply = self._process(sent, strike.skew)
        if isinstance(fault, Change):
            reply = fault.changed(reply, sent, strike.number)
        for beside in strike.beside:
            if isinstance(beside, Change):
                reply = beside.changed(reply, sent, strike.number)
        return self._dated(reply, strike.skew)

    def _dated(self, reply: Outgoing, skew: float) -> Outgoing:
        headers = {"Content-Type": JSON, "Date": _date(int(self._clock() + skew)), **reply.headers}
        return structs.replace(reply, headers=headers)

    def _doom(self, request: web.BaseRequest, fault: CloseIdle) -> None:
        self._doomed = {known: why for known, why in self._doomed.items() if not known.is_closing()}
        if request.transport is not None:
            self._doomed[request.transport] = fault

    def _is_doomed(self, request: web.BaseRequest, sent: Request) -> bool:
        transport = request.transport
        fault = None if transport is None else self._doomed.get(transport)
        if fault is None or transport is None or not self._weather.closes(fault, sent):
            return False
        del self._doomed[transport]
        return True

    def _note(self, sent: Request, status: int, fault: str | None) -> None:
        shown = {name: _HIDDEN if name in _SECRET_HEADERS else value for name, value in sent.headers.items()}
        self._requests.append(Received(sent.method, sent.path, sent.query, shown, status, fault))


_NOTHING: Final = Outgoing(0, b"", {})


def _response(reply: Outgoing) -> web.Response:
    if not reply.headers:
        return web.Response(status=reply.status, body=reply.body, content_type=JSON)
    return web.Response(status=reply.status, body=reply.body, headers={"Content-Type": JSON, **reply.headers})


@lru_cache(maxsize=16)
def _date(seconds: int) -> str:
    return formatdate(min(max(0, seconds), _LAST_SECOND), usegmt=True)
