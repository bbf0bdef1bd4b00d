"""The API of OpenTelemetry; without it, an error that names the extra instead of the missing module."""

from ..extras import missing_extra

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.propagators.textmap import TextMapPropagator
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(missing_extra("chatrest.otel", "otel")) from _error

__all__ = ["TextMapPropagator", "TraceContextTextMapPropagator", "context", "metrics", "trace"]
