"""Faults as data: `middleware` and `connection` carry them out.

Four families:

- `StatusFault`: answers something else in place of the service's own answer.
- `Change`: changes the service's answer, or the request that it reads.
- `ConnectionFault`: damages the service's answer on its way (`connection`).
- Faults that accompany (`Latency`, `Skew`, `Gzip`) strike beside all others.

Your own: derive from `StatusFault` or `Change`; the fields are those of a frozen struct.
"""

import gzip
import re
from collections.abc import Mapping
from email.utils import formatdate
from math import ceil
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from msgspec import Meta, structs

from ...errors import RequestInvalidError
from ..checked import CheckedArguments, Count, Seconds
from ..limits import TOO_MANY, Spelling, Verdict, limit_headers
from ..service.context import Outgoing as Outgoing, ServiceRequest as Request
from ..service.refusals import ServiceRefusal as Refusal
from .triggers import ALWAYS, When, target_of

BodyKind: TypeAlias = Literal["json", "html", "text", "empty"]
JSON = "application/json"


class Fault(CheckedArguments, kw_only=True):
    """A disturbance of the requests of one route. One that strikes is named in `IncomingRequest.fault`."""

    route: str | None = None
    """An operation such as "messages.list_user", a path such as "/users/{uid}/messages", or None for all."""
    method: str | None = None
    """"GET", "POST" and so on; None for all."""
    when: When = ALWAYS
    max_streak: Count | None = None
    """A request (method, path, query, acting user) that was struck so often in a row is let through."""

    accompanies: ClassVar[bool] = False
    only_reads: ClassVar[bool] = False
    """True for a fault that is for GET alone, whatever its `method`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.route is not None:
            target_of(self.route)

    @property
    def name(self) -> str:
        """The kind in snake case: "too_many_requests"."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def fits(self, request: Request) -> bool:
        """Return True for a request that the fault is for; only such requests count for `when`."""
        if self.method not in (None, request.method) or (self.only_reads and request.method != "GET"):
            return False
        return self.route is None or target_of(self.route).fits(request.method, request.path)


# ── in place of the service's answer ──


class StatusFault(Fault, kw_only=True):
    """A fault that answers something else in place of the service's own answer."""

    processed: bool = False
    """The service processes the request before its answer is lost: a message sent is then stored."""

    def reply(self, now: float) -> Outgoing:
        """Return the answer; `now` is epoch seconds on the emulator's clock, its skew included."""
        raise NotImplementedError


class TooManyRequests(StatusFault):
    """429, as from a rate limit. Not processed, as the service documents it."""

    wait: Seconds = 1.0
    """Seconds until the time that the headers name; they are rounded up."""
    headers: Spelling = "a"
    """As in `RateLimit`."""
    as_date: bool = False
    """Retry-After as an HTTP date instead of seconds."""
    limit: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.processed:
            raise RequestInvalidError("too_many_requests.processed: expected False; see Status(429)")

    def reply(self, now: float) -> Outgoing:
        date = formatdate(ceil(now + self.wait), usegmt=True) if self.as_date else None
        headers = limit_headers(Verdict(False, self.limit, 0, self.wait), self.headers, now, as_date=date)
        return Outgoing(429, TOO_MANY, {"Content-Type": JSON, **headers})


class Status(StatusFault):
    """Any status, with the service's error body, or with a proxy's."""

    status: Annotated[int, Meta(ge=200, le=599, description="a whole number from 200 to 599")] = 503
    body_kind: BodyKind = "json"
    """json: the service's error body; html and text: a proxy's; empty: no body."""
    code: str | None = None
    """The service's code, in its error body; None for the usual one of the status."""
    headers: Mapping[str, str] = {}

    def reply(self, now: float) -> Outgoing:
        content_type, text = _BODIES[self.body_kind]
        body = text.replace(b"STATUS", str(self.status).encode())
        if self.body_kind == "json":
            # Where no code is usual, one that no document names.
            usual = _CODES.get(self.status, f"ERR_STATUS_{self.status}") if self.status < 500 else _FAILED
            body = Refusal(
                self.status, self.code or usual, "The service failed: a fault of the weather."
            ).body
        return Outgoing(self.status, body, {"Content-Type": content_type, **self.headers})


_FAILED: Final = "ERR_EXCEPTION"
_CODES: Final[dict[int, str]] = {
    400: "ERR_BAD_REQUEST",
    401: "AUTH_ERR_APIKEY_NOT_FOUND",
    403: "ERR_PERMISSION_DENIED",
    404: "ERR_API_NOT_FOUND",
    409: "ERR_ALREADY_JOINED",
    422: "ERR_BAD_REQUEST",
    429: "ERR_TOO_MANY_REQUESTS",
}
_BODIES: dict[str, tuple[str, bytes]] = {
    "json": (JSON, b""),
    "html": ("text/html", b"<html><head><title>STATUS</title></head><body><h1>STATUS</h1></body></html>"),
    "text": ("text/plain", b"upstream failed: STATUS"),
    "empty": ("text/plain", b""),
}


# ── the service's answer, changed ──


class Change(Fault, kw_only=True):
    """A fault that changes the service's answer, or the request before the service reads it."""

    def rewritten(self, request: Request) -> Request:
        """Return the request as the service reads it: by default as it came."""
        return request

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer that is sent: by default the service's own.

        `request` is as it came; `number` counts the strikes of this fault from 1, 0 for one that accompanies.
        """
        return reply


# ── beside all others ──


class Latency(Fault):
    """The reply is `seconds` late, after the service has processed the request. Accompanies other faults."""

    seconds: Seconds

    accompanies: ClassVar[bool] = True


class Skew(Fault):
    """The service's clock is `seconds` ahead: `Date` and reset times. Accompanies other faults."""

    seconds: float

    accompanies: ClassVar[bool] = True


class Gzip(Change):
    """The answer compressed, where the client accepts gzip. Accompanies other faults."""

    accompanies: ClassVar[bool] = True

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer compressed; empty bodies and compressed ones stay as they are."""
        if "gzip" not in request.headers.get("accept-encoding", "") or not reply.body:
            return reply
        if "Content-Encoding" in reply.headers:
            return reply
        compressed = structs.replace(reply, body=gzip.compress(reply.body, 6, mtime=0))
        return compressed.with_headers(Content_Encoding="gzip")


class BadGzip(Change):
    """An answer that is declared as gzip, and is none."""

    wrong: Literal["garbage", "cut", "checksum"] = "garbage"
    """garbage: not gzip at all; cut: its second half is missing; checksum: its last bytes are wrong."""

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        compressed = gzip.compress(reply.body, 6, mtime=0)
        bodies = {
            "garbage": reply.body,
            "cut": compressed[: len(compressed) // 2],
            "checksum": compressed[:-8] + bytes(byte ^ 0xFF for byte in compressed[-8:]),
        }
        return structs.replace(reply, body=bodies[self.wrong]).with_headers(Content_Encoding="gzip")


# ── servers that do not heed the acting user ──


class IgnoredActingUser(Change):
    """The header `onBehalfOf` has no effect: the acting user is always `uid`, or no one where that is None.

    Accompanies other faults. Where no one acts, an operation that needs a user refuses.
    """

    uid: str | None = None

    accompanies: ClassVar[bool] = True

    def rewritten(self, request: Request) -> Request:
        headers = {name: value for name, value in request.headers.items() if name != "onbehalfof"}
        return request._replace(headers=headers | ({"onbehalfof": self.uid} if self.uid else {}))
