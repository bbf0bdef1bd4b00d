"""Whether a failed attempt may be repeated, and after how long. Decisions only; the session waits.

| what failed                                       | safe, idempotent | never                        |
|---------------------------------------------------|------------------|------------------------------|
| no connection (`ConnectError`)                    | again            | again: nothing was sent      |
| 429 (`RateLimitError`)                            | again            | again: it was not processed  |
| cut off, timed out, unreadable (`TransportError`) | again            | the outcome is unknown       |
| 408, 500, 502, 503, 504, 520 to 529 (a proxy's)   | again            | the outcome is unknown       |
| any other 5xx but 501 and 505                     | raised           | the outcome is unknown       |
| any other answer                                  | raised           | raised                       |

Waits are full jitter below a bound that doubles; a wait that the service names is kept to, and spread a
little so that a thousand clients do not come back in one instant.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, final

from msgspec import Struct

from ..errors import (
    ApiError,
    ChatRestError,
    ConnectError,
    RateLimitError,
    RequestInvalidError,
    ServerError,
    TransportError,
)
from .endpoint import Replay
from .timeouts import check_seconds

REPEATED_STATUSES: Final = frozenset({408, 500, 502, 503, 504})


@final
class Tries(Struct, frozen=True):
    """What became of a call so far."""

    failed: int
    """Attempts that failed, but not by 429."""
    limited: int = 0
    """Attempts that were answered 429."""
    unmade: int = 0
    """Attempts of a patient call that found no connection: they are no failures."""
    patient: bool = False
    """Whether the call may wait out a limit, or a region that is down, for as long as it takes: bulk may."""


@final
class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How calls are repeated. `RetryPolicy(attempts=1)` never repeats."""

    attempts: int = 5
    """How often a call may fail before its error is raised; 1 never repeats. A 429 is no failure."""
    limited: int = 5
    """How often a call may be answered 429 before that is raised; a bulk call waits for as long as it takes.
    With `attempts=1` the first one is raised."""
    first_wait: float = 0.5
    """Seconds: the bound of the first wait; it doubles with every attempt."""
    longest_wait: float = 20.0
    """Seconds: the bound of every wait of ours."""
    longest_server_wait: float = 120.0
    """Seconds: a service that names a longer wait is not waited for: its error is raised at once."""
    unnamed_limit_wait: float = 60.0
    """Seconds: the bound of the wait after a 429 that names no time: a limit's window, usually a minute."""

    def __post_init__(self) -> None:
        for name in ("attempts", "limited"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 1000:
                raise RequestInvalidError(
                    f"retry.{name} = {value!r}: allowed is a whole number from 1 to 1000"
                )
        for name in ("first_wait", "longest_wait", "longest_server_wait", "unnamed_limit_wait"):
            if check_seconds(f"retry.{name}", getattr(self, name)) is None:
                raise RequestInvalidError(f"retry.{name} = None: allowed is a number of seconds above 0")

    def wait(
        self, error: ChatRestError, replay: Replay, tries: Tries, dice: Callable[[], float]
    ) -> float | None:
        """Seconds to wait before the call is repeated; None where `error` is to be raised."""
        if self.attempts == 1 or not may_repeat(error, replay):
            return None
        if isinstance(error, RateLimitError):
            over = tries.limited >= self.limited and not tries.patient
            return None if over else self._limit_wait(error, tries, dice)
        down = error.retry_after if isinstance(error, ConnectError) else None
        if tries.unmade and isinstance(error, ConnectError):
            return self._bound(tries.unmade) * dice() if down is None else down
        # A region that is down is not waited for by a caller who is: it is told at once.
        if tries.failed >= self.attempts or down is not None:
            return None
        named = error.retry_after or 0.0 if isinstance(error, ApiError) else 0.0
        return None if named > self.longest_server_wait else max(named, self._bound(tries.failed) * dice())

    def _limit_wait(self, error: RateLimitError, tries: Tries, dice: Callable[[], float]) -> float | None:
        if error.retry_after is None:
            # The window may be almost over or have just begun, so the bound grows to it.
            bound = min(self.unnamed_limit_wait, self._bound(tries.limited) * 8)
            return bound * (0.5 + dice() / 2)
        if error.retry_after > self.longest_server_wait:
            return None
        return error.retry_after + min(self.first_wait, 1.0) * dice()

    def _bound(self, count: int) -> float:
        return min(self.longest_wait, self.first_wait * 2.0 ** min(max(count - 1, 0), 60))


def may_repeat(error: ChatRestError, replay: Replay) -> bool:
    """Whether a call may be sent again after `error`."""
    if isinstance(error, ConnectError | RateLimitError):
        return True
    return replay != "never" and is_passing(error)


def is_passing(error: ChatRestError) -> bool:
    """Whether `error` may be gone when the call is repeated."""
    if isinstance(error, ApiError):
        return error.status in REPEATED_STATUSES or 520 <= error.status < 530
    return isinstance(error, TransportError) and not isinstance(error, ConnectError)


def leaves_open(error: ChatRestError) -> bool:
    """Whether a call that ended in `error` may have been applied. 501 and 505 say that it was not."""
    failed = isinstance(error, ServerError) and error.status not in (501, 505)
    return failed or is_passing(error)


def tale(steps: Sequence[tuple[str, float | None]], last: str = "") -> str:
    """What the attempts before ended in, and how long each was waited after; like ones told once.

    A step is (error, seconds waited; None where there was no time for it); `last` is the error that is
    raised, and what ended in the same is not told again.
    """
    told: list[str] = []
    number = 1
    for text, same in groupby(steps, key=itemgetter(0)):
        waits = [wait for _, wait in same]
        name = f"attempt {number}" if len(waits) == 1 else f"attempts {number}-{number + len(waits) - 1}"
        waited = ", ".join(f"{wait:.1f}" for wait in waits if wait is not None)
        told.append(
            f"{name}: {'the same' if text == last else text}" + (f"; waited {waited} s" if waited else "")
        )
        number += len(waits)
    return "; ".join(told)
