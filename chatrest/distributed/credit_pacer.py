"""A worker's side of the one rate of a cluster: the pacers of its gates use the slots that it was given.

Pure: time is an argument. The sessions of a process, in one event loop, share one `CreditAccount`.

The coordinator's clock is ahead of this one by some seconds, or hours. A message shows by how much at least:
it was sent before it came. So the most that any message has shown is right but for the shortest time that one
took, and a late message changes nothing. Until one has come soon after what it answers, slots are used only
after a few seconds: the first ones might all be late.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, final

from .._core.pace.pacer import RateSource
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass
from ..errors import ChatRestError
from .credits import LATE, Grant, Grants, RateReport, Refusal, Usage

LOST: Final = 60.0
"""Seconds without a word of the coordinator after which a request that waits fails."""
_INSTANT: Final = 1e-6  # seconds: less cannot be slept
_POLL: Final = 0.02  # seconds after which a waiting request looks again while there is no slot
_SOON: Final = 0.3  # seconds after a report in which the answer shows the coordinator's clock well
_UNSURE: Final = 3.0  # seconds for which no slot is used before that
_DRIFT: Final = 1e-4  # seconds a second by which two clocks may drift apart
_USELESS: Final = 10.0  # seconds without a slot in time after which the clock is learnt again
_REMEMBERED: Final = 32  # epochs, to find that of a request by the time at which it was sent


@final
class OtherClock:
    """The coordinator's clock, as its messages show it."""

    def __init__(self) -> None:
        self.ahead: float = 0.0  # seconds
        self._learnt_at = self._began = -inf
        self._is_sure = False

    def learn(self, at: float, now: float, age: float) -> None:
        """Learn from a message that was sent at `at`, and answers one that was sent `age` seconds ago."""
        if self._learnt_at == -inf:
            self._learnt_at = self._began = now
            self.ahead = at - now
        self.ahead = max(at - now, self.ahead - _DRIFT * (now - self._learnt_at))
        self._learnt_at = now
        self._is_sure |= age <= _SOON

    def is_known(self, now: float) -> bool:
        return self._is_sure or now - self._began >= _UNSURE

    def forget(self) -> None:
        self.__init__()


@final
class CreditPacer:
    """The pacer of one rate class on one worker.

    `waiting` gives the requests that wait for a slot; `alarm` is called when a report should go at once.
    """

    rate_source: RateSource = "learnt"
    is_probing: bool = True  # slots may come at any time

    def __init__(self, clock: OtherClock, waiting: Callable[[], int], alarm: Callable[[], object]) -> None:
        self.stated_limit: float | None = None
        self.remaining: float | None = None
        self.rate: float | None = None
        """Requests a second of the whole cluster; None while nothing was granted."""
        self._clock, self._waiting, self._alarm = clock, waiting, alarm
        self._slots: deque[float] = deque()
        self._first = 0
        self._epochs: list[tuple[float, int]] = [(-inf, 0)]
        self._struck = 0
        self._is_probe = self._has_asked = False
        self._led_at = -inf
        self._useful_at: float | None = None
        self._sent = self._missed = self._forgotten = self._under_way = 0
        self._accepted: dict[int, list[float]] = {}
        self._refused: list[tuple[int, float, float, float | None]] = []

    @property
    def is_busy(self) -> bool:
        """True while requests are under way or wait, or slots are left."""
        return bool(self._under_way or self._slots or self._waiting())

    def delay(self, now: float, *, urgent: bool) -> float:
        """Return the seconds until a request may go, or until it should look again."""
        self._drop(now)
        if self._slots:
            wait = self._slots[0] - self._clock.ahead - now
            return wait if wait > _INSTANT else 0.0
        if not self._has_asked:
            self._has_asked, self._led_at = True, now
            self._alarm()
        elif now - self._led_at > LOST:  # a thread must not wait for ever
            raise ChatRestError(
                f"the coordinator of the cluster's rate has not answered for {LOST:.0f} s; nothing was sent"
            )
        return _POLL

    def take(self, now: float, *, urgent: bool) -> None:
        self._sent += 1
        self._under_way += 1
        self._useful_at = now
        if self._slots:
            self._slots.popleft()
            self._first += 1

    def give_back(self) -> None:
        self._sent -= 1
        self._under_way -= 1
        self._missed += 1

    def forget(self) -> None:
        self._forgotten += 1
        self._under_way -= 1
        if self._is_probe:
            self._alarm()

    def observe(self, now: float, signal: Signal, sent: float) -> None:
        self._under_way -= 1
        self.stated_limit, self.remaining = signal.limit or self.stated_limit, signal.remaining
        epoch = self._epochs[bisect_right(self._epochs, (sent, 1 << 60)) - 1][1]
        if signal.limited:
            self._refused.append((epoch, sent, now, signal.retry_after))
            if epoch == self._epochs[-1][1]:  # what is left of it is not to be used
                self._struck = epoch
                self._slots.clear()
        else:
            self._accepted.setdefault(epoch, []).append(sent + self._clock.ahead)
        if signal.limited or self._is_probe:
            self._alarm()

    def receive(self, grant: Grant, now: float) -> None:
        """Take the slots of a newer message of the coordinator."""
        self._led_at = now
        if grant.epoch != self._epochs[-1][1]:
            self._epochs = [*self._epochs[1 - _REMEMBERED :], (now, grant.epoch)]
            self._missed, self._first = 0, grant.first
        self._is_probe, self.rate = grant.is_probe, grant.rate or None
        self._slots.clear()
        if grant.epoch > self._struck and self._clock.is_known(now):
            self._slots.extend(grant.slots[max(0, self._first - grant.first) :])
            self._first = max(self._first, grant.first)
            self._drop(now)

    def usage(self, now: float) -> Usage:
        """Return what has happened since the last call."""
        self._drop(now)
        waiting, ahead = self._waiting(), self._clock.ahead
        self._has_asked = waiting > 0 and not self._slots
        self._check_is_useful(now, waiting)
        refused = [
            Refusal(epoch, sent + ahead, None if named is None else max(0.0, named - (now - replied)))
            for epoch, sent, replied, named in self._refused
        ]
        usage = Usage(
            waiting, self._sent, self._missed, self._epochs[-1][1], self._first, self._accepted, refused,
            self._forgotten,
        )  # fmt: skip
        self._sent = self._missed = self._forgotten = 0
        self._accepted, self._refused = {}, []
        return usage

    def _drop(self, now: float) -> None:
        """Drop the slots that are over."""
        end = now + self._clock.ahead - LATE
        while self._slots and self._slots[0] < end:
            self._slots.popleft()
            self._first += 1
            self._missed += 1

    def _check_is_useful(self, now: float, waiting: int) -> None:
        """Learn the coordinator's clock again where all that came was late: that machine may have slept."""
        if not waiting or self._useful_at is None:
            self._useful_at = now
        elif now - self._useful_at > _USELESS and self._missed:
            self._clock.forget()
            self._useful_at = now


@final
class CreditAccount:
    """The part of a cluster's rate that one process has: a pacer of each rate class, and its messages."""

    def __init__(
        self, name: str, waiting: Callable[[RateClass], int], alarm: Callable[[], object],
        clock: OtherClock | None = None,
    ) -> None:  # fmt: skip
        """`clock` is what is known of the coordinator's: learning it may cost the first seconds."""
        self._name, self._waiting, self._alarm = name, waiting, alarm
        self._clock = clock or OtherClock()
        self._pacers: dict[RateClass, CreditPacer] = {}
        self._reports: deque[float] = deque(maxlen=_REMEMBERED)  # when they went
        self._number = self._heard = 0

    @property
    def is_busy(self) -> bool:
        """True while there will be something to report."""
        return any(pacer.is_busy for pacer in self._pacers.values())

    def pacer(self, rate_class: RateClass) -> CreditPacer:
        """Return the pacer of a rate class; from then on the class is in the reports."""
        if rate_class not in self._pacers:
            waiting = partial(self._waiting, rate_class)
            self._pacers[rate_class] = CreditPacer(self._clock, waiting, self._alarm)
        return self._pacers[rate_class]

    def receive(self, grants: Grants, now: float) -> bool:
        """Take a message of the coordinator; return False for one that is not new."""
        place = grants.heard - self._number - 1
        age = now - self._reports[place] if -len(self._reports) <= place < 0 else inf
        self._clock.learn(grants.at, now, age)
        if grants.number <= self._heard:
            return False
        self._heard = grants.number
        for rate_class, grant in grants.classes.items():
            self.pacer(rate_class).receive(grant, now)
        return True

    def report(self, now: float) -> RateReport:
        """Return the report of what happened since the last one."""
        self._number += 1
        self._reports.append(now)
        usages = {rate_class: pacer.usage(now) for rate_class, pacer in self._pacers.items()}
        return RateReport(self._name, self._number, self._heard, usages)
