"""The API of OpenTelemetry; without it, an error that names the extra instead of the missing module."""

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.propagators.textmap import TextMapPropagator
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("chatrest.otel needs the extra: pip install 'chatrest[otel]'") from error

__all__ = ["TextMapPropagator", "TraceContextTextMapPropagator", "context", "metrics", "trace"]
