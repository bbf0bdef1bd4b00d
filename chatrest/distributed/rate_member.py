"""A worker as the coordinator of the rate knows it: what it wants, and what it may still use.

A share that was taken away counts as in use until the worker has said that it knows, or until its grant has
surely ended: so the shares of all workers together are never more than the rate.
"""

from math import exp, inf
from typing import Final, final

from .rate_messages import LEASE_SECONDS, Grant, Usage

LATEST: Final = 2.0
"""Seconds that a message may be under way."""
SILENT: Final = 2.5
"""Seconds without a report after which a worker is taken for lost."""
RENEWED: Final = LEASE_SECONDS / 3
"""Seconds after which a grant is renewed."""
_SMOOTH: Final = 1.0  # seconds over which the rate of a worker's requests is averaged while it grows
_SMOOTH_FALL: Final = 0.3  # while it falls, as others may wait for the share
_ROOM: Final = 1.3  # times its requests: what a worker without waiting requests gets
_CHANGE: Final = 0.1  # of a share: a smaller change is not worth a message
_FLOOR: Final = 0.03  # of the rate, for all idle workers together


@final
class RateMember:
    """One worker and one rate class."""

    def __init__(self, now: float) -> None:
        self.reported_at = now
        self.is_waiting = False
        self.report = 0
        """The number of its last report."""
        self.must_answer = False
        """True if it waits for a grant that was made after its last 429."""
        self.share = 0.0
        """The rate of the last grant."""
        self._used = 0.0
        self._epoch = 0
        self._granted_at = -inf
        self._granted: list[tuple[int, float, float]] = []

    def hear(self, usage: Usage, report: int, now: float) -> None:
        """Note a report."""
        seconds = max(1e-3, now - self.reported_at)
        rate = usage.sent / seconds
        keep = exp(-seconds / (_SMOOTH if rate > self._used else _SMOOTH_FALL))
        self._used = keep * self._used + (1 - keep) * rate
        self.reported_at, self.is_waiting = now, usage.is_waiting
        self.report = max(self.report, report)
        self.must_answer |= bool(usage.refusals)
        known = [granted for granted in self._granted if granted[0] >= usage.grant]
        # The present grant was received by now, at the latest.
        self._granted = [
            (number, rate, min(end, now + LEASE_SECONDS) if number == usage.grant else end)
            for number, rate, end in known
        ]

    def is_silent(self, now: float) -> bool:
        """Return True if it has not reported for so long that it counts as lost."""
        return now - self.reported_at > SILENT

    def wanted(self, rate: float, count: int, now: float) -> float:
        """Return the requests a second that it wants of `rate`, one of `count` workers."""
        if self.is_silent(now):
            return 0.0
        return inf if self.is_waiting else max(_ROOM * self._used, _FLOOR * rate / count)

    def committed(self, now: float) -> float:
        """Return the largest rate at which it may be sending now or until it hears of another one."""
        self._granted = [granted for granted in self._granted if granted[2] > now]
        return max((rate for _, rate, _ in self._granted), default=0.0)

    def is_due(self, share: float, epoch: int, now: float) -> bool:
        """Return True if a grant of `share` is worth a message."""
        return (
            self.must_answer
            or epoch != self._epoch
            or now - self._granted_at >= RENEWED
            or abs(share - self.share) > _CHANGE * max(share, self.share)
        )

    def grant(self, grant: Grant, now: float) -> Grant:
        """Note a grant that is sent now, and return it."""
        self.must_answer = False
        self.share, self._epoch, self._granted_at = grant.rate, grant.epoch, now
        self._granted.append((grant.number, grant.rate, now + LATEST + LEASE_SECONDS))
        return grant
