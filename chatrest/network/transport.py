"""One exchange over HTTP: the one file that imports aiohttp on the client's side.

What aiohttp would do by itself, and must not here: follow redirects (it takes a custom key header along
to another origin), read proxies and credentials from the environment, keep cookies, send a request again
when a pooled connection turns out dead, take what a server sends on an idle connection for the next reply,
and read a reply of any size. Its errors hold the request's headers and quote what the peer sent, and the
frames that they pass hold more of both. So ours are made anew, outside of any `except`, and raised from a
frame that holds neither: no error of ours leads back to a key.
"""

import asyncio
import io
import os
import ssl as tls
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import aiohttp
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from ..core.arguments import detach
from ..core.inflate import ACCEPTED, Inflate
from ..core.timeouts import Timeouts
from ..core.wire import Request
from ..errors import (
    ChatRestError,
    ConnectError,
    ReplyUnreadableError,
    RequestInvalidError,
    RequestTimeoutError,
    TransportError,
)
from ..secrets import scrub

_READ_BUFFER: Final = 1 << 20  # a page of 1000 messages in few pauses; aiohttp's own default is 64 KiB
_KEEPALIVE: Final = 15.0
_LARGE: Final = 1 << 20
_KNOWN_TIMEOUTS: Final = 64

Verify: TypeAlias = tls.SSLContext | bool


class Reply(Struct, frozen=True):
    """A reply: its body is unpacked, and whole unless an error's body was cut at the cap.

    Only status and size are shown: headers and body may repeat a key.
    """

    status: int
    headers: Mapping[str, str]
    """Names without case."""
    body: bytes

    def __repr__(self) -> str:
        return f"<Reply {self.status}, {len(self.body)} bytes>"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        """Fields for rich, which would else show every one of a struct."""
        return [("status", self.status), ("size", len(self.body))]


class _Progress:
    """The progress of one exchange: `connected` once it had a connection, and so may have sent something.

    It is True as well before a connection is asked for: then nobody knows that nothing was sent.
    """

    __slots__ = ("connected",)

    def __init__(self) -> None:
        self.connected = True


# aiohttp hands its connector nothing of ours; the connector runs in the task of the exchange.
_PROGRESS: ContextVar[_Progress | None] = ContextVar("chatrest_progress", default=None)


def was_sent(error: BaseException) -> bool:
    """True if an exchange that ended in `error` may have sent something, or if nobody noted it."""
    return bool(getattr(error, "sent", True))


class Transport:
    """A connector and its client session; made inside a running loop, closed with `close`."""

    def __init__(self, *, verify: Verify = True, proxy: str | None = None, cap: int) -> None:
        self._cap = cap
        self._timeouts: dict[Timeouts, aiohttp.ClientTimeout] = {}
        # limit=0: how many requests run at once is the pool's to say, and nobody else's.
        self._connector = _Connector(limit=0, ssl=verify, keepalive_timeout=_KEEPALIVE)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            proxy=proxy,
            read_bufsize=_READ_BUFFER,
            auto_decompress=False,
            skip_auto_headers=("Content-Type",),
            headers={"Accept-Encoding": ACCEPTED},
            middlewares=(_send_once,),
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Send `request` once and read its reply; a `TransportError` where no usable one came.

        A `CancelledError` that leaves here knows whether something was sent: see `was_sent`.
        """
        if self._session.closed:
            raise RequestInvalidError("the session was closed before the request was sent")
        progress = _Progress()
        _PROGRESS.set(progress)
        response: aiohttp.ClientResponse | None = None
        try:
            response = await self._session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=_payload(request.body),
                allow_redirects=False,
                timeout=self._client_timeout(timeouts),
            )
            try:
                return Reply(response.status, response.headers, await self._read(response))
            except BaseException:
                response.close()  # what was not read to its end is no connection to use again
                raise
        except asyncio.CancelledError as error:
            vars(error)["sent"] = progress.connected
            raise
        except ReplyUnreadableError as error:
            failure: ChatRestError = detach(error)
        except _FAILURES as error:
            failure = _failure(error, timeouts) if progress.connected else _no_connection(error, timeouts)
        response = None  # its repr shows what the peer sent
        raise failure

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body in pieces: what passes the cap is not read on.

        A success that passes it is a `ReplyUnreadableError`; an error is cut there, and keeps its status.
        """
        declared = response.content_length
        is_success = response.status < 300
        if declared is not None and declared > self._cap and is_success:
            raise self._too_large(f"{declared} bytes are announced")
        encoding = response.headers.get("Content-Encoding")
        if encoding is not None and encoding.strip().lower() not in ("", "identity"):
            return await self._unpack(response, Inflate(encoding))
        pieces: list[bytes] = []
        size = 0
        while piece := await response.content.readany():
            size += len(piece)
            pieces.append(piece)
            if size > self._cap:
                if is_success:
                    raise self._too_large("it was still going on")
                return self._cut(response, pieces)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _unpack(self, response: aiohttp.ClientResponse, inflate: Inflate) -> bytes:
        pieces: list[bytes] = []
        packed = size = 0
        while piece := await response.content.readany():
            packed += len(piece)
            for part in inflate.feed(piece, self._cap - size):
                size += len(part)
                pieces.append(part)
            if max(packed, size) > self._cap:
                if response.status < 300:
                    raise self._too_large(f"{packed} bytes unpack to more than that")
                return self._cut(response, pieces)
        if packed:
            inflate.finish()
        return b"".join(pieces)

    def _cut(self, response: aiohttp.ClientResponse, pieces: list[bytes]) -> bytes:
        response.close()  # its rest is not the next reply
        return b"".join(pieces)[: self._cap]

    def _too_large(self, reason: str) -> ReplyUnreadableError:
        return ReplyUnreadableError(f"the reply is larger than max_reply_bytes = {self._cap}: {reason}")

    def _client_timeout(self, timeouts: Timeouts) -> aiohttp.ClientTimeout:
        known = self._timeouts.get(timeouts)
        if known is None:
            known = aiohttp.ClientTimeout(
                total=timeouts.total, connect=timeouts.connect, sock_read=timeouts.read
            )
            if len(self._timeouts) < _KNOWN_TIMEOUTS:  # a caller may compute other ones for every call
                self._timeouts[timeouts] = known
        return known


class _Connector(aiohttp.TCPConnector):
    """A connector of connections on which nothing has arrived unasked; it notes that one was in hand."""

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        """Return a connection for a request."""
        progress = _PROGRESS.get()
        if progress is not None:
            progress.connected = False
        connection = await super().connect(*args, **kwargs)
        # A proxy or a server may have written a 408 to the idle connection; it is no reply to what comes.
        while connection.protocol is not None and connection.protocol.should_close:
            connection.close()
            connection = await super().connect(*args, **kwargs)
        if progress is not None:
            progress.connected = True
        return connection


class _ConnectionLostError(Exception):
    """A connection that died in use. None of aiohttp's own: those it would answer by sending again."""


# Connections that die, timers that run out, and replies that are no HTTP.
_FAILURES: Final = (_ConnectionLostError, aiohttp.ClientError, TimeoutError, OSError, ValueError)


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again behind the retry policy's back.

    It does so for GET, PUT, DELETE and others when a pooled connection dies; an error that is not one of
    its own passes by that rule. It passes frames that hold the request's headers, too, so `exchange` makes
    a new one of it.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _ConnectionLostError(_reason(error)) from None


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    # aiohttp warns of large bodies that are bytes: it would write them in one go.
    return io.BytesIO(body) if body is not None and len(body) > _LARGE else body


def _failure(error: Exception, timeouts: Timeouts) -> TransportError:
    """The error of an exchange that had a connection, and may have sent something."""
    if isinstance(error, _ConnectionLostError):
        return TransportError(f"the connection was lost before a reply came{error}")
    if isinstance(error, aiohttp.SocketTimeoutError):
        return RequestTimeoutError(f"the service was silent for {timeouts.read} s (timeouts.read)")
    if isinstance(error, TimeoutError):
        return RequestTimeoutError(f"no whole reply within {timeouts.total} s (timeouts.total)")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ReplyUnreadableError("the reply was cut off, or is garbled")
    if isinstance(error, aiohttp.ClientResponseError):
        return ReplyUnreadableError("the reply is not HTTP as it should be")
    return TransportError(f"the exchange failed ({type(error).__name__}){_reason(error)}")


def _no_connection(error: Exception, timeouts: Timeouts) -> ConnectError:
    """The error of an exchange that never had a connection."""
    if isinstance(error, _ConnectionLostError):
        return ConnectError(f"no connection, nothing was sent{error}")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectError(f"no connection within {timeouts.connect} s (timeouts.connect), nothing was sent")
    if isinstance(error, TimeoutError):
        return ConnectError(f"no connection within {timeouts.total} s (timeouts.total), nothing was sent")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return ConnectError(f"the proxy refused the connection with {error.status}, nothing was sent")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectError(f"no connection to {error.host}:{error.port}, nothing was sent{_reason(error)}")
    return ConnectError(f"no connection ({type(error).__name__}), nothing was sent{_reason(error)}")


def _reason(error: Exception) -> str:
    """The operating system's reason for `error`; never a peer's own words, which may repeat a key."""
    certificate = getattr(error, "certificate_error", None)
    cause = certificate or getattr(error, "os_error", error)
    if isinstance(cause, tls.SSLCertVerificationError):
        return f": its certificate is refused, {cause.verify_message}"
    if isinstance(cause, tls.SSLError):
        return f": {cause.reason or type(cause).__name__}"
    if isinstance(cause, OSError) and cause.errno is not None:
        return f": {cause.strerror if cause.errno < 0 else os.strerror(cause.errno)}"
    return ""


def plain_headers(headers: Mapping[str, str], secrets: tuple[str, ...]) -> Mapping[str, str]:
    """Copy reply headers without secrets, their names without case; unlike aiohttp's, it can be pickled."""
    return CIMultiDict((name, scrub(value, secrets)) for name, value in headers.items())
