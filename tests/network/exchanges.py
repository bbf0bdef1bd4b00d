"""Requests and replies of one exchange, for the tests of the transport."""

from typing import Any, Final

from chatrest import Timeouts
from chatrest._core.requests.wire import Request
from tests.scripted_server import KEY, Faulty

CAP: Final = 1 << 20
TIMES: Final = Timeouts()


def asked(server: Faulty, method: Any = "GET", body: bytes | None = None) -> Request:
    """Return a request to a server."""
    return Request(method, f"{server.url}/v3/users", {"apikey": KEY}, body)


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a reply in chunks."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end
