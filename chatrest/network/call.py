"""One active call: its attempts, one after another, until a reply or a final error.

Only this module waits between attempts. The first attempt is made without tenacity, which costs time only
after a failure. The loop is tenacity's and reads one frozen value, `core.pace.retry.Attempts`: after each failure
`_plan_next` asks the policy, takes from the retry budget, and stores the pause there; tenacity's `retry` and
`wait` only read it.
"""

from typing import Final, Generic, TypeVar

import tenacity

from ..core.pace.pacer import Signal
from ..core.pace.retry import Attempts, attempt_log, leaves_open
from ..core.requests.endpoint import Call
from ..core.requests.wire import Headers, Request, with_headers
from ..errors import (
    ApiError,
    ChatRestError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    DeadlineReason,
    RateLimitError,
    ReplyUnreadableError,
    TransportError,
)
from ..telemetry import LOGGER, Outcome, notify
from .decoding import INLINE_BYTES, decode_large
from .notices import DEPRECATION, SUNSET
from .options import CallContext, CallOptions
from .pool import Pool
from .progress import Durations, Progress, no_room_text, passed_text, spent_text
from .rate_gate import RateGate
from .records import attempt_record, outcome_record
from .replies import is_success, limit_signal, outcome_unknown, refusal, unreadable
from .transport import Reply, was_sent

R = TypeVar("R")

_NO_ATTEMPTS: Final = Attempts()
_NO_ATTEMPTS_PATIENT: Final = Attempts(patient=True)


class ActiveCall(Generic[R]):
    """One call, from its first attempt to its result or error."""

    __slots__ = ("_attempts", "_call", "_context", "_gate", "_options", "_pool", "_progress", "_request")

    def __init__(
        self, call: Call[R], request: Request, pool: Pool, options: CallOptions, context: CallContext
    ) -> None:
        self._call, self._request, self._pool = call, request, pool
        self._options, self._context = options, context
        self._gate: RateGate = pool.gate(options.destination.app_id, call.endpoint.rate_class)
        self._progress = Progress(context.timing.now())
        self._attempts = _NO_ATTEMPTS if options.priority == "interactive" else _NO_ATTEMPTS_PATIENT

    async def result(self) -> R:
        """Return the endpoint's decoded reply; raise the last error, with a log of all attempts."""
        self._context.home.check()
        self._pool.budget.earn()
        try:
            if self._context.listeners:
                return await self._attempt()
            self._progress.number = 1  # without listeners the first attempt skips all measurements
            reply = await self._exchange(self._progress)
            return self._read(reply) if len(reply.body) <= INLINE_BYTES else await self._read_large(reply)
        except (ApiError, TransportError) as error:
            first = error
        return await self._repeat(first)

    # ── one attempt ──

    async def _attempt(self) -> R:
        """Make an attempt and plan the next one if it fails; then send its record, which has the pause."""
        progress, cause = self._progress, self._attempts.error
        progress.number += 1
        progress.reply = None
        spent = Durations()
        error_name: str | None = "CancelledError"
        try:
            result = await self._measure(spent)
            error_name = None
            return result
        except Exception as error:
            error_name = type(error).__name__
            if isinstance(error, ApiError | TransportError):
                self._plan_next(error)
            raise
        finally:
            if (start := self._context.start) is not None:
                record = attempt_record(
                    start,
                    progress,
                    spent,
                    self._attempts,
                    error_name=error_name,
                    cause=cause,
                    secrets=self._options.secrets,
                )
                notify(self._context.listeners, record)

    async def _measure(self, spent: Durations) -> R:
        """Send the request once and decode the reply, with the durations of both."""
        now = self._context.timing.now
        try:
            reply = await self._exchange(spent)
            began = now()
            is_small = len(reply.body) <= INLINE_BYTES
            result = self._read(reply) if is_small else await self._read_large(reply)
            spent.decoded = now() - began
            return result
        finally:
            self._progress.add(spent)

    async def _exchange(self, spent: Durations) -> Reply:
        """Send the request once, with a slot of the rate limit and a place in the pool."""
        options, progress, now = self._options, self._progress, self._context.timing.now
        began = now()
        if options.deadline is not None:
            self._refuse_hopeless(began, options.deadline)
        if not self._gate.try_enter(options.priority, began):
            await self._wait(spent)
            began = now()
        progress.stage = "network"
        try:
            progress.reply = reply = await self._pool.exchange(self._request, options.timeouts)
        except BaseException as error:
            self._gate.forget()
            progress.sent = was_sent(error)
            raise
        finally:
            self._gate.release(options.priority)
            ended = now()
            spent.network = ended - began
        signal = limit_signal(reply, options.retry.longest_server_wait)
        if signal.limited and self._is_of_user(signal):
            self._gate.forget()
        else:
            self._gate.observe(signal, began)
        if DEPRECATION in reply.headers or SUNSET in reply.headers:
            self._context.notices.log_deprecation(self._call.endpoint, reply.headers)
        # The loop's timer knows nothing of a clock that tests have set.
        if options.deadline is not None and ended - progress.began > options.deadline:
            progress.sent = True
            raise self.deadline_passed()
        return reply

    def _is_of_user(self, signal: Signal) -> bool:
        """Return True for a 429 that states the limit of the acting user: it must not hold the app back.

        Without a stated limit it cannot be told from the app's own.
        """
        limit = self._call.endpoint.user_limit
        return limit is not None and signal.limit == limit and self._call.acting_user is not None

    async def _wait(self, spent: Durations) -> None:
        """Wait for a slot of the rate limit and a place in the pool; add their seconds to `spent`."""
        priority, now = self._options.priority, self._context.timing.now
        pace = self._gate.expected(priority)
        began = now()
        self._progress.sent = False
        try:
            await self._gate.enter(priority)
        finally:
            waited = now() - began
            spent.paced += min(waited, pace)
            spent.queued += max(0.0, waited - pace)
            self._progress.stage = "place" if waited > pace or not pace else "rate limit"

    def _refuse_hopeless(self, now: float, deadline: float) -> None:
        """Raise `DeadlineExceededError` if the next slot comes only after the deadline."""
        wait, left = self._gate.expected(self._options.priority), deadline - (now - self._progress.began)
        if wait >= left > 0:
            raise self._late(no_room_text(wait, "rate limit", deadline, left), "rate limit", wait)

    def _read(self, reply: Reply) -> R:
        """Return what a reply holds, or raise its error; for a body of at most `INLINE_BYTES`."""
        if reply.status != 200:
            self._refuse(reply)
        try:
            return self._accepted(self._call.endpoint.reply(reply.body))
        except ReplyUnreadableError as error:
            failure = unreadable(reply, error, self._call, self._options.secrets)
        raise failure

    async def _read_large(self, reply: Reply) -> R:
        """Return what a large reply holds, or raise its error, while the event loop goes on."""
        self._refuse(reply)
        try:
            return self._accepted(await decode_large(self._call.endpoint.reply, reply.body))
        except ReplyUnreadableError as error:
            failure = unreadable(reply, error, self._call, self._options.secrets)
        raise failure

    def _refuse(self, reply: Reply) -> None:
        if not is_success(reply):
            raise refusal(reply, self._call, self._options.secrets)

    def _accepted(self, result: R) -> R:
        call = self._call
        if call.acting_user is not None:
            self._context.notices.check_acting_user(call.endpoint, call.acting_user, result)
        return result

    # ── the attempts after the first ──

    async def _repeat(self, first: ApiError | TransportError) -> R:
        """Repeat the call after its first attempt raised `first`, as often as the policy allows."""
        if self._attempts.error is not first:  # the first attempt without listeners plans nothing
            self._plan_next(first)
        pending = [first]

        async def attempt() -> R:
            if pending:
                raise pending.pop()
            return await self._attempt()

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(self._is_to_repeat),
            wait=lambda _: self._attempts.pause or 0.0,
            before_sleep=self._log_repeat,
            sleep=self._wait_between,
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except (ApiError, TransportError) as error:
            last = error
        raise self._final(last)

    def _plan_next(self, error: ApiError | TransportError) -> None:
        """Decide if and when the call is repeated after `error`, and store the decision in `_attempts`.

        Raises `DeadlineExceededError` if the pause ends after the deadline.
        """
        options, now = self._options, self._context.timing.now()
        error.operation = self._call.endpoint.name
        attempts = self._attempts.with_failure(error, has_replied=self._pool.has_replied)
        self._attempts, self._progress.stage = attempts, "wait"
        pause = options.retry.wait(attempts, self._call.endpoint.replay, self._context.dice)
        if pause is None or self._request.is_spent:
            return
        is_limited = isinstance(error, RateLimitError)
        if not is_limited:
            pause = max(pause, self._pool.budget.spend(now))
        if (
            options.deadline is not None
            and (left := options.deadline - (now - self._progress.began)) <= pause
        ):
            reason: DeadlineReason = "rate limit" if is_limited else "wait"
            raise self._late(no_room_text(pause, reason, options.deadline, left), reason, pause)
        self._attempts = attempts.with_pause(pause)

    async def _wait_between(self, seconds: float) -> None:
        """Sleep the pause between two attempts, and measure it: it may be cut short."""
        timing = self._context.timing
        began = timing.now()
        try:
            await timing.sleep(seconds)
        finally:
            self._progress.waited += timing.now() - began

    def _is_to_repeat(self, error: BaseException) -> bool:
        return error is self._attempts.error and self._attempts.pause is not None

    def _log_repeat(self, _: tenacity.RetryCallState) -> None:
        attempts = self._attempts
        LOGGER.info("attempt %d failed, again in %.1f s: %s", attempts.count, attempts.pause, attempts.error)

    # ── errors ──

    def _final(self, error: ApiError | TransportError) -> ChatRestError:
        """Return the error to raise: `error` with the log of the attempts, or an unknown outcome."""
        name, count = self._call.endpoint.name, self._attempts.count
        final: ChatRestError = error
        if self._call.endpoint.replay == "never" and leaves_open(error):
            final = outcome_unknown(name, error)
        elif isinstance(error, TransportError):
            final.args = (f"{name}: {error}",)
        if isinstance(final, ApiError):
            final.attempts = count
        if self._attempts.log:
            attempts, text = self._attempts, str(final).removeprefix(f"{name}: ")
            before = attempt_log(attempts.log, text, attempts.omitted)
            final.args = (f"{final} (after {count} attempts; {before})",)
        return final

    def deadline_passed(self) -> DeadlineExceededError:
        """Return the error of a call whose deadline has just passed."""
        assert self._options.deadline is not None
        stage = self._progress.stage
        return self._late(passed_text(stage, self._options.deadline), stage, None)

    def _late(self, text: str, reason: DeadlineReason, wait: float | None) -> DeadlineExceededError:
        name, progress = self._call.endpoint.name, self._progress
        sent = self._attempts.count + (progress.stage == "network")
        text = f"{name}: {text}{spent_text(progress, sent, self._attempts)}"
        kind = DeadlineExceededError
        if progress.sent and self._call.endpoint.replay == "never":
            kind, text = DeadlineOutcomeUnknownError, f"{text}; it was sent, and may have been applied"
        error = kind(text, operation=name, attempts=sent, reason=reason, retry_after=wait)
        error.__cause__ = self._attempts.error
        return error

    # ── telemetry ──

    def begin(self, added: Headers) -> None:
        """Begin a call that listeners observe, when it is awaited; `added` are their headers."""
        if added:
            self._request = with_headers(self._request, added)
        self._progress.began = self._context.timing.now()

    def outcome(self, error_name: str | None) -> Outcome:
        """Return the telemetry record of the whole call."""
        assert self._context.start is not None
        return outcome_record(self._context.start, self._progress, self._context.timing.now(), error_name)
