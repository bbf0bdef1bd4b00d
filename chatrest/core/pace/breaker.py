"""Breakers that fail fast while a host is surely down, and a budget that keeps repeats rare.

Pure: both take time and events as arguments. A host is surely down when `FAILURES` exchanges in a row
brought no reply at all (an HTTP error is a reply). Then nothing is sent for a second, and after it one
call as a probe; every failed probe doubles the rest, up to half a minute; the first reply closes it.

A breaker is kept only for a host whose last exchange failed: until a reply, or until its last failure is
five minutes old.

The budget keeps an outage from being multiplied: repeats may be a quarter of the calls, and ten a second.
What goes beyond is not refused but put off, for an export of days must not end by a bad minute.
"""

from collections import OrderedDict
from typing import Final, final

from msgspec import Struct

FAILURES: Final = 10
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 30.0

_KEPT_SECONDS: Final = 300.0  # far longer than any rest
_MOST_CLOSED: Final = 1000

_SHARE: Final = 0.25
_PER_SECOND: Final = 10.0
_SAVED: Final = 100.0


class Breaker:
    """Closed: calls go. Open: nothing is sent until the rest is over. Then one probe at a time."""

    __slots__ = ("_is_probing", "_rest", "_until", "failed_at", "failures")

    def __init__(self) -> None:
        self.failures: int = 0
        """Exchanges in a row that brought no reply."""
        self.failed_at: float = 0.0
        """The time of the last of them."""
        self._rest = _FIRST_REST
        self._until = 0.0
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        return self.failures >= FAILURES

    def rest(self, now: float) -> float:
        return max(0.0, self._until - now)

    def wait(self, now: float) -> float:
        """Seconds until a call may go. 0 where it may: if the breaker is open, that call is its probe."""
        if not self.is_open:
            return 0.0
        if now < self._until:
            return self._until - now
        self._is_probing = True
        self._until = now + self._rest  # a probe that never comes back does not block the next one
        return 0.0

    def record_failure(self, now: float, *, probe: bool = True) -> None:
        self.failures += 1
        self.failed_at = now
        if self.failures == FAILURES:
            self._until = now + self._rest
        elif self._is_probing and probe:
            self._is_probing = False
            self._rest = min(_LONGEST_REST, self._rest * 2)
            self._until = now + self._rest


@final
class HostState(Struct, frozen=True, kw_only=True):
    """A host that counts as down: calls to it fail at once until a probe is answered."""

    host: str
    failures: int
    """Exchanges in a row that brought no reply."""
    next_probe: float
    """Seconds until one call may be sent as a probe; 0 if the next call is one."""

    def __str__(self) -> str:
        return f"{self.host}: {self.failures} failures in a row, next probe in {self.next_probe:.1f} s"


@final
class Breakers(OrderedDict[str, Breaker]):
    """The breakers by host, as a wrong app id must not affect other apps: of hosts that failed lately."""

    def record_reply(self, host: str) -> None:
        """Note a reply, of whatever status: the breaker closes, and all that it knew is past."""
        self.pop(host, None)

    def record_failure(self, host: str, now: float, *, probe: bool) -> None:
        """Note an exchange without a reply; `probe` is False for one that began before the breaker opened."""
        breaker = self.get(host)
        if breaker is None:
            self._let_go(now)
            breaker = self[host] = Breaker()
        breaker.record_failure(now, probe=probe)

    def down(self, now: float) -> tuple[HostState, ...]:
        """Return the hosts that count as down, in the order of their first failure."""
        return tuple(
            HostState(host=host, failures=breaker.failures, next_probe=breaker.rest(now))
            for host, breaker in self.items()
            if breaker.is_open
        )

    def _let_go(self, now: float) -> None:
        """Look at the two oldest breakers, so that each new one costs the same for any number of hosts."""
        for _ in range(min(2, len(self))):
            host, breaker = self.popitem(last=False)
            is_old = now - breaker.failed_at >= _KEPT_SECONDS
            if not is_old and (breaker.is_open or len(self) < _MOST_CLOSED):
                self[host] = breaker


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
