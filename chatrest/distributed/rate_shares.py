"""One rate for a cluster: the coordinator's own pacer learns it, and each worker sends at a share of it.

Pure: time is an argument. The pacer is the one that a session on one machine has; the replies that workers
report are replayed into it. Its rate is dealt again every quarter of a second.

| event                          | what follows                                                              |
|--------------------------------|---------------------------------------------------------------------------|
| requests of a worker wait      | it gets an equal share of what the others are not likely to use           |
| a worker says nothing more     | it gets no further share; what it has is over with its lease, or at once  |
|                                | where it has said that it ends                                            |
| a 429 of the present epoch     | a new epoch: no worker has a share                                        |
| a hold without a named end     | one worker may send one request, in another epoch: a probe                |

A share is leased. The worker counts the seconds from its report that the message answers, the coordinator
from when it heard that report, which is later. Only what a worker has confirmed to have no more, or whose
lease is over, is dealt again. So the shares in use never exceed the rate, whatever is late or lost, and no
clock is compared.
"""

from collections import deque
from collections.abc import Callable, Mapping
from math import exp, inf
from typing import Final

from msgspec import Struct

from .._core.pace.pacer import Pace, Pacer, RateSource
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass
from ..errors import ChatRestError

EVERY: Final = 0.25
"""Seconds between two messages to a worker that sends requests."""
LEASE: Final = 3.0
"""Seconds for which a share lasts; longer where messages are less frequent."""
_LEASED_MESSAGES: Final = 4  # a lease lasts for as many
_MESSAGES_A_SECOND: Final = 200.0  # to all workers together; beyond, each hears less often
_SILENT: Final = 1.5  # seconds without a word after which a worker gets no share
_FORGOTTEN: Final = 10.0
_SMOOTH: Final = 0.5  # seconds over which the rate of a worker's requests is averaged
_MORE: Final = 2.0  # times what a worker has: it is told at once where it may have as much
_LIKELY: Final = 1.3  # times what a worker has sent of late: what it is likely to send
_IDLE: Final = 0.05  # requests a second: fewer need no share


class ReportedReply(Struct, frozen=True, array_like=True):
    epoch: int  # of its request; 0 for one that is over
    age: float  # seconds since the request was sent
    limited: bool = False
    retry_after: float | None = None  # seconds, less those since the reply


class RateReport(Struct, frozen=True, array_like=True):
    """The message of a worker to the coordinator: the use of its share since the last one."""

    worker: str
    rate_class: RateClass
    number: int  # grows
    heard: int  # the number of the coordinator's last message
    waiting: int = 0  # requests that may not go yet
    sent: int = 0
    epoch: int = 0
    replies: list[ReportedReply] = []
    forgotten: int = 0  # requests that brought no reply
    is_last: bool = False  # it uses no share any more


class Grant(Struct, frozen=True, array_like=True):
    """The message of the coordinator to a worker: its share of the rate of one class."""

    number: int  # grows
    heard: int  # the number of the worker's last report
    epoch: int
    share: float  # requests a second
    lease: float  # seconds
    rate: float  # requests a second of the whole cluster
    is_probe: bool = False  # one request may go, whose reply is to be reported at once


def deal(rate: float, wanted: Mapping[str, float]) -> dict[str, float]:
    """Return shares of all of `rate`: who wants less than an equal one gets that, and part of the rest."""
    shares, left = {}, rate
    for place, name in enumerate(sorted(wanted, key=wanted.__getitem__)):
        shares[name] = min(wanted[name], left / (len(wanted) - place))
        left -= shares[name]
    return {name: share + left / len(wanted) for name, share in shares.items()}


class _Lease(Struct, frozen=True):
    number: int  # of the message
    share: float
    until: float


class _Member:
    def __init__(self, number: int) -> None:
        self.heard_at = self.granted_at = -inf
        self.report, self.number = 0, number
        self.waiting = 0
        self.target = 0.0
        self.epoch = 0
        self._used = 0.0
        self._leases: deque[_Lease] = deque()  # that it may be using

    @property
    def share(self) -> float:
        return self._leases[-1].share if self._leases else 0.0

    @property
    def wanted(self) -> float:
        """Requests a second that it would send; without a bound while some wait."""
        return inf if self.waiting else _LIKELY * self._used

    def hear(self, report: RateReport, now: float) -> None:
        seconds = now - self.heard_at
        self._used = exp(-seconds / _SMOOTH) * self._used + report.sent / _SMOOTH
        if not report.sent and not report.waiting and seconds >= EVERY / 2:  # others may want all of it
            self._used = 0.0
        if report.number > self.report:
            self.heard_at, self.report, self.waiting = now, report.number, report.waiting
        while self._leases and self._leases[0].number < report.heard:
            self._leases.popleft()

    def bound(self, now: float) -> float:
        """Return the most that it may be using."""
        while self._leases and self._leases[0].until <= now:
            self._leases.popleft()
        return max((lease.share for lease in self._leases), default=0.0)

    def lease(self, now: float, share: float, seconds: float) -> None:
        self.number += 1
        self.granted_at = now
        self._leases.append(_Lease(self.number, share, self.heard_at + seconds))


class RateShares:
    """The shares of one rate class; `documented` requests a second are the most that a ramp reaches."""

    def __init__(self, pace: Pace, documented: float) -> None:
        self.pacer: Pacer = Pacer(pace, documented)
        self._epoch = 1
        self._members: dict[str, _Member] = {}
        self._prober = ""
        self._replayed_at = -inf
        self._free = 0.0

    @property
    def _rate(self) -> float:
        return 0.0 if self.pacer.held_since is not None else self.pacer.bulk_rate

    # ── reports ──

    def hear(self, report: RateReport, now: float) -> bool:
        """Take a report; return True if there may be something to send at once."""
        member = self._members.setdefault(report.worker, _Member(report.heard))
        member.hear(report, now)
        if report.epoch == self._epoch and self._prober and report.forgotten:
            self.pacer.forget()
        for reply in report.replies:
            self._observe(now, reply)
        if report.is_last:
            del self._members[report.worker]
        is_starving = member.waiting > 0 and member.share == 0
        return report.is_last or is_starving or any(reply.limited for reply in report.replies)

    def _observe(self, now: float, reply: ReportedReply) -> None:
        """Pass a reply to the pacer; a 429 of an older epoch says nothing about the present rate."""
        held_since, is_current, sent = self.pacer.held_since, reply.epoch == self._epoch, now - reply.age
        if held_since is not None:
            is_probe = bool(self._prober) and is_current
            sent = max(sent, held_since + 1e-6) if is_probe else min(sent, held_since)
        elif reply.limited and not is_current:
            return
        self.pacer.observe(now, Signal(reply.limited, retry_after=reply.retry_after), sent)
        if held_since is None and self.pacer.held_since is not None:
            self._begin_epoch()
        elif held_since is not None and self.pacer.held_since is None:
            self._prober = ""

    def _begin_epoch(self, prober: str = "") -> None:
        self._epoch += 1
        self._prober = prober

    # ── shares ──

    def grants(self, now: float) -> dict[str, Grant]:
        """Deal the rate, and return the messages that are to be sent now."""
        every = max(EVERY, len(self._members) / _MESSAGES_A_SECOND)
        silent = max(_SILENT, 2 * every)
        for name, member in list(self._members.items()):
            if now - member.heard_at > _FORGOTTEN and not member.bound(now):
                del self._members[name]
        asking = {name: each for name, each in self._members.items() if now - each.heard_at <= silent}
        if self._prober and self._prober not in asking:
            self._prober = ""
            self.pacer.forget()
        wanted = {name: member.wanted for name, member in asking.items() if member.wanted > _IDLE}
        self._take(now, wanted)
        targets = deal(self._rate, wanted)
        for name, member in self._members.items():
            member.target = targets.get(name, 0.0)
        self._free = max(0.0, self._rate - sum(member.bound(now) for member in self._members.values()))
        lease = max(LEASE, _LEASED_MESSAGES * every)
        return {
            name: self._grant(name, member, now, lease)
            for name, member in asking.items()
            if self._is_due(name, member, now, every)
        }

    def _take(self, now: float, wanted: Mapping[str, float]) -> None:
        """Take the pacer's slots until now, which the shares of the workers were, or the one of a probe."""
        began, self._replayed_at = max(self._replayed_at, now - LEASE), now
        if self.pacer.held_since is None:
            while wanted and (at := began + self.pacer.delay(began, urgent=False)) <= now:
                self.pacer.take(at, urgent=False)
                began = at
        elif self.pacer.delay(now, urgent=False) <= 0 and (
            prober := next((name for name in wanted if self._members[name].waiting), "")
        ):
            self.pacer.take(now, urgent=False)
            if self.pacer.held_since is not None:
                self._begin_epoch(prober)
                self._members[prober] = self._members.pop(prober)  # the next probe is another worker's

    def _is_due(self, name: str, member: _Member, now: float, every: float) -> bool:
        if now - member.granted_at >= every and (member.waiting or member.share or member.target):
            return True
        if member.epoch != self._epoch:  # it must not use what it has
            return bool(member.share or member.target or name == self._prober)
        return min(member.target, member.share + self._free) > _MORE * member.share

    def _grant(self, name: str, member: _Member, now: float, lease: float) -> Grant:
        bound = member.bound(now)
        share = min(member.target, bound + self._free)
        self._free -= max(0.0, share - bound)
        member.lease(now, share, lease)
        member.epoch = self._epoch
        is_probe = name == self._prober
        return Grant(member.number, member.report, self._epoch, share, lease, self._rate, is_probe)


# ── a worker's side: the pacers of its gates keep to the shares that it was given ──

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
