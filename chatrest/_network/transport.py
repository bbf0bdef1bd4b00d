"""One HTTP exchange; the only module of the client that imports aiohttp.

Some defaults of aiohttp are turned off: it follows redirects (and sends a custom key header to another
origin), reads proxies and credentials from the environment, keeps cookies, repeats a request when a pooled
connection is dead, accepts data of an idle connection as the next reply, and reads replies of any size. Its
errors hold request headers and quote the peer, and the frames of their tracebacks hold more of both. So this
module creates new errors outside of any `except` and raises them from a frame that holds neither: no error
of chatrest leads to a key.
"""

import asyncio
import io
import os
import socket
import ssl as tls
from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import Any, Final, TypeAlias

import aiohttp
from aiohttp import hdrs
from msgspec import Struct
from multidict import CIMultiDict, istr
from yarl import URL

from .._core.replies.bounds import ERROR_BYTES
from .._core.requests.arguments import Timeouts, detach
from .._core.requests.wire import Request
from .._secrets import scrub
from ..errors import ChatRestError, ConnectError, ReplyUnreadableError, RequestTimeoutError, TransportError
from .decompression import ACCEPTED, Decompressor
from .timing import Exchange, ExpiryTimer

_READ_BUFFER_BYTES: Final = 1 << 20
"""A page of 1000 messages in few reads; the default of aiohttp is 64 KiB."""
_KEEPALIVE_SECONDS: Final = 15.0
_LARGE_BYTES: Final = 1 << 20
"""A request body of more bytes is sent in pieces."""
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
"""OpenSSL's reasons for a host that does not speak TLS."""
_CERTIFICATE_REASONS: Final = {9: "not yet valid", 10: "expired", 62: "other host"}
"""Why a certificate is refused, by OpenSSL's code; any other code is an issuer that is not known."""
_WITHOUT_TYPE: Final = (hdrs.CONTENT_TYPE,)

Verify: TypeAlias = tls.SSLContext | bool
header_name: Final = istr
"""Makes a name that is found in a reply's headers in a quarter of the time of a text."""


class _ConnectionLostError(Exception):
    """A connection that was lost in use. Not an aiohttp error, for which aiohttp would send again."""


_FAILURES: Final = (_ConnectionLostError, aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""Errors of an exchange: lost connections, timeouts, and replies that are not HTTP."""
_LOST_CONNECTIONS: Final = (_ConnectionLostError, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)


class Reply(Struct, frozen=True):
    """A reply, decompressed, that of a success complete; its repr shows neither headers nor body."""

    status: int
    headers: Mapping[str, str]
    """Header values by case-insensitive name."""
    body: bytes

    def __repr__(self) -> str:
        return f"<Reply {self.status}, {len(self.body)} bytes>"

    def __rich_repr__(self) -> list[tuple[str, int]]:
        """Return the fields for rich, which would otherwise show all fields of a struct."""
        return [("status", self.status), ("size", len(self.body))]


class Transport:
    """A connector and its client session, of a running event loop; `cap` is the largest body in bytes."""

    def __init__(self, *, verify: Verify = True, proxy: str | None = None, cap: int) -> None:
        self._cap = cap
        self._has_proxy = proxy is not None
        self._timer = ExpiryTimer()
        # limit=0: only the pool limits the number of concurrent requests.
        connector = _Connector(
            self._timer.exchanges, limit=0, ssl=verify, keepalive_timeout=_KEEPALIVE_SECONDS
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            proxy=proxy,
            read_bufsize=_READ_BUFFER_BYTES,
            auto_decompress=False,
            headers={"Accept-Encoding": ACCEPTED},
        )
        # The connector refuses a second connection to any exchange; without this, the reason for the loss of
        # the first one would be lost with it.
        self._session._retry_connection = False

    async def close(self) -> None:
        self._timer.close()
        await self._session.close()

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        """Send `request` once, and return its reply, whatever its status.

        Raises a `TransportError` where no usable reply came. The `CancelledError` of a cancel gets an
        attribute `sent`: True if the request may have been sent.
        """
        exchange = self._timer.start(inf if timeouts.total is None else timeouts.total)
        response: aiohttp.ClientResponse | None = None
        # No type where the request has none. It is not asked of every request: aiohttp copies all headers.
        is_plain, size = request.method == "GET" and request.body is None, len(request.body or b"")
        try:
            response = await self._session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                # aiohttp warns of large bodies as bytes, which it would write at once.
                data=io.BytesIO(request.body or b"") if size > _LARGE_BYTES else request.body,
                skip_auto_headers=None if is_plain or "Content-Type" in request.headers else _WITHOUT_TYPE,
                allow_redirects=False,
                timeout=_client_timeout(timeouts.connect, timeouts.read),
            )
            try:
                body = self._short_body(response)
                if body is None:
                    body = await self._read(response)
                return Reply(response.status, response.headers, body)
            except BaseException:
                response.close()  # a connection with an unread body cannot be used again
                raise
        except asyncio.CancelledError as error:
            if not exchange.has_cancelled():
                vars(error)["sent"] = exchange.has_connected
                raise
            failure: ChatRestError = _failure(TimeoutError(), timeouts, exchange)
        except ReplyUnreadableError as error:
            failure = detach(error)
        except _FAILURES as error:
            failure = self._with_proxy_hint(_failure(error, timeouts, exchange), request)
        finally:
            self._timer.stop(exchange)
        response = None  # its repr quotes the peer
        raise failure

    def _short_body(self, response: aiohttp.ClientResponse) -> bytes | None:
        """Return the body of a reply that has arrived already and is not compressed; None of any other."""
        content = response.content
        if not content.is_eof() or content.total_bytes > self._cap:
            return None
        if hdrs.CONTENT_ENCODING in response.headers:
            return None
        body = content.read_nowait()
        return body if response.status < 300 else body[:ERROR_BYTES]

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the body; of a success that is larger than the cap, raise `ReplyUnreadableError`.

        An error reply keeps its status whatever its body is: the body is cut at `ERROR_BYTES`, and where it
        breaks off or cannot be decompressed.
        """
        pieces: list[bytes] = []
        if response.status < 300:
            await self._read_into(pieces, response, self._cap)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        cap = min(self._cap, ERROR_BYTES)
        try:
            await self._read_into(pieces, response, cap)
        except (ReplyUnreadableError, aiohttp.ClientPayloadError):
            response.close()  # what is unread must not be taken for the next reply
        return b"".join(pieces)[:cap]

    async def _read_into(self, pieces: list[bytes], response: aiohttp.ClientResponse, cap: int) -> None:
        """Append the decompressed body in pieces; raise `ReplyUnreadableError` if it is larger than `cap`."""
        declared, content = response.content_length, response.content
        if declared is not None and declared > cap and response.status < 300:
            raise self._too_large(f"{declared} bytes are announced")
        encoding = response.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower()
        decompressor = None if encoding in ("", "identity") else Decompressor(encoding)
        received = size = 0
        while piece := await content.readany():
            received += len(piece)
            for block in (piece,) if decompressor is None else decompressor.steps(piece):
                if size and decompressor is not None:
                    await asyncio.sleep(0)  # other tasks run: one piece may hold all blocks up to the cap
                size += len(block)
                pieces.append(block)
                if max(received, size) > cap:
                    raise self._too_large(
                        "it was still going on"
                        if decompressor is None
                        else f"{received} bytes unpack to more"
                    )
        if received and decompressor is not None:
            decompressor.finish()

    def _with_proxy_hint(self, error: TransportError, request: Request) -> TransportError:
        """Return `error`; that of a failed connection names a proxy of the environment, which is not used."""
        scheme = request.url.partition(":")[0]
        names = [name for name in os.environ if name.lower() in (f"{scheme}_proxy", "all_proxy")]
        if names and isinstance(error, ConnectError) and not (self._has_proxy or error.is_final):
            error.args = (
                f"{error} ({min(names)} is set, and not used: give the session proxy=…, the command --proxy)",
            )
        return error

    def _too_large(self, reason: str) -> ReplyUnreadableError:
        text = f"the reply is larger than max_reply_bytes = {self._cap}: {reason}"
        return ReplyUnreadableError(text, answered=True)


class _Connector(aiohttp.TCPConnector):
    """A connector that gives an exchange one connection, without unrequested data, and notes it.

    aiohttp repeats GET, PUT, DELETE and others when a pooled connection is lost, which is for the retry
    policy to decide: its second attempt asks for a second connection.
    """

    def __init__(self, exchanges: Mapping[asyncio.Task[Any] | None, Exchange], **options: Any) -> None:
        super().__init__(**options)
        # Found by their task: aiohttp passes no data to its connector, which runs in it.
        self._exchanges = exchanges

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109, aiohttp's
        exchange = self._exchanges[asyncio.current_task()]
        if exchange.has_asked:
            raise _ConnectionLostError
        exchange.has_asked, exchange.has_connected = True, False
        connection = await aiohttp.TCPConnector.connect(self, req, traces, timeout)
        # A proxy or server may have sent a 408 on the idle connection; it is not the reply to this request.
        while (protocol := connection.protocol) is not None and protocol.should_close:
            connection.close()
            connection = await aiohttp.TCPConnector.connect(self, req, traces, timeout)
        exchange.has_connected = True
        return connection


@lru_cache(16)
def _client_timeout(connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=connect, sock_read=read)


def _failure(error: Exception, timeouts: Timeouts, exchange: Exchange) -> TransportError:
    """Return the error of chatrest for one of aiohttp, without what may hold a key."""
    if not exchange.has_connected:
        return _connect_failure(error, timeouts)
    if isinstance(error, aiohttp.SocketTimeoutError):
        return RequestTimeoutError(f"the service was silent for {timeouts.read} s (timeouts.read)")
    if isinstance(error, TimeoutError):
        return RequestTimeoutError(f"no complete reply within {timeouts.total} s (timeouts.total)")
    if isinstance(error, _LOST_CONNECTIONS):
        return TransportError(f"the connection was lost before a reply came{_reason(error)}")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ReplyUnreadableError("the reply was cut off, or is garbled")
    if isinstance(error, aiohttp.ClientResponseError):
        return ReplyUnreadableError("the reply is not valid HTTP")
    return TransportError(f"the exchange failed ({type(error).__name__}){_reason(error)}")


def _connect_failure(error: Exception, timeouts: Timeouts) -> ConnectError:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectError(f"no connection within {timeouts.connect} s (timeouts.connect), nothing was sent")
    if isinstance(error, TimeoutError):
        return ConnectError(f"no connection within {timeouts.total} s (timeouts.total), nothing was sent")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        text = f"the proxy refused the connection with {error.status}, nothing was sent"
        return ConnectError(text, reason="by proxy")
    if isinstance(error, aiohttp.ClientConnectorError):
        text = f"no connection to {error.host}:{error.port}, nothing was sent{_reason(error)}"
        cause = _cause(error)  # a refused certificate and a host without TLS stay so
        is_refused = isinstance(cause, tls.SSLCertVerificationError | tls.CertificateError)
        is_final = is_refused or (isinstance(cause, tls.SSLError) and cause.reason in _NO_TLS)
        return ConnectError(text, is_final=is_final, reason=_connect_reason(error))
    if isinstance(error, _LOST_CONNECTIONS):
        return ConnectError(f"no connection, nothing was sent{_reason(error)}")
    return ConnectError(f"no connection ({type(error).__name__}), nothing was sent{_reason(error)}")


def _cause(error: Exception) -> object:
    return getattr(error, "certificate_error", None) or getattr(error, "os_error", error)


def _connect_reason(error: aiohttp.ClientConnectorError) -> str:
    cause = _cause(error)
    if isinstance(cause, tls.SSLCertVerificationError):
        return _CERTIFICATE_REASONS.get(cause.verify_code, "certificate")
    if isinstance(cause, tls.SSLError):
        return "tls"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "proxy"
    return "name" if isinstance(cause, socket.gaierror) else "connection"


def _reason(error: Exception) -> str:
    """Return the operating system's reason for `error`, never text of the peer, which may contain a key."""
    cause = _cause(error)
    if isinstance(cause, tls.SSLCertVerificationError):
        return f": its certificate is refused, {cause.verify_message}"
    if isinstance(cause, tls.SSLError) and cause.reason in _NO_TLS:
        return ": it does not speak TLS"
    if isinstance(cause, tls.SSLError):
        return f": {cause.reason or type(cause).__name__}"
    if isinstance(cause, OSError) and cause.errno is not None:
        return f": {cause.strerror if cause.errno < 0 else os.strerror(cause.errno)}"
    return ""


def plain_headers(headers: Mapping[str, str], secrets: tuple[str, ...]) -> Mapping[str, str]:
    """Return a case-insensitive copy of reply headers without secrets, which can be pickled."""
    return CIMultiDict((name, scrub(value, secrets)) for name, value in headers.items())
