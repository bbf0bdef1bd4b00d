"""The numbers of a run as a person reads them: rates, the remaining time, the reason for a wait, in one line.

The remaining time is computed from the covered ids at the speed of the last minute. It is unknown for the
first seconds, as sources differ much in how many messages they have for their ids.
"""

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, final

from msgspec import Struct

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


class Wait(NamedTuple):
    """The reason why an export waits, as a sentence for users."""

    text: str
    is_silence: bool = False
    """True if the service does not answer, so that no one knows when the export will end."""


class Snapshot(Struct, frozen=True, kw_only=True):
    progress: Progress
    phase: Phase
    rate: float
    """Messages per second."""
    elapsed: float
    """Seconds since the start."""
    share: float | None = None
    """The covered fraction of all ids, 0 to 1; None if unknown."""
    left: float | None = None
    """Estimated seconds to the end; None if unknown."""
    waits: str | None = None
    """The reason for a wait, as a sentence for users; None if the export does not wait."""

    @property
    def title(self) -> str:
        return f"{self.phase} ({self.progress.detail})" if self.progress.detail else self.phase


class _Sample(NamedTuple):
    at: float
    written: int
    covered: int


@final
class Monitor:
    """Compute snapshots of `progress`; `clock` gives seconds that only increase."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._began = clock()
        self._samples: deque[_Sample] = deque()
        self._last_reply = (0, self._began)
        self._last_wait: Wait | None = None

    @property
    def elapsed(self) -> float:
        return self._clock() - self._began

    def snapshot(self, pools: Collection[PoolState] = (), *, stopping: bool = False) -> Snapshot:
        """Return the progress at this moment, with the reason for a wait taken from `pools`."""
        progress, now = self._progress, self._clock()
        self._add_sample(now)
        share = min(1.0, progress.covered / progress.ids) if progress.ids else None
        wait = self._if_repeated(self._wait(pools, now))
        return Snapshot(
            progress=progress,
            phase=Phase.STOPPING if stopping else progress.phase,
            rate=self._rate(now),
            elapsed=now - self._began,
            share=share,
            left=None if wait is not None and wait.is_silence else self._left(now, share),
            waits=wait and wait.text,
        )

    def _add_sample(self, now: float) -> None:
        progress = self._progress
        if progress.requests != self._last_reply[0]:
            self._last_reply = progress.requests, now
        if self._samples or progress.received:  # the time until the first page is not part of a rate
            self._samples.append(_Sample(now, progress.written, progress.covered))
        while self._samples and now - self._samples[0].at > _REMAINING_WINDOWS[-1]:
            self._samples.popleft()

    def _rate(self, now: float) -> float:
        first = self._since(now - _RATE_WINDOW)
        if first is None or now <= first.at:
            return self._progress.written / max(now - self._began, 1e-3)
        return (self._progress.written - first.written) / (now - first.at)

    def _left(self, now: float, share: float | None) -> float | None:
        if share is None or share < _LEAST_SHARE or self._progress.phase is not Phase.WALKING:
            return None
        speeds = [self._speed(now, over) for over in _REMAINING_WINDOWS]
        slowest = min(speeds)
        return max(0, self._progress.ids - self._progress.covered) / slowest if slowest > 0 else None

    def _speed(self, now: float, over: float) -> float:
        """Return ids per second over the last `over` seconds; 0 with too little data."""
        first = self._since(now - over)
        if first is None or now - first.at < _SHORTEST_WINDOW:
            return 0.0
        return (self._progress.covered - first.covered) / (now - first.at)

    def _since(self, begin: float) -> _Sample | None:
        return next((sample for sample in self._samples if sample.at >= begin), None)

    # ── the reason for a wait ──

    def _if_repeated(self, wait: Wait | None) -> Wait | None:
        """Return `wait` if the last snapshot waited too, as a failure that is over at once is not shown."""
        previous, self._last_wait = self._last_wait, wait
        return wait if previous is not None else None

    def _wait(self, pools: Collection[PoolState], now: float) -> Wait | None:
        trouble, silent = self._progress.trouble, now - self._last_reply[1]
        # Calls that wait while their pool has free places wait for the rate limit.
        if trouble == "RateLimitError" or any(each.waiting and not each.is_full for each in pools):
            return Wait("waits for the service's rate limit")
        if trouble in ("ConnectError", "RequestTimeoutError", "ReplyUnreadableError"):
            return Wait(f"the service does not answer: {trouble}", is_silence=True)
        if trouble == "ServerError":
            return Wait(f"the service fails: {trouble}")
        if self._progress.waits_for_disk:
            return Wait("waits for the disk")
        if silent > _REPORTED_SILENCE and any(each.active for each in pools):
            return Wait(f"has waited {silent:.0f} s for the service's answer")
        return None


# ── one line ──


def progress_line(snapshot: Snapshot) -> str:
    progress = snapshot.progress
    unpublished = [progress.unpublished] if progress.unpublished else []
    if not progress.received:
        return f"{snapshot.title}: {', '.join([snapshot.waits or duration(snapshot.elapsed), *unpublished])}"
    parts = [
        *([f"{snapshot.share:.0%}"] if snapshot.share is not None else []),
        *([f"{about(snapshot.left)} left"] if snapshot.left is not None else []),
        f"{progress.written:,} messages at {snapshot.rate:,.0f}/s",
        size(progress.received),
        f"{progress.requests:,} requests" + (f" ({progress.limited:,} × 429)" if progress.limited else ""),
        *([f"{progress.done:,} of {plural(progress.sources, 'source')}"] if progress.sources else []),
        *([f"{progress.failed:,} failed"] if progress.failed else []),
        duration(snapshot.elapsed),
        *([snapshot.waits] if snapshot.waits else []),
        *unpublished,
    ]
    return f"{snapshot.title}: {', '.join(parts)}"
