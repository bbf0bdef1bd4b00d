"""Faults as data: each says what differs in the way of a request, and `middleware` goes that way.

Your own derive from `Fault`, or from `LostReply` where the service's own answer does not come, and override
`rewritten`, `reply` or `changed`; their fields are those of a frozen struct.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from .._resources import OPERATIONS
from .._texts import nearest
from ..errors import RequestInvalidError
from .checked import CheckedArguments, Count, FromZero, Seconds, Share
from .limits import TOO_MANY, Spelling, Verdict, limit_headers
from .service.context import OutgoingReply as OutgoingReply, ServiceRequest as Request
from .service.dispatch import ROUTER
from .service.refusals import ServiceRefusal as Refusal

JSON: Final = "application/json"


class First(CheckedArguments):
    """The first `count` requests of the route, after `after` others."""

    count: Count = 1
    after: FromZero = 0

    def strikes(self, number: int, dice: Random) -> bool:
        """Return True for the request of the route with this number, from 1."""
        return self.after < number <= self.after + self.count


class Chance(CheckedArguments):
    """Each request of the route with probability `share`, from 0 to 1.

    The dice come from `seed`, and where that is None from the emulator's seed and the fault's number in the
    script: the same requests in the same order are struck again.
    """

    share: Share
    seed: int | None = None

    def strikes(self, number: int, dice: Random) -> bool:
        """Return True for the request of the route with this number, from 1."""
        return dice.random() < self.share


When: TypeAlias = First | Chance


class Fault(CheckedArguments, kw_only=True):
    """A disturbance of the requests of one route. One that strikes is named in `IncomingRequest.fault`."""

    route: str | None = None
    """An operation such as "messages.list_user", a path such as "/users/{uid}/messages", or None for all."""
    method: str | None = None
    """"GET", "POST" and so on; None for all."""
    when: When | None = None
    """None for always."""
    max_streak: Count | None = None
    """A request (method, path, query, acting user) that was struck so often in a row is let through."""

    accompanies: ClassVar[bool] = False
    """True for a fault that strikes beside others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.route is not None and self.route not in OPERATIONS and not self.route.startswith("/"):
            raise RequestInvalidError(
                f"route = {self.route!r}: expected an operation such as 'messages.list_user'"
                f"{nearest(self.route, OPERATIONS)}, a path from its /, or None"
            )

    @property
    def name(self) -> str:
        """The kind in snake case: "too_many_requests"."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def fits(self, request: Request) -> bool:
        """Return True for a request that the fault is for; only such requests count for `when`."""
        if self.method is not None and self.method.upper() != request.method:
            return False
        if self.route is None or self.route in OPERATIONS:
            known = ROUTER.route(request.method, request.path) if self.route else None
            return self.route is None or (known is not None and known.endpoint.name == self.route)
        own, segments = self.route.split("/")[1:], request.path.split("/")[2:]
        pairs = zip(own, segments, strict=False)
        return len(own) == len(segments) and all(each[:1] == "{" or each == sent for each, sent in pairs)

    @property
    def is_withheld(self) -> bool:
        """True if the service never sees the request: nothing is stored, and no rate limit counts it."""
        return False

    def rewritten(self, request: Request) -> Request:
        """Return the request as the service reads it."""
        return request

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.processed:
            raise RequestInvalidError("TooManyRequests.processed: expected False; see Status(429)")

    def reply(self, now: float) -> OutgoingReply:
        return OutgoingReply(
            429, TOO_MANY, limit_headers(Verdict(False, 500, 0, self.wait), self.headers, now)
        )


class Status(LostReply):
    """Any status, with the service's error body, or with a proxy's."""

    status: Annotated[int, Meta(ge=200, le=599, description="a whole number from 200 to 599")] = 503
    body: bytes | None = None
    """A proxy's body; None for the service's error body."""
    code: str | None = None
    """The service's code, in its error body; None for one of the status."""
    headers: Mapping[str, str] = {}

    def reply(self, now: float) -> OutgoingReply:
        if self.body is not None:
            return OutgoingReply(self.status, self.body, {"Content-Type": "text/html", **self.headers})
        code = self.code or (f"ERR_STATUS_{self.status}" if self.status < 500 else "ERR_EXCEPTION")
        body = Refusal(self.status, code, "The service failed: a fault of the weather.").body
        return OutgoingReply(self.status, body, {**self.headers})


class Reset(LostReply):
    """The connection is reset (RST) before any reply, or once `after` bytes of the body are sent."""

    after: FromZero | None = None
    """Bytes; None for before any reply. A reply that is sent in part was always processed."""

    @property
    def is_withheld(self) -> bool:
        return self.after is None and not self.processed


class Cut(Reset):
    """The connection is closed once `after` bytes of the body are sent, and at least one is missing."""

    after: FromZero = 0


class HalfOpen(LostReply):
    """The request is read, and nothing happens until `weather.release()`: then it is answered."""


class Latency(Fault):
    """The reply is `seconds` late, after the service has processed the request. Accompanies other faults."""

    seconds: Seconds

    accompanies: ClassVar[bool] = True


class IgnoredActingUser(Fault):
    """The header `onBehalfOf` has no effect: the acting user is always `uid`, or no one where that is None.

    Accompanies other faults. Where no one acts, an operation that needs a user refuses.
    """

    uid: str | None = None

    accompanies: ClassVar[bool] = True

    def rewritten(self, request: Request) -> Request:
        headers = {name: value for name, value in request.headers.items() if name != "onbehalfof"}
        return request._replace(headers=headers | ({"onbehalfof": self.uid} if self.uid else {}))
