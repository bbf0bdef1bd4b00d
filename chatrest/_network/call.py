"""One active call: its attempts, one after another, until a reply or a final error.

tenacity repeats: its loop waits and calls from the second attempt on. It would cost 25 µs for a call that
succeeds at once, as much as all else that this package adds to aiohttp, so the first attempt is made before
it, and its failure is the loop's first outcome. Right after an attempt, `_core.pace.retry` decides if and
when the call is repeated, as the telemetry of the attempt has the pause; the loop's `retry` and `wait` read
it.

A 429 is read once, into a `RateLimitError`. The pacer learns the limit from it, and the retry policy asks the
pacer for the next slot: a call that was refused for its rate sleeps once, for the longer of both waits.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

import tenacity
from msgspec import Struct, field, structs
from msgspec.structs import astuple

from .._core.pace.retry import Attempts
from .._core.replies.bounds import INLINE_BYTES
from .._core.replies.rate_signal import signal
from .._core.requests.endpoint import Call
from .._core.requests.wire import Headers, Request, with_headers
from .._secrets import scrub
from .._telemetry import LOGGER, Attempt, CallStart, Listener, Outcome, notify
from ..errors import ApiError, RateLimitError, RequestInvalidError, TransportError, request_id_of
from .call_progress import CallProgress, Failure
from .pool import Pool
from .reply_results import (
    is_of_user,
    limit_signal,
    note_acting_user,
    read_large,
    read_reply,
    refusal,
    report_reply,
)
from .session_options import CallOptions, Dice
from .timing import Timing
from .transport import Reply

R = TypeVar("R")

_NO_ATTEMPTS: Final = Attempts()
_NO_ATTEMPTS_PATIENT: Final = Attempts(patient=True)


_process = object()
"""A mark of this process: a forked child has the same loop, and must not use its sockets."""


def _note_fork() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):  # a fifteenth of the time that `os.getpid` would take in each call
    os.register_at_fork(after_in_child=_note_fork)


class CallContext(Struct, frozen=True, kw_only=True):
    """The state of an open session that its calls share."""

    loop: asyncio.AbstractEventLoop
    """The event loop that the session was opened in, which owns its sockets and timers."""
    process: object = field(default_factory=lambda: _process)
    """The mark of the process that owns them."""
    timing: Timing
    dice: Dice
    listeners: tuple[Listener, ...]
    ignored: set[str] = field(default_factory=set)
    """The operations whose acting user the service ignored."""

    def check_loop(self) -> None:
        if asyncio._get_running_loop() is not self.loop or self.process is not _process:
            raise RequestInvalidError(
                "the session belongs to another event loop or process, which has opened it: "
                "open another session here, one in each loop, thread and process"
            )


class ActiveCall(Generic[R]):
    """One call, from its first attempt to its result or error."""

    began: float
    reply: Reply | None = None

    def __init__(
        self, call: Call[R], request: Request, pool: Pool, options: CallOptions, context: CallContext,
        start: CallStart | None = None,
    ) -> None:  # fmt: skip
        """`start` is the first telemetry of the call; None without listeners."""
        self._call, self._request, self._pool = call, request, pool
        self._options, self._context, self._first_telemetry = options, context, start
        if start is not None:  # a listener may end the call before `result`
            self.began = context.timing.now()
        self._gate = pool.gates[options.destination.app_id, call.endpoint.rate_class]
        attempts = _NO_ATTEMPTS if options.priority == "interactive" else _NO_ATTEMPTS_PATIENT
        self.progress = CallProgress(call.endpoint.name, call.endpoint.replay, options.deadline, attempts)

    async def result(self) -> R:
        """Return the endpoint's decoded reply; raise the last error, with a log of all attempts.

        Raises `RequestInvalidError` in another loop or process than the session's, and after its end.
        """
        self.began = self._context.timing.now()
        self._context.check_loop()
        self._pool.budget.calls += 1
        try:
            # Without listeners no one wants the durations of each attempt.
            return await (self._attempt() if self._first_telemetry is None else self._reported_attempt())
        except (ApiError, TransportError) as error:
            failure = error
        if self.progress.attempts.pause is not None:
            try:
                return await self._repeat(failure)
            except (ApiError, TransportError) as error:
                failure = error
        raise self.progress.final_error(failure)

    async def _repeat(self, failure: Failure) -> R:
        outcomes = [failure]  # of the attempt that was made already

        async def attempt() -> R:
            if outcomes:
                raise outcomes.pop()
            try:
                return await (self._attempt() if self._first_telemetry is None else self._reported_attempt())
            except RequestInvalidError:
                # Closed: the error of a change that was sent before must not say that nothing was sent.
                last = self.progress.attempts.error
                if last is None or self._call.endpoint.replay != "idempotent":
                    raise
                self.progress.attempts = structs.replace(self.progress.attempts, pause=None)
            raise last

        loop = tenacity.AsyncRetrying(
            sleep=self._sleep,
            retry=tenacity.retry_if_exception(
                lambda error: isinstance(error, Failure) and self.progress.attempts.pause is not None
            ),
            wait=lambda _: self.progress.attempts.pause or 0.0,
        )
        return await loop(attempt)

    async def _sleep(self, seconds: float) -> None:
        timing, error = self._context.timing, self.progress.attempts.error
        LOGGER.debug("attempt %d failed, again in %.1f s: %s", self.progress.number, seconds, error)
        began = timing.now()
        try:
            await timing.sleep(seconds)
        finally:
            self.progress.waited += timing.now() - began

    # ── one attempt ──

    async def _reported_attempt(self) -> R:
        """Make an attempt and send its telemetry, which has the pause that is planned after it."""
        before, cause = structs.replace(self.progress), self.progress.attempts.error
        error_name: str | None = "CancelledError"
        try:
            value = await self._attempt()
            error_name = None
            return value
        except Exception as error:
            # Of a pause that does not fit into the deadline, the error is that of the call.
            is_planned = self.progress.attempts.count == self.progress.number
            error_name = type(self.progress.attempts.error if is_planned else error).__name__
            raise
        finally:
            notify(self._context.listeners, self._attempt_telemetry(before, error_name, cause))

    async def _attempt(self) -> R:
        options, now = self._options, self._context.timing.now
        self.progress.number += 1
        self.reply = None
        try:
            began = self.began if self.progress.number == 1 else now()
            if options.deadline is not None:
                remaining = options.deadline - (began - self.began)
                if (wait := self._gate.expected_wait(options.priority)) >= remaining > 0:
                    raise self.progress.wait_error(wait, "rate limit", remaining)
            if not self._gate.try_enter(options.priority, began):
                await self._wait_to_enter()
                began = now()
            self.progress.stage = "network"
            try:
                self.reply = reply = await self._pool.exchange(self._request, options.timeouts)
                self._pool.has_replied = True
            except BaseException as error:
                self._gate.pacer.forget()
                self.progress.sent = getattr(error, "sent", True)  # where it is not known, it may have been
                raise
            finally:
                self._gate.release(options.priority)
                ended = now()
                self.progress.network += ended - began
            self._check_reply(reply, began, ended)
            if len(reply.body) <= INLINE_BYTES:
                value = read_reply(reply, self._call, options)
            else:
                value = await read_large(reply, self._call, options)
            if self._call.acting_user is not None:
                note_acting_user(self._context.ignored, self._call.endpoint, self._call.acting_user, value)
            if self._first_telemetry is not None:
                self.progress.decoded += now() - ended
            return value
        except (ApiError, TransportError) as error:
            failure = error
        self._plan_repeat(failure)
        raise failure

    def _check_reply(self, reply: Reply, began: float, ended: float) -> None:
        """Learn the rate limit from a reply; raise its error, or that of a deadline that has passed."""
        options = self._options
        if options.on_reply is not None:
            report_reply(options.on_reply, reply, self._call, self.progress.number, options)
        refused = None if reply.status == 200 else refusal(reply, self._call, options)
        limit = limit_signal(reply, refused, options)
        if limit.is_limited and is_of_user(limit, self._call):
            self._gate.pacer.forget()
        else:
            self._gate.pacer.observe(ended, limit, began)
        # The loop's timer knows nothing of a clock that tests have set.
        if options.deadline is not None and ended - self.began > options.deadline:
            self.progress.sent = True
            raise self.progress.deadline_error()
        if refused is not None:
            raise refused

    async def _wait_to_enter(self) -> None:
        """Wait for a slot of the rate limit and a place, and measure how long each of the two took."""
        priority, now = self._options.priority, self._context.timing.now
        pace = self._gate.expected_wait(priority)
        began = now()
        self.progress.sent = False
        try:
            await self._gate.enter(priority)
        finally:
            waited = now() - began
            self.progress.paced += min(waited, pace)
            self.progress.queued += max(0.0, waited - pace)
            self.progress.stage = "place" if waited > pace or not pace else "rate limit"

    # ── the next attempt ──

    def _plan_repeat(self, error: Failure) -> None:
        """Note the failure of an attempt, and the pause before the next one if the call is repeated.

        Raises `DeadlineExceededError` if that pause ends after the deadline.
        """
        options, progress, replay = self._options, self.progress, self._call.endpoint.replay
        error.operation = progress.operation
        progress.attempts = progress.attempts.with_failure(error, has_replied=self._pool.has_replied)
        progress.stage = "wait"
        if not options.retry.repeats(progress.attempts, replay):
            return
        now, is_limited = self._context.timing.now(), isinstance(error, RateLimitError)
        pause = options.retry.wait(progress.attempts, self._context.dice, self._gate.delay(options.priority))
        if not is_limited:
            pause = max(pause, self._pool.budget.spend(now))
        if options.deadline is not None and (remaining := options.deadline - (now - self.began)) <= pause:
            raise progress.wait_error(pause, "rate limit" if is_limited else "wait", remaining)
        progress.attempts = progress.attempts.with_pause(pause)

    # ── telemetry ──

    def add_headers(self, added: Headers) -> None:
        if added:
            self._request = with_headers(self._request, added)

    def _attempt_telemetry(
        self, before: CallProgress, error_name: str | None, cause: BaseException | None
    ) -> Attempt:
        """Return the telemetry of the attempt that has just ended; `before` is the progress until then."""
        reply, progress, attempts = self.reply, self.progress, self.progress.attempts
        headers: Mapping[str, str] = {} if reply is None else reply.headers
        stated, request_id = signal(headers), request_id_of(headers)
        is_planned = attempts.count == progress.number  # it failed, and a repetition was considered
        return Attempt(
            *astuple(self._start),
            number=progress.number,
            status=None if reply is None else reply.status,
            reply_bytes=0 if reply is None else len(reply.body),
            paced=progress.paced - before.paced,
            queued=progress.queued - before.queued,
            network=progress.network - before.network,
            decoded=progress.decoded - before.decoded,
            pause=attempts.pause if is_planned else None,
            request_id=None if request_id is None else scrub(request_id, self._options.secrets),
            limit=stated.limit,
            remaining=stated.remaining,
            error=error_name,
            cause=None if cause is None else type(cause).__name__,
        )

    def outcome(self, error_name: str | None) -> Outcome:
        progress = self.progress
        return Outcome(
            *astuple(self._start),
            attempts=progress.number,
            seconds=self._context.timing.now() - self.began,
            paced=progress.paced,
            queued=progress.queued,
            network=progress.network,
            decoded=progress.decoded,
            waited=progress.waited,
            status=None if self.reply is None else self.reply.status,
            error=error_name,
        )

    @property
    def _start(self) -> CallStart:
        assert self._first_telemetry is not None
        return self._first_telemetry
