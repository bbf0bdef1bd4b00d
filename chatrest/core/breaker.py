"""Whether a region is worth asking: a breaker that fails fast while it is surely down, and a retry budget.

Pure: both are told the time and what happened. A region is surely down when `FAILURES` exchanges in a row
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
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether the region counts as down."""
        return self.failures >= FAILURES

    def wait(self, now: float) -> float:
        """Seconds until a call may go. 0 where it may: if the breaker is open, that call is its probe."""
        if not self.is_open:
            return 0.0
        if now < self._until:
            return self._until - now
        self._probing = True
        self._until = now + self._rest  # a probe that never comes back does not block the next one
        return 0.0

    def replied(self) -> None:
        """A reply came, whatever it said."""
        self.failures, self._rest, self._probing = 0, _FIRST_REST, False

    def failed(self, now: float, *, probe: bool = True) -> None:
        """No reply came. `probe` is False for one that was under way before the breaker opened."""
        self.failures += 1
        if self.failures == FAILURES:
            self._until = now + self._rest
        elif self._probing and probe:
            self._probing = False
            self._rest = min(_LONGEST_REST, self._rest * 2)
            self._until = now + self._rest


class Budget:
    """When a region can stand the next repeat."""

    def __init__(self) -> None:
        self._saved = _SAVED
        self._seen = 0.0

    def called(self) -> None:
        """A call was made for the first time: a quarter of a repeat is earned."""
        self._saved = min(_SAVED, self._saved + _SHARE)

    def spend(self, now: float) -> float:
        """Takes a repeat: seconds until it may go, 0 where one was saved."""
        passed = max(0.0, now - self._seen) if self._seen else 0.0
        self._seen = now
        self._saved = min(_SAVED, self._saved + passed * _PER_SECOND) - 1
        return max(0.0, -self._saved / _PER_SECOND)
