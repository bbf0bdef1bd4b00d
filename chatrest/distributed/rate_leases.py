"""The coordinator's side of the one rate of a cluster: one pacer, whose rate is leased to workers.

Pure: time is an argument. The pacer is the one that a session on one machine has; what the workers report is
replayed into it, with ages in place of clocks.

| event                             | what follows                                                           |
|-----------------------------------|------------------------------------------------------------------------|
| a report                          | its accepted requests and 429s go into the pacer                       |
| a 429 under a present grant       | the pacer holds: every worker gets a grant of nothing, at once         |
| the end of a hold that was named  | the rate is shared again                                               |
| a hold without a named end        | one worker at a time gets a probe: one request, reported at once       |
| the pacer's rate changes          | a new epoch: all workers get new shares, and only use at these counts  |
| demand changes                    | shares are lowered first; they are raised by what is surely free       |
| a worker reports no more          | its share is free once its grant has surely ended                      |

A 429 of a request that was sent before the last hold's end says nothing about the present rate.
"""

from collections.abc import Iterator
from math import inf
from typing import Final, final

from ..core.pace.pacer import Pace, Pacer, Signal
from .rate_member import RateMember
from .rate_messages import Grant, Usage
from .rate_shares import phases, shares

_LEAST_FULL: Final = 0.85  # of what was offered: below that, the rate was not in full use
_LEAST_SECONDS: Final = 0.3  # of the whole rate, over which full use is judged
_SAME: Final = 0.02  # of a share: smaller ones count as equal
_FORGOTTEN: Final = 10.0  # seconds without a report after which a worker is forgotten


class _ClusterUse:
    """The slots of the coordinator's pacer: the workers' own, with the full use that they report."""

    def __init__(self) -> None:
        self.next = -inf
        self.offered = 0.0
        self.full = 0.0
        self._seconds = 0.0

    def begin(self, at: float) -> None:
        self.next = at
        self.restart()

    def restart(self) -> None:
        """Forget what was used: it was at another rate."""
        self.offered = self.full = self._seconds = 0.0

    def add(self, offered: float, full: float, rate: float) -> None:
        """Note requests that were offered to a worker, and those in the time of full use."""
        self.offered += offered
        self.full += full
        if self.offered >= _LEAST_SECONDS * rate:
            if self.full >= _LEAST_FULL * self.offered:
                self._seconds += self.offered / rate
            self.offered = self.full = 0.0

    def take(self, now: float, interval: float, *, urgent: bool) -> None:
        pass

    def give_back(self) -> None:
        pass

    def record(self, now: float, *, urgent: bool) -> None:
        pass

    def confirm(self, sent: float) -> float:
        seconds, self._seconds = self._seconds, 0.0
        return seconds


@final
class RateLeases:
    """The leases of one rate class; `documented` requests a second are the most that a ramp reaches."""

    def __init__(self, pace: Pace, documented: float) -> None:
        self._use = _ClusterUse()
        self.pacer = Pacer(pace, documented, self._use)
        """The pacer whose rate is leased."""
        self._members: dict[str, RateMember] = {}
        self._number = self._epoch = self._valid_from = 0
        self._rate: float | None = None
        self._anchor = 0.0

    # ── what workers report ──

    def hear(self, worker: str, usage: Usage, report: int, now: float) -> None:
        """Note the use of a worker, as reported now."""
        member = self._members.get(worker)
        if member is None:
            member = self._members[worker] = RateMember(now)
        member.hear(usage, report, now)
        if usage.epoch == self._epoch and self._rate and self.pacer.held_since is None:
            self._use.add(usage.offered, usage.full, self._rate)
        self._replay_accepted(usage, now)
        for place, refusal in enumerate(usage.refusals, 1):
            is_probe = usage.probe_refused and place == len(usage.refusals)
            is_present = is_probe or refusal.grant >= self._valid_from
            sent = now if is_probe else now - refusal.age if is_present else -inf
            self._observe(now, Signal(True, retry_after=refusal.retry_after), sent, is_probe=is_probe)
        if usage.probe is False:
            self.pacer.forget()

    def leave(self, worker: str) -> None:
        """Forget a worker that needs no share any more."""
        self._members.pop(worker, None)

    def _replay_accepted(self, usage: Usage, now: float) -> None:
        for place in range(usage.accepted):
            part = place / max(1, usage.accepted - 1)
            age = usage.oldest + part * (usage.newest - usage.oldest)
            is_probe = usage.probe is True and place == usage.accepted - 1
            signal = Signal(False, limit=usage.stated_limit)
            self._observe(now, signal, now if is_probe else now - age, is_probe=is_probe)

    def _observe(self, now: float, signal: Signal, sent: float, *, is_probe: bool) -> None:
        """Pass a reply to the pacer; while it holds, only a probe counts as sent after the 429."""
        held_since = self.pacer.held_since
        if held_since is not None and not is_probe:
            sent = min(sent, held_since)
        self.pacer.observe(now, signal, sent)
        if held_since is None and self.pacer.held_since is not None:
            self._change(0.0)
        elif held_since is not None and self.pacer.held_since is None:
            self._resume(now)

    # ── what they get ──

    @property
    def is_held(self) -> bool:
        """True while a 429 holds all workers back."""
        return self.pacer.held_since is not None

    def grants(self, now: float) -> dict[str, Grant]:
        """Return the grants that are to be sent now, by worker."""
        for name in [name for name, each in self._members.items() if now - each.reported_at > _FORGOTTEN]:
            del self._members[name]
        probe = self._end_hold(now) if self.is_held else None
        if self.is_held:
            return dict(self._nothing(now, probe))
        if self._rate != self.pacer.bulk_rate:
            self._change(self.pacer.bulk_rate)
        return dict(self._shares(now))

    def _end_hold(self, now: float) -> str | None:
        """End a hold whose time has passed, or return the worker that gets a probe."""
        if self.pacer.delay(now, urgent=False) > 0:
            return None
        waiting = [
            name for name, each in self._members.items() if each.is_waiting and not each.is_silent(now)
        ]
        if not waiting:
            return None
        self.pacer.take(now, urgent=False)
        if self.is_held:
            return waiting[self._number % len(waiting)]
        self._resume(now)
        return None

    def _resume(self, now: float) -> None:
        """Begin anew after a hold: only what is sent from here on says something about the rate."""
        self._valid_from = self._number + 1
        self._change(self.pacer.bulk_rate)
        self._anchor = now

    def _change(self, rate: float) -> None:
        self._rate = rate
        self._epoch += 1
        self._use.restart()

    def _nothing(self, now: float, probe: str | None) -> Iterator[tuple[str, Grant]]:
        for name, member in self._members.items():
            if name == probe or member.is_due(0.0, self._epoch, now):
                yield name, self._grant(member, 0.0, now, is_probe=name == probe)

    def _shares(self, now: float) -> Iterator[tuple[str, Grant]]:
        members, rate = self._members, self._rate or 0.0
        wanted = {name: each.wanted(rate, len(members), now) for name, each in members.items()}
        targets = shares(rate, wanted)
        offsets = _phases(targets, self._anchor, now)
        free = rate - sum(each.committed(now) for each in members.values())
        for name in sorted(members, key=lambda name: targets[name] - members[name].share):
            member, target = members[name], targets[name]
            committed = member.committed(now)
            target = min(target, committed + max(0.0, free))
            if member.is_due(target, self._epoch, now):
                free -= max(0.0, target - committed)
                yield name, self._grant(member, target, now, offsets.get(name))

    def _grant(
        self,
        member: RateMember,
        rate: float,
        now: float,
        phase: float | None = None,
        *,
        is_probe: bool = False,
    ) -> Grant:
        self._number += 1
        grant = Grant(self._number, self._epoch, rate, member.report, phase, is_probe)
        return member.grant(grant, now)


def _phases(targets: dict[str, float], anchor: float, now: float) -> dict[str, float]:
    """Return the phases of the workers that have the largest share, which are those that use it fully."""
    most = max(targets.values(), default=0.0)
    if most <= 0:
        return {}
    return phases([name for name in targets if targets[name] >= (1 - _SAME) * most], most, anchor, now)
