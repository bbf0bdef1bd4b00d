"""Spans for OpenTelemetry (extra `otel`): a listener for `AsyncSession(telemetry=…)`.

Names and attributes follow the semantic conventions for HTTP client spans. The name of a span is the method
and the path's template. A span contains no uid, query, body or key, therefore `url.full` is left out.

There is no span for each attempt, which the conventions prefer and do not require: a call may spend most of
its time waiting, when there is no request to make a span of, and almost all calls have one attempt. All
requests of a call send the same `traceparent`.
"""

from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Final, TypeAlias, final

from .._core.requests.arguments import check_unquoted
from .._telemetry import Attempt, CallListener, CallStart, Outcome, Telemetry
from .._texts import MissingExtraError as _MissingExtraError, missing_extra as _missing_extra

try:
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as _error:
    raise _MissingExtraError(_missing_extra("chatrest.otel", "otel")) from _error

__all__ = ["OpenTelemetryListener"]

_Attributes: TypeAlias = dict[str, str | int | float]

_TRACE_CONTEXT: Final = TraceContextTextMapPropagator()
_CURRENT_CALL: Final[ContextVar[int]] = ContextVar("chatrest_call")


@final
class OpenTelemetryListener(CallListener):
    """A `CallListener` for `AsyncSession(telemetry=…)` that makes spans.

    The span is current while the call runs, so logs of that time belong to it. Its parent is the current span
    of the task that awaits the call.

    - `tracer`: by default the global provider's.
    - `propagate`: True sends the headers `traceparent` and `tracestate` of W3C Trace Context with each
      request, and never baggage, as that may hold data of users. False, the default, sends nothing. Headers
      that the request already has are not replaced.

    Raises `RequestInvalidError` if `propagate` is something else.
    """

    def __init__(self, tracer: trace.Tracer | None = None, *, propagate: bool = False) -> None:
        check_unquoted(isinstance(propagate, bool), "propagate", propagate, "True or False")
        self._tracer = tracer or trace.get_tracer("chatrest")
        self._propagates = propagate
        self._spans: dict[int, tuple[trace.Span, Token[int], Token[context.Context]]] = {}
        """The spans of calls that run, by the call's number, and the tokens that restore the context."""

    def start_call(self, start: CallStart) -> Mapping[str, str]:
        """Begin the span of a call, and make it current; return the headers to send with `propagate`."""
        name = f"{start.method} {start.template}"
        attributes: _Attributes = {
            "http.request.method": start.method,
            "url.template": start.template,
            "server.address": start.server_address,
            "server.port": start.server_port,
            "chatrest.operation": start.operation,
            "chatrest.app_id": start.app_id,
            "chatrest.region": start.region,
        }
        span = self._tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes=attributes)
        span_context = trace.set_span_in_context(span)
        headers: dict[str, str] = {}
        if self._propagates:
            _TRACE_CONTEXT.inject(headers, span_context)
        self._spans[start.call] = span, _CURRENT_CALL.set(start.call), context.attach(span_context)
        return headers

    def __call__(self, telemetry: Telemetry) -> None:
        """Add an attempt to the span of its call as an event; end the span with the call's outcome."""
        if telemetry.call not in self._spans:
            return
        span, call_token, context_token = self._spans[telemetry.call]
        if isinstance(telemetry, Attempt):
            if span.is_recording():
                span.add_event("attempt", _attempt_attributes(telemetry))
            return
        del self._spans[telemetry.call]
        span.set_attributes(_outcome_attributes(telemetry))
        if telemetry.error is not None:
            span.set_status(trace.StatusCode.ERROR)
        span.end()
        # The garbage collector ends an unfinished call in any context, where `detach` would log an error.
        with suppress(ValueError):  # nothing else shows that this is another context
            _CURRENT_CALL.reset(call_token)
            context.detach(context_token)


def _outcome_attributes(outcome: Outcome) -> _Attributes:
    attributes: _Attributes = {"chatrest.network": outcome.network, "chatrest.decoded": outcome.decoded}
    waits = (("paced", outcome.paced), ("queued", outcome.queued), ("waited", outcome.waited))
    attributes.update((f"chatrest.{name}", seconds) for name, seconds in waits if seconds > 0)
    if outcome.attempts > 1:
        attributes["http.request.resend_count"] = outcome.attempts - 1
    _add_ending(attributes, outcome)
    return attributes


def _attempt_attributes(attempt: Attempt) -> _Attributes:
    attributes: _Attributes = {
        "chatrest.attempt": attempt.number,
        "http.response.body.size": attempt.reply_bytes,
        "chatrest.paced": attempt.paced,
        "chatrest.queued": attempt.queued,
        "chatrest.network": attempt.network,
        "chatrest.decoded": attempt.decoded,
    }
    if attempt.pause is not None:
        attributes["chatrest.pause"] = attempt.pause
    if attempt.cause is not None:
        attributes["chatrest.cause"] = attempt.cause
    _add_ending(attributes, attempt)
    return attributes


def _add_ending(attributes: _Attributes, telemetry: Telemetry) -> None:
    if telemetry.status is not None:
        attributes["http.response.status_code"] = telemetry.status
    if telemetry.error is not None:
        attributes["error.type"] = telemetry.error
