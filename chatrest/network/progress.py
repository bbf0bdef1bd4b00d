"""The progress of one call: its stage, its durations, and the error texts of a missed deadline."""

from typing import Final

from ..core.pace.retry import Attempts, attempt_log
from ..errors import DeadlineReason
from .transport import Reply

_SHOWN: Final = 0.05  # seconds; less is formatted as 0.0 and left out
_PASSED: Final[dict[DeadlineReason, str]] = {
    "rate limit": "held back by the rate limit for longer than the deadline of {} s",
    "place": "no place in the pool became free within the deadline of {} s",
    "network": "no reply came within the deadline of {} s",
    "wait": "the wait before the next attempt was longer than the deadline of {} s",
}


class Durations:
    """Durations of one attempt, or of all together, in seconds."""

    # Attributes of the class: a call that needs no waiting and no listener sets few of its own.
    paced: float = 0.0
    queued: float = 0.0
    network: float = 0.0
    decoded: float = 0.0

    def add(self, other: "Durations") -> None:
        """Add the durations of another attempt."""
        self.paced += other.paced
        self.queued += other.queued
        self.network += other.network
        self.decoded += other.decoded


class Progress(Durations):
    """The state of an active call, and the durations of all its attempts."""

    number: int = 0
    """The number of attempts so far."""
    stage: DeadlineReason = "place"
    waited: float = 0.0
    """Seconds really waited between attempts."""
    sent: bool = False
    """True if the last exchange failed and may have sent something."""
    reply: Reply | None = None
    """The reply of the current or last attempt."""

    def __init__(self, began: float) -> None:
        self.began = began
        """Start of the call, in seconds of the session's clock."""


def no_room_text(wait: float, stage: DeadlineReason, deadline: float, left: float) -> str:
    """Return the reason why a wait of `wait` seconds does not fit: the deadline leaves `left` seconds."""
    what = "the rate limit's next slot" if stage == "rate limit" else "the next attempt"
    return f"{what} is {wait:.1f} s away, and the deadline of {_shown(deadline)} s leaves {left:.1f} s"


def passed_text(stage: DeadlineReason, deadline: float) -> str:
    """Return the reason why a deadline of `deadline` seconds passed in `stage`."""
    return _PASSED[stage].format(_shown(deadline))


def _shown(seconds: float) -> float:
    """Return seconds to the millisecond: a deadline may be what a web request has left."""
    return round(seconds, 3) or seconds


def spent_text(total: Durations, sent: int, attempts: Attempts) -> str:
    """Return the time spent and the errors of the attempts, in brackets; an empty text for neither."""
    pairs = (
        (total.paced, "held back by the rate limit"),
        (total.queued, "waiting for a place"),
        (total.network, f"on the network in {sent} attempt{'s' if sent > 1 else ''}"),
        (attempts.waited, "waiting between attempts"),
    )
    parts = [", ".join(f"{seconds:.1f} s {what}" for seconds, what in pairs if seconds >= _SHOWN)]
    log = attempts.log
    if attempts.error is not None and attempts.pause is None:  # the last error, without a pause after it
        log = (*log, (str(attempts.error), None))
    parts.append(attempt_log(log, omitted=attempts.omitted))
    text = "; ".join(filter(None, parts))
    return f" ({text})" if text else ""
