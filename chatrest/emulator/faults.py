"""Faults as data: each says how a request or its reply is disturbed, and `middleware` does it."""

import re
from collections.abc import Mapping
from random import Random
from typing import Annotated, ClassVar, Final, TypeAlias, get_args

from msgspec import Meta

from .._core.requests.endpoint import Method
from .._resources import OPERATIONS
from .._texts import nearest
from ..errors import RequestInvalidError
from .limits import (
    TOO_MANY,
    CheckedArguments,
    Count,
    FromZero,
    Seconds,
    Share,
    Spelling,
    Verdict,
    limit_headers,
)  # fmt: skip
from .service.dispatch import ROUTER
from .service.handler_input import OutgoingReply, ServiceRequest
from .service.refusals import ServiceRefusal

JSON: Final = "application/json"


class First(CheckedArguments):
    """The first `count` requests of the route (1 by default), after `after` others (none by default)."""

    count: Count = 1
    after: FromZero = 0

    def strikes(self, number: int, dice: Random) -> bool:
        """Return True for the request of the route with this number, from 1."""
        return self.after < number <= self.after + self.count


class Chance(CheckedArguments):
    """Each request of the route with probability `share`, from 0 to 1.

    The dice depend on `seed`, or if that is None on the emulator's seed and the fault's number in the script:
    of the same requests in the same order the same ones are struck.
    """

    share: Share
    seed: int | None = None

    def strikes(self, number: int, dice: Random) -> bool:
        """Return True for the request of the route with this number, from 1."""
        return dice.random() < self.share


When: TypeAlias = First | Chance


class Fault(CheckedArguments, kw_only=True):
    """A disturbance of the requests of one route. One that strikes is named in `LoggedRequest.fault`.

    Your own fault overrides `rewrite_request`, `replacement` or `rewrite_reply`; its fields are those of a
    frozen struct. `chatrest guide testing` has an example.
    """

    route: str | None = None
    """An operation such as "messages.list_user", or a path such as "/users/{uid}/messages"; None for all."""
    method: str | None = None
    """"GET", "POST" and so on; None for all."""
    when: When | None = None
    """Which of these requests it strikes; None for all."""
    max_streak: Count | None = None
    """A request (method, path, query, acting user) that was struck this many times in a row is not struck
    again; None for no limit."""

    accompanies: ClassVar[bool] = False
    """True for a fault that strikes together with others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.when, When | None):
            raise RequestInvalidError(f"when = {self.when!r}: expected First, Chance, or None")
        if self.method is not None and str(self.method).upper() not in get_args(Method):
            raise RequestInvalidError(f"method = {self.method!r}: expected GET, POST and so on, or None")
        if self.route is not None and self.route not in OPERATIONS and not self.route.startswith("/"):
            raise RequestInvalidError(
                f"route = {self.route!r}: expected an operation such as 'messages.list_user'"
                f"{nearest(self.route, OPERATIONS)}, a path from its /, or None"
            )

    @property
    def name(self) -> str:
        """The kind in snake case: "too_many_requests"."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def fits(self, request: ServiceRequest) -> bool:
        """Return True for a request that the fault is for; only such requests count for `when`."""
        if self.method is not None and self.method.upper() != request.method:
            return False
        if self.route is None or self.route in OPERATIONS:
            known = ROUTER.route(request.method, request.path) if self.route else None
            return self.route is None or (known is not None and known.endpoint.name == self.route)
        pattern, segments = self.route.split("/")[1:], request.path.split("/")[2:]
        pairs = zip(pattern, segments, strict=False)
        return len(pattern) == len(segments) and all(each[:1] == "{" or each == sent for each, sent in pairs)

    @property
    def is_withheld(self) -> bool:
        """True if the service never sees the request: nothing is stored, and no rate limit counts it."""
        return False

    def rewrite_request(self, request: ServiceRequest) -> ServiceRequest:
        """Return the request as the service reads it."""
        return request

    def replacement(self, now: float) -> OutgoingReply | None:
        """Return the reply that replaces the service's own; None to keep that.

        `now` is epoch seconds on the emulator's clock.
        """
        return None

    def rewrite_reply(self, reply: OutgoingReply, request: ServiceRequest, number: int) -> OutgoingReply:
        """Return the reply that is sent.

        `request` is as it was received. `number` counts the strikes of this fault from 1; it is 0 for a fault
        that accompanies others.
        """
        return reply


class LostReply(Fault, kw_only=True):
    """A request that does not get the service's own reply: another one, or none."""

    processed: bool = False
    """True if the service processes the request nevertheless: a message that it sends is stored."""

    @property
    def is_withheld(self) -> bool:
        return not self.processed


class TooManyRequests(Fault):
    """A 429, as of a rate limit. The request is not processed, as the service documents it."""

    wait: Seconds = 1.0
    """Seconds until the time that the headers name, rounded up to whole ones."""
    headers: Spelling = "a"
    """The names of the headers, as in `RateLimit.headers`."""

    @property
    def is_withheld(self) -> bool:
        return True

    def replacement(self, now: float) -> OutgoingReply:
        return OutgoingReply(
            429, TOO_MANY, limit_headers(Verdict(False, 500, 0, self.wait), self.headers, now)
        )


class Status(LostReply):
    """Any status from 200 to 599 (503 by default), with the service's error body, or a proxy's."""

    status: Annotated[int, Meta(ge=200, le=599, description="a whole number from 200 to 599")] = 503
    body: bytes | None = None
    """A proxy's body; None for the service's error body."""
    code: str | None = None
    """The code in the service's error body; None for one that fits the status."""
    headers: Mapping[str, str] = {}

    def replacement(self, now: float) -> OutgoingReply:
        if self.body is not None:
            return OutgoingReply(self.status, self.body, {"Content-Type": "text/html", **self.headers})
        code = self.code or (f"ERR_STATUS_{self.status}" if self.status < 500 else "ERR_EXCEPTION")
        body = ServiceRefusal(self.status, code, "The service failed: a fault of the weather.").body
        return OutgoingReply(self.status, body, {**self.headers})


class Reset(LostReply):
    """The connection is reset (RST) before any reply, or after `after` bytes of the body."""

    after: FromZero | None = None
    """Bytes; None for before any reply. If a part of the reply is sent, the request was processed."""

    @property
    def is_withheld(self) -> bool:
        return self.after is None and not self.processed


class Cut(Reset):
    """The connection is closed after `after` bytes of the body (0 by default); at least one is missing."""

    after: FromZero = 0


class HalfOpen(LostReply):
    """The request is read, and gets its reply only after `weather.release()`."""


class Latency(Fault):
    """The service processes the request, and its reply is sent `seconds` late. Accompanies other faults."""

    seconds: Seconds

    accompanies: ClassVar[bool] = True


class IgnoredActingUser(Fault):
    """The header `onBehalfOf` has no effect: the acting user is always `uid`; None for no acting user.

    Accompanies other faults. Without an acting user, an operation that needs one is refused.
    """

    uid: str | None = None

    accompanies: ClassVar[bool] = True

    def rewrite_request(self, request: ServiceRequest) -> ServiceRequest:
        headers = {name: value for name, value in request.headers.items() if name != "onbehalfof"}
        return request._replace(headers=headers | ({"onbehalfof": self.uid} if self.uid else {}))
