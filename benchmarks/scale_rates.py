"""What an export by a cluster uses of a limit that nobody names: no header, and 429s without a time.

`python -m benchmarks.scale --limits 20 40 100 --windows bucket 1 10 60 --workers 1 4 16` prints a row for
each of them. The middle is the half of the time from the first accepted request to the last one that is
neither its first quarter, in which the limit is learnt, nor its last one. A machine that has no CPU time left
uses less of a limit, whatever it knows.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final, NamedTuple

from chatrest.emulator import RateLimit

from .measure import table

LATENCY: Final = 100
"""Milliseconds of a reply, unless the command names others."""
SECONDS: Final = 60
"""Seconds for which an export has requests, at its limit."""
WINDOWS: Final = ("bucket", "1", "10", "60")
"""A bucket that holds what comes in 0.2 s, and seconds of windows: fixed ones, sliding with `s` behind."""
LEAST_USED: Final = 0.85
MOST_REFUSED: Final = 0.03
_REQUESTS_A_USER: Final = 1.4  # where there are as many messages as users
_BURST_SECONDS: Final = 0.2


def limit_of(rate: int, window: str) -> RateLimit:
    """Return a limit of `rate` requests a second, of which no reply tells anything."""
    if window == "bucket":
        burst = ceil(rate * _BURST_SECONDS)
        return RateLimit(kind="bucket", per_window=rate, window=1, burst=burst, headers="none")
    seconds, kind = int(window.removesuffix("s")), "sliding" if window.endswith("s") else "fixed"
    return RateLimit(kind=kind, per_window=rate * seconds, window=seconds, headers="none")  # type: ignore[arg-type]


def users_of(rate: int, seconds: int) -> int:
    """Return the number of users whose lists take about so many seconds at a limit."""
    return ceil(rate * seconds / _REQUESTS_A_USER)


class RateUse(NamedTuple):
    """An export at a limit of `rate` requests a second."""

    rate: int
    window: str
    workers: int
    times: Sequence[float]
    """When each request was accepted."""
    refused: int

    def used(self, begin: float = 0.0, end: float = 1.0) -> float:
        """Return what was used of the limit in a part of the time between the first and last request."""
        first, seconds = self.times[0], max(1e-9, self.times[-1] - self.times[0])
        left, right = first + begin * seconds, first + end * seconds
        return sum(left <= time <= right for time in self.times) / (self.rate * (right - left))

    @property
    def refused_share(self) -> float:
        """The share of the requests that were answered 429."""
        return self.refused / max(1, self.refused + len(self.times))

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        is_good = self.used() >= LEAST_USED and self.refused_share <= MOST_REFUSED
        return (
            f"{self.rate}/s, {self.window}", f"{self.workers}", f"{len(self.times):,}", f"{self.used():.0%}",
            f"{self.used(0.25, 0.75):.0%}", f"{self.refused_share:.2%}", "yes" if is_good else "no",
        )  # fmt: skip


def rates_table(uses: Sequence[RateUse]) -> str:
    """Return the table of several exports."""
    heads = (
        "limit, window", "workers", "requests", "used", "in the middle", "429",
        f">= {LEAST_USED:.0%}, <= {MOST_REFUSED:.0%}",
    )  # fmt: skip
    return table(heads, [use.cells for use in uses])
