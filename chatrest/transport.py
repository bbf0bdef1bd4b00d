"""One exchange over HTTP: the one file that imports aiohttp on the client's side.

What aiohttp would do by itself, and must not here: follow redirects (it takes a custom key header along
to another origin), read proxies and credentials from the environment, keep cookies, send a request again
when a pooled connection turns out dead, and read a reply of any size. Its errors hold the request's
headers, so ours are raised outside of their `except`: no error of ours leads back to a key.
"""

import ssl as tls
from collections.abc import Mapping
from typing import Final, TypeAlias

import aiohttp
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from .core.secrets import scrub
from .core.timeouts import Timeouts
from .core.wire import Request
from .errors import ConnectError, ReplyUnreadableError, RequestTimeoutError, TransportError

READ_BUFFER: Final = 1 << 20  # a page of 1000 messages in few pauses; aiohttp's own default is 64 KiB
_KEEPALIVE: Final = 15.0

Verify: TypeAlias = tls.SSLContext | bool


class Reply(Struct, frozen=True):
    """What came back. The body is whole, and within the cap."""

    status: int
    headers: Mapping[str, str]
    """Names without case."""
    body: bytes


class Transport:
    """A connector and what goes with it; made inside a running loop, closed with `close`."""

    def __init__(self, *, verify: Verify = True, proxy: str | None = None, cap: int) -> None:
        self._cap = cap
        self._timeouts: dict[Timeouts, aiohttp.ClientTimeout] = {}
        # limit=0: how many requests run at once is the pool's to say, and nobody else's.
        self._connector = aiohttp.TCPConnector(limit=0, ssl=verify, keepalive_timeout=_KEEPALIVE)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            proxy=proxy,
            read_bufsize=READ_BUFFER,
            middlewares=(_send_once,),
        )

    async def close(self) -> None:
        """Closes every connection."""
        await self._session.close()

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Sends `request` once and reads its whole reply; a `TransportError` where none came."""
        try:
            return await self._exchange(request, timeouts)
        except TransportError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            fault = _fault(error, timeouts)
        raise fault

    async def _exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        async with self._session.request(
            request.method,
            URL(request.url, encoded=True),
            headers=request.headers,
            data=request.body,
            allow_redirects=False,
            timeout=self._client_timeout(timeouts),
        ) as response:
            body = await self._read(response)
            return Reply(response.status, response.headers, body)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, decompressed, in pieces: what passes the cap is not read on."""
        declared = response.content_length
        if declared is not None and declared > self._cap:
            raise self._too_large(f"{declared} bytes are announced")
        pieces: list[bytes] = []
        size = 0
        while piece := await response.content.readany():
            size += len(piece)
            if size > self._cap:
                raise self._too_large("it was still going on")
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self, told: str) -> ReplyUnreadableError:
        return ReplyUnreadableError(f"the reply is larger than max_reply_bytes = {self._cap}: {told}")

    def _client_timeout(self, timeouts: Timeouts) -> aiohttp.ClientTimeout:
        known = self._timeouts.get(timeouts)
        if known is None:
            known = aiohttp.ClientTimeout(
                total=timeouts.total, connect=timeouts.connect, sock_read=timeouts.read
            )
            if len(self._timeouts) < 100:  # a deadline's remainder is different every time
                self._timeouts[timeouts] = known
        return known


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keeps aiohttp from sending a request again behind the retry policy's back.

    It does so for GET, PUT, DELETE and others when a pooled connection dies; an error that is not one of
    its own passes by that rule.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        told = scrub(str(error), ())
    raise TransportError(f"the connection was lost before a reply came: {told}")


def _fault(error: Exception, timeouts: Timeouts) -> TransportError:
    told = scrub(f"{error}" or type(error).__name__, ())
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectError(f"no connection within {timeouts.connect} s; nothing was sent")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ServerFingerprintMismatch | tls.SSLError):
        return ConnectError(f"no connection, nothing was sent: {told}")
    if isinstance(error, aiohttp.SocketTimeoutError):
        return RequestTimeoutError(f"the service was silent for {timeouts.read} s (timeouts.read)")
    if isinstance(error, TimeoutError):
        return RequestTimeoutError(f"no whole reply within {timeouts.total} s (timeouts.total)")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ReplyUnreadableError(f"the reply was cut off or garbled: {told}")
    if isinstance(error, aiohttp.ClientResponseError):
        return ReplyUnreadableError(f"the reply is not HTTP as it should be: {error.message}")
    return TransportError(f"the exchange failed: {type(error).__name__}: {told}")


def plain_headers(headers: Mapping[str, str], secrets: tuple[str, ...]) -> Mapping[str, str]:
    """A copy of reply headers without secrets, its names without case; unlike aiohttp's it can be pickled."""
    return CIMultiDict((name, scrub(value, secrets)) for name, value in headers.items())
