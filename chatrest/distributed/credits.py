"""One rate for a cluster, by credits: the coordinator's own pacer gives single slots to the workers that ask.

Pure: time is an argument. The pacer is the one that a session on one machine has. It is asked for the slots
of the next 0.3 s, each of which goes to one worker, and what became of them is replayed into it. If the
coordinator is slow, each grant covers the longer interval.

| event                           | what follows                                                             |
|---------------------------------|--------------------------------------------------------------------------|
| a worker says what it wants     | slots in turns: first for requests that wait, then for those that a      |
|                                 | worker is likely to make until then, by what it has sent of late         |
| a 429 of the present epoch      | a new epoch: all lists are empty, and nobody gets a slot                 |
| a hold without a named end      | one worker at a time gets one slot, in another epoch: a probe           |
| a worker says nothing more      | it gets no slots; those that it has are over within the horizon          |

A message to a worker has all slots that it may still use, so the next one makes up for one that was late or
lost. Slots are no nearer than messages take. Times are those of the coordinator's clock; `CreditPacer` learns
by how much its own one differs. So nothing that is late, lost or in disorder makes a slot count twice.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from math import exp, inf
from statistics import median
from typing import Final, final

from msgspec import Struct

from .._core.pace.pacer import DOCUMENTED_RATES, Pace, Pacer
from .._core.replies.rate_signal import Signal
from .._core.requests.endpoint import RateClass

HORIZON: Final = 0.3
"""Seconds for which slots are handed out ahead."""
LATE: Final = 0.1
"""Seconds after which a slot that was not used is lost: a worker that has much to do is woken late."""
EVERY: Final = 0.1
"""Seconds between two messages to a worker that uses its slots."""
_LEAD: Final = 0.04  # seconds before the nearest slot, as a worker looks for it from time to time
_FARTHEST: Final = 3.0  # seconds that messages may take, at the most
_SILENT: Final = 1.5  # seconds without a word after which a worker gets nothing, beside what messages take
_MUTE: Final = 0.5  # seconds without an answer, beside what messages take, after which few more are sent
_FORGOTTEN: Final = 10.0
_ALIVE: Final = 1.0  # seconds after which a worker hears of the coordinator, whatever it wants
_SMOOTH: Final = 0.5  # seconds over which the rate of a worker's requests is averaged
_LIKELY: Final = 1.3  # times what a worker has sent of late: what it is likely to send
_MESSAGES_A_SECOND: Final = 200.0  # to all workers together; beyond, each hears less often
_LEAST_FULL: Final = 0.8  # of the slots: where fewer were used, the rate was not in full use
_JUDGED: Final = 0.3  # seconds of the rate over which that is judged
_STALLS: Final = 5.0  # seconds for which a late look of the coordinator counts
_LONGER: Final = 1.5  # times as long as such a look was late: slots last until the next one


class Refusal(Struct, frozen=True, array_like=True):
    """A request that was answered 429."""

    epoch: int
    sent: float
    retry_after: float | None = None  # seconds, less those since the reply


class Usage(Struct, frozen=True, array_like=True):
    """The use of a worker's slots of one rate class since its last report."""

    waiting: int = 0  # requests without a slot
    sent: int = 0
    missed: int = 0  # slots of the present epoch that were over before a request wanted them
    epoch: int = 0
    first: int = 0  # of its slots that are left, for a coordinator that has forgotten the worker
    accepted: dict[int, list[float]] = {}  # when they were sent, by epoch and the coordinator's clock
    refused: list[Refusal] = []
    forgotten: int = 0  # requests that brought no reply


class RateReport(Struct, frozen=True, array_like=True):
    """The message of a worker to the coordinator."""

    worker: str
    number: int  # grows
    heard: int  # the number of the coordinator's last message
    usages: dict[RateClass, Usage] = {}


class Grant(Struct, frozen=True, array_like=True):
    """The slots of one rate class that a worker may still use."""

    epoch: int
    rate: float  # requests a second of the whole cluster
    first: int  # the number of the first slot, counted from the worker's first one
    slots: list[float]
    is_probe: bool = False  # the reply is to be reported at once


class Grants(Struct, frozen=True, array_like=True):
    """The message of the coordinator to a worker."""

    number: int  # grows
    at: float  # when it was sent
    heard: int  # the number of the worker's last report
    classes: dict[RateClass, Grant] = {}


@final
class SlotHolder:
    """One worker and one rate class, as the coordinator knows it."""

    def __init__(self, first: int) -> None:
        self.waiting = 0
        self.first = first
        self.slots: deque[float] = deque()
        self.is_due = self.is_urgent = True
        """Whether it has to hear of a change, and at once: it has nothing, or must not use what it has."""
        self._used = 0.0
        self._heard_at: float | None = None

    def hear(self, usage: Usage, now: float, *, is_newest: bool) -> None:
        seconds = max(1e-3, now - self._heard_at) if self._heard_at is not None else _SMOOTH
        keep = exp(-seconds / _SMOOTH)
        self._used = keep * self._used + (1 - keep) * usage.sent / seconds
        self._heard_at = now
        if is_newest:
            self.waiting = usage.waiting

    def likely(self, seconds: float) -> int:
        """Return how many requests it is likely to send in the next so many seconds."""
        return int(_LIKELY * self._used * seconds) + (1 if self.waiting else 0)

    def drop(self, before: float) -> None:
        while self.slots and self.slots[0] < before:
            self.slots.popleft()
            self.first += 1

    def add(self, slot: float) -> None:
        self.is_due = True
        self.is_urgent |= not self.slots
        self.slots.append(slot)

    def clear(self) -> None:
        """Take all slots away, by a new epoch."""
        self.first += len(self.slots)
        self.slots.clear()
        self.is_due = self.is_urgent = True


@final
class Credits:
    """The slots of one rate class; `documented` requests a second are the most that a ramp reaches."""

    def __init__(self, pace: Pace, documented: float) -> None:
        self.pacer: Pacer = Pacer(pace, documented)
        self.epoch: int = 1
        self.members: dict[str, SlotHolder] = {}
        self._is_probing = False
        self._used = self._missed = 0

    # ── what has become of slots ──

    def hear(self, worker: str, usage: Usage, now: float, *, is_newest: bool) -> None:
        if worker not in self.members:
            self.members[worker] = SlotHolder(usage.first)
        self.members[worker].hear(usage, now, is_newest=is_newest)
        if usage.epoch == self.epoch:
            self._judge(len(usage.accepted.get(self.epoch, ())), usage.missed, now)
            if self._is_probing and (usage.missed or usage.forgotten):
                self.pacer.forget()
        for epoch, times in usage.accepted.items():
            for sent in times:
                self._observe(now, Signal(False), sent, epoch)
        for refusal in usage.refused:
            self._observe(now, Signal(True, retry_after=refusal.retry_after), refusal.sent, refusal.epoch)

    def _observe(self, now: float, signal: Signal, sent: float, epoch: int) -> None:
        """Pass a reply to the pacer; one of an older epoch says nothing about the present rate."""
        held_since, is_probe = self.pacer.held_since, self._is_probing and epoch == self.epoch
        if held_since is not None:
            sent = max(sent, held_since + 1e-6) if is_probe else min(sent, held_since)
        elif signal.limited and epoch != self.epoch:
            return
        self.pacer.observe(now, signal, sent)
        if held_since is None and self.pacer.held_since is not None:
            self._begin_epoch()
        elif held_since is not None and self.pacer.held_since is None:
            self._is_probing = False

    def _begin_epoch(self) -> None:
        self.epoch += 1
        self._is_probing = False
        self._used = self._missed = 0
        for member in self.members.values():
            member.clear()

    def _judge(self, used: int, missed: int, now: float) -> None:
        """Let the pacer begin again with its trial where too many slots were not used."""
        self._used, self._missed = self._used + used, self._missed + missed
        count = self._used + self._missed
        if count >= max(2.0, _JUDGED * self.pacer.bulk_rate):
            if self._used < _LEAST_FULL * count:
                self.pacer.miss(now)
            self._used = self._missed = 0

    # ── handing out ──

    def is_starving(self, worker: str) -> bool:
        """Return True if requests of a worker wait that has no slots, and may be given some."""
        member = self.members[worker]
        return member.waiting > 0 and not member.slots and self.pacer.held_since is None

    def hand_out(self, now: float, asking: Mapping[str, float], seconds: float) -> None:
        """Hand out the slots of so many seconds; `asking` are the workers, with the seconds of messages."""
        if not asking:
            return
        for member in self.members.values():
            member.drop(now - LATE)
        lead = max(_LEAD, median(asking.values()))
        for name in self._in_turn(asking, lead + seconds):
            wait = self.pacer.delay(now + lead, urgent=False)
            if wait > (0 if self.pacer.held_since is not None else seconds):
                return
            at = now + lead + wait
            self.pacer.take(at, urgent=False)
            if self.pacer.held_since is not None:
                self._begin_epoch()
                self._is_probing = True
            member = self.members[name] = self.members.pop(name)  # it is the last one in the next turn
            member.add(at)

    def _in_turn(self, asking: Mapping[str, float], horizon: float) -> Iterator[str]:
        """Yield whose turn it is: of workers whose requests wait, then of those that are likely to ask."""
        for is_firm in (True, False):
            turn = {}
            for name in filter(asking.__contains__, self.members):
                member = self.members[name]
                turn[name] = (member.waiting if is_firm else member.likely(horizon)) - len(member.slots)
            while turn := {name: left for name, left in turn.items() if left > 0}:
                for name in turn:
                    yield name
                    turn[name] -= 1

    def grant(self, worker: str) -> Grant:
        """Return the message for a worker now."""
        member = self.members[worker]
        member.is_due = member.is_urgent = False
        rate = 0.0 if self.pacer.held_since is not None else self.pacer.bulk_rate
        return Grant(self.epoch, rate, member.first, list(member.slots), self._is_probing)


class _Line:
    """The messages to and from one worker."""

    def __init__(self, now: float, number: int) -> None:
        self.heard_at = now
        self.report, self.number = 0, number
        self.granted_at = -inf
        self._sent: deque[tuple[int, float]] = deque(maxlen=64)
        self._seconds: deque[float] = deque(maxlen=9)

    @property
    def seconds(self) -> float:
        """The time that messages take, to the worker and back."""
        return min(_FARTHEST, median(self._seconds)) if self._seconds else 0.0

    def hear(self, report: RateReport, now: float) -> None:
        self.heard_at, self.report = now, max(self.report, report.number)
        while self._sent and self._sent[0][0] <= report.heard:
            number, sent = self._sent.popleft()
            if number == report.heard:
                self._seconds.append(now - sent)

    def is_mute(self, now: float) -> bool:
        """Return True if it has answered nothing for long: it may be dead."""
        return bool(self._sent) and now - self._sent[0][1] > _MUTE + 2 * self.seconds

    def next(self, now: float) -> int:
        self.number += 1
        self.granted_at = now
        self._sent.append((self.number, now))
        return self.number


@final
class CreditBook:
    """The rate of one app, shared by the workers of a cluster."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self.classes: dict[RateClass, Credits] = {}
        self._lines: dict[str, _Line] = {}
        self._looked_at: float | None = None
        self._stall = 0.0

    def hear(self, report: RateReport, now: float) -> bool:
        """Take a report; return True if there is something to send at once."""
        line = self._lines.setdefault(report.worker, _Line(now, report.heard))
        is_newest = report.number > line.report
        line.hear(report, now)
        for rate_class, usage in report.usages.items():
            if rate_class not in self.classes:
                self.classes[rate_class] = Credits(self._pace, DOCUMENTED_RATES[rate_class])
            self.classes[rate_class].hear(report.worker, usage, now, is_newest=is_newest)
        return any(
            each.is_starving(report.worker) or report.usages[rate_class].refused
            for rate_class, each in self.classes.items()
            if rate_class in report.usages
        )

    def grants(self, now: float) -> dict[str, Grants]:
        """Hand out slots, and return the messages that are to be sent now."""
        for name in [name for name, line in self._lines.items() if now - line.heard_at > _FORGOTTEN]:
            del self._lines[name]
            for each in self.classes.values():
                each.members.pop(name, None)
        every, stall = max(EVERY, len(self._lines) / _MESSAGES_A_SECOND), self._late(now)
        asking = {
            name: line.seconds
            for name, line in self._lines.items()
            if now - line.heard_at <= _SILENT + line.seconds + max(every, stall)
        }
        for each in self.classes.values():
            each.hand_out(now, asking, max(HORIZON * every / EVERY, _LONGER * stall))
        return {name: self._grants(name, now) for name in asking if self._is_due(name, now, every)}

    def _late(self, now: float) -> float:
        """Return the seconds between two looks of late: more on a busy machine."""
        seconds = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        self._stall = min(_FARTHEST, max(seconds, self._stall * exp(-seconds / _STALLS)))
        return self._stall

    def _is_due(self, name: str, now: float, every: float) -> bool:
        members = [each.members[name] for each in self.classes.values() if name in each.members]
        line, before = self._lines[name], self._lines[name].granted_at
        if now - before >= _ALIVE and any(member.waiting for member in members):
            return True
        if line.is_mute(now - self._stall):
            return False
        if any(member.is_urgent for member in members):
            return True
        is_time = now // every > before // every  # at the same time for all, so that they share a call
        return is_time and any(member.is_due for member in members)

    def _grants(self, name: str, now: float) -> Grants:
        line, known = self._lines[name], self.classes.items()
        classes = {rate_class: each.grant(name) for rate_class, each in known if name in each.members}
        return Grants(line.next(now), now, line.report, classes)
