"""The numbers of a run as a person reads them: rates, the remaining time, the reason for a wait, in one line.

The remaining time is computed from the covered ids at their newest speed. It is unknown for the first
seconds, as sources differ much in how many messages they have for their ids.
"""

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from ..._network.pool import PoolState
from ..._texts import about, duration, plural, size
from ..plan.report import Phase, Progress

_WINDOW: Final = 20.0
"""Seconds over which speeds are measured: a rate limit may have begun just now."""
_MIN: Final = 5.0
"""Seconds of data without which no remaining time is computed."""
_MIN_SHARE: Final = 0.01
_REPORTED_SILENCE: Final = 10.0
"""Seconds without a reply after which the display says so."""


class Snapshot(NamedTuple):
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
        if progress.requests != self._last_reply[0]:
            self._last_reply = progress.requests, now
        if self._samples or progress.received:  # the time until the first page is not part of a rate
            self._samples.append(_Sample(now, progress.written, progress.covered))
        while self._samples and now - self._samples[0].at > _WINDOW:
            self._samples.popleft()
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
        progress, left = self.progress, None
        at, written, covered = self._samples[0]
        seconds, done = now - at, progress.covered - covered
        rate = (progress.written - written) / seconds if seconds else progress.written / (self.elapsed + 1e-3)
        share = min(1.0, progress.covered / progress.ids) if progress.ids else None
        if (share or 0) >= _MIN_SHARE and seconds >= _MIN and done:
            left = max(0, progress.ids - progress.covered) * seconds / done
        is_walking = progress.phase is Phase.WALKING
        is_shown = left is not None and knows_end and is_walking
        limited = f" ({progress.limited:,} × 429)" if progress.limited else ""
        return [
            f"{share:.0%}" if share is not None and is_walking else "",
            f"{about(left or 0)} left" if is_shown else "",
            plural(progress.written, "message") + (f" at {rate:,.0f}/s" if is_walking else ""),
            size(progress.received),
            f"{progress.requests:,} requests{limited}",
            f"{progress.done:,} of {plural(progress.sources, 'source')}" if progress.sources else "",
            f"{progress.failed:,} failed" if progress.failed else "",
        ]

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
