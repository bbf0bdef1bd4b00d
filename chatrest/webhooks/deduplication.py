"""The memory of events that have been handled, bounded in number and time.

No delivery has an id, and records repeat: a message is edited twice, a
user is blocked again. So the whole body identifies an event, and only for the time in which the service
repeats a delivery.
"""

from hashlib import sha256
from typing import Final, final

REPETITIONS_END_AFTER: Final = 60.0
"""Seconds: two repetitions, 10 s and 30 s after failures of at most 2 s each, and some more."""


def event_key(raw: bytes) -> bytes:
    """Return the identity of an event: the SHA-256 of its body."""
    return sha256(raw).digest()


@final
class RecentEvents:
    """The keys of the events that were handled in the last `seconds`, at most the last `most` of them."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._expiries: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._expiries)

    def add(self, key: bytes, now: float) -> None:
        """Remember an event that was handled at `now` (seconds of any clock that never goes back)."""
        self._expiries.pop(key, None)
        self._expiries[key] = now + self._seconds
        self._forget(now)

    def has(self, key: bytes, now: float) -> bool:
        """Return True if the event is remembered."""
        return self._expiries.get(key, now) > now

    def _forget(self, now: float) -> None:
        """Remove what has expired or is too much; the oldest comes first, so this costs little."""
        while self._expiries:
            oldest = next(iter(self._expiries))
            if len(self._expiries) <= self._most and self._expiries[oldest] > now:
                return
            del self._expiries[oldest]
