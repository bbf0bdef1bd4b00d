"""Faults: what bad weather does to a request, as data. `front` and `wire` carry it out.

Four families:

- `Instead`: an answer in place of the service's own, which with `processed` has done its work all the same.
- `Change`: the service's answer, changed (`packing`, `pages`, `oddities`).
- `Line`: the service's answer, mistreated on its way (`lines`).
- `Latency`, `Skew` and `Gzip` accompany what else happens to a request.

Your own: derive from `Instead` or `Change`, as frozen structs.
"""

import re
from email.utils import formatdate
from math import ceil
from typing import ClassVar, Literal, TypeAlias, final
from urllib.parse import parse_qsl

from msgspec import Struct, structs

from ...errors import RequestInvalidError
from ..limits import SPELLINGS, TOO_MANY, Spelling, Verdict, told
from ..service.refusals import Refusal
from ..service.request import Request
from .triggers import ALWAYS, Target, When

Said: TypeAlias = Literal["json", "html", "text", "empty"]
JSON = "application/json"


class Outgoing(Struct, frozen=True):
    """A reply before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str]
    """Without those that say how the body travels."""

    def with_headers(self, **headers: str) -> "Outgoing":
        """The reply with more headers; `_` in a name stands for `-`."""
        added = {name.replace("_", "-"): value for name, value in headers.items()}
        return structs.replace(self, headers=self.headers | added)


class Fault(Struct, frozen=True, kw_only=True):
    """What happens to which requests, and when. One that strikes is named in `Received.fault`."""

    route: str | None = None
    """An operation such as "messages.list_user", a path such as "/users/{uid}/messages", or None for all."""
    method: str | None = None
    """"GET", "POST" and so on; None for all."""
    when: When = ALWAYS
    spare: int | None = None
    """A request (method, path, query, acting user) that was struck so often in a row is let through."""

    accompanies: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.route is not None:
            Target.of(self.route)
        at_least(f"{self.name}.spare", self.spare, 1)

    @property
    def name(self) -> str:
        """The kind in snake case: "too_many_requests"."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def fits(self, request: Request) -> bool:
        """Whether the fault is for this request at all; only such requests count for `when`."""
        if self.method not in (None, request.method):
            return False
        return self.route is None or Target.of(self.route).fits(request.method, request.path)


# ── in place of the service's answer ──


class Instead(Fault, frozen=True, kw_only=True):
    """An answer in place of the service's own."""

    processed: bool = False
    """Whether the service does what was asked before its answer is lost: a message sent is then stored."""

    def reply(self, now: float) -> Outgoing:
        """The answer; `now` is epoch seconds on the emulator's clock, its skew included."""
        raise NotImplementedError


@final
class TooManyRequests(Instead, frozen=True):
    """429, as from a rate limit. Not processed, as the service documents it."""

    wait: float = 1.0
    """Seconds until the time that the headers name; they name whole ones."""
    headers: Spelling = "a"
    """As in `RateLimit`."""
    as_date: bool = False
    """Retry-After as an HTTP date instead of seconds."""
    limit: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("too_many_requests.wait", self.wait, 0)
        if self.headers not in SPELLINGS:
            raise RequestInvalidError(f"headers = {self.headers!r}: allowed are {', '.join(SPELLINGS)}")
        if self.processed:
            raise RequestInvalidError("too_many_requests.processed: allowed is False; see Status(429)")

    def reply(self, now: float) -> Outgoing:
        """429 with the service's error body."""
        date = formatdate(ceil(now + self.wait), usegmt=True) if self.as_date else None
        headers = told(Verdict(False, self.limit, 0, self.wait), self.headers, now, as_date=date)
        return Outgoing(429, TOO_MANY, {"Content-Type": JSON, **headers})


@final
class Status(Instead, frozen=True):
    """Any status, with the service's error body, or what a proxy says."""

    status: int = 503
    said: Said = "json"
    """json: the service's error body; html and text: a proxy's; empty: no body."""
    code: str = "ERR_EXCEPTION"
    """The service's code, in its error body."""
    headers: dict[str, str] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.status) is not int or not 200 <= self.status <= 599:
            raise RequestInvalidError(f"status = {self.status!r}: allowed is a whole number from 200 to 599")
        if self.said not in _SAID:
            raise RequestInvalidError(f"said = {self.said!r}: allowed are {', '.join(_SAID)}")

    def reply(self, now: float) -> Outgoing:
        """The status and its body."""
        kind, text = _SAID[self.said]
        body = text.replace(b"STATUS", str(self.status).encode())
        if self.said == "json":
            body = Refusal(self.status, self.code, "The service failed, as the weather wants it.").body
        return Outgoing(self.status, body, {"Content-Type": kind, **self.headers})


_SAID: dict[str, tuple[str, bytes]] = {
    "json": (JSON, b""),
    "html": ("text/html", b"<html><head><title>STATUS</title></head><body><h1>STATUS</h1></body></html>"),
    "text": ("text/plain", b"upstream failed: STATUS"),
    "empty": ("text/plain", b""),
}


@final
class Redirect(Instead, frozen=True):
    """A redirect to another address."""

    to: str
    status: int = 302

    def reply(self, now: float) -> Outgoing:
        """The status and `Location`."""
        return Outgoing(self.status, b"", {"Content-Type": "text/plain", "Location": self.to})


# ── the service's answer, changed ──


class Change(Fault, frozen=True, kw_only=True):
    """The service's answer, changed."""

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """What is sent; `number` counts the strikes of this fault, from 1."""
        raise NotImplementedError


# ── what accompanies the rest ──


@final
class Latency(Fault, frozen=True):
    """The reply is `seconds` late; the service has done its work by then. Accompanies what else happens."""

    seconds: float

    accompanies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("latency.seconds", self.seconds, 0)


@final
class Skew(Fault, frozen=True):
    """The service's clock is `seconds` ahead: `Date` and reset times. Accompanies what else happens."""

    seconds: float

    accompanies: ClassVar[bool] = True


def asked(request: Request) -> dict[str, str]:
    """The query's names and values, the last of each name."""
    return dict(parse_qsl(request.query, keep_blank_values=True, errors="replace"))


def at_least(name: str, value: object, least: int) -> None:
    """Refuses what is not a number from `least`; None passes."""
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value < float("inf"):
        raise RequestInvalidError(f"{name} = {value!r}: allowed is a number from {least}")
