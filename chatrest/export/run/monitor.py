"""The numbers of a run as a person reads them: rates, the remaining time, the reason for a wait, in one line.

The remaining time is computed from the covered ids at the speed of the last minute. It is unknown for the
first seconds, as sources differ much in how many messages they have for their ids.
"""

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from ..._network.pool import PoolState
from ..._texts import about, duration, plural, size
from ..plan.report import Phase, Progress

_RATE_WINDOW: Final = 10.0
_REMAINING_WINDOWS: Final = (10.0, 60.0)
"""Windows in seconds; the slower of the two speeds counts, as a rate limit may have begun just now."""
_SHORTEST_WINDOW: Final = 5.0
"""Seconds of data without which no speed is computed."""
_LEAST_SHARE: Final = 0.01
_REPORTED_SILENCE: Final = 10.0
"""Seconds without a reply after which the display says so."""


class Snapshot(NamedTuple):
    """The progress at a moment."""

    phase: Phase
    line: str
    """All of it in one line."""
    waits: str
    """The reason for a wait, as a sentence for users; empty if the export does not wait."""


class _Sample(NamedTuple):
    at: float
    written: int
    covered: int


class Monitor:
    """Compute snapshots of `progress`; `clock` gives seconds that only increase."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self.progress: Progress = progress
        self._clock = clock
        self._began = clock()
        self._samples: deque[_Sample] = deque()
        self._last_reply = (0, self._began)
        self._waited = False

    @property
    def elapsed(self) -> float:
        return self._clock() - self._began

    def snapshot(self, pools: Collection[PoolState] = (), *, stopping: bool = False) -> Snapshot:
        """Return the progress at this moment, with the reason for a wait taken from `pools`."""
        progress, now = self.progress, self._clock()
        self._add_sample(now)
        reason, is_silence = self._reason(pools, now)
        # Only one that the last snapshot had, too: a failure that is over at once is not shown.
        waits, self._waited = reason if self._waited else "", bool(reason)
        elapsed = duration(now - self._began)
        facts = [] if waits else [elapsed]
        if progress.received:
            facts = [*self._facts(now, knows_end=not (waits and is_silence)), elapsed]
        phase = Phase.STOPPING if stopping else progress.phase
        title = f"{phase} ({progress.detail})" if progress.detail else phase
        text = ", ".join(filter(None, [*facts, waits, progress.unpublished]))
        return Snapshot(phase, f"{title}: {text}", waits)

    def _facts(self, now: float, *, knows_end: bool) -> list[str]:
        progress = self.progress
        share = min(1.0, progress.covered / progress.ids) if progress.ids else None
        left = self._left(now, share) if knows_end else None
        limited = f" ({progress.limited:,} × 429)" if progress.limited else ""
        return [
            f"{share:.0%}" if share is not None else "",
            f"{about(left)} left" if left is not None else "",
            f"{progress.written:,} messages at {self._rate(now):,.0f}/s",
            size(progress.received),
            f"{progress.requests:,} requests{limited}",
            f"{progress.done:,} of {plural(progress.sources, 'source')}" if progress.sources else "",
            f"{progress.failed:,} failed" if progress.failed else "",
        ]

    def _add_sample(self, now: float) -> None:
        progress = self.progress
        if progress.requests != self._last_reply[0]:
            self._last_reply = progress.requests, now
        if self._samples or progress.received:  # the time until the first page is not part of a rate
            self._samples.append(_Sample(now, progress.written, progress.covered))
        while self._samples and now - self._samples[0].at > _REMAINING_WINDOWS[-1]:
            self._samples.popleft()

    def _rate(self, now: float) -> float:
        first = self._since(now - _RATE_WINDOW)
        if first is None or now <= first.at:
            return self.progress.written / max(now - self._began, 1e-3)
        return (self.progress.written - first.written) / (now - first.at)

    def _left(self, now: float, share: float | None) -> float | None:
        if share is None or share < _LEAST_SHARE or self.progress.phase is not Phase.WALKING:
            return None
        speeds = [self._speed(now, over) for over in _REMAINING_WINDOWS]
        slowest = min(speeds)
        return max(0, self.progress.ids - self.progress.covered) / slowest if slowest > 0 else None

    def _speed(self, now: float, over: float) -> float:
        """Return ids per second over the last `over` seconds; 0 with too little data."""
        first = self._since(now - over)
        if first is None or now - first.at < _SHORTEST_WINDOW:
            return 0.0
        return (self.progress.covered - first.covered) / (now - first.at)

    def _since(self, begin: float) -> _Sample | None:
        return next((sample for sample in self._samples if sample.at >= begin), None)

    def _reason(self, pools: Collection[PoolState], now: float) -> tuple[str, bool]:
        """Return why the export waits, empty if it does not; and whether nobody knows when that ends."""
        trouble, silent = self.progress.trouble, now - self._last_reply[1]
        # Calls that wait while their pool has free places wait for the rate limit.
        if trouble == "RateLimitError" or any(each.waiting and not each.is_full for each in pools):
            return "waits for the service's rate limit", False
        if trouble in ("ConnectError", "RequestTimeoutError", "ReplyUnreadableError"):
            return f"the service does not answer: {trouble}", True
        if trouble == "ServerError":
            return f"the service fails: {trouble}", False
        if self.progress.waits_for_disk:
            return "waits for the disk", False
        if silent > _REPORTED_SILENCE and any(each.active for each in pools):
            return f"has waited {silent:.0f} s for the service's answer", False
        return "", False
