"""Whether a failed attempt may be repeated, and after how long. Decisions only; the session waits.

| what failed                                       | safe, idempotent | never                        |
|---------------------------------------------------|------------------|------------------------------|
| no connection (`ConnectError`)                    | again            | again: nothing was sent      |
| 429 (`RateLimitError`)                            | again            | again: it was not processed  |
| cut off, timed out, unreadable (`TransportError`) | again            | the outcome is unknown       |
| 408, 500, 502, 503, 504                           | again            | the outcome is unknown       |
| any other answer                                  | raised           | raised                       |

Waits are full jitter below a bound that doubles; a wait that the service names is kept to, and spread a
little so that a thousand clients do not come back in one instant.
"""

from collections.abc import Callable
from typing import Final, final

from msgspec import Struct

from ..errors import (
    ApiError,
    ChatRestError,
    ConnectError,
    RateLimitError,
    RequestInvalidError,
    TransportError,
)
from .endpoint import Replay
from .timeouts import check_seconds

REPEATED_STATUSES: Final = frozenset({408, 500, 502, 503, 504})


@final
class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How calls are repeated. `RetryPolicy(attempts=1)` never repeats."""

    attempts: int = 5
    """How often a call is sent at most, the first time included."""
    first_wait: float = 0.5
    """Seconds: the bound of the first wait; it doubles with every attempt."""
    longest_wait: float = 20.0
    """Seconds: the bound of every wait of ours."""
    longest_server_wait: float = 120.0
    """Seconds: a service that names a longer wait is not waited for: its error is raised at once."""
    unnamed_limit_wait: float = 60.0
    """Seconds: the bound of the wait after a 429 that names no time: a limit's window, usually a minute."""

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or not 1 <= self.attempts <= 100:
            raise RequestInvalidError(
                f"retry.attempts = {self.attempts!r}: allowed is a whole number from 1 to 100"
            )
        for name in self.__struct_fields__[1:]:
            if check_seconds(f"retry.{name}", getattr(self, name)) is None:
                raise RequestInvalidError(f"retry.{name} = None: allowed is a number of seconds above 0")

    def wait(
        self, error: ChatRestError, replay: Replay, attempt: int, dice: Callable[[], float]
    ) -> float | None:
        """Seconds to wait before attempt number `attempt` + 1; None where `error` is to be raised."""
        if attempt >= self.attempts or not may_repeat(error, replay):
            return None
        bound = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 60))
        if not isinstance(error, RateLimitError):
            return bound * dice()
        if error.retry_after is None:
            # No time was named: the window may be almost over or have just begun, so the bound grows to it.
            return min(self.unnamed_limit_wait, bound * 8) * (0.5 + dice() / 2)
        if error.retry_after > self.longest_server_wait:
            return None
        return error.retry_after + min(self.first_wait, 1.0) * dice()


def may_repeat(error: ChatRestError, replay: Replay) -> bool:
    """Whether a call may be sent again after `error`."""
    if isinstance(error, ConnectError | RateLimitError):
        return True
    return replay != "never" and is_passing(error)


def is_passing(error: ChatRestError) -> bool:
    """Whether `error` leaves open what became of the call, and may pass."""
    if isinstance(error, ApiError):
        return error.status in REPEATED_STATUSES
    return isinstance(error, TransportError) and not isinstance(error, ConnectError)
