"""The session's time, a clock and a sleep that agree with each other, and the loop that it belongs to."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias, final

from ..errors import RequestInvalidError

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


class _Forks:
    """The number of forks that led to this process: counted, as a system call for each call costs more."""

    count = 0

    @classmethod
    def add(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forks.add)


@final
class Home:
    """The process and the event loop that a session was opened in: its sockets and timers belong to them."""

    __slots__ = ("_forks", "_loop")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._forks = _Forks.count

    def check(self) -> None:
        """Refuse a caller who is elsewhere, with a `RequestInvalidError`; well below a microsecond."""
        if self._forks != _Forks.count:
            raise RequestInvalidError(
                "the session was opened before this process was forked: open a session of its own there"
            )
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is not self._loop:
            raise RequestInvalidError(
                "the session belongs to another event loop, the one that it was opened in: "
                "open a session of its own there, one in each loop and thread"
            )
