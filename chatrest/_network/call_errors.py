"""The error that a call raises in the end, by its attempts: the last failure, or that of its deadline."""

from typing import Final, TypeAlias

from msgspec import Struct

from .._core.pace.retry import Attempts, Consequence, attempt_log, consequence
from .._core.requests.endpoint import Replay
from ..errors import (
    ApiError,
    ChatRestError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    DeadlineReason,
    OutcomeUnknownError,
    ServerError,
    ServerOutcomeUnknownError,
    TransportError,
)

Failure: TypeAlias = ApiError | TransportError
"""The error of an attempt."""

_LEAST_SHOWN: Final = 0.05
"""Seconds that an error names; less would be formatted as 0.0."""
_PASSED_TEXTS: Final[dict[DeadlineReason, str]] = {
    "rate limit": "held back by the rate limit for longer than",
    "place": "no place in the pool became free within",
    "network": "no reply came within",
    "wait": "the wait before the next attempt was longer than",
}
"""The error of a deadline that has passed, by what the call was waiting for."""


class Durations(Struct, gc=False):
    """The seconds of a call so far, of all its attempts together; names as in `telemetry.Outcome`."""

    paced: float = 0.0
    queued: float = 0.0
    network: float = 0.0
    decoded: float = 0.0
    waited: float = 0.0
    """Between attempts, as measured: a cancel may cut a pause short."""


def final_error(error: Failure, operation: str, replay: Replay, attempts: Attempts) -> ChatRestError:
    """Return the error to raise: `error` with the log of the attempts, or an unknown outcome."""
    final: ChatRestError = error
    if consequence(error, replay) is Consequence.UNKNOWN:
        final = _outcome_unknown(operation, error)
    elif isinstance(error, TransportError):
        final.args = (f"{operation}: {error}",)
    if isinstance(final, ApiError):
        final.attempts = attempts.count
    if attempts.count > 1:
        more = max(0, attempts.count - 1 - len(attempts.log))
        before = attempt_log(attempts.log, str(final).removeprefix(f"{operation}: "), more)
        final.args = (f"{final} (after {attempts.count} attempts; {before})",)
    return final


def _outcome_unknown(operation: str, error: Failure) -> ChatRestError:
    text = f"{operation} is not repeated, and may or may not have been applied: {error}"
    unknown: ChatRestError = OutcomeUnknownError(text)
    if isinstance(error, ServerError):
        unknown = ServerOutcomeUnknownError(text)
        vars(unknown).update(vars(error))
    unknown.operation = operation
    unknown.__cause__ = error
    return unknown


class MissedDeadline(Struct, frozen=True, kw_only=True):
    """The facts of a call whose deadline is missed, and the error that is made of them."""

    operation: str
    deadline: float
    attempts: Attempts
    durations: Durations
    sent: int
    """The number of requests that were sent."""
    may_be_applied: bool
    """True for a call that must not be repeated, and may have been sent."""

    def passed_error(self, stage: DeadlineReason) -> DeadlineExceededError:
        """Return the error of a deadline that has passed while the call was in this stage."""
        return self._error(f"{_PASSED_TEXTS[stage]} the deadline of {self._seconds} s", stage, None)

    def wait_error(self, wait: float, reason: DeadlineReason, remaining: float) -> DeadlineExceededError:
        """Return the error of a wait that is longer than the seconds that remain."""
        event = "the rate limit's next slot" if reason == "rate limit" else "the next attempt"
        text = f"{event} is {wait:.1f} s away, and the deadline of {self._seconds} s leaves {remaining:.1f} s"
        return self._error(text, reason, wait)

    @property
    def _seconds(self) -> float:
        """The deadline to the millisecond: it may be what a web request has left."""
        return round(self.deadline, 3) or self.deadline

    def _error(self, text: str, reason: DeadlineReason, wait: float | None) -> DeadlineExceededError:
        text = f"{self.operation}: {text}{self._history()}"
        kind = DeadlineExceededError
        if self.may_be_applied:
            kind, text = DeadlineOutcomeUnknownError, f"{text}; it was sent, and may have been applied"
        error = kind(text, operation=self.operation, attempts=self.sent, reason=reason, retry_after=wait)
        error.__cause__ = self.attempts.error
        return error

    def _history(self) -> str:
        """Return in words what the time was spent on, and the log of the attempts."""
        attempts, durations = self.attempts, self.durations
        pairs = (
            (durations.paced, "held back by the rate limit"),
            (durations.queued, "waiting for a place"),
            (durations.network, f"on the network in {self.sent} attempt{'s' if self.sent > 1 else ''}"),
            (attempts.waited, "waiting between attempts"),
        )
        spent = ", ".join(
            f"{seconds:.1f} s {activity}" for seconds, activity in pairs if seconds >= _LEAST_SHOWN
        )
        log, more = attempts.log, attempts.count - len(attempts.log)
        if more == 1:  # the last error, without a pause after it
            log, more = (*log, (str(attempts.error), None)), 0
        text = "; ".join(filter(None, (spent, attempt_log(log, more=more))))
        return f" ({text})" if text else ""
