"""One rate for tasks on many workers: their reports, and the coordinator that divides the rate by its grants.

A **task** runs one part on a worker. The **coordinator**, the process that runs the job, learns the rate of
the service and divides it. A **share** is the part of the rate that one task may use, in requests a second. A
**lease** is the time for which a share is valid. An **epoch** is the time between two 429s. A **probe** is a
single request that finds out whether the service accepts requests again.

| event                                   | the coordinator                                                |
|-----------------------------------------|----------------------------------------------------------------|
| requests of a task wait                 | grants it an equal share of the rate that others do not need   |
| a task sends no report for a while      | grants it nothing more; its share is free when its lease ends  |
| a task reports that it ends             | divides its share again at once                                |
| a reply of the current epoch is a 429   | begins an epoch, in which no task has a share                  |
| the 429 names no time to wait           | begins another epoch, and lets one task send a probe           |

The sum of the valid shares never exceeds the rate, also if messages are late or lost, and no two clocks are
compared: a task counts the seconds of a lease from its report that the grant answers, and the coordinator
from when it received that report, which is later. It divides a share again only when the task has confirmed
a later grant, or when the lease is over.

The coordinator's pacer is the one that a session on one machine has; the replies that tasks report are
replayed into it. The rate is divided every quarter of a second. Pure: time is an argument.
"""

from collections import deque
from collections.abc import Mapping
from math import exp, inf
from typing import Final

from msgspec import Struct

from .._core.pace.pacer import Pace, Pacer
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass

GRANT_SECONDS: Final = 0.25
"""Between two grants to a task that sends requests; longer where there are many tasks."""
LEASE_SECONDS: Final = 3.0
"""For which a share is valid; longer where grants are less frequent."""
_GRANTS_A_LEASE: Final = 4  # at least
_GRANTS_A_SECOND: Final = 200.0  # to all tasks together, at most
_SILENT_SECONDS: Final = 1.5  # without a report, after which a task gets no share
_FORGET_SECONDS: Final = 10.0  # without a report, after which a task is dropped
_AVERAGE_SECONDS: Final = 0.5  # over which the rate of a task's requests is averaged
_SOON_FACTOR: Final = 2.0  # a grant of this many times the present share is sent at once
_GROWTH: Final = 1.3  # times the rate that a task has used lately: the share that it is likely to need
_IDLE_RATE: Final = 0.05  # requests a second: who needs less gets no share


class ReportedReply(Struct, frozen=True, array_like=True):
    epoch: int  # of its request; 0 for one of an earlier epoch than the current one
    age: float  # seconds since the request was sent
    limited: bool = False  # True for a 429
    retry_after: float | None = None  # seconds that remain of those that the 429 named


class RateReport(Struct, frozen=True, array_like=True):
    """A message of a task to the coordinator: how it has used its share since its last report."""

    task: str  # its name, `address#run`
    rate_class: RateClass
    number: int  # grows
    confirmed: int  # the number of the newest grant that it has
    waiting: int = 0  # requests that may not be sent yet
    sent: int = 0
    epoch: int = 0
    replies: list[ReportedReply] = []
    unanswered: int = 0  # requests that brought no reply
    is_last: bool = False  # the task ends, and uses no share any more


class Grant(Struct, frozen=True, array_like=True):
    """A message of the coordinator to a task: its share of the rate of one class."""

    number: int  # grows
    answers: int  # the number of the newest report that the coordinator has of the task
    epoch: int
    share: float  # requests a second
    lease: float  # seconds
    rate: float  # requests a second of the whole cluster
    is_probe: bool = False  # the task may send one request, and reports its reply at once


def equal_shares(rate: float, needs: Mapping[str, float]) -> dict[str, float]:
    """Return shares of all of `rate`: who needs less than an equal one gets that, and part of the rest."""
    shares, remaining = {}, rate
    for count, name in enumerate(sorted(needs, key=needs.__getitem__)):
        shares[name] = min(needs[name], remaining / (len(needs) - count))
        remaining -= shares[name]
    return {name: share + remaining / len(needs) for name, share in shares.items()}


class _Lease(Struct, frozen=True):
    number: int  # of the grant
    share: float
    until: float


class _Task:
    def __init__(self, grant_number: int) -> None:
        self.reported_at = self.granted_at = -inf
        self.report_number, self.grant_number = 0, grant_number
        self.waiting = 0
        self.target_share = 0.0
        """The share that it ought to have; it gets that as soon as others have confirmed to use less."""
        self.epoch = 0
        self._used_rate = 0.0
        self._leases: deque[_Lease] = deque()
        """Those that may be valid, the oldest first."""

    @property
    def share(self) -> float:
        return self._leases[-1].share if self._leases else 0.0

    @property
    def needed_rate(self) -> float:
        """Requests a second that it is likely to send; without a bound while some wait."""
        return inf if self.waiting else _GROWTH * self._used_rate

    def apply_report(self, report: RateReport, now: float) -> None:
        seconds = now - self.reported_at
        self._used_rate = exp(-seconds / _AVERAGE_SECONDS) * self._used_rate + report.sent / _AVERAGE_SECONDS
        if not report.sent and not report.waiting and seconds >= GRANT_SECONDS / 2:
            self._used_rate = 0.0  # others may need all of it
        if report.number > self.report_number:
            self.reported_at, self.report_number, self.waiting = now, report.number, report.waiting
        while self._leases and self._leases[0].number < report.confirmed:
            self._leases.popleft()

    def drop_expired(self, now: float) -> None:
        while self._leases and self._leases[0].until <= now:
            self._leases.popleft()

    @property
    def largest_share(self) -> float:
        return max((lease.share for lease in self._leases), default=0.0)

    def add_lease(self, now: float, share: float, seconds: float) -> None:
        self.grant_number += 1
        self.granted_at = now
        self._leases.append(_Lease(self.grant_number, share, self.reported_at + seconds))


class RateCoordinator:
    """The shares of one rate class; `documented` requests a second are the most that a ramp reaches."""

    def __init__(self, pace: Pace, documented: float) -> None:
        self.pacer: Pacer = Pacer(pace, documented)
        self._epoch = 1
        self._tasks: dict[str, _Task] = {}
        self._probe_task = ""
        """The name of the task that may send a probe, or waits for its reply; empty for none."""
        self._slots_taken_until = -inf
        self._free_rate = 0.0

    @property
    def _rate(self) -> float:
        return 0.0 if self.pacer.held_since is not None else self.pacer.bulk_rate

    def receive(self, report: RateReport, now: float) -> bool:
        """Take a report; return True if there may be a grant to send at once."""
        task = self._tasks.setdefault(report.task, _Task(report.confirmed))
        task.apply_report(report, now)
        if report.epoch == self._epoch and report.unanswered:
            self.pacer.forget()
        for reply in report.replies:
            self._observe(now, reply)
        if report.is_last:
            del self._tasks[report.task]
        has_no_share = task.waiting > 0 and task.share == 0
        return report.is_last or has_no_share or any(reply.limited for reply in report.replies)

    def _observe(self, now: float, reply: ReportedReply) -> None:
        """Pass a reply to the pacer; a 429 of an older epoch says nothing about the present rate."""
        held_since, is_current, sent = self.pacer.held_since, reply.epoch == self._epoch, now - reply.age
        if held_since is not None:
            is_of_probe = bool(self._probe_task) and is_current
            sent = max(sent, held_since + 1e-6) if is_of_probe else min(sent, held_since)
        elif reply.limited and not is_current:
            return
        self.pacer.observe(now, Signal(reply.limited, retry_after=reply.retry_after), sent)
        if held_since is None and self.pacer.held_since is not None:
            self._begin_epoch()
        elif held_since is not None and self.pacer.held_since is None:
            self._probe_task = ""

    def _begin_epoch(self, probe_task: str = "") -> None:
        self._epoch += 1
        self._probe_task = probe_task

    def divide(self, now: float) -> dict[str, Grant]:
        """Divide the rate, and return the grants to send now, by the name of the task."""
        interval = max(GRANT_SECONDS, len(self._tasks) / _GRANTS_A_SECOND)
        silent_seconds = max(_SILENT_SECONDS, 2 * interval)
        for name, task in list(self._tasks.items()):
            task.drop_expired(now)
            if now - task.reported_at > _FORGET_SECONDS and not task.largest_share:
                del self._tasks[name]
        present = {
            name: each for name, each in self._tasks.items() if now - each.reported_at <= silent_seconds
        }
        if self._probe_task and self._probe_task not in present:
            self._probe_task = ""
            self.pacer.forget()
        needs = {name: each.needed_rate for name, each in present.items() if each.needed_rate > _IDLE_RATE}
        self._take_slots(now, needs)
        targets = equal_shares(self._rate, needs)
        for name, task in self._tasks.items():
            task.target_share = targets.get(name, 0.0)
        self._free_rate = max(0.0, self._rate - sum(task.largest_share for task in self._tasks.values()))
        lease = max(LEASE_SECONDS, _GRANTS_A_LEASE * interval)
        return {
            name: self._grant(name, task, now, lease)
            for name, task in present.items()
            if self._is_due(name, task, now, interval)
        }

    def _take_slots(self, now: float, needs: Mapping[str, float]) -> None:
        """Take the pacer's slots until now, which tasks have used; while it holds, the slot of a probe."""
        slot, self._slots_taken_until = max(self._slots_taken_until, now - LEASE_SECONDS), now
        if self.pacer.held_since is None:
            while needs and (next_slot := slot + self.pacer.delay(slot, urgent=False)) <= now:
                self.pacer.take(next_slot, urgent=False)
                slot = next_slot
        elif self.pacer.delay(now, urgent=False) <= 0 and (
            probe_task := next((name for name in needs if self._tasks[name].waiting), "")
        ):
            self.pacer.take(now, urgent=False)
            if self.pacer.held_since is not None:
                self._begin_epoch(probe_task)
                self._tasks[probe_task] = self._tasks.pop(probe_task)  # the next probe is another task's

    def _is_due(self, name: str, task: _Task, now: float, interval: float) -> bool:
        """Return True if a task is to get a grant now; a change of the epoch ends the share that it has."""
        if now - task.granted_at >= interval and (task.waiting or task.share or task.target_share):
            return True
        if task.epoch != self._epoch:
            return bool(task.share or task.target_share or name == self._probe_task)
        return min(task.target_share, task.share + self._free_rate) > _SOON_FACTOR * task.share

    def _grant(self, name: str, task: _Task, now: float, lease: float) -> Grant:
        largest = task.largest_share
        share = min(task.target_share, largest + self._free_rate)
        self._free_rate -= max(0.0, share - largest)
        task.add_lease(now, share, lease)
        task.epoch = self._epoch
        is_probe = name == self._probe_task
        return Grant(task.grant_number, task.report_number, self._epoch, share, lease, self._rate, is_probe)
