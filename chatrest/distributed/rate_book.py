"""The leases of an app: its rate classes together, so that a worker gets one message for all of them."""

from collections.abc import Mapping
from typing import Final, final

from ..core.pace.pacer import DOCUMENTED_RATES, Pace, Pacer
from ..core.requests.endpoint import RateClass
from .rate_leases import RateLeases
from .rate_messages import Grant, RateLease, RateReport

_REPORTS_A_SECOND: Final = 500.0
"""Reports that the coordinator takes from all workers together; beyond, each reports less often."""
_REPORT_EVERY: Final = 0.2


@final
class LeaseBook:
    """The rate of one app, shared by the workers of a cluster."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._classes: dict[RateClass, RateLeases] = {}
        self._workers: set[str] = set()

    @property
    def pacers(self) -> Mapping[RateClass, Pacer]:
        """The pacers of the classes that are in use: their rates are those of the whole cluster."""
        return {rate_class: leases.pacer for rate_class, leases in self._classes.items()}

    def hear(self, report: RateReport, now: float) -> bool:
        """Take a report; return True if leases should go at once."""
        if report.is_last:
            self._leave(report.worker)
            return False
        self._workers.add(report.worker)
        is_urgent = False
        for rate_class, usage in report.usages.items():
            leases = self._classes.get(rate_class)
            if leases is None:
                leases = RateLeases(self._pace, DOCUMENTED_RATES[rate_class])
                self._classes[rate_class] = leases
            was_held = leases.is_held
            leases.hear(report.worker, usage, report.number, now)
            is_urgent |= leases.is_held != was_held or bool(usage.refusals) or not usage.grant
        return is_urgent

    def leases(self, now: float) -> list[RateLease]:
        """Return the leases that are to be sent now."""
        grants: dict[str, dict[RateClass, Grant]] = {}
        for rate_class, leases in self._classes.items():
            for worker, grant in leases.grants(now).items():
                grants.setdefault(worker, {})[rate_class] = grant
        every = max(_REPORT_EVERY, len(self._workers) / _REPORTS_A_SECOND)
        return [RateLease(worker, by_class, every) for worker, by_class in grants.items()]

    def _leave(self, worker: str) -> None:
        self._workers.discard(worker)
        for leases in self._classes.values():
            leases.leave(worker)
