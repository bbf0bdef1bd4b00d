"""One call, from its queueing to its result: attempts, waits, and one deadline over all.

The only place that waits. The first attempt is made plainly; tenacity is entered once it has failed, so a
call that goes well does not pay for it. Which error may be repeated, and after how long, is `core.retry`'s
to say; this file asks it, sleeps, and tells the story.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Generic, TypeAlias, TypeVar

import tenacity
from msgspec import Struct

from .core.endpoint import Call
from .core.faults import error_of, fault
from .core.retry import RetryPolicy, is_passing
from .core.timeouts import Timeouts
from .core.wire import Request
from .errors import (
    ApiError,
    ChatRestError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    OutcomeUnknownError,
    ReplyUnreadableError,
    ServerError,
    ServerOutcomeUnknownError,
    TransportError,
)
from .pool import Pool
from .transport import Reply, plain_headers

R = TypeVar("R")

Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Dice: TypeAlias = Callable[[], float]


class Terms(Struct, frozen=True, kw_only=True):
    """On which terms a call is made."""

    timeouts: Timeouts
    retry: RetryPolicy
    deadline: float | None
    """Seconds for the call as a whole."""
    secrets: tuple[str, ...]
    """What no error may repeat."""


class Engine(Struct, frozen=True):
    """Makes calls; shared by all views of a session. Clock, sleep and dice are the session's."""

    clock: Clock
    sleep: Sleep
    dice: Dice

    async def run(self, call: Call[R], request: Request, pool: Pool, terms: Terms) -> R:
        """The call's result, or the last real error with the story of its attempts."""
        run = _Run(self, call, request, pool, terms)
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


class _Run(Generic[R]):
    """One call under way: how often it was sent, and where its time went."""

    def __init__(self, engine: Engine, call: Call[R], request: Request, pool: Pool, terms: Terms) -> None:
        self._engine, self._call, self._request = engine, call, request
        self._pool, self._terms = pool, terms
        self._began = engine.clock()
        self._attempts = 0
        self._queued = 0.0
        self._waited = 0.0
        self._pause = 0.0
        self._sending = False
        self._story: list[str] = []

    async def result(self) -> R:
        """The first attempt, and where it fails the rest."""
        try:
            return await self._attempt()
        except (ApiError, TransportError) as error:
            first = error
        return await self._again(first)

    async def _attempt(self) -> R:
        reply = await self._exchange()
        if not 200 <= reply.status < 300:
            raise self._fault(reply)
        try:
            return self._call.endpoint.reply(reply.body)
        except ReplyUnreadableError as error:
            unreadable: ChatRestError = error
            if error_of(reply.body):  # a success whose body tells of an error
                unreadable = self._fault(reply)
        raise unreadable

    async def _exchange(self) -> Reply:
        queued = self._engine.clock()
        await self._pool.enter()
        self._queued += self._engine.clock() - queued
        self._attempts += 1
        self._sending = True
        try:
            reply = await self._pool.exchange(self._request, self._terms.timeouts)
        finally:
            self._pool.leave()
        self._sending = False
        return reply

    async def _again(self, first: ChatRestError) -> R:
        """What comes after a first attempt that failed with `first`."""
        failed = [first]

        async def attempt() -> R:
            if failed:
                raise failed.pop()
            return await self._attempt()

        retrying = tenacity.AsyncRetrying(
            sleep=self._engine.sleep, retry=self._is_to_repeat, wait=lambda _: self._pause, reraise=True
        )
        try:
            return await retrying(attempt)
        except (ApiError, TransportError) as error:
            last = error
        raise self._told(last)

    def _is_to_repeat(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome is not None else None
        if not isinstance(error, ApiError | TransportError):
            return False
        terms = self._terms
        pause = terms.retry.wait(error, self._call.endpoint.replay, self._attempts, self._engine.dice)
        if pause is None:
            return False
        self._story.append(f"attempt {self._attempts}: {error}; waited {pause:.1f} s")
        self._sending = False
        spent = self._engine.clock() - self._began
        if terms.deadline is not None and spent + pause >= terms.deadline:
            raise self.late(f"leaves {terms.deadline - spent:.1f} s, less than the wait of {pause:.1f} s")
        self._pause = pause
        self._waited += pause
        return True

    def _fault(self, reply: Reply) -> ApiError:
        headers = plain_headers(reply.headers, self._terms.secrets)
        name = self._call.endpoint.name
        return fault(reply.status, headers, reply.body, name, self._terms.secrets, _now(reply))

    def _told(self, error: ChatRestError) -> ChatRestError:
        """`error` as it is raised: with the story of the attempts, and with an unknown outcome said."""
        if self._call.endpoint.replay == "never" and is_passing(error):
            error = _outcome_unknown(self._call.endpoint.name, error)
        if isinstance(error, ApiError):
            error.attempts = self._attempts
        if self._story:
            error.args = (f"{error} (after {self._attempts} attempts: {'; '.join(self._story)})",)
        return error

    def late(self, what: str) -> DeadlineExceededError:
        """The error for a deadline that cannot be kept; it says where the time went."""
        spent = self._engine.clock() - self._began
        busy = max(0.0, spent - self._queued - self._waited)
        text = (
            f"{self._call.endpoint.name}: the deadline of {self._terms.deadline} s {what}: "
            f"{self._queued:.1f} s queueing, {busy:.1f} s in {self._attempts} attempts, "
            f"{self._waited:.1f} s waiting between them"
        )
        if self._story:
            text += f" ({'; '.join(self._story)})"
        if self._sending and self._call.endpoint.replay == "never":
            return DeadlineOutcomeUnknownError(f"{text}; it was sent, and may have been applied")
        return DeadlineExceededError(text)


def _outcome_unknown(name: str, error: ChatRestError) -> ChatRestError:
    text = f"{name} is not repeated, and may or may not have been applied: {error}"
    if not isinstance(error, ServerError):
        unknown = OutcomeUnknownError(text)
        unknown.__cause__ = error
        return unknown
    both = ServerOutcomeUnknownError(text)
    both.__dict__.update(error.__dict__)
    both.__cause__ = error
    return both


def _now(reply: Reply) -> float:
    """Epoch seconds on the service's own clock where it tells it: times that it names are on that clock."""
    try:
        return parsedate_to_datetime(reply.headers["Date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return time.time()
