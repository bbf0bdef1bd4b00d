"""One call under way: its attempts, what came of each, and where its time went.

The only place that waits between attempts. The first attempt is made plainly; tenacity is entered once it
has failed, so a call that goes well does not pay for it. Which error may be repeated, and after how long,
is `core.retry`'s to say; this file asks it, sleeps, and tells the story.
"""

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import tenacity
from msgspec import Struct, structs

from ..core.endpoint import Call
from ..core.faults import error_of, fault, moment, signal
from ..core.pacer import Signal
from ..core.retry import RetryPolicy, Tries, leaves_open, tale
from ..core.timeouts import Timeouts
from ..core.wire import Request
from ..errors import (
    ApiError,
    ChatRestError,
    ConnectError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    OutcomeUnknownError,
    RateLimitError,
    ReplyUnreadableError,
    ServerError,
    ServerOutcomeUnknownError,
    TransportError,
)
from ..telemetry import LOGGER, Attempt, Listener, Outcome, tell
from .lanes import Gate, Priority
from .pool import Pool
from .timing import Timing
from .transport import Reply, plain_headers, was_connected

R = TypeVar("R")

_NOT_JSON = frozenset({"text/html", "text/plain", "application/xml", "text/xml"})


class Terms(Struct, frozen=True, kw_only=True):
    """For whom, and on which terms, a call is made."""

    app_id: str
    timeouts: Timeouts
    retry: RetryPolicy
    deadline: float | None
    """Seconds for the call as a whole."""
    lane: Priority
    secrets: tuple[str, ...]
    """What no error may repeat."""

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Not the secrets."""
        return [("app_id", self.app_id), ("lane", self.lane), ("deadline", self.deadline)]

    def __repr__(self) -> str:
        return f"<Terms for {self.app_id}>"


class Means(Struct, frozen=True):
    """What a call is given to work with."""

    timing: Timing
    dice: Callable[[], float]
    listeners: tuple[Listener, ...]
    number: int
    """The call's, where anybody listens."""


class _Spent:
    """Seconds of one attempt, or of all."""

    __slots__ = ("decoded", "network", "paced", "queued")

    def __init__(self) -> None:
        self.paced = self.queued = self.network = self.decoded = 0.0

    def add(self, other: "_Spent") -> None:
        self.paced += other.paced
        self.queued += other.queued
        self.network += other.network
        self.decoded += other.decoded


class Run(Generic[R]):
    """One call."""

    __slots__ = (
        "_all", "_attempts", "_began", "_call", "_cause", "_gate", "_limited", "_means", "_pause",
        "_pool", "_reply", "_request", "_sending", "_story", "_terms", "_timing", "_unmade", "_waited",
    )  # fmt: skip

    def __init__(
        self, call: Call[R], request: Request, pool: Pool, gate: Gate, terms: Terms, means: Means
    ) -> None:
        self._call, self._request, self._pool, self._gate = call, request, pool, gate
        self._terms, self._means, self._timing = terms, means, means.timing
        self._began = self._timing.now()
        self._attempts = 0
        self._limited = 0
        self._unmade = 0
        self._all = _Spent()
        self._waited = 0.0
        self._pause = 0.0
        self._sending = False
        self._reply: Reply | None = None
        self._cause: str | None = None
        self._story: list[tuple[str, float | None]] = []

    async def result(self) -> R:
        """The first attempt, and where it fails the rest."""
        self._pool.budget.called()
        try:
            if self._means.listeners:
                return await self._attempt()
            self._attempts = 1  # nobody listens: the first attempt is spared all but the essential
            return self._read(await self._exchange(self._all))
        except (ApiError, TransportError) as error:
            first = error
        return await self._again(first)

    # ── one attempt ──

    async def _attempt(self) -> R:
        self._attempts += 1
        self._reply = None
        spent = _Spent()
        error: str | None = "CancelledError"
        try:
            reply = await self._exchange(spent)
            began = self._timing.now()
            result = self._read(reply)
            spent.decoded = self._timing.now() - began
            error = None
            return result
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            self._all.add(spent)
            if self._means.listeners:
                tell(self._means.listeners, self._record(spent, error))

    async def _exchange(self, spent: _Spent) -> Reply:
        lane, now = self._terms.lane, self._timing.now
        began = now()
        if self._terms.deadline is not None:
            self._refuse_hopeless(began, self._terms.deadline)
        if not self._gate.passes(lane, began):
            await self._wait(spent)
            began = now()
        self._sending = True
        try:
            self._reply = reply = await self._pool.exchange(self._request, self._terms.timeouts)
        except BaseException:
            self._gate.lost()
            raise
        finally:
            self._pool.leave(lane)
            spent.network = now() - began
        self._sending = False
        self._gate.observe(self._signal(reply))
        return reply

    def _signal(self, reply: Reply) -> Signal:
        told = signal(reply.status, reply.headers, _clock_of(reply) if reply.status == 429 else 0.0)
        if told.retry_after is not None and told.retry_after > self._terms.retry.longest_server_wait:
            return structs.replace(told, retry_after=None)  # what is not waited for holds up nobody else
        return told

    async def _wait(self, spent: _Spent) -> None:
        """Waits for the rate limit's turn and a place in the pool, and notes how long for which."""
        pace = self._gate.expected(self._terms.lane)
        began = self._timing.now()
        try:
            await self._gate.enter(self._terms.lane)
        finally:
            waited = self._timing.now() - began
            spent.paced += min(waited, pace)
            spent.queued += max(0.0, waited - pace)

    def _refuse_hopeless(self, now: float, deadline: float) -> None:
        """A turn that cannot come within the deadline is not waited for."""
        wait, left = self._gate.expected(self._terms.lane), deadline - (now - self._began)
        if wait >= left > 0:
            raise self.late(f"leaves {left:.1f} s, and the rate limit's next turn is {wait:.1f} s away")

    def _read(self, reply: Reply) -> R:
        if not 200 <= reply.status < 300:
            raise self._fault(reply)
        try:
            return self._call.endpoint.reply(reply.body)
        except ReplyUnreadableError as error:
            unreadable: ChatRestError = error
            kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if kind in _NOT_JSON:
                error.args = (f"{error}; it says that it is {kind}: is that the service's address?",)
            if error_of(reply.body):  # a success whose body tells of an error
                unreadable = self._fault(reply)
        raise unreadable

    def _fault(self, reply: Reply) -> ApiError:
        headers = plain_headers(reply.headers, self._terms.secrets)
        name, secrets = self._call.endpoint.name, self._terms.secrets
        return fault(reply.status, headers, reply.body, name, secrets, _clock_of(reply))

    # ── and again ──

    async def _again(self, first: ChatRestError) -> R:
        """What comes after a first attempt that failed with `first`."""
        failed = [first]

        async def attempt() -> R:
            if failed:
                raise failed.pop()
            return await self._attempt()

        retrying = tenacity.AsyncRetrying(
            sleep=self._timing.sleep, retry=self._is_to_repeat, wait=lambda _: self._pause, reraise=True
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
        terms, patient = self._terms, self._terms.lane == "bulk"
        self._limited += isinstance(error, RateLimitError)
        # A region that never replied may be a host that does not exist: nobody waits for that.
        self._unmade += patient and isinstance(error, ConnectError) and self._pool.has_replied
        tries = Tries(self._attempts - self._limited - self._unmade, self._limited, self._unmade, patient)
        pause = terms.retry.wait(error, self._call.endpoint.replay, tries, self._means.dice)
        if pause is None:
            return False
        if not isinstance(error, RateLimitError):
            pause = max(pause, self._pool.budget.spend(self._timing.now()))
        self._note(error, pause)
        return True

    def _note(self, error: ChatRestError, pause: float) -> None:
        """Writes down why the call is repeated, and refuses a pause that the deadline has no room for."""
        self._sending = False
        self._cause = type(error).__name__
        self._story.append((str(error), None))
        deadline = self._terms.deadline
        if deadline is not None and (left := deadline - (self._timing.now() - self._began)) <= pause:
            raise self.late(f"leaves {left:.1f} s, less than the wait of {pause:.1f} s")
        LOGGER.info("attempt %d failed, again in %.1f s: %s", self._attempts, pause, error)
        self._story[-1] = (str(error), pause)
        self._pause = pause
        self._waited += pause

    def _told(self, error: ChatRestError) -> ChatRestError:
        """`error` as it is raised: with the story of the attempts, and with an unknown outcome said."""
        if self._call.endpoint.replay == "never" and leaves_open(error):
            error = _outcome_unknown(self._call.endpoint.name, error)
        if isinstance(error, ApiError):
            error.attempts = self._attempts
        elif isinstance(error, TransportError):
            error.args = (f"{self._call.endpoint.name}: {error}",)
        if self._story:
            before = tale(self._story, str(error).removeprefix(f"{self._call.endpoint.name}: "))
            error.args = (f"{error} (after {self._attempts} attempts; {before})",)
        return error

    def late(self, what: str) -> DeadlineExceededError:
        """The error for a deadline that cannot be kept; it says where the time went."""
        spent = self._all
        text = (
            f"{self._call.endpoint.name}: the deadline of {self._terms.deadline} s {what}: "
            f"{spent.paced:.1f} s held back for the rate limit, {spent.queued:.1f} s waiting for a place, "
            f"{spent.network:.1f} s on the network in {self._attempts} attempts, "
            f"{self._waited:.1f} s waiting between them"
        )
        if self._story:
            text += f" ({tale(self._story)})"
        if self._sending and was_connected() and self._call.endpoint.replay == "never":
            return DeadlineOutcomeUnknownError(f"{text}; it was sent, and may have been applied")
        return DeadlineExceededError(text)

    # ── records ──

    def _named(self) -> dict[str, Any]:
        endpoint = self._call.endpoint
        return {
            "call": self._means.number,
            "operation": endpoint.name,
            "method": endpoint.method,
            "template": endpoint.path,
            "app_id": self._terms.app_id,
            "region": self._pool.region,
        }

    def _record(self, spent: _Spent, error: str | None) -> Attempt:
        reply = self._reply
        return Attempt(
            **self._named(),
            number=self._attempts,
            status=None if reply is None else reply.status,
            reply_bytes=0 if reply is None else len(reply.body),
            paced=spent.paced,
            queued=spent.queued,
            network=spent.network,
            decoded=spent.decoded,
            error=error,
            cause=self._cause,
        )

    def outcome(self, error: str | None) -> Outcome:
        """The record of the whole call."""
        return Outcome(
            **self._named(),
            attempts=self._attempts,
            seconds=self._timing.now() - self._began,
            status=None if self._reply is None else self._reply.status,
            error=error,
        )


def _outcome_unknown(name: str, error: ChatRestError) -> ChatRestError:
    text = f"{name} is not repeated, and may or may not have been applied: {error}"
    unknown: ChatRestError = OutcomeUnknownError(text)
    if isinstance(error, ServerError):
        unknown = ServerOutcomeUnknownError(text)
        unknown.__dict__.update(error.__dict__)
    unknown.__cause__ = error
    return unknown


def _clock_of(reply: Reply) -> float:
    """Epoch seconds on the service's own clock where it tells it: times that it names are on that clock."""
    told = moment(reply.headers.get("Date", ""))
    return time.time() if told is None else told
