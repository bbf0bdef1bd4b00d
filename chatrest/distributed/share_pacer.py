"""A worker's side of the one rate of a cluster: the pacers of its gates keep to the shares that it was given.

Pure: time is an argument.
"""

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final

from .._core.pace.pacer import RateSource
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass
from ..errors import ChatRestError
from .rate_shares import Grant, RateReport, ReportedReply

LATE: Final = 0.1
"""Seconds of a share that can be made up for: a worker that has much to do is woken late."""
LOST: Final = 60.0
"""Seconds without a word of the coordinator after which a request that waits fails."""
_POLL: Final = 0.05  # seconds after which a request that waits looks again, as the share may have changed
_SHORTEST: Final = 1e-3  # seconds: less is not worth a sleep
_REMEMBERED: Final = 64  # reports, to know when the one was sent that a message answers


class SharePacer:
    """The pacer of one rate class on one worker.

    `name` is the task's among all that share the rate. `waiting` gives the requests of a class that wait;
    `alarm` is called when a report should go at once. `phase`, from 0 to 1, is what the first request is
    ahead, so that workers that begin together do not send together.
    """

    rate_source: RateSource = "learnt"
    is_probing: bool = True  # the share may change at any time

    def __init__(
        self, name: str, rate_class: RateClass, waiting: Callable[[RateClass], int],
        alarm: Callable[[], object], phase: float = 0.0,
    ) -> None:  # fmt: skip
        self.stated_limit: float | None = None
        self.remaining: float | None = None
        self.rate: float | None = None
        """Requests a second of the whole cluster; None while there are none."""
        self._name, self._rate_class = name, rate_class
        self._waiting, self._alarm = waiting, alarm
        self._number = self._heard = 0
        self._reports: deque[float] = deque(maxlen=_REMEMBERED)  # when they went
        self._share, self._until = 0.0, -inf
        self._phase = self._allowed = phase  # requests that may go
        self._counted_at = -inf
        self._epoch = self._struck = 0
        self._epoch_began = -inf
        self._is_probe = self._may_probe = self._has_asked = False
        self._led_at = -inf
        self._sent = self._forgotten = self._under_way = 0
        self._replies: list[tuple[int, float, float, Signal]] = []

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way or self._waiting(self._rate_class))

    def delay(self, now: float, *, urgent: bool) -> float:
        """Return the seconds until a request may go, or until it should look again."""
        self._count(now)
        is_leased = now < self._until
        if is_leased and (self._may_probe or (self._share and self._allowed >= 1)):
            return 0.0
        if is_leased and self._share:
            return min(_POLL, max(_SHORTEST, (1 - self._allowed) / self._share))
        if not self._has_asked:
            self._has_asked, self._led_at = True, now
            self._alarm()
        elif now - self._led_at > LOST:  # a thread must not wait for ever
            raise ChatRestError(
                f"the coordinator of the cluster's rate has not answered for {LOST:.0f} s; nothing was sent"
            )
        return _POLL

    def _count(self, now: float) -> None:
        """Count what the share has allowed until now."""
        self._allowed += self._share * max(0.0, min(now, self._until) - self._counted_at)
        self._counted_at = now
        self._allowed = min(self._allowed, 1 + self._share * LATE)

    def take(self, now: float, *, urgent: bool) -> None:
        self._sent += 1
        self._under_way += 1
        if self._may_probe:
            self._may_probe = False
        else:
            self._allowed -= 1

    def give_back(self) -> None:
        self._sent -= 1
        self._under_way -= 1
        self._may_probe = self._is_probe
        self._allowed += not self._is_probe

    def forget(self) -> None:
        self._forgotten += 1
        self._under_way -= 1
        if self._is_probe:
            self._alarm()

    def observe(self, now: float, signal: Signal, sent: float) -> None:
        self._under_way -= 1
        self.stated_limit, self.remaining = signal.limit or self.stated_limit, signal.remaining
        epoch = self._epoch if sent >= self._epoch_began else 0
        if signal.limited and epoch:  # what is left of the share is not to be used
            self._struck, self._share = epoch, 0.0
        self._replies.append((epoch, sent, now, signal))
        if signal.limited or self._is_probe:
            self._alarm()

    def receive(self, grant: Grant, now: float) -> bool:
        """Keep to the share of a message of the coordinator; return False for one that is not new."""
        if grant.number <= self._heard:
            return False
        self._count(now)
        self._heard, self._led_at = grant.number, now
        if grant.epoch != self._epoch:
            self._epoch, self._epoch_began = grant.epoch, now
            self._is_probe = self._may_probe = grant.is_probe
        if not self._share or now >= self._until:  # many may get one at the same moment
            self._allowed = min(self._allowed, self._phase)
        place = grant.heard - self._number - 1
        self._until = grant.lease + (self._reports[place] if -len(self._reports) <= place < 0 else -inf)
        self._share = grant.share if grant.epoch > self._struck else 0.0
        self.rate = grant.rate or None
        return True

    def report(self, now: float, *, is_last: bool = False) -> RateReport:
        self._count(now)
        self._number += 1
        self._reports.append(now)
        waiting = self._waiting(self._rate_class)
        self._has_asked = waiting > 0 and (self._share == 0 or now >= self._until)
        if self._may_probe and not waiting:
            self._may_probe = False
            self._forgotten += 1
        replies = [
            ReportedReply(
                epoch, now - sent, signal.limited,
                None if signal.retry_after is None else max(0.0, signal.retry_after - (now - replied)),
            )
            for epoch, sent, replied, signal in self._replies
        ]  # fmt: skip
        report = RateReport(
            self._name, self._rate_class, self._number, self._heard, waiting, self._sent,
            self._epoch, replies, self._forgotten, is_last,
        )  # fmt: skip
        self._sent = self._forgotten = 0
        self._replies = []
        return report
