"""A breaker that fails fast while a region is surely down, and a budget that keeps repeats rare.

Pure: both take time and events as arguments. A region is surely down when `FAILURES` exchanges in a row
brought no reply at all (an HTTP error is a reply). Then nothing is sent for a second, and after it one
call as a probe; every failed probe doubles the rest, up to half a minute; the first reply closes it.

The budget keeps an outage from being multiplied: repeats may be a quarter of the calls, and ten a second.
What goes beyond is not refused but put off, for an export of days must not end by a bad minute.
"""

from typing import Final

FAILURES: Final = 10
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 30.0

_SHARE: Final = 0.25
_PER_SECOND: Final = 10.0
_SAVED: Final = 100.0


class Breaker:
    """Closed: calls go. Open: nothing is sent until the rest is over. Then one probe at a time."""

    def __init__(self) -> None:
        self.failures = 0
        """Exchanges in a row that brought no reply."""
        self._rest = _FIRST_REST
        self._until = 0.0
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """True if the region counts as down."""
        return self.failures >= FAILURES

    def wait(self, now: float) -> float:
        """Seconds until a call may go. 0 where it may: if the breaker is open, that call is its probe."""
        if not self.is_open:
            return 0.0
        if now < self._until:
            return self._until - now
        self._is_probing = True
        self._until = now + self._rest  # a probe that never comes back does not block the next one
        return 0.0

    def record_reply(self) -> None:
        """Note a reply, of whatever status."""
        self.failures, self._rest, self._is_probing = 0, _FIRST_REST, False

    def record_failure(self, now: float, *, probe: bool = True) -> None:
        """Note an exchange without a reply; `probe` is False for one that began before the breaker opened."""
        self.failures += 1
        if self.failures == FAILURES:
            self._until = now + self._rest
        elif self._is_probing and probe:
            self._is_probing = False
            self._rest = min(_LONGEST_REST, self._rest * 2)
            self._until = now + self._rest


class RetryBudget:
    """A token bucket of repeats: earned by calls and by time, spent by repeats."""

    def __init__(self) -> None:
        self._saved = _SAVED
        self._last_spent = 0.0

    def earn(self) -> None:
        """Earn a quarter of a repeat: a call was made for the first time."""
        self._saved = min(_SAVED, self._saved + _SHARE)

    def spend(self, now: float) -> float:
        """Take a repeat, and return the seconds until it may go: 0 where one was saved."""
        elapsed = max(0.0, now - self._last_spent) if self._last_spent else 0.0
        self._last_spent = now
        self._saved = min(_SAVED, self._saved + elapsed * _PER_SECOND) - 1
        return max(0.0, -self._saved / _PER_SECOND)
