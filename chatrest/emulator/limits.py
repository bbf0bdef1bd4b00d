"""The limits of the emulator: of its arguments, and of the rate of requests, as the service enforces it.

Arguments are checked when they are given, by the annotations of their struct. Unlike the structs of requests
it may have functions and other structs, too: only a field whose type has a rule is checked.

A rate limit is a counter that takes the time as an argument. A refused request does not count against it. A
clock that goes back is treated as standing still.
"""

from collections import deque
from functools import cache
from math import ceil
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    dataclass_transform,
    get_args,
    get_type_hints,
)  # fmt: skip

import msgspec
from msgspec import Meta, Struct

from .._core.requests.endpoint import RateClass
from .._parameters.checked import words_of_type
from ..errors import RequestInvalidError
from .service.refusals import ServiceRefusal

Count: TypeAlias = Annotated[int, Meta(ge=1, description="a whole number from 1")]
FromZero: TypeAlias = Annotated[int, Meta(ge=0, description="a whole number from 0")]
# No time without end: a test would wait for it.
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9, description="a number from 0 to a billion")]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
LimitKind: TypeAlias = Literal["fixed", "sliding", "bucket"]
Spelling: TypeAlias = Literal["a", "b", "retry-after", "none"]

TOO_MANY: Final = ServiceRefusal(
    429, "ERR_TOO_MANY_REQUESTS", "Too many requests: the rate limit is reached."
).body
_HEADERS: Final = {
    "a": ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
    "b": ("X-Rate-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"),
}


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class CheckedArguments(Struct, frozen=True):
    """Arguments that are checked when they are given; `RequestInvalidError` names the one that is wrong.

    Checked are the fields with a description or with literals; other rules are for the class.
    """

    subject: ClassVar[str | None] = None
    """What is before a field's name in an error; None for the name of the class."""

    def __post_init__(self) -> None:
        for name, (rule, words) in _rules(type(self)).items():
            value = getattr(self, name)
            try:
                msgspec.convert(value, rule)
            except msgspec.ValidationError:
                subject = f"{type(self).__name__}." if self.subject is None else self.subject
                raise RequestInvalidError(f"{subject}{name} = {value!r}: expected {words}") from None


@cache
def _rules(kind: type[CheckedArguments]) -> dict[str, tuple[Any, str]]:
    hints = get_type_hints(kind, include_extras=True)
    rules = {}
    for name in kind.__struct_fields__:
        if words := words_of_type(hints[name]):
            rules[name] = hints[name], words + (", or None" if type(None) in get_args(hints[name]) else "")
    return rules


class Verdict(NamedTuple):
    allowed: bool
    limit: int
    """Requests a window; a bucket's burst where that is larger."""
    remaining: int
    """Requests that would still be allowed at the same moment."""
    wait: float
    """Seconds until a request is allowed again; 0 where one would be now."""


class Limiter:
    """A counter of the requests of one class; `allow` decides on one at `now`, seconds on any clock."""

    def __init__(self, kind: LimitKind, limit: int, window: float, burst: int) -> None:
        self._kind, self._limit, self._window = kind, limit, window
        self._capacity = burst if kind == "bucket" else limit
        self._used = 0.0
        self._times: deque[float] = deque()
        self._now = float("-inf")

    def allow(self, now: float) -> Verdict:
        now = max(now, self._now)
        self._release(now)
        self._now = now
        allowed = self._remaining() > 0
        if allowed:
            self._used += 1
            if self._kind == "sliding":
                self._times.append(now)
        remaining = self._remaining()
        wait = 0.0 if remaining else self._wait()
        return Verdict(allowed, max(self._limit, self._capacity), remaining, wait)

    def _release(self, now: float) -> None:
        if self._kind == "bucket":
            self._used = max(0.0, self._used - (now - self._now) * self._limit / self._window)
        elif self._kind == "fixed":
            self._used = 0.0 if now // self._window > self._now // self._window else self._used
        while self._times and now - self._times[0] >= self._window:
            self._times.popleft()
            self._used -= 1

    def _remaining(self) -> int:
        # Rounding: what comes back in steps may add up to slightly less than what comes back at once.
        return int(self._capacity + 1e-9 - self._used)

    def _wait(self) -> float:
        if self._kind == "bucket":
            return (self._used + 1 - self._capacity) * self._window / self._limit
        begin = self._times[0] if self._times else self._now // self._window * self._window
        return begin + self._window - self._now


class RateLimit(CheckedArguments, kw_only=True):
    """A limit that the emulator enforces: `Emulator(limit=RateLimit(per_window=500))`; beyond it a 429.

    Each class of operations (`core`, `standard`, `import`) has its own count, as in the service.
    """

    kind: LimitKind = "fixed"
    """`fixed`: windows begin at whole multiples of their length. `sliding`: any span of that length counts.
    `bucket`: `burst` requests at once, then `per_window` in each window, evenly."""
    per_window: Count = 500
    """Requests per window and class, at least 1; 500 a minute is the service's free plan."""
    window: Annotated[float, Meta(gt=0, le=1e9, description="a number of seconds above 0")] = 60.0
    """The length of a window in seconds, above 0."""
    burst: Count | None = None
    """Requests at once, only for `bucket`; None for `per_window`."""
    headers: Spelling = "a"
    """The headers of replies. `a`: X-RateLimit-Limit, -Remaining, -Reset and Retry-After on a 429. `b`:
    X-Rate-Limit and X-Rate-Limit-Remaining on every reply, also Retry-After and X-Rate-Limit-Reset on a 429.
    `retry-after`: only that one, on a 429. `none`: no header names a time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst is not None and self.kind != "bucket":
            raise RequestInvalidError(f"RateLimit.burst = {self.burst}: expected None, except for a bucket")

    def limiter(self) -> Limiter:
        """Return a new counter of the requests of one class."""
        return Limiter(self.kind, self.per_window, self.window, self.burst or self.per_window)


class LimitCounter:
    """The counts of the rate limit in force, `emulator.limited`. Without a limit nothing is counted."""

    def __init__(self, limit: RateLimit | None) -> None:
        self.allowed: int = 0
        """Requests let through since the start."""
        self.refused: int = 0
        """Requests answered with 429 since the start."""
        self._limiters: dict[RateClass, Limiter] = {}
        self.enforce(limit)

    def __repr__(self) -> str:
        return f"<LimitCounter: {self.allowed} allowed, {self.refused} refused>"

    def enforce(self, limit: RateLimit | None) -> None:
        """Replace the limit, or end it with None; the new one begins unused, and the counts continue.

        Raises `RequestInvalidError` for anything else.
        """
        if not isinstance(limit, RateLimit | None):
            raise RequestInvalidError(f"limit = {limit!r}: expected a RateLimit, or None")
        self.limit = limit
        self._limiters.clear()

    def allow(self, limit: RateLimit, rate_class: RateClass, now: float) -> Verdict:
        """Decide on a request at `now`, seconds on the emulator's clock, and count it."""
        limiter = self._limiters.get(rate_class)
        if limiter is None:
            limiter = self._limiters[rate_class] = limit.limiter()
        verdict = limiter.allow(now)
        self.allowed += verdict.allowed
        self.refused += not verdict.allowed
        return verdict


def limit_headers(verdict: Verdict, spelling: Spelling, now: float) -> dict[str, str]:
    """Return the headers of a reply at `now`, epoch seconds."""
    values = str(verdict.limit), str(verdict.remaining), str(ceil(now + verdict.wait))
    names: tuple[str, ...] = _HEADERS.get(spelling, ())
    if verdict.allowed:
        return dict(zip(names[:2], values, strict=False)) if spelling == "b" else {}
    after = {} if spelling == "none" else {"Retry-After": str(max(1, ceil(verdict.wait)))}
    return dict(zip(names, values, strict=False)) | after
