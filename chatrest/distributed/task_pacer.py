"""A task's side of one rate for a cluster: the pacer of its requests, which keeps to the granted share.

It replaces the `Pacer` of a session on one machine. Pure: time is an argument; `rate_coordinator`
has the rules.
"""

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

from .._core.pace.pacer import RateSource
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass
from ..errors import ChatRestError
from .rate_coordinator import Grant, RateReport, ReportedReply

CATCH_UP_SECONDS: Final = 0.1
"""Of a share that is not lost if a task is woken late."""
COORDINATOR_SECONDS: Final = 60.0
"""Without a grant, after which a request that waits fails."""
_POLL_SECONDS: Final = 0.05  # after which a request that waits looks again, as the share may have changed
_MIN_SECONDS: Final = 1e-3  # less is not worth a sleep
_REMEMBERED_REPORTS: Final = 64  # for the time at which the one was sent that a grant answers


class _Reply(NamedTuple):
    epoch: int
    sent: float
    received: float
    signal: Signal


class TaskPacer:
    """The pacer of one rate class in one task.

    `name` is the task's. `waiting` gives the number of requests of a class that wait. `request_report` is
    called if a report should be sent soon. `head_start`, from 0 to 1, is the part of the first request that
    is allowed at once: tasks that begin together then do not send together.
    """

    rate_source: RateSource = "learnt"
    is_probing: bool = True  # the share may change at any time

    def __init__(
        self, name: str, rate_class: RateClass, waiting: Callable[[RateClass], int],
        request_report: Callable[[], object], head_start: float = 0.0,
    ) -> None:  # fmt: skip
        self.stated_limit: float | None = None
        self.rate: float | None = None
        """Requests a second of the whole cluster; None while there are none."""
        self._name, self._rate_class = name, rate_class
        self._waiting, self._request_report = waiting, request_report
        self._report_number = self._grant_number = 0
        self._report_times: deque[float] = deque(maxlen=_REMEMBERED_REPORTS)
        self._share, self._lease_end = 0.0, -inf
        self._head_start = self._allowance = head_start  # requests that may be sent
        self._allowance_at = -inf
        self._epoch = self._limited_epoch = 0
        self._epoch_began = -inf
        self._is_prober = self._may_send_probe = self._has_requested_report = False
        self._silent_since = -inf
        self._sent = self._unanswered = self._under_way = 0
        self._replies: list[_Reply] = []

    @property
    def is_busy(self) -> bool:
        """True while a request is under way or waits: then the coordinator needs reports."""
        return bool(self._under_way or self._waiting(self._rate_class))

    def delay(self, now: float, *, urgent: bool) -> float:
        """Return the seconds until a request may be sent, or until it should look again.

        Raises `ChatRestError` after a minute without a grant, as the part's thread must not wait for ever.
        """
        self._update_allowance(now)
        is_leased = now < self._lease_end
        if is_leased and (self._may_send_probe or (self._share and self._allowance >= 1)):
            return 0.0
        if is_leased and self._share:
            return min(_POLL_SECONDS, max(_MIN_SECONDS, (1 - self._allowance) / self._share))
        if not self._has_requested_report:
            self._has_requested_report, self._silent_since = True, now
            self._request_report()
        elif now - self._silent_since > COORDINATOR_SECONDS:
            raise ChatRestError(
                f"the coordinator of the cluster's rate has not answered for {COORDINATOR_SECONDS:.0f} s; "
                "nothing was sent"
            )
        return _POLL_SECONDS

    def _update_allowance(self, now: float) -> None:
        self._allowance += self._share * max(0.0, min(now, self._lease_end) - self._allowance_at)
        self._allowance_at = now
        self._allowance = min(self._allowance, 1 + self._share * CATCH_UP_SECONDS)

    def take(self, now: float, *, urgent: bool) -> None:
        self._sent += 1
        self._under_way += 1
        if self._may_send_probe:
            self._may_send_probe = False
        else:
            self._allowance -= 1

    def give_back(self) -> None:
        self._sent -= 1
        self._under_way -= 1
        self._may_send_probe = self._is_prober
        self._allowance += not self._is_prober

    def forget(self) -> None:
        self._unanswered += 1
        self._under_way -= 1
        if self._is_prober:
            self._request_report()

    def observe(self, now: float, signal: Signal, sent: float) -> None:
        self._under_way -= 1
        self.stated_limit = signal.limit or self.stated_limit
        epoch = self._epoch if sent >= self._epoch_began else 0
        if signal.is_limited and epoch:  # the rest of the share must not be used
            self._limited_epoch, self._share = epoch, 0.0
        self._replies.append(_Reply(epoch, sent, now, signal))
        if signal.is_limited or self._is_prober:
            self._request_report()

    def receive(self, grant: Grant, now: float) -> bool:
        """Keep to the share of a grant from now on; return False for one that is not new."""
        if grant.number <= self._grant_number:
            return False
        self._update_allowance(now)
        self._grant_number, self._silent_since = grant.number, now
        if grant.epoch != self._epoch:
            self._epoch, self._epoch_began = grant.epoch, now
            self._is_prober = self._may_send_probe = grant.is_probe
        if not self._share or now >= self._lease_end:  # many tasks may get one at the same moment
            self._allowance = min(self._allowance, self._head_start)
        index = grant.answers - self._report_number - 1
        is_remembered = -len(self._report_times) <= index < 0
        self._lease_end = grant.lease + (self._report_times[index] if is_remembered else -inf)
        self._share = grant.share if grant.epoch > self._limited_epoch else 0.0
        self.rate = grant.rate or None
        return True

    def report(self, now: float, *, is_last: bool = False) -> RateReport:
        """Return the next report to send, and begin to count for the one after it."""
        self._update_allowance(now)
        self._report_number += 1
        self._report_times.append(now)
        waiting = self._waiting(self._rate_class)
        self._has_requested_report = waiting > 0 and (self._share == 0 or now >= self._lease_end)
        if self._may_send_probe and not waiting:  # another task can send it
            self._may_send_probe = False
            self._unanswered += 1
        report = RateReport(
            self._name, self._rate_class, self._report_number, self._grant_number, waiting, self._sent,
            self._epoch, [_reported(reply, now) for reply in self._replies], self._unanswered, is_last,
        )  # fmt: skip
        self._sent = self._unanswered = 0
        self._replies = []
        return report


def _reported(reply: _Reply, now: float) -> ReportedReply:
    retry_after = reply.signal.retry_after
    if retry_after is not None:
        retry_after = max(0.0, retry_after - (now - reply.received))
    return ReportedReply(reply.epoch, now - reply.sent, reply.signal.is_limited, retry_after)
