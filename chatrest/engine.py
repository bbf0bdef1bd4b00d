"""One call, from its queueing to its result: pace, place, attempts, waits, and one deadline over all.

What the views of a session share: the time, the gates of the rate limits, the listeners. The call itself
is `chatrest.run`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeAlias, TypeVar

from .core.endpoint import Call
from .core.wire import Request
from .pool import Pool
from .run import Run, Terms
from .telemetry import LOGGER, Listener, log_attempt, tell
from .timing import Timing

R = TypeVar("R")

_NUMBERS = count(1)  # of the process: one listener may serve several sessions

Dice: TypeAlias = Callable[[], float]


class Engine:
    """Makes calls; shared by all views of a session."""

    def __init__(self, timing: Timing, dice: Dice, listeners: tuple[Listener, ...]) -> None:
        self.timing = timing
        self.dice = dice
        self._listeners = listeners

    def run(self, call: Call[R], request: Request, pool: Pool, terms: Terms) -> Awaitable[R]:
        """The call's result, or the last real error with the story of its attempts."""
        gate = pool.gate(terms.app_id, call.endpoint.rate_class)
        run = Run(call, request, pool, gate, terms, self)
        if self.listeners:
            return self._told(run, terms)
        # No coroutine of its own around the run: a call that goes well pays for every layer.
        return run.result() if terms.deadline is None else self._bounded(run, terms)

    async def _told(self, run: Run[R], terms: Terms) -> R:
        error: str | None = "CancelledError"
        try:
            result = await self._bounded(run, terms)
            error = None
            return result
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            tell(self.listeners, run.outcome(error))

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Who is told of attempts and calls: the caller's, and the logger where it is on DEBUG."""
        if LOGGER.isEnabledFor(logging.DEBUG):
            return (log_attempt, *self._listeners)
        return self._listeners

    async def _bounded(self, run: Run[R], terms: Terms) -> R:
        if terms.deadline is None:
            return await run.result()
        limit = asyncio.timeout(terms.deadline)
        try:
            async with limit:
                return await run.result()
        except TimeoutError:
            if not limit.expired():
                raise  # an attempt's own timeout, or a wait that would not fit
        raise run.late("has passed")

    def number(self) -> int:
        """The next call's number."""
        return next(_NUMBERS)
