"""The repetition of calls: if an attempt is repeated, and after how many seconds.

Pure: the network floor sends and sleeps.

Waits are full jitter below a bound that doubles. A wait that the service names is respected, and spread a
little so that a thousand clients do not return in one instant. The budget keeps repetition from multiplying
an outage: repeats may be a quarter of the calls, and ten per second. More repeats are not refused but
delayed, as an export of days must not end after a bad minute.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec import Struct, structs

from ..._struct_help import NamedFields
from ...errors import (
    ApiError,
    ChatRestError,
    ConnectError,
    RateLimitError,
    ReplyUnreadableError,
    ServerError,
    TransportError,
)
from ..requests.arguments import check_seconds, check_unquoted, hides_arguments
from ..requests.endpoint import Replay

MAX_LOGGED: Final = 20
"""The first attempts that a log keeps: a bulk call may make thousands."""
_MIN_NAMED: Final = 1.0
"""Seconds: if a service names less and refuses the next attempt, too, its time does not count."""
_SHARE: Final = 0.25
_PER_SECOND: Final = 10.0
_SAVED: Final = 100.0
_PASSING: Final = frozenset({408, 500, 502, 503, 504, *range(520, 530)})  # 520 to 529 are a proxy's
_UNDONE: Final = frozenset({501, 505})

Dice: TypeAlias = Callable[[], float]


class Consequence(Enum):
    """The consequence of a failed attempt: another attempt, its error, or an `OutcomeUnknownError`."""

    AGAIN = "again"
    RAISED = "raised"
    UNKNOWN = "the outcome is unknown"


def consequence(error: ChatRestError, replay: Replay) -> Consequence:
    """Return the consequence of an attempt that ended in `error`: that of the first line that applies.

    | the attempt ended in                                              | `safe`, `idempotent` | `never`  |
    |-------------------------------------------------------------------|----------------------|----------|
    | a certificate that is refused, a host without TLS: nothing sent   | raised               | raised   |
    | no connection: nothing was sent                                   | again                | again    |
    | a rate limit, by status 429 or by its code: it was not processed  | again                | again    |
    | a complete success of another shape, or too large: it was applied | raised               | raised   |
    | a reply that is cut off, timed out or not JSON                    | again                | unknown  |
    | 408, 500, 502, 503, 504, 520 to 529                               | again                | unknown  |
    | any other 5xx but 501 and 505                                     | raised               | unknown  |
    | any other error reply: it was not applied                         | raised               | raised   |

    A code that refuses, such as `500 ERR_BAD_REQUEST`, comes from a service that has read the request: its
    class is no `ServerError`, it is final, and a POST has no unknown outcome. `400 ERR_OPERATION_FAILED` is
    a `ServerError`, but a 4xx states that nothing was applied, and promises nothing of a repeat.
    """
    if isinstance(error, ConnectError):
        return Consequence.RAISED if error.is_final else Consequence.AGAIN
    is_server, status = isinstance(error, ServerError), getattr(error, "status", 0)
    if isinstance(error, RateLimitError) or (is_server and status == 429):
        return Consequence.AGAIN
    if isinstance(error, TransportError):
        is_passing = not (isinstance(error, ReplyUnreadableError) and error.answered)
        may_be_applied = is_passing
    else:
        is_passing = (is_server or type(error) is ApiError) and status in _PASSING
        may_be_applied = is_passing or (is_server and status >= 500 and status not in _UNDONE)
    if may_be_applied and replay == "never":
        return Consequence.UNKNOWN
    return Consequence.AGAIN if is_passing else Consequence.RAISED


class Attempts(Struct, frozen=True, kw_only=True):
    """The attempts of one call that have failed so far, and the pause before the next one."""

    count: int = 0
    """The number of failed attempts of any kind."""
    limited_count: int = 0
    """The number of those that were refused by a rate limit."""
    connect_failures: int = 0
    """The number of those of a patient call without a connection; they do not count as `failed`."""
    patient: bool = False
    """True if the call waits for the end of a limit or of an outage for any time, as bulk calls do."""
    error: ChatRestError | None = None
    """The error of the last one."""
    pause: float | None = None
    """Seconds until the next attempt; None if there is to be none."""
    log: tuple[tuple[str, float | None], ...] = ()
    """Error text and seconds waited after it, of the first attempts that had another one after them."""

    @property
    def failed(self) -> int:
        """The number of those that count against `RetryPolicy.attempts`."""
        return self.count - self.limited_count - self.connect_failures

    def with_failure(self, error: ChatRestError, *, has_replied: bool) -> "Attempts":
        """Return these attempts and one more. No call waits for a region that never replied."""
        no_connection = self.patient and has_replied and isinstance(error, ConnectError)
        return structs.replace(
            self,
            count=self.count + 1,
            limited_count=self.limited_count + isinstance(error, RateLimitError),
            connect_failures=self.connect_failures + no_connection,
            error=error,
            pause=None,
        )

    def with_pause(self, seconds: float) -> "Attempts":
        log = self.log if len(self.log) == MAX_LOGGED else (*self.log, (str(self.error), seconds))
        return structs.replace(self, pause=seconds, log=log)


class RetryPolicy(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """The rules for repeating calls. `RetryPolicy(attempts=1)` never repeats.

    Raises `RequestInvalidError` for a count outside of 1 to 1000, or seconds that are not above 0.
    """

    attempts: int = 5
    """The number of failures after which a call's error is raised; 1 never repeats. A 429 is no failure."""
    limited: int = 5
    """The number of 429 replies after which the call raises `RateLimitError`.

    A bulk call waits for any time. With `attempts=1` the first 429 is raised.
    """
    first_wait: float = 0.5
    """Seconds: the bound of the first wait; it doubles with every attempt."""
    longest_wait: float = 20.0
    """Seconds: the bound of all waits but those that the service names."""
    longest_server_wait: float = 120.0
    """Seconds: if the service names a longer wait, the error is raised at once."""
    unnamed_limit_wait: float = 60.0
    """Seconds: the bound of the wait after a 429 that names no time: a limit's window, usually a minute."""

    @hides_arguments
    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in ("attempts", "limited"):
                fits = type(value) is int and 1 <= value <= 1000
                check_unquoted(fits, f"retry.{name}", value, "a whole number from 1 to 1000")
            else:
                check_seconds(f"retry.{name}", value)

    def repeats(self, attempts: Attempts, replay: Replay) -> bool:
        """Return True if the call is sent again after its last error."""
        error = attempts.error
        if error is None or self.attempts == 1 or consequence(error, replay) is not Consequence.AGAIN:
            return False
        named = _named_wait(attempts)
        if isinstance(error, ConnectError):
            return attempts.connect_failures > 0 or attempts.failed < self.attempts
        if named is not None and named > self.longest_server_wait:
            return False
        if isinstance(error, RateLimitError):
            return attempts.patient or attempts.limited_count < self.limited
        return attempts.failed < self.attempts

    def wait(self, attempts: Attempts, dice: Dice, slot: float = 0.0) -> float:
        """Return the seconds until the call is sent again; after a 429 at least the seconds to its `slot`."""
        named, is_limited = _named_wait(attempts), isinstance(attempts.error, RateLimitError)
        if is_limited and named is not None:
            return max(named, slot) + min(self.first_wait, 1.0) * dice()
        if is_limited:
            # The window may be almost over or have just begun, so the bound grows to it.
            bound = min(self.unnamed_limit_wait, self._bound(attempts.limited_count) * 8)
            return max(slot, bound * (0.5 + dice() / 2))
        count = attempts.connect_failures if isinstance(attempts.error, ConnectError) else 0
        return max(named or 0.0, self._bound(count or attempts.failed) * dice())

    def _bound(self, count: int) -> float:
        return min(self.longest_wait, self.first_wait * 2.0 ** min(max(count - 1, 0), 60))


class RetryBudget:
    """A token bucket of repeats: earned by calls and by time, spent by repeats."""

    def __init__(self) -> None:
        self._saved = _SAVED
        self.calls = 0
        """The number of first attempts since the last repeat: each earns a quarter of a repeat."""
        self._last_spent = 0.0

    def spend(self, now: float) -> float:
        """Take a repeat out of the budget, and return the seconds by which it is to be delayed."""
        elapsed = max(0.0, now - self._last_spent) if self._last_spent else 0.0
        self._last_spent = now
        self._saved = min(_SAVED, self._saved + _SHARE * self.calls + elapsed * _PER_SECOND) - 1
        self.calls = 0
        return max(0.0, -self._saved / _PER_SECOND)


def _named_wait(attempts: Attempts) -> float | None:
    """Return the seconds that the last error names; None for a time that proved wrong."""
    error = attempts.error
    named = error.retry_after if isinstance(error, ApiError) else None
    if isinstance(error, RateLimitError) and attempts.limited_count > 1 and (named or 0.0) < _MIN_NAMED:
        return None
    return named


def attempt_log(entries: Sequence[tuple[str, float | None]], last: str = "", more: int = 0) -> str:
    """Return the earlier attempts in words: the error of each and the seconds waited after it.

    An entry is (error text, seconds; None without a wait). Equal errors in a row are one item, and an error
    equal to `last`, the one that is raised, is not quoted again. `more` attempts followed.
    """
    parts: list[str] = []
    number = 1
    for text, group in groupby(entries, key=itemgetter(0)):
        waits = [wait for _, wait in group]
        name = f"attempt {number}" if len(waits) == 1 else f"attempts {number}-{number + len(waits) - 1}"
        seconds = ", ".join(f"{wait:.1f}" for wait in waits if wait is not None)
        ending = "the same" if text == last else text
        parts.append(f"{name}: {ending}" + (f"; waited {seconds} s" if seconds else ""))
        number += len(waits)
    return "; ".join([*parts, f"{more} more attempts"] if more else parts)
