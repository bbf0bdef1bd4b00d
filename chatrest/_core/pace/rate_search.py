"""The search for the rate that a service allows, from its 429 replies and what it accepted between them.

Pure: time is an argument, in seconds of any clock. Every rate is in requests a second. All times of requests
are the times at which they were sent, so a slow network does not distort a measurement.

A 429 ends a run of accepted requests and is followed by a hold, in which nothing is sent.
Both together bracket the rate that the service allows, whatever the kind of its limit:

| limit                        | accepted / (run + hold)              | the rate at which the 429 came |
|------------------------------|--------------------------------------|--------------------------------|
| fixed window, sliding window | the limit, if the hold is not longer | above the limit                |
|                              | than it must be                      |                                |
| bucket                       | below the limit: it is full before a | above the limit; only slightly |
|                              | hold of whole seconds ends           | if it came late                |
| bucket with a stored burst   | above the limit, the first time      | above the limit                |
| shared with other clients    | the share that they leave            | above that share               |

So the lower end of the bracket is the average over run and hold. The upper end is the same average without
the part of the hold that may not have been needed, but no more than the rate at which the 429 came.

If less than a quarter of that rate was in use, the average shows how much was wanted, not what is allowed.
Then the lower end is at least half of the upper one.
"""

from math import inf, log, log2, sqrt
from typing import ClassVar, Final

from msgspec import Struct

EVIDENCE: Final = 5
"""Accepted requests; fewer of them say nothing about a limit."""

_INSTANT: Final = 1e-6  # seconds, in place of none


class Ramp:
    """A rate that doubles with every second of full use, from `first` up to `most`.

    `use` notes a further `seconds` in which everything was accepted, the last at `sent`.
    """

    def __init__(self, first: float, most: float) -> None:
        self.first: float = first
        self.most: float = most
        self._used = 0.0

    @property
    def rate(self) -> float:
        return min(self.most, self.first * float(2.0 ** min(self._used, 60.0)))

    def rate_at(self, sent: float) -> float:
        return self.rate

    def use(self, seconds: float, sent: float, now: float) -> None:
        self._used += seconds

    @property
    def seconds(self) -> float:
        """The seconds in which the present rate lets as many requests go as the ramp has."""
        return 1 / log(2) + max(0.0, self._used - log2(self.most / self.first))

    @property
    def is_over(self) -> bool:
        return self.rate >= self.most

    def halve(self) -> None:
        self._used = max(0.0, self._used - 1.0)


class AcceptedRun:
    """The accepted requests since the last hold, or since traffic became much denser."""

    _SLICE: Final = 1.0
    _DENSER: Final = 4.0

    def __init__(self, now: float) -> None:
        self._began = self._slice_began = now
        self._count = self._slice_count = 0

    def add(self, sent: float) -> None:
        self._count += 1
        self._slice_count += 1
        seconds = sent - self._slice_began
        if seconds >= self._SLICE:
            if self._slice_count * (sent - self._began) > self._DENSER * self._count * seconds:
                self._began, self._count = self._slice_began, self._slice_count
            self._slice_began, self._slice_count = sent, 0

    def until(self, end: float) -> tuple[int, float]:
        """Return the number of accepted requests and their seconds, of the run or its denser last slice."""
        seconds, recent = (max(end - began, _INSTANT) for began in (self._began, self._slice_began))
        if self._slice_count >= EVIDENCE and self._slice_count * seconds > self._count * recent:
            return self._slice_count, recent
        return self._count, seconds


class Strike(Struct, frozen=True, kw_only=True):
    """The facts of a 429 and of the hold after it; all times in seconds."""

    _IN_USE: ClassVar[float] = 0.25

    rate: float | None
    """The rate in force when the refused request was sent; None without a bound."""
    at_rate: float
    """Time for which that rate had been in force."""
    accepted: int
    """The requests that were accepted in `seconds`."""
    seconds: float
    """Time of the run and of the hold."""
    held: float
    """Time of the hold, in which nothing was sent."""
    unneeded: float
    """The part of the hold that may not have been needed."""

    def bracket(self) -> tuple[float, float]:
        low = self.accepted / self.seconds
        high = self.accepted / max(self.seconds - self.unneeded, self.seconds / 100)
        if self.rate is None:
            return low, high
        # A window shorter than the run ends with the same hold: for it, only what was sent last counts.
        at_rate = max(self.at_rate, _INSTANT)
        last = self.rate * at_rate / (at_rate + self.held - self.unneeded)
        high = min(self.rate, max(high, last))
        if self.accepted < self._IN_USE * self.rate * (self.seconds - self.held):
            low = max(low, high / 2)
        return min(low, high), high


class RateSearch:
    """The search: a bracket, and the rate that is on trial. A trial is a rate in full use for some seconds.

    | event                                  | the bracket                   | the next rate              |
    |----------------------------------------|-------------------------------|----------------------------|
    | a 429                                  | from the `Strike`; a passed   | the geometric middle, at   |
    |                                        | trial inside is its low end   | most 3 % below the high end|
    | a third 429 without a passed trial     | from the `Strike` alone       | the same                   |
    | a trial is passed, the ends are apart  | its rate is the low end       | the geometric middle       |
    | a trial is passed, the ends are near   | its rate is the low end       | 1 % more, then 3 % more    |
    | a trial is passed at the high end      | no high end any more          | three times that step more,|
    |                                        |                               | up to the double; trials   |
    |                                        |                               | half as long each          |
    | … and the next rate is beyond the low  | the same                      | that low end; then 1 %     |
    | end of the 429 with the longest run    |                               | more                       |

    The last line is for long windows: after a short run in one that is nearly full nothing more is known than
    before, and doubling what little went would exceed the window again.

    Near are ends less than 8 % apart. A trial there is long beside what a 429 costs: eight times the hold,
    but a minute at most, and a hundred requests where they take less than 20 s. So a 429 is at most about
    one request in a hundred.
    """

    _BELOW: Final = 0.97
    _NEAR: Final = 1.08
    _STEP: Final = 0.01
    _FASTER: Final = 3.0
    _DOUBT: Final = 2  # 429s without a passed trial between them: the low end was a bucket's stored burst
    _MIN_STEP: Final = 0.25  # requests a second: of two clients that share a limit, the smaller gains more

    def __init__(self, strike: Strike, now: float) -> None:
        self.rate: float = inf
        self._before, self._changed_at = inf, -inf
        self._low, self._high = 0.0, inf
        self._trial, self._used = 0.0, 0.0
        self._step, self._failed = self._STEP, 0
        self._known, self._known_seconds = 0.0, 0.0  # of the 429 with the longest run, until it is exceeded
        self.strike(strike, now)

    def rate_at(self, sent: float) -> float:
        return self.rate if sent >= self._changed_at else self._before

    @property
    def changed_at(self) -> float:
        return self._changed_at

    def strike(self, strike: Strike, now: float) -> None:
        low, high = strike.bracket()
        if low < self._low < high and self._failed < self._DOUBT:
            low = self._low
        self._low, self._high = low, high
        self._failed += 1
        if strike.seconds >= self._known_seconds:
            self._known, self._known_seconds = low, strike.seconds
        self._change(min(sqrt(self._low * high), self._BELOW * high), now)
        a_few = 10 / self.rate
        if high <= self._NEAR * self._low:
            self._trial = max(2.0, min(60.0, 8 * strike.held), min(20.0, 10 * a_few))
        else:
            self._trial = max(1.0, a_few, min(10.0, strike.seconds))
        self._step = self._STEP

    def slow_down(self, now: float) -> None:
        """Lower the rate by 3 %, but not below half of the low end: little was accepted before a 429."""
        self._change(max(self._BELOW * self.rate, min(self.rate, self._low / 2)), now)

    def use(self, seconds: float, sent: float, now: float) -> None:
        self._used += min(seconds, max(0.0, sent - self._changed_at))
        if self._used >= self._trial:
            self._pass(now)

    def _pass(self, now: float) -> None:
        self._low, self._failed = max(self._low, self.rate), 0
        if self.rate >= self._high:
            self._high = inf
        if self._NEAR * self._low < self._high < inf:
            self._step = self._STEP
            self._change(sqrt(self._low * self._high), now)
            return
        rate = self.rate + max(self._step * self.rate, self._MIN_STEP)
        if self.rate < self._known < self._BELOW * rate:
            rate, self._step, self._trial = self._known, self._STEP, min(10.0, self._known_seconds)
        elif self.rate >= self._known:
            self._known_seconds = 0.0
        self._change(rate, now)
        self._step = min(1.0, self._FASTER * self._step)
        if self._high == inf:
            self._trial = max(1.0, self._trial / 2)

    def _change(self, rate: float, now: float) -> None:
        self._before, self.rate, self._changed_at, self._used = self.rate, rate, now, 0.0
