"""Spans for OpenTelemetry (extra `otel`): a listener for `AsyncSession(telemetry=…)`."""

from .._texts import MissingExtraError as _MissingExtraError, missing_extra as _missing_extra

try:
    from .tracing import OpenTelemetryListener
except ModuleNotFoundError as _error:
    raise _MissingExtraError(_missing_extra("chatrest.otel", "otel")) from _error

__all__ = ["OpenTelemetryListener"]
