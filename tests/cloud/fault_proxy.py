"""An HTTP proxy on loopback in front of an object store, which can answer or cut requests instead of it."""

import asyncio
import io
from collections.abc import Callable
from typing import Final, NamedTuple, Self

import aiohttp
from aiohttp import web

from chatrest._cloud.address import RequestLimits

SECRET: Final = "SECRETEXAMPLESECRETEXAMPLE"
KEY_ID: Final = "AKIDEXAMPLEKEYID"
LIMITS: Final = RequestLimits(retries=2, total=120.0, timeout=60.0, first_wait=0.001)
PART_SIZE: Final = 16 << 10
CONDITIONS: Final = ("If-Match", "If-None-Match")
HOP_BY_HOP: Final = ("Connection", "Transfer-Encoding", "Keep-Alive", "Content-Length", "Content-Encoding")


class ProxiedRequest(NamedTuple):
    method: str
    path: str
    query: str
    conditional: bool


class HeldRequests:
    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.release = asyncio.Event()


class FaultProxy:
    """Forward requests to `target`, but apply the first fault that matches.

    `requests` has every request in order. A fault is added by `add`, with a predicate of the request, and is
    used `times` times.
    """

    def __init__(self, target: str) -> None:
        self.requests: list[ProxiedRequest] = []
        self.truncates = False
        """If True, the body of each PUT loses its last bytes before the store sees it."""
        self.url = ""
        self._target = target
        self._faults: list[tuple[Callable[[ProxiedRequest], bool], str, int]] = []
        self._holds: list[tuple[Callable[[ProxiedRequest], bool], HeldRequests]] = []
        self._runner: web.AppRunner | None = None
        self._client: aiohttp.ClientSession | None = None

    def add(self, kind: str, matches: Callable[[ProxiedRequest], bool], times: int = 1) -> None:
        """Add a fault.

        `kind` is a status (`500`), `cut` (the connection ends after a part of the body was read), `lost`
        (the store applies the request, and the connection ends before the reply), `500 applied` (the store
        applies the request, and the reply is a 500), `short` (half of the reply is sent), `busy`
        (a 200 whose body says that nothing was deleted, as S3's bulk deletion gives it where it is busy).
        """
        self._faults.append((matches, kind, times))

    def clear(self) -> None:
        self._faults.clear()

    def hold(self, matches: Callable[[ProxiedRequest], bool], times: int = 1) -> HeldRequests:
        """Hold the next `times` matching requests back until the caller releases them."""
        held = HeldRequests()
        self._holds += [(matches, held)] * times
        return held

    async def __aenter__(self) -> Self:
        self._client = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._client is not None
        assert self._runner is not None
        await self._client.close()
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        record = ProxiedRequest(
            request.method,
            request.path,
            request.query_string,
            any(name in request.headers for name in CONDITIONS),
        )
        self.requests.append(record)
        await self._wait_for_release(record)
        kind = self._fault(record)
        if kind == "cut":
            await request.content.read(1000)
            return self._disconnect(request)
        body = await request.read()
        if kind == "busy":
            return web.Response(text=BUSY_BODY, content_type="application/xml")
        if kind.isdecimal():
            return web.Response(status=int(kind), text=ERROR_BODY)
        if self.truncates and request.method == "PUT":
            body = body[:3]
        response = await self._forward(request, body)
        if kind == "lost":
            return self._disconnect(request)
        if kind == "500 applied":
            return web.Response(status=500, text=ERROR_BODY)
        if kind == "short":
            return await self._send_half(request, response)
        return response

    async def _wait_for_release(self, request: ProxiedRequest) -> None:
        for hold in self._holds:
            matches, held = hold
            if matches(request):
                self._holds.remove(hold)
                held.reached.set()
                await held.release.wait()
                return

    def _fault(self, request: ProxiedRequest) -> str:
        for index, (matches, kind, times) in enumerate(self._faults):
            if times and matches(request):
                self._faults[index] = (matches, kind, times - 1)
                return kind
        return ""

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        assert self._client is not None
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
        async with self._client.request(
            request.method,
            self._target + request.raw_path,
            headers=headers,
            data=io.BytesIO(body),
            allow_redirects=False,
        ) as reply:
            content = await reply.read()
            names = {name: value for name, value in reply.headers.items() if name not in HOP_BY_HOP}
            if request.method == "HEAD":
                names["Content-Length"] = reply.headers.get("Content-Length", "0")
            return web.Response(status=reply.status, body=content, headers=names)

    async def _send_half(self, request: web.Request, response: web.Response) -> web.StreamResponse:
        content = response.body
        assert isinstance(content, bytes)
        half = web.StreamResponse(status=response.status, headers=response.headers)
        half.content_length = len(content)
        await half.prepare(request)
        await half.write(content[: len(content) // 2])
        self._disconnect(request)
        return half

    def _disconnect(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


ERROR_BODY: Final = (
    "<Error><Code>InternalError</Code><Message>We encountered an error.</Message>"
    "<AWSAccessKeyId>AKIDEXAMPLEKEYID</AWSAccessKeyId></Error>"
)
"""The reply's text of a fault. As real stores do for some errors, it repeats the id of the key."""
BUSY_BODY: Final = (
    '<?xml version="1.0"?><DeleteResult><Error><Key>some/prefix/a</Key><Code>SlowDown</Code>'
    "<Message>Reduce the rate of AKIDEXAMPLEKEYID.</Message></Error></DeleteResult>"
)
