"""Rate limits as the service enforces them: counters that take the time as an argument.

| kind      | within the limit are                                                                     |
|-----------|------------------------------------------------------------------------------------------|
| `fixed`   | `per_window` requests in each window; windows begin at whole multiples of their length   |
| `sliding` | `per_window` requests in any span of that length, wherever it begins                     |
| `bucket`  | `burst` requests at once, and `per_window` more in each window, evenly                   |

A refused request does not count against the limit. A clock that goes back is treated as standing still.
"""

from collections import deque
from collections.abc import Mapping
from math import ceil
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias, final

from msgspec import Meta

from ..core.requests.endpoint import RateClass
from ..errors import RequestInvalidError
from .checked import CheckedArguments, Count
from .service.refusals import ServiceRefusal as Refusal

Kind: TypeAlias = Literal["fixed", "sliding", "bucket"]
Spelling: TypeAlias = Literal["a", "b", "retry-after", "none"]

TOO_MANY: Final = Refusal(429, "ERR_TOO_MANY_REQUESTS", "Too many requests: the rate limit is reached.").body
_LAST_WINDOWS: Final = 10_000


class Verdict(NamedTuple):
    """A limiter's decision on one request."""

    allowed: bool
    limit: int
    """Requests a window; a bucket's burst where that is larger."""
    remaining: int
    """Requests that would still be allowed at the same moment."""
    wait: float
    """Seconds until a request is allowed again; 0 where one would be now."""


@final
class FixedWindow:
    """At most `limit` requests in each window of `window` seconds; windows begin at multiples of it."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._window = limit, window
        self._index: float | None = None
        self._count = 0

    def allow(self, now: float) -> Verdict:
        index = now // self._window
        if self._index is None or index > self._index:
            self._index, self._count = index, 0
        allowed = self._count < self._limit
        self._count += allowed
        left = self._limit - self._count
        wait = 0.0 if left else (self._index + 1) * self._window - now
        return Verdict(allowed, self._limit, left, wait)


@final
class SlidingWindow:
    """At most `limit` requests in any span of `window` seconds; remembers the time of each of them."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._window = limit, window
        self._times: deque[float] = deque()
        self._now = float("-inf")

    def allow(self, now: float) -> Verdict:
        self._now = now = max(now, self._now)
        while self._times and now - self._times[0] >= self._window:
            self._times.popleft()
        allowed = len(self._times) < self._limit
        if allowed:
            self._times.append(now)
        left = self._limit - len(self._times)
        return Verdict(allowed, self._limit, left, 0.0 if left else self._times[0] + self._window - now)


@final
class Bucket:
    """`burst` requests at once; used ones come back evenly, `limit` in `window` seconds."""

    def __init__(self, limit: int, window: float, burst: int) -> None:
        self._limit, self._pause, self._burst = limit, window / limit, burst
        self._used = 0.0
        self._now = float("-inf")

    def allow(self, now: float) -> Verdict:
        now = max(now, self._now)
        self._used = max(0.0, self._used - (now - self._now) / self._pause)
        self._now = now
        # Rounding: what comes back in steps may add up to slightly less than what comes back at once.
        allowed = self._left() > 0
        self._used += allowed
        left = self._left()
        wait = 0.0 if left else (self._used + 1 - self._burst) * self._pause
        return Verdict(allowed, max(self._limit, self._burst), left, wait)

    def _left(self) -> int:
        return int(self._burst + 1e-9 - self._used)


Limiter: TypeAlias = FixedWindow | SlidingWindow | Bucket
"""A counter of the requests of one class; `allow` decides on one at `now`, seconds on any clock."""


@final
class RateLimit(CheckedArguments, kw_only=True):
    """A limit that the emulator enforces: `Emulator(limit=RateLimit(per_window=500))`, a 429 beyond it.

    Each class of operations (`core`, `standard`, `import`) has a count of its own, as the service has.
    """

    kind: Kind = "fixed"
    per_window: Count = 500
    """Requests a window and class; 500 a minute is the service's free plan."""
    window: Annotated[float, Meta(gt=0, le=1e9, description="a number of seconds above 0")] = 60.0
    """Seconds."""
    burst: Count | None = None
    """How many at once, for `bucket` alone; None for `per_window`."""
    headers: Spelling = "a"
    """`a`: X-RateLimit-Limit, -Remaining, -Reset and Retry-After on a 429. `b`: X-Rate-Limit and
    X-Rate-Limit-Remaining on every reply, Retry-After and X-Rate-Limit-Reset on a 429. `retry-after`:
    that alone, on a 429. `none`: a 429 without any time."""
    core: Count | None = None
    """Requests a window of creating and deleting users and creating groups; None for `per_window`."""
    standard: Count | None = None
    """Requests a window of all else; None for `per_window`."""
    imports: Count | None = None
    """Requests a window of data import; None for `per_window`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst is not None and self.kind != "bucket":
            raise RequestInvalidError(f"RateLimit.burst = {self.burst}: allowed is None, but for a bucket")

    def limiter(self, rate_class: RateClass = "standard") -> Limiter:
        own = {"core": self.core, "standard": self.standard, "import": self.imports}[rate_class]
        limit = own or self.per_window
        if self.kind == "bucket":
            return Bucket(limit, self.window, self.burst or limit)
        return (FixedWindow if self.kind == "fixed" else SlidingWindow)(limit, self.window)


class WindowCounts(NamedTuple):
    """The requests of one class in one window."""

    begin: float
    """Seconds on the emulator's clock, a whole multiple of the window's length whatever the limit's kind."""
    rate_class: RateClass
    allowed: int
    refused: int


@final
class LimitCounter:
    """The counts of a `RateLimit` in force, `emulator.limited`. Without a limit nothing is counted."""

    def __init__(self, limit: RateLimit | None) -> None:
        self.allowed: int = 0
        """Requests let through since the start."""
        self.refused: int = 0
        """Requests answered with 429 since the start."""
        self._limiters: dict[RateClass, Limiter] = {}
        self._counts: dict[tuple[float, RateClass], list[int]] = {}
        self.limit = limit

    def __repr__(self) -> str:
        return f"<LimitCounter: {self.allowed} allowed, {self.refused} refused>"

    @property
    def limit(self) -> RateLimit | None:
        """The limit in force. A new one begins with nothing used; the counts continue."""
        return self._limit

    @limit.setter
    def limit(self, limit: RateLimit | None) -> None:
        if not isinstance(limit, RateLimit | None):
            raise RequestInvalidError(f"limit = {limit!r}: allowed is a RateLimit, or None")
        self._limit = limit
        self._limiters.clear()

    @property
    def windows(self) -> list[WindowCounts]:
        """The counts per window and class, the oldest first; the last 10,000 of them."""
        return [WindowCounts(*key, *counts) for key, counts in self._counts.items()]

    def allow(self, limit: RateLimit, rate_class: RateClass, now: float) -> Verdict:
        """Decide on a request at `now`, seconds on the emulator's clock, and count it."""
        limiter = self._limiters.get(rate_class)
        if limiter is None:
            limiter = self._limiters[rate_class] = limit.limiter(rate_class)
        verdict = limiter.allow(now)
        self.allowed += verdict.allowed
        self.refused += not verdict.allowed
        counts = self._counts.setdefault((now // limit.window * limit.window, rate_class), [0, 0])
        counts[not verdict.allowed] += 1
        if len(self._counts) > _LAST_WINDOWS:
            del self._counts[next(iter(self._counts))]
        return verdict


def limit_headers(
    verdict: Verdict, spelling: Spelling, now: float, *, as_date: str | None = None
) -> Mapping[str, str]:
    """Return the headers of a reply at `now`, epoch seconds; `as_date` is Retry-After as a date."""
    limit, left = str(verdict.limit), str(verdict.remaining)
    if verdict.allowed:
        return {"X-Rate-Limit": limit, "X-Rate-Limit-Remaining": left} if spelling == "b" else {}
    after = {"Retry-After": as_date or str(max(1, ceil(verdict.wait)))}
    reset = str(ceil(now + verdict.wait))
    if spelling == "a":
        names = {"X-RateLimit-Limit": limit, "X-RateLimit-Remaining": left, "X-RateLimit-Reset": reset}
        return names | after
    if spelling == "b":
        return {"X-Rate-Limit": limit, "X-Rate-Limit-Remaining": left, "X-Rate-Limit-Reset": reset} | after
    return after if spelling == "retry-after" else {}
