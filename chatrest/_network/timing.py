"""The time of a session: its clock and sleep, and the time limits of its exchanges.

All exchanges have one timer of the event loop. A timer for each, as aiohttp and `asyncio.timeout` set it, is
the costliest part of a short call: it joins the heap of the event loop, and is cancelled unused.
`asyncio.timeout` costs 23.6 µs; this costs 2.7, as an exchange only notes when its time ends. The timer goes
off at the earliest of these ends; with the default limit of 60 s that is about once a minute.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from math import ceil, inf
from typing import Any, Final, TypeAlias

from msgspec import Struct

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
_LONG: Final = 5.0  # seconds


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


class Exchange(Struct, eq=False):
    """The time limit of one task, until `ExpiryTimer.stop`, and its connection."""

    task: asyncio.Task[Any]
    cancelling: int
    """The number of cancellations that the task had at the start."""
    ends: float
    """In seconds of the event loop's clock; infinite without a limit, and once it is over."""
    is_over: bool = False
    has_asked: bool = False
    """True once a connection was requested; an exchange has one."""
    has_connected: bool = True
    """True once it had a connection and may have sent something.

    It is also True before a connection is requested, as it is not known then that nothing was sent.
    """

    def expire(self) -> None:
        self.is_over, self.ends = True, inf
        self.task.cancel()

    def has_cancelled(self) -> bool:
        """Return True if the task's `CancelledError` is this one's, and no one else has cancelled it too."""
        return self.is_over and self.task.cancelling() - 1 <= self.cancelling


class ExpiryTimer:
    """The timer of all exchanges of a transport; created in a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.exchanges: dict[asyncio.Task[Any] | None, Exchange] = {}
        self._handle: asyncio.TimerHandle | None = None
        self._first = inf
        self._goes_off = inf

    def start(self, seconds: float) -> Exchange:
        """Cancel the current task in `seconds`, unless `stop` is first; infinitely many are no limit."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        exchange = Exchange(task, task.cancelling(), self._loop.time() + seconds)
        self.exchanges[task] = exchange
        if exchange.ends < self._first:
            self._set(exchange.ends, seconds)
        return exchange

    def stop(self, exchange: Exchange) -> None:
        del self.exchanges[exchange.task]
        if exchange.is_over:
            exchange.task.uncancel()  # as `asyncio.timeout` does: it ends the exchange, not the task

    def close(self) -> None:
        """Cancel the timer, unless a time limit is active: nothing else ends a connection attempt."""
        if not self.exchanges:
            self._cancel()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._first, self._goes_off = None, inf, inf

    def _set(self, ends: float, seconds: float) -> None:
        self._cancel()
        # Long limits end at whole seconds, as aiohttp's do, so that the timer ends many of them at once.
        at = ceil(ends) if seconds >= _LONG else ends
        # In a context of its own: the timer would keep the variables of the exchange that set it for ever.
        self._handle = self._loop.call_at(at, self._expire, context=Context())
        self._first, self._goes_off = ends, at

    def _expire(self) -> None:
        # The event loop may be early by the resolution of its clock.
        now = max(self._loop.time(), self._goes_off)
        for exchange in self.exchanges.values():
            if exchange.ends <= now:
                exchange.expire()
        self._cancel()
        first = min([exchange.ends for exchange in self.exchanges.values()], default=inf)
        if first < inf:
            self._set(first, first - now)
