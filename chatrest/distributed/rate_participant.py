"""The part of a cluster's rate that one process has: a pacer of each rate class, and its reports."""

from collections.abc import Callable
from typing import final

from ..core.requests.endpoint import RateClass
from .rate_lease import LeasedPacer
from .rate_messages import RateLease, RateReport, Usages


@final
class Participant:
    """A process that sends requests at a leased rate; `alarm` is called when a report should go at once."""

    def __init__(self, name: str, alarm: Callable[[], object]) -> None:
        self.name = name
        self.report_every: float = 0.2
        """Seconds between two reports."""
        self._alarm = alarm
        self._pacers: dict[RateClass, LeasedPacer] = {}
        self._number = 0

    def pacer(self, rate_class: RateClass) -> LeasedPacer:
        """Return the pacer of a rate class; from then on the class is in the reports."""
        pacer = self._pacers.get(rate_class)
        return pacer or self._pacers.setdefault(rate_class, LeasedPacer(self._alarm))

    def is_waiting(self, now: float) -> bool:
        """Return True while requests of any class wait for slots."""
        return any(pacer.is_waiting(now) for pacer in list(self._pacers.values()))

    def receive(self, lease: RateLease, now: float) -> None:
        """Follow the grants of a lease that has just come."""
        self.report_every = lease.report_every
        for rate_class, grant in lease.grants.items():
            if (pacer := self._pacers.get(rate_class)) is not None:
                pacer.receive(grant, now, lease.seconds)

    def report(self, now: float, *, is_last: bool = False) -> RateReport:
        """Return the report of what happened since the last one."""
        self._number += 1
        pacers = list(self._pacers.items())  # a session of another thread may add one
        usages: Usages = {rate_class: pacer.usage(now, self._number) for rate_class, pacer in pacers}
        return RateReport(self.name, self._number, usages, is_last)
