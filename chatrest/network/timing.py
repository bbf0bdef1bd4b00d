"""The session's time: a clock and a sleep that can be given, and that agree with each other."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, final

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


@final
class Timing:
    """A clock that has passed what was slept.

    A test gives a sleep that returns at once, and perhaps a clock that stands still: whoever has slept
    until a moment must then find that moment reached, or it would wait for ever.
    """

    def __init__(self, clock: Clock, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._reached = clock()

    def now(self) -> float:
        """Seconds; never goes back."""
        now = self._clock()
        if now > self._reached:
            self._reached = now
        return self._reached

    async def sleep(self, seconds: float) -> None:
        """Sleeps; afterwards `now()` is at least so much later."""
        until = self.now() + seconds
        await self._sleep(seconds)
        self._reached = max(self._reached, until)
