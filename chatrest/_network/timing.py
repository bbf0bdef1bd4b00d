"""The clock and sleep of a session."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Timing:
    """A clock that is never earlier than the time that was slept.

    A sleep of a test may return at once: without this a caller would sleep until some time forever.
    """

    def __init__(self, clock: Clock, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._reached = clock()

    def now(self) -> float:
        """Return the time in seconds; it never decreases."""
        now = self._clock()
        if now < self._reached:
            return self._reached
        self._reached = now
        return now

    async def sleep(self, seconds: float) -> None:
        """Sleep `seconds`; afterwards `now()` is at least that much later."""
        until = self.now() + seconds
        await self._sleep(seconds)
        self._reached = max(self._reached, until)
