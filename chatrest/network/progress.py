"""The progress of one call: its stage, its durations, and the text for a deadline that it misses."""

from typing import Final

from ..core.retry import Attempts, attempt_log
from ..errors import DeadlineReason
from .transport import Reply

_SHOWN: Final = 0.05  # seconds: less would be written as 0.0
_PASSED: Final[dict[DeadlineReason, str]] = {
    "rate limit": "held back by the rate limit for longer than the deadline of {} s",
    "place": "no place in the pool became free within the deadline of {} s",
    "network": "no reply came within the deadline of {} s",
    "wait": "the wait before the next attempt was longer than the deadline of {} s",
}


class Durations:
    """Seconds of one attempt, or of all."""

    __slots__ = ("decoded", "network", "paced", "queued")

    def __init__(self) -> None:
        self.paced = self.queued = self.network = self.decoded = 0.0

    def add(self, other: "Durations") -> None:
        """Add those of another attempt."""
        self.paced += other.paced
        self.queued += other.queued
        self.network += other.network
        self.decoded += other.decoded


class Progress(Durations):
    """The state of a call under way, and the durations of all its attempts."""

    __slots__ = ("began", "number", "reply", "sent", "stage")

    def __init__(self, began: float) -> None:
        self.paced = self.queued = self.network = self.decoded = 0.0
        self.began = began
        """The session's time at which the call was made."""
        self.number = 0
        """Attempts begun."""
        self.stage: DeadlineReason = "place"
        self.sent = False
        """True if the last exchange was broken off when something may have been sent."""
        self.reply: Reply | None = None
        """The reply of the attempt under way, or of the last one."""


def no_room_text(wait: float, stage: DeadlineReason, deadline: float, left: float) -> str:
    """The reason why a wait of `wait` seconds is not begun: only `left` seconds of the deadline are."""
    what = "the rate limit's next slot" if stage == "rate limit" else "the next attempt"
    return f"{what} is {wait:.1f} s away, and the deadline of {deadline} s leaves {left:.1f} s"


def passed_text(stage: DeadlineReason, deadline: float) -> str:
    """The reason why a deadline passed."""
    return _PASSED[stage].format(deadline)


def spent_text(total: Durations, sent: int, attempts: Attempts) -> str:
    """The time spent and what the attempts ended in, in brackets; empty where there is nothing to say."""
    pairs = (
        (total.paced, "held back by the rate limit"),
        (total.queued, "waiting for a place"),
        (total.network, f"on the network in {sent} attempt{'s' if sent > 1 else ''}"),
        (attempts.waited, "waiting between attempts"),
    )
    parts = [", ".join(f"{seconds:.1f} s {what}" for seconds, what in pairs if seconds >= _SHOWN)]
    log = attempts.log
    if attempts.error is not None and attempts.pause is None:  # the one after which nothing was waited
        log = (*log, (str(attempts.error), None))
    parts.append(attempt_log(log))
    text = "; ".join(filter(None, parts))
    return f" ({text})" if text else ""
