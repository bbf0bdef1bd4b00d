"""Spans and metrics for OpenTelemetry (extra `otel`): listeners for `AsyncSession(telemetry=…)`."""

from .metrics import OpenTelemetryMetrics
from .tracing import OpenTelemetryListener

__all__ = ["OpenTelemetryListener", "OpenTelemetryMetrics"]
