"""The progress of one call: its attempts, the time that they took, and the error in which it may end."""

from typing import Final, TypeAlias

from msgspec import Struct

from .._core.pace.retry import Attempts, Consequence, attempt_log, consequence
from .._core.requests.endpoint import Replay
from .._texts import plural
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

_MIN_SHOWN: Final = 0.05
"""Seconds that an error names; less would be formatted as 0.0."""
_PASSED_TEXTS: Final[dict[DeadlineReason, str]] = {
    "rate limit": "held back by the rate limit for longer than",
    "place": "no place in the pool became free within",
    "network": "no reply came within",
    "wait": "the wait before the next attempt was longer than",
}
"""The error of a deadline that has passed, by what the call was waiting for."""


class CallProgress(Struct):
    """The attempts of a call so far. Durations are in seconds, of all attempts together."""

    operation: str
    replay: Replay
    deadline: float | None
    attempts: Attempts
    """Those that have failed."""
    number: int = 0
    """The number of the present attempt, from 1."""
    stage: DeadlineReason = "place"
    """What the call is waiting for, should its deadline pass."""
    sent: bool = False
    """True if the last exchange failed and may have sent something."""
    paced: float = 0.0
    queued: float = 0.0
    network: float = 0.0
    decoded: float = 0.0
    waited: float = 0.0
    """Between attempts, as measured: a cancel may cut a pause short."""

    def final_error(self, error: Failure) -> ChatRestError:
        """Return the error to raise: `error` with the log of the attempts, or an unknown outcome."""
        operation, attempts = self.operation, self.attempts
        final: ChatRestError = error
        if consequence(error, self.replay) is Consequence.UNKNOWN:
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

    def deadline_error(self) -> DeadlineExceededError:
        return self._missed_deadline(
            f"{_PASSED_TEXTS[self.stage]} the deadline of {self._seconds} s", self.stage
        )

    def wait_error(self, wait: float, reason: DeadlineReason, remaining: float) -> DeadlineExceededError:
        event = "the rate limit's next slot" if reason == "rate limit" else "the next attempt"
        left = f"the deadline of {self._seconds} s leaves {remaining:.1f} s"
        return self._missed_deadline(f"{event} is {wait:.1f} s away, and {left}", reason, wait)

    @property
    def _seconds(self) -> float:
        """The deadline to the millisecond: it may be what a web request has left."""
        assert self.deadline is not None
        return round(self.deadline, 3) or self.deadline

    def _missed_deadline(
        self, text: str, reason: DeadlineReason, wait: float | None = None
    ) -> DeadlineExceededError:
        sent = self.attempts.count + (self.stage == "network")
        text = f"{self.operation}: {text}{self._history(sent)}"
        kind = DeadlineExceededError
        if self.sent and self.replay == "never":
            kind, text = DeadlineOutcomeUnknownError, f"{text}; it was sent, and may have been applied"
        error = kind(text, operation=self.operation, attempts=sent, reason=reason, retry_after=wait)
        error.__cause__ = self.attempts.error
        return error

    def _history(self, sent: int) -> str:
        attempts = self.attempts
        pairs = (
            (self.paced, "held back by the rate limit"),
            (self.queued, "waiting for a place"),
            (self.network, f"on the network in {plural(sent, 'attempt')}"),
            (self.waited, "waiting between attempts"),
        )
        spent = [f"{seconds:.1f} s {activity}" for seconds, activity in pairs if seconds >= _MIN_SHOWN]
        log, more = attempts.log, attempts.count - len(attempts.log)
        if more == 1:  # the last error, without a pause after it
            log, more = (*log, (str(attempts.error), None)), 0
        text = "; ".join(filter(None, (", ".join(spent), attempt_log(log, more=more))))
        return f" ({text})" if text else ""


def _outcome_unknown(operation: str, error: Failure) -> ChatRestError:
    text = f"{operation} is not repeated, and may or may not have been applied: {error}"
    unknown: ChatRestError = OutcomeUnknownError(text)
    if isinstance(error, ServerError):
        unknown = ServerOutcomeUnknownError(text)
        vars(unknown).update(vars(error))
    unknown.operation = operation
    unknown.__cause__ = error
    return unknown
