"""The clock and sleep of a session, and the event loop and process that it belongs to."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..errors import RequestInvalidError

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Timing:
    """A clock that is never earlier than the time that was slept.

    Tests replace the sleep by one that returns at once, often with a constant clock. After a sleep until some
    time, the clock must show that time, or the caller would sleep forever.
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


class Home:
    """The process and the event loop that a session was opened in, which own its sockets and timers."""

    __slots__ = ("_loop", "_process")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = os.getpid()

    def check(self) -> None:
        """Raise `RequestInvalidError` in another process or event loop; takes less than a microsecond."""
        if os.getpid() != self._process:
            raise RequestInvalidError(
                "the session was opened before this process was forked: open another session there"
            )
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is not self._loop:
            raise RequestInvalidError(
                "the session belongs to another event loop, the one that it was opened in: "
                "open another session there, one in each loop and thread"
            )
