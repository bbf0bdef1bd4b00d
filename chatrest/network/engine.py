"""What the views of a session share: its time, its dice and its listeners. The call itself is `chatrest.run`.

Here a call gets what bounds it from outside: the deadline over all of it, and the record of its outcome.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeAlias, TypeVar

from ..core.endpoint import Call
from ..core.wire import Request
from ..telemetry import LOGGER, Listener, log_attempt, tell
from .call import Means, Run, Terms
from .pool import Pool
from .timing import Timing

R = TypeVar("R")

_NUMBERS = count(1)  # of the process: one listener may serve several sessions

Dice: TypeAlias = Callable[[], float]


class Engine:
    """Makes calls; shared by all views of a session."""

    def __init__(self, timing: Timing, dice: Dice, listeners: tuple[Listener, ...]) -> None:
        self._timing = timing
        self._dice = dice
        self._listeners = listeners

    def run(self, call: Call[R], request: Request, pool: Pool, terms: Terms) -> Awaitable[R]:
        """The call's result, or the last real error with the story of its attempts."""
        gate = pool.gate(terms.app_id, call.endpoint.rate_class)
        listeners = self._listening()
        number = next(_NUMBERS) if listeners else 0
        run = Run(call, request, pool, gate, terms, Means(self._timing, self._dice, listeners, number))
        if listeners:
            return self._told(run, terms, listeners)
        # No coroutine of its own around the run: a call that goes well pays for every layer.
        return run.result() if terms.deadline is None else self._bounded(run, terms)

    async def _told(self, run: Run[R], terms: Terms, listeners: tuple[Listener, ...]) -> R:
        error: str | None = "CancelledError"
        try:
            result = await self._bounded(run, terms)
            error = None
            return result
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            tell(listeners, run.outcome(error))

    def _listening(self) -> tuple[Listener, ...]:
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
