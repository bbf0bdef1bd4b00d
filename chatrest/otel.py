"""Spans for OpenTelemetry (extra `otel`): one for each call, with one event for each attempt.

Names and attributes follow the HTTP semantic conventions for client spans. The name of a span is the method
and the path's template; a span contains no uid, query or key.
"""

import time
from typing import Final, final

from .telemetry import Attempt, Outcome, Record

try:
    from opentelemetry import trace
except ModuleNotFoundError as error:  # name the missing extra instead of the missing module
    raise ModuleNotFoundError("chatrest.otel needs the extra: pip install 'chatrest[otel]'") from error

_NANO: Final = 1_000_000_000


@final
class OpenTelemetryListener:
    """A listener for `AsyncSession(telemetry=…)`; `tracer` is the global provider's by default.

    A span is a child of the current span of the task that awaits the call. It is created after the call, with
    the call's start and end time.
    """

    def __init__(self, tracer: trace.Tracer | None = None) -> None:
        self._tracer = tracer or trace.get_tracer("chatrest")
        self._attempts: dict[int, list[tuple[int, Attempt]]] = {}

    def __call__(self, record: Record) -> None:
        """Add a record of `chatrest.telemetry`."""
        if isinstance(record, Attempt):
            self._attempts.setdefault(record.call, []).append((time.time_ns(), record))
        else:
            self._span(record, self._attempts.pop(record.call, []))

    def _span(self, outcome: Outcome, attempts: list[tuple[int, Attempt]]) -> None:
        ended = time.time_ns()
        span = self._tracer.start_span(
            f"{outcome.method} {outcome.template}",
            kind=trace.SpanKind.CLIENT,
            start_time=ended - int(outcome.seconds * _NANO),
            attributes=_of_call(outcome),
        )
        for at, attempt in attempts:
            span.add_event("attempt", _of_attempt(attempt), timestamp=at)
        if outcome.error is not None:
            span.set_status(trace.StatusCode.ERROR, outcome.error)
        span.end(ended)


def _of_call(outcome: Outcome) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "http.request.method": outcome.method,
        "url.template": outcome.template,
        "http.request.resend_count": max(0, outcome.attempts - 1),
        "chatrest.operation": outcome.operation,
        "chatrest.app_id": outcome.app_id,
        "chatrest.region": outcome.region,
    }
    if outcome.status is not None:
        attributes["http.response.status_code"] = outcome.status
    if outcome.error is not None:
        attributes["error.type"] = outcome.error
    return attributes


def _of_attempt(attempt: Attempt) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {
        "chatrest.attempt": attempt.number,
        "http.response.body.size": attempt.reply_bytes,
        "chatrest.paced": attempt.paced,
        "chatrest.queued": attempt.queued,
        "chatrest.network": attempt.network,
        "chatrest.decoded": attempt.decoded,
    }
    if attempt.status is not None:
        attributes["http.response.status_code"] = attempt.status
    if attempt.error is not None:
        attributes["error.type"] = attempt.error
    if attempt.cause is not None:
        attributes["chatrest.cause"] = attempt.cause
    return attributes
