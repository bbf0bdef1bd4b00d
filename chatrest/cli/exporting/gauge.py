"""From a run's counters to what is worth showing: rates over a while, and what is left. Pure, but a clock.

What is left is reckoned from the ids that are covered, at the speed of the last minute: nothing is said
before there is something to go by, for sources differ much in how many messages they have for their ids.
"""

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, final

from msgspec import Struct

from ...export.progress import Active, Progress
from ...network.pool import Pool

_RATE_OVER: Final = 10.0
_LEFT_OVER: Final = (10.0, 60.0)
"""Seconds that the rate is an average of; and what is left, of two, as a limit may have struck just now."""
_TO_GO_BY: Final = 5.0
"""Seconds before which nothing is said of what is left."""
_LEAST_SHARE: Final = 0.01
_SILENT: Final = 10.0
"""Seconds without an answer that are worth a word."""
_NO_ANSWER: Final = "the service does not answer"


@final
class Figures(Struct, frozen=True, kw_only=True):
    """What is shown, at one moment."""

    phase: str
    messages: int
    rate: float
    """Messages a second."""
    received: int
    """Bytes."""
    requests: int
    limited: int
    sources: int
    done: int
    failed: int
    changed: int
    vanished: int
    elapsed: float
    share: float | None = None
    """Of all ids, those that are covered; None where that is not known."""
    left: float | None = None
    """Seconds, about; None while there is nothing to go by."""
    waits: str | None = None
    active: tuple[Active, ...] = ()


class _Mark(NamedTuple):
    at: float
    written: int
    covered: int


@final
class Gauge:
    """Looks at a run now and then."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._began = clock()
        self._marks: deque[_Mark] = deque()
        self._heard = (0, self._began)
        self._told: str | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def look(self, pools: Collection[Pool] = (), *, stopping: bool = False) -> Figures:
        """The figures of this moment."""
        seen, now = self._progress, self._clock()
        self._mark(now)
        share = min(1.0, seen.covered / seen.ids) if seen.ids else None
        waits = self._steady(self._waits(pools, now))
        is_silent = waits is not None and waits.startswith(_NO_ANSWER)
        return Figures(
            phase="stopping: what was fetched is written" if stopping else seen.phase,
            messages=seen.written,
            rate=self._rate(now),
            received=seen.received,
            requests=seen.requests,
            limited=seen.limited,
            sources=seen.sources,
            done=seen.done,
            failed=seen.failed,
            changed=seen.changed,
            vanished=seen.vanished,
            elapsed=now - self._began,
            share=share,
            left=None if is_silent else self._left(now, share),
            waits=waits,
            active=tuple(seen.active.values()),
        )

    def _mark(self, now: float) -> None:
        seen = self._progress
        if seen.requests != self._heard[0]:
            self._heard = seen.requests, now
        if self._marks or seen.received:  # the time until the first page is no part of a rate
            self._marks.append(_Mark(now, seen.written, seen.covered))
        while self._marks and now - self._marks[0].at > _LEFT_OVER[-1]:
            self._marks.popleft()

    def _rate(self, now: float) -> float:
        first = self._since(now - _RATE_OVER)
        if first is None or now <= first.at:
            return self._progress.written / max(now - self._began, 1e-3)
        return (self._progress.written - first.written) / (now - first.at)

    def _left(self, now: float, share: float | None) -> float | None:
        if share is None or share < _LEAST_SHARE or self._progress.phase != "walking":
            return None
        speeds = [self._speed(now, over) for over in _LEFT_OVER]
        slowest = min(speeds)
        return max(0, self._progress.ids - self._progress.covered) / slowest if slowest > 0 else None

    def _speed(self, now: float, over: float) -> float:
        """Ids a second; 0 while there is nothing to go by."""
        first = self._since(now - over)
        if first is None or now - first.at < _TO_GO_BY:
            return 0.0
        return (self._progress.covered - first.covered) / (now - first.at)

    def _since(self, begin: float) -> _Mark | None:
        return next((mark for mark in self._marks if mark.at >= begin), None)

    # ── what it waits for ──

    def _steady(self, waits: str | None) -> str | None:
        """What was so at the last look already: a failure that is over by the next one is no news."""
        before, self._told = self._told, waits
        return waits if waits is not None and before is not None else None

    def _waits(self, pools: Collection[Pool], now: float) -> str | None:
        trouble, silent = self._progress.trouble, now - self._heard[1]
        # Calls that wait while their pool has places are held back for a limit.
        if trouble == "RateLimitError" or any(each.waiting and not each.places.waiting for each in pools):
            return "waits for the service's rate limit"
        if trouble in ("ConnectError", "RequestTimeoutError", "ReplyUnreadableError"):
            return f"{_NO_ANSWER}: {trouble}"
        if trouble == "ServerError":
            return f"the service fails: {trouble}"
        if self._progress.waits_for_disk:
            return "waits for the disk"
        if silent > _SILENT and any(each.active for each in pools):
            return f"waits for an answer of the service, {silent:.0f} s by now"
        return None
