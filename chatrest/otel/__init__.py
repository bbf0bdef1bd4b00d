"""Spans and metrics for OpenTelemetry (extra `otel`): listeners for `AsyncSession(telemetry=…)`."""

from ..extras import missing_extra as _missing_extra

try:
    from .metrics import OpenTelemetryMetrics
    from .tracing import OpenTelemetryListener
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(_missing_extra("chatrest.otel", "otel")) from _error

__all__ = ["OpenTelemetryListener", "OpenTelemetryMetrics"]
