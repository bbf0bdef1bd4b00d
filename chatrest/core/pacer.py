"""The pace of one app and rate class: a GCRA, with an estimate of the service's limit.

Pure: it takes the time as an argument and says how long to hold back; the rate gate waits. A limit is so
many requests a window (a minute on services of this kind), and windows are fixed, sliding or a bucket.
Requests spread evenly keep within all three, so the pacer spreads them (a generic cell rate algorithm):

    every request moves the next slot on by window / rate; a request may go once the next slot is no more
    than the burst ahead of now

with `rate` 97 % of the limit and a burst of 2 %, which together stay below the limit in any window. An
urgent request need not be spread while the service says that more than half of the limit remains.

| the service says                       | the pacer                                                       |
|----------------------------------------|-----------------------------------------------------------------|
| nothing, no 429 so far                 | no bound                                                        |
| the limit, on every reply or on a 429  | spreads 97 % of it                                              |
| 429 with a time                        | holds all back until then, two windows at most                  |
| 429 without any time                   | holds back a second, then two, four … up to a twelfth of a window |
| nothing goes well yet after a hold     | lets one request go at a time                                   |
| 429 without a limit                    | takes what was accepted in the last window for the limit        |
| 429 again                              | 5 % slower: multiplicative decrease                             |
| 429 although a stated limit is kept    | others use it too: takes what was accepted in the last window   |
| a window without a 429, in full use    | 1 % faster: additive increase, up to a stated limit             |
| the first hold was short: a small bucket | a tenth faster every second until the next 429                |

A rate that the caller gives is kept, whatever the replies say.
"""

from collections import deque
from typing import Final, final

from msgspec import Struct

from ..errors import RequestInvalidError
from .arguments import hides_arguments
from .timeouts import check_seconds

SHARE: Final = 0.97
BURST: Final = 0.02
SLOWER: Final = 0.95
FASTER: Final = 0.01
PROBE: Final = 1.1
COMFORT: Final = 0.5
_SHORT_HOLD: Final = 0.05
_LONGEST_HOLD: Final = 2.0
_SLICES: Final = 60
_INSTANT: Final = 1e-6  # seconds: less cannot be slept, and a clock may not even show it


@final
class Pace(Struct, frozen=True, kw_only=True):
    """The pace of calls. `Pace(rate=500)` keeps to 500 requests a window; None learns the limit."""

    rate: float | None = None
    """Requests a window, per app and rate class."""
    window: float = 60.0
    """Seconds."""

    @hides_arguments
    def __post_init__(self) -> None:
        check_seconds("pace.rate", self.rate)
        if check_seconds("pace.window", self.window) is None:
            raise RequestInvalidError("pace.window = None: allowed is a number of seconds above 0")


class Signal(Struct, frozen=True):
    """The state of the rate limit as one reply shows it."""

    limited: bool
    """True for a 429."""
    limit: float | None = None
    remaining: float | None = None
    retry_after: float | None = None


class Pacer:
    """The pace of one app and rate class."""

    def __init__(self, pace: Pace) -> None:
        self.window = pace.window
        self.rate = pace.rate
        """Requests a window that are let go; None while there is no bound."""
        self.is_fixed = pace.rate is not None
        self.remaining: float | None = None
        self._in_flight = 0
        self._first_sent = float("inf")
        self._next_slot = 0.0
        self._hold = 0.0
        self._holds = 0
        self._hold_before = (0.0, 0)
        self._held_since: float | None = None
        self._changed_at = 0.0
        self._step = 0.0
        self._confirmed_from = 0.0
        self._accepted_count = 0
        self._stated_limit: float | None = None
        self._is_estimate = False
        self._has_overshot = False
        self._is_speeding = False
        self._accepted = _RecentCount(pace.window)

    @property
    def is_probing(self) -> bool:
        """True while a limit holds and its end is not known: any reply may show it."""
        return self._held_since is not None

    def delay(self, now: float, *, urgent: bool) -> float:
        """Seconds until a request may go. An urgent one need not be spread while plenty remains."""
        wait = self._hold - now
        plenty = self.remaining is not None and self.remaining > COMFORT * (self.rate or 0.0)
        spread = self.rate is not None and (self.is_fixed or not (urgent and plenty))
        if spread:
            wait = max(wait, self._next_slot - now - self._burst())
        return wait if wait > _INSTANT else 0.0

    def take(self, now: float) -> None:
        """Note that a request goes now."""
        if self.remaining is not None:
            self.remaining -= 1
        self._hold_before = (self._hold, self._holds)
        if self._held_since is not None:
            self._hold_for(now, None)  # while the limit has not been seen to be over, one goes at a time
        self._in_flight += 1
        self._first_sent = min(self._first_sent, now)
        if self.rate is not None:
            interval = self.window / self.rate
            self._next_slot = min(max(self._next_slot, now) + interval, now + self.window + interval)

    def forget(self) -> None:
        """Note that a request that was let go brought no reply."""
        self._in_flight = max(0, self._in_flight - 1)

    def give_back(self) -> None:
        """Take back the request that was let go last: it is not sent."""
        self.forget()
        self._hold, self._holds = self._hold_before
        if self.remaining is not None:
            self.remaining += 1
        if self.rate is not None:
            self._next_slot -= self.window / self.rate

    def observe(self, now: float, signal: Signal) -> None:
        """Learn from a reply."""
        self._in_flight = max(0, self._in_flight - 1)
        if signal.limited:
            self._slow_down(now, signal)
        else:
            self._record_success(now, signal)

    def _burst(self) -> float:
        """Seconds that requests may run ahead of their slots: 2 % of a window's requests."""
        assert self.rate is not None
        return max(0.0, BURST * self.rate - 1) * self.window / self.rate

    def _record_success(self, now: float, signal: Signal) -> None:
        self._accepted.add(now)
        if self._held_since is not None:
            if now >= self._confirmed_from:
                self._resume(now)
            elif self._is_estimate:  # it was accepted before the limit struck, and answered later
                self._accepted_count += 1
                self._set(SHARE * self._accepted_count)
        if signal.remaining is not None:
            self.remaining = signal.remaining - self._in_flight  # the service has not seen those yet
        if self.is_fixed:
            return
        if signal.limit and signal.limit != self._stated_limit:
            self._stated_limit = signal.limit
            self._set(SHARE * signal.limit)
        elif self.rate is not None:
            self._speed_up(now)

    def _resume(self, now: float) -> None:
        """Go on after a limit: evenly, with no burst, for the service has nothing saved up."""
        assert self._held_since is not None
        # A window's limit holds for seconds; a small bucket has room again at once.
        short = now - self._held_since < _SHORT_HOLD * self.window
        if self._has_overshot and not short:
            self._set(SHARE * self._accepted_count)  # it was no small bucket: what a window took is its limit
        self._is_speeding = self._is_estimate and short
        self._is_estimate = self._has_overshot = False
        self._held_since, self._holds, self._hold, self._changed_at = None, 0, now, now
        if self.rate is not None:
            self._next_slot = now + self._burst() + self.window / self.rate

    def _speed_up(self, now: float) -> None:
        if self.rate is None or self._next_slot < now:  # not in full use: nothing is learnt about the limit
            return
        if self._is_speeding and now - self._changed_at >= self.window / _SLICES:
            self.rate, self._changed_at = self.rate * PROBE, now
        elif now - self._changed_at >= self.window:
            faster = self.rate + self._step
            self.rate = (
                faster if self._stated_limit is None else min(faster, max(1.0, SHARE * self._stated_limit))
            )
            self._changed_at = now

    def _slow_down(self, now: float, signal: Signal) -> None:
        held_since = self._held_since
        if held_since is None:  # those under way when the limit struck are not news
            self._held_since = now
            self._accepted_count = max(1, self._accepted.count(now))
            if not self.is_fixed:
                self._learn(now, signal)
        self._hold_for(now, signal.retry_after)
        if held_since is None or signal.retry_after is not None:
            self._confirmed_from = self._hold  # what goes well before then was sent before the limit struck
        self.remaining = 0.0

    def _hold_for(self, now: float, seconds: float | None) -> None:
        if seconds is None:
            if now < self._hold:
                return
            self._holds += 1
            seconds = min(self.window / 12, self.window / _SLICES * 2 ** (self._holds - 1))
        # One reply does not make all others wait for a day.
        self._hold = max(self._hold, now + min(seconds, _LONGEST_HOLD * self.window))

    def _learn(self, now: float, signal: Signal) -> None:
        if signal.limit and signal.limit != self._stated_limit:
            self._stated_limit = signal.limit
            self._set(SHARE * signal.limit)
        elif self._stated_limit is not None:
            # A whole window of our own struck it: others use the same limit, and leave us this much of it.
            estimate = self._accepted_count if now - self._first_sent >= self.window else self._stated_limit
            self._set(SHARE * min(self._stated_limit, estimate))
        elif self.rate is None:
            self._set(SHARE * self._accepted_count)
            self._is_estimate = True
        else:
            self._has_overshot = self._is_speeding
            self._set(SLOWER * (self.rate / PROBE if self._is_speeding else self.rate))
        self._is_speeding, self._changed_at = False, now

    def _set(self, rate: float) -> None:
        self.rate = max(1.0, rate)
        self._step = FASTER * self.rate


class _RecentCount:
    """A count of the replies of the last window, by slices of it: memory does not grow."""

    def __init__(self, window: float) -> None:
        self._slice = window / _SLICES
        self._counts: deque[tuple[int, int]] = deque(maxlen=_SLICES + 1)

    def add(self, now: float) -> None:
        index = int(now // self._slice)
        if self._counts and self._counts[-1][0] == index:
            self._counts[-1] = (index, self._counts[-1][1] + 1)
        else:
            self._counts.append((index, 1))

    def count(self, now: float) -> int:
        oldest = int(now // self._slice) - _SLICES
        return sum(count for index, count in self._counts if index > oldest)
