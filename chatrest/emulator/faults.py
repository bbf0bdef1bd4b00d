"""Faults as data: each says what differs in the way of a request, and `middleware` goes that way.

A fault may rewrite the request, withhold it from the service, answer in its place, change the reply, delay or
hold it, or end the connection early: a hook each, which changes nothing where it is not overridden.

Your own derive from `Fault`, or from `LostReply` where the service's own answer does not come; their fields
are those of a frozen struct.
"""

import re
from collections.abc import Mapping
from email.utils import formatdate
from functools import cache
from math import ceil
from random import Random
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeAlias

from msgspec import Meta

from .._resources import OPERATIONS
from ..errors import RequestInvalidError
from .checked import CheckedArguments, Count, FromZero, Seconds, Share
from .limits import TOO_MANY, Spelling, Verdict, limit_headers
from .service.context import OutgoingReply as OutgoingReply, ServiceRequest as Request
from .service.refusals import ServiceRefusal as Refusal
from .service.router import ROUTER

# ── when a fault strikes ──


class First(CheckedArguments):
    """The first `count` requests of the route, after `after` others."""

    count: Count = 1
    after: FromZero = 0

    def strikes(self, number: int, dice: Random) -> bool:
        return self.after < number <= self.after + self.count


class Every(CheckedArguments):
    """Every `step`-th request of the route: 1 strikes all, 3 the third, the sixth and so on."""

    step: Count

    def strikes(self, number: int, dice: Random) -> bool:
        return number % self.step == 0


class Chance(CheckedArguments):
    """Each request of the route with probability `share`, from 0 to 1.

    The dice come from `seed`, and where that is None from the emulator's seed and the fault's number in the
    script: the same requests in the same order are struck again.
    """

    share: Share
    seed: int | None = None

    def strikes(self, number: int, dice: Random) -> bool:
        return dice.random() < self.share


When: TypeAlias = First | Every | Chance


class Target:
    """The requests that a fault is for: those of an operation by its name, or of a path template."""

    def __init__(self, route: str) -> None:
        self._operation = route if route in OPERATIONS else None
        if self._operation is None and not route.startswith("/"):
            names = ", ".join(sorted(OPERATIONS))
            raise RequestInvalidError(f"route = {route!r}: expected {names}, a path from its /, or None")
        self._segments = [None if segment[:1] == "{" else segment for segment in route[1:].split("/")]

    def fits(self, method: str, path: str) -> bool:
        """Return True for a request of this target; `path` is as sent, with the base address's own path."""
        if self._operation is not None:
            route = ROUTER.route(method, path)
            return route is not None and route.endpoint.name == self._operation
        segments = path.split("/")[2:]
        return len(segments) == len(self._segments) and all(
            own is None or own == segment for own, segment in zip(self._segments, segments, strict=True)
        )


target_of: Final = cache(Target)
"""Return the target of that name or template; made once."""


# ── what a fault does ──


BodyKind: TypeAlias = Literal["json", "html", "text", "empty"]
JSON: Final = "application/json"


class Cutoff(NamedTuple):
    """The end of a connection before the end of the reply."""

    after: int | None
    """The bytes of the body that are sent, without at least its last one; None if not even the head is."""
    is_reset: bool


class Fault(CheckedArguments, kw_only=True):
    """A disturbance of the requests of one route. One that strikes is named in `IncomingRequest.fault`."""

    route: str | None = None
    """An operation such as "messages.list_user", a path such as "/users/{uid}/messages", or None for all."""
    method: str | None = None
    """"GET", "POST" and so on; None for all."""
    when: When = Every(1)
    max_streak: Count | None = None
    """A request (method, path, query, acting user) that was struck so often in a row is let through."""

    accompanies: ClassVar[bool] = False
    """True for a fault that strikes beside others."""
    holds: ClassVar[bool] = False
    """True for a fault whose answer waits for `weather.release()`."""

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
        if self.method not in (None, request.method):
            return False
        return self.route is None or target_of(self.route).fits(request.method, request.path)

    def rewritten(self, request: Request) -> Request:
        """Return the request as the service reads it."""
        return request

    @property
    def is_withheld(self) -> bool:
        """True if the service never sees the request: nothing is stored, and no rate limit counts it."""
        return False

    def reply(self, now: float) -> OutgoingReply | None:
        """Return an answer in the place of the service's own, None for the service's own.

        `now` is epoch seconds on the emulator's clock.
        """
        return None

    def changed(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        """Return the answer that is sent.

        `request` is as it came; `number` counts the strikes of this fault from 1, 0 for one that accompanies.
        """
        return reply

    @property
    def delay(self) -> float:
        """Seconds that the answer is late, after the service has processed the request."""
        return 0.0

    @property
    def cutoff(self) -> Cutoff | None:
        """The point at which the connection ends; None for after the answer."""
        return None


# ── in place of the service's answer ──


class LostReply(Fault, kw_only=True):
    """A request that does not get the service's own answer: another one, or none."""

    processed: bool = False
    """The service processes the request all the same: a message sent is then stored."""

    @property
    def is_withheld(self) -> bool:
        return not self.processed


class TooManyRequests(LostReply):
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
            raise RequestInvalidError("TooManyRequests.processed: expected False; see Status(429)")

    def reply(self, now: float) -> OutgoingReply:
        date = formatdate(ceil(now + self.wait), usegmt=True) if self.as_date else None
        headers = limit_headers(Verdict(False, self.limit, 0, self.wait), self.headers, now, as_date=date)
        return OutgoingReply(429, TOO_MANY, {"Content-Type": JSON, **headers})


class Status(LostReply):
    """Any status, with the service's error body, or with a proxy's."""

    status: Annotated[int, Meta(ge=200, le=599, description="a whole number from 200 to 599")] = 503
    body_kind: BodyKind = "json"
    """json: the service's error body; html and text: a proxy's; empty: no body."""
    code: str | None = None
    """The service's code, in its error body; None for the usual one of the status."""
    headers: Mapping[str, str] = {}

    def reply(self, now: float) -> OutgoingReply:
        content_type, text = _BODIES[self.body_kind]
        body = text.replace(b"STATUS", str(self.status).encode())
        if self.body_kind == "json":
            # Where no code is usual, one that no document names.
            usual = _CODES.get(self.status, f"ERR_STATUS_{self.status}") if self.status < 500 else _FAILED
            words = "The service failed: a fault of the weather."
            body = Refusal(self.status, self.code or usual, words).body
        return OutgoingReply(self.status, body, {"Content-Type": content_type, **self.headers})


_FAILED: Final = "ERR_EXCEPTION"
_CODES: Final[dict[int, str]] = {
    400: "ERR_BAD_REQUEST", 401: "AUTH_ERR_APIKEY_NOT_FOUND", 403: "ERR_PERMISSION_DENIED",
    404: "ERR_API_NOT_FOUND", 409: "ERR_ALREADY_JOINED", 422: "ERR_BAD_REQUEST", 429: "ERR_TOO_MANY_REQUESTS",
}  # fmt: skip
_BODIES: Final[dict[BodyKind, tuple[str, bytes]]] = {
    "json": (JSON, b""),
    "html": ("text/html", b"<html><head><title>STATUS</title></head><body><h1>STATUS</h1></body></html>"),
    "text": ("text/plain", b"upstream failed: STATUS"),
    "empty": ("text/plain", b""),
}


class Reset(LostReply):
    """The connection is reset (RST) before any reply, or once `after` bytes of the body are sent."""

    after: FromZero | None = None
    """Bytes; None for before any reply. A reply that is sent in part was always processed."""

    @property
    def is_withheld(self) -> bool:
        return self.after is None and not self.processed

    @property
    def cutoff(self) -> Cutoff:
        return Cutoff(self.after, is_reset=True)


class HalfOpen(LostReply):
    """The request is read, and nothing happens until `weather.release()`: then it is answered."""

    holds: ClassVar[bool] = True


class Cut(Fault):
    """The connection is closed once `after` bytes of the body are sent, and at least one is missing."""

    after: FromZero = 0

    @property
    def cutoff(self) -> Cutoff:
        return Cutoff(self.after, is_reset=False)


# ── beside all others ──


class Latency(Fault):
    """The reply is `seconds` late, after the service has processed the request. Accompanies other faults."""

    seconds: Seconds

    accompanies: ClassVar[bool] = True

    @property
    def delay(self) -> float:
        return self.seconds


class IgnoredActingUser(Fault):
    """The header `onBehalfOf` has no effect: the acting user is always `uid`, or no one where that is None.

    Accompanies other faults. Where no one acts, an operation that needs a user refuses.
    """

    uid: str | None = None

    accompanies: ClassVar[bool] = True

    def rewritten(self, request: Request) -> Request:
        headers = {name: value for name, value in request.headers.items() if name != "onbehalfof"}
        return request._replace(headers=headers | ({"onbehalfof": self.uid} if self.uid else {}))
