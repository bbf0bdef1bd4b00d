"""How fast one app may call one rate class: a schedule that learns the service's limit.

Pure: it is told the time, and says how long to hold back; the gate waits. A limit is so many requests a
window (a minute on services of this kind), and windows are fixed, sliding or a bucket. Requests spread
evenly keep within all three, so the schedule spreads them (a generic cell rate algorithm):

    every request moves `due` on by window / rate; a request may go once `due` is no more than the burst
    ahead of now

with `rate` 97 % of the limit and a burst of 2 %, which together stay below the limit in any window. An
urgent request need not be spread while the service says that more than half of the limit remains.

| the service tells                      | the schedule                                                    |
|----------------------------------------|-----------------------------------------------------------------|
| nothing, no 429 so far                 | no bound                                                        |
| the limit, on every reply or on a 429  | spreads 97 % of it                                              |
| 429 with a time                        | holds all back until then, two windows at most                  |
| 429 without any time                   | holds back a second, then two, four … up to a twelfth of a window |
| nothing goes well yet after a hold     | lets one request go at a time                                   |
| 429 without a limit                    | takes what was accepted in the last window for the limit        |
| 429 again                              | 5 % slower: multiplicative decrease                             |
| 429 although it keeps to a told limit  | others use it too: takes what was accepted in the last window   |
| a window without a 429, in full use    | 1 % faster: additive increase, up to a told limit               |
| the first hold was short: a small bucket | a tenth faster every second until the next 429                |

A rate that the caller gives is kept to, and never learnt away from.
"""

from collections import deque
from typing import Final, final

from msgspec import Struct

from ..errors import RequestInvalidError
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
    """How calls are paced. `Pace(rate=500)` keeps to 500 requests a window; None learns the limit."""

    rate: float | None = None
    """Requests a window, per app and rate class."""
    window: float = 60.0
    """Seconds."""

    def __post_init__(self) -> None:
        check_seconds("pace.rate", self.rate)
        if check_seconds("pace.window", self.window) is None:
            raise RequestInvalidError("pace.window = None: allowed is a number of seconds above 0")


class Signal(Struct, frozen=True):
    """What a reply tells of the limit."""

    limited: bool
    """Whether it was a 429."""
    limit: float | None = None
    remaining: float | None = None
    retry_after: float | None = None


class Schedule:
    """The schedule of one app and rate class."""

    def __init__(self, pace: Pace) -> None:
        self.window = pace.window
        self.rate = pace.rate
        """Requests a window that are let go; None while there is no bound."""
        self.given = pace.rate is not None
        self.remaining: float | None = None
        self._under_way = 0
        self._began = float("inf")
        self._due = 0.0
        self._hold = 0.0
        self._holds = 0
        self._before = (0.0, 0)
        self._held_since: float | None = None
        self._changed = 0.0
        self._step = 0.0
        self._sure = 0.0
        self._counted = 0
        self._told: float | None = None
        self._guessed = False
        self._overshot = False
        self._probing = False
        self._accepted = _Recent(pace.window)

    @property
    def is_probing(self) -> bool:
        """Whether a limit has struck and nothing tells when it ends: any reply may show it."""
        return self._held_since is not None

    def delay(self, now: float, *, urgent: bool) -> float:
        """Seconds until a request may go. An urgent one need not be spread while plenty remains."""
        wait = self._hold - now
        plenty = self.remaining is not None and self.remaining > COMFORT * (self.rate or 0.0)
        spread = self.rate is not None and (self.given or not (urgent and plenty))
        if spread:
            wait = max(wait, self._due - now - self._burst())
        return wait if wait > _INSTANT else 0.0

    def take(self, now: float) -> None:
        """A request goes now."""
        if self.remaining is not None:
            self.remaining -= 1
        self._before = (self._hold, self._holds)
        if self._held_since is not None:
            self._hold_for(now, None)  # while the limit has not been seen to be over, one goes at a time
        self._under_way += 1
        self._began = min(self._began, now)
        if self.rate is not None:
            interval = self.window / self.rate
            self._due = min(max(self._due, now) + interval, now + self.window + interval)

    def lost(self) -> None:
        """A request that was let go brought no reply."""
        self._under_way = max(0, self._under_way - 1)

    def give_back(self) -> None:
        """The request that was let go last is not sent."""
        self.lost()
        self._hold, self._holds = self._before
        if self.remaining is not None:
            self.remaining += 1
        if self.rate is not None:
            self._due -= self.window / self.rate

    def observe(self, now: float, signal: Signal) -> None:
        """A reply has come."""
        self._under_way = max(0, self._under_way - 1)
        if signal.limited:
            self._throttled(now, signal)
        else:
            self._went_well(now, signal)

    def _burst(self) -> float:
        """Seconds that the schedule may run ahead: 2 % of a window's requests."""
        assert self.rate is not None
        return max(0.0, BURST * self.rate - 1) * self.window / self.rate

    def _went_well(self, now: float, signal: Signal) -> None:
        self._accepted.add(now)
        if self._held_since is not None:
            if now >= self._sure:
                self._resume(now)
            elif self._guessed:  # it was accepted before the limit struck, and told of later
                self._counted += 1
                self._set(SHARE * self._counted)
        if signal.remaining is not None:
            self.remaining = signal.remaining - self._under_way  # the service has not seen those yet
        if self.given:
            return
        if signal.limit and signal.limit != self._told:
            self._told = signal.limit
            self._set(SHARE * signal.limit)
        elif self.rate is not None:
            self._speed_up(now)

    def _resume(self, now: float) -> None:
        """The limit is over: go on evenly, with no burst, for the service has nothing saved up."""
        assert self._held_since is not None
        # A window's limit holds for seconds; a small bucket has a place again at once.
        short = now - self._held_since < _SHORT_HOLD * self.window
        if self._overshot and not short:
            self._set(SHARE * self._counted)  # it was no small bucket: what a window took is its limit
        self._probing = self._guessed and short
        self._guessed = self._overshot = False
        self._held_since, self._holds, self._hold, self._changed = None, 0, now, now
        if self.rate is not None:
            self._due = now + self._burst() + self.window / self.rate

    def _speed_up(self, now: float) -> None:
        if self.rate is None or self._due < now:  # not in full use: nothing is learnt about the limit
            return
        if self._probing and now - self._changed >= self.window / _SLICES:
            self.rate, self._changed = self.rate * PROBE, now
        elif now - self._changed >= self.window:
            faster = self.rate + self._step
            self.rate = faster if self._told is None else min(faster, max(1.0, SHARE * self._told))
            self._changed = now

    def _throttled(self, now: float, signal: Signal) -> None:
        again = self._held_since
        if again is None:  # those under way when the limit struck are not news
            self._held_since = now
            self._counted = max(1, self._accepted.count(now))
            if not self.given:
                self._learn(now, signal)
        self._hold_for(now, signal.retry_after)
        if again is None or signal.retry_after is not None:
            self._sure = self._hold  # what goes well before then was sent before the limit struck
        self.remaining = 0.0

    def _hold_for(self, now: float, seconds: float | None) -> None:
        if seconds is None:
            if now < self._hold:
                return
            self._holds += 1
            seconds = min(self.window / 12, self.window / _SLICES * 2 ** (self._holds - 1))
        # Those after it need not wait for a day because one reply said so.
        self._hold = max(self._hold, now + min(seconds, _LONGEST_HOLD * self.window))

    def _learn(self, now: float, signal: Signal) -> None:
        if signal.limit and signal.limit != self._told:
            self._told = signal.limit
            self._set(SHARE * signal.limit)
        elif self._told is not None:
            # A whole window of ours struck it: others use the same limit, and what they left of it is ours.
            ours = self._counted if now - self._began >= self.window else self._told
            self._set(SHARE * min(self._told, ours))
        elif self.rate is None:
            self._set(SHARE * self._counted)
            self._guessed = True
        else:
            self._overshot = self._probing
            self._set(SLOWER * (self.rate / PROBE if self._probing else self.rate))
        self._probing, self._changed = False, now

    def _set(self, rate: float) -> None:
        self.rate = max(1.0, rate)
        self._step = FASTER * self.rate


class _Recent:
    """How many replies came in the last window, counted in slices of it: memory does not grow."""

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
