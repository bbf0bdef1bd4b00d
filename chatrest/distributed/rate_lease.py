"""A worker's side of the one rate of a cluster: the pacer of a gate that follows a grant of the coordinator.

| state   | a request goes                                              | until                              |
|---------|-------------------------------------------------------------|------------------------------------|
| none    | not at all                                                  | a grant                            |
| granted | at evenly spread slots of the grant's rate                  | a 429: paused; the grant ends: none|
| probe   | once, and its reply is reported                             | the next grant                     |
| paused  | not at all: the coordinator does not know of the 429 yet    | a grant that was made after it     |

A grant that is not renewed ends, so a worker that lost its coordinator sends nothing after three seconds.
Pure but for its lock: time is an argument. Several sessions of a worker, in threads, may share one.
"""

from bisect import bisect_right
from collections.abc import Callable
from math import inf
from threading import Lock
from typing import Final, final

from msgspec import Struct

from ..core.pace.pacer import RateSource, Signal
from ..errors import ChatRestError
from .rate_messages import LEASE_SECONDS, Grant, Refusal, Usage

POLL: Final = 0.05
"""Seconds after which a waiting request looks again while nothing was granted."""
LOST: Final = 60.0
"""Seconds without a grant after which a request that waits fails."""
_LOOK: Final = 0.25  # seconds after which a gate looks again, at the latest
_LATE: Final = 0.02  # seconds that a request may be woken after its slot without losing it
_REMEMBERED: Final = 32  # grants, to find the one under which a request was sent
_ALIGNED: Final = 0.1  # of an interval: a smaller shift of the slots is the network's


class _LeasedSlots:
    """Slots at even distances, and the time in which all of them were used."""

    def __init__(self) -> None:
        self.next = -inf
        self._used_since = inf
        self._counted = -inf

    def take(self, now: float, interval: float) -> None:
        """Take the next slot."""
        if self.next < now - _LATE - interval:  # a slot was left unused
            self._used_since = now
        self.next = max(self.next, now - _LATE) + interval

    def align(self, now: float, interval: float, phase: float | None) -> None:
        """Move the slots to a new interval, and to a phase if one is given."""
        if self.next < now - _LATE:
            self.next = self._used_since = now + (phase or 0.0) % interval
            return
        self.next = min(self.next, now + interval)
        if phase is not None:
            shift = (now + phase - self.next + interval / 2) % interval - interval / 2
            if abs(shift) > _ALIGNED * interval:
                self.next += shift if self.next + shift >= now else shift + interval

    def full_seconds(self, now: float, interval: float) -> float:
        """Return the further seconds until `now` in which all slots were used."""
        if self.next < now - _LATE - interval:
            self._used_since = inf
        since = max(self._counted, self._used_since)
        self._counted = now
        return max(0.0, now - since)


class _Tally(Struct):
    """The events since the last report."""

    sent: int = 0
    accepted: int = 0
    oldest: float = inf
    newest: float = -inf
    probe: bool | None = None
    probe_refused: bool = False
    refusals: list[tuple[float, float, float | None]] = []
    """The times of sending and of the reply, and the seconds that it named."""


@final
class LeasedPacer:
    """The pacer of one rate class on one worker; `alarm` is called when a report should go at once."""

    def __init__(self, alarm: Callable[[], object]) -> None:
        self.stated_limit: float | None = None
        """The limit as the last reply stated it."""
        self.remaining: float | None = None
        """The requests that remain, as the last reply stated it."""
        self._alarm = alarm
        self._tenure = _Tenure()
        self._slots = _LeasedSlots()
        self._tally = _Tally()
        self._waits_until = -inf
        self._heard_at: float | None = None
        self._lock = Lock()

    @property
    def rate(self) -> float | None:
        """Requests a second that are let go; None while nothing was granted."""
        return self._tenure.rate or None

    @property
    def rate_source(self) -> RateSource:
        """The source of the rate: the coordinator learns it."""
        return "learnt"

    @property
    def is_probing(self) -> bool:
        """True: a new grant may come at any time, before a slot that is far away."""
        return True

    def is_waiting(self, now: float) -> bool:
        """Return True while requests wait for slots."""
        return self._waits_until >= now

    def delay(self, now: float, *, urgent: bool) -> float:
        """Return the seconds until a request may go, or until it should look again."""
        with self._lock:
            tenure = self._tenure
            if tenure.may_probe(now):
                return 0.0
            wait = POLL if tenure.rate_at(now) <= 0 else self._slots.next - now
            self._check_is_led(now)
            if wait <= 1e-6:
                return 0.0
            is_new = self._waits_until < now
            self._waits_until = now + min(wait, _LOOK) + _LATE
        if is_new:
            self._alarm()
        return wait

    def take(self, now: float, *, urgent: bool) -> None:
        """Note that a request goes now."""
        with self._lock:
            tenure = self._tenure
            self._tally.sent += 1
            if tenure.may_probe(now):
                tenure.probed_at = now
            elif (rate := tenure.rate_at(now)) > 0:
                self._slots.take(now, 1 / rate)

    def give_back(self) -> None:
        """Take back the request that was let go last: it is not sent."""
        with self._lock:
            self._tally.sent -= 1
            if self._tenure.rate:
                self._slots.next -= 1 / self._tenure.rate
        self.forget()

    def forget(self) -> None:
        """Note that a request that was let go brought no reply."""
        with self._lock:
            is_probe = self._tenure.end_probe()
            if is_probe:
                self._tally.probe = False
        if is_probe:
            self._alarm()

    def observe(self, now: float, signal: Signal, sent: float) -> None:
        """Note the reply to a request that was sent at `sent`."""
        with self._lock:
            self.stated_limit = signal.limit or self.stated_limit
            self.remaining = signal.remaining
            tally, tenure = self._tally, self._tenure
            is_probe = tenure.is_of_probe(sent) and tenure.end_probe()
            if signal.limited:
                tenure.pause()
                tally.refusals.append((sent, now, signal.retry_after))
                tally.probe_refused = is_probe
            else:
                tally.accepted += 1
                tally.oldest, tally.newest = min(tally.oldest, sent), max(tally.newest, sent)
                tally.probe = True if is_probe else tally.probe
        if signal.limited or is_probe:
            self._alarm()

    def receive(self, grant: Grant, now: float, seconds: float = LEASE_SECONDS) -> bool:
        """Follow a new grant, valid for `seconds`; return False for one that is not new."""
        with self._lock:
            if not self._tenure.follow(grant, now, seconds):
                return False
            self._heard_at = now
            if grant.rate > 0:
                self._slots.align(now, 1 / grant.rate, grant.phase)
            return True

    def _check_is_led(self, now: float) -> None:
        """Raise `ChatRestError` after a minute without a grant: a worker's thread must not wait for ever."""
        if self._heard_at is None:
            self._heard_at = now
        if now - self._heard_at > LOST:
            raise ChatRestError(
                f"the coordinator of the cluster's rate has not answered for {LOST:.0f} s; nothing was sent"
            )

    def usage(self, now: float, report: int) -> Usage:
        """Return the use since the last call, for the report of this number."""
        with self._lock:
            tenure, tally, self._tally = self._tenure, self._tally, _Tally()
            if tenure.lost_probe(now):
                tally.probe = False
            if tally.refusals:
                tenure.refusal_report = report
            rate, seconds = tenure.rate, tenure.seconds_since_report(now)
            full = self._slots.full_seconds(now, 1 / rate) if rate > 0 else 0.0
            return Usage(
                grant=tenure.number,
                epoch=tenure.epoch,
                is_waiting=self._waits_until >= now,
                sent=tally.sent,
                accepted=tally.accepted,
                oldest=now - tally.oldest if tally.accepted else 0.0,
                newest=now - tally.newest if tally.accepted else 0.0,
                offered=rate * seconds,
                full=rate * min(full, seconds),
                stated_limit=self.stated_limit,
                probe=tally.probe,
                probe_refused=tally.probe_refused,
                refusals=tuple(tenure.refusal(*refused, now) for refused in tally.refusals),
            )


class _Tenure:
    """The present grant: until when it holds, its probe, and what makes it pause."""

    def __init__(self) -> None:
        self.number = self.epoch = 0
        self.rate = 0.0
        self.refusal_report = 0
        """The number of the last report with a 429."""
        self.probed_at: float | None = None
        self._probe_until = -inf
        self._until = -inf
        self._is_paused = False
        self._since = inf
        self._received: list[tuple[float, int]] = []

    def follow(self, grant: Grant, now: float, seconds: float) -> bool:
        if grant.number <= self.number:
            return False
        if grant.epoch != self.epoch or not self.rate:
            self._since = now
        self.number, self.epoch, self._until = grant.number, grant.epoch, now + seconds
        self._received = [*self._received[1 - _REMEMBERED :], (now, grant.number)]
        if grant.seen >= self.refusal_report:
            self._is_paused = False
        self.rate = 0.0 if self._is_paused else grant.rate
        if grant.is_probe:
            self._probe_until, self.probed_at = now + min(1.0, seconds), None
        elif grant.rate:
            self._probe_until, self.probed_at = -inf, None
        return True

    def rate_at(self, now: float) -> float:
        return self.rate if now <= self._until else 0.0

    def pause(self) -> None:
        self._is_paused, self.rate, self.refusal_report = True, 0.0, 1 << 60

    def may_probe(self, now: float) -> bool:
        return now <= self._probe_until and self.probed_at is None

    def is_of_probe(self, sent: float) -> bool:
        return self.probed_at is not None and sent >= self.probed_at

    def end_probe(self) -> bool:
        """End the probe that is under way; return False if none is."""
        if self.probed_at is None:
            return False
        self.probed_at, self._probe_until = None, -inf
        return True

    def lost_probe(self, now: float) -> bool:
        """End a probe that nobody wanted to send in time; return False if there is none."""
        if self.probed_at is not None or self._probe_until == -inf or now <= self._probe_until:
            return False
        self._probe_until = -inf
        return True

    def seconds_since_report(self, now: float) -> float:
        """Return the seconds for which the rate was granted since the last call."""
        begin, self._since = self._since, now
        return max(0.0, min(now, self._until) - begin)

    def refusal(self, sent: float, replied: float, named: float | None, now: float) -> Refusal:
        at = bisect_right(self._received, (sent, 1 << 60))
        number = self._received[at - 1][1] if at else 0
        return Refusal(now - sent, number, None if named is None else max(0.0, named - (now - replied)))
