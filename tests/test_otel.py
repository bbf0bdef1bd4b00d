"""The OpenTelemetry listener, against the SDK's own exporter."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chatrest import AsyncSession, NotFoundError
from chatrest.emulator import Emulator
from chatrest.otel import OpenTelemetryListener


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> trace.Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


def everything(span: ReadableSpan) -> str:
    return span.to_json()


async def test_a_call_is_a_span_with_an_event_for_each_attempt(
    tracer: trace.Tracer, exporter: InMemorySpanExporter
) -> None:
    async with Emulator(users=2, messages=5) as emulator:
        async with AsyncSession(emulator.app, telemetry=OpenTelemetryListener(tracer)) as session:
            await session.messages.list_user("user-01").limit(3).collect()
        [span] = exporter.get_finished_spans()
        assert span.name == "GET /users/{uid}/messages"
        assert span.kind is trace.SpanKind.CLIENT
        assert span.attributes is not None
        assert span.attributes["http.response.status_code"] == 200
        assert span.attributes["chatrest.operation"] == "messages.list_user"
        assert [event.name for event in span.events] == ["attempt"]
        assert emulator.app.api_key not in everything(span)
        assert "user-01" not in everything(span)


async def test_a_failed_call_is_a_failed_span(tracer: trace.Tracer, exporter: InMemorySpanExporter) -> None:
    listener = OpenTelemetryListener(tracer)
    async with (
        Emulator(users=2, messages=5) as emulator,
        AsyncSession(emulator.app, telemetry=listener) as session,
    ):
        with pytest.raises(NotFoundError):
            await session.messages.list_user("nobody").collect()
    [span] = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "NotFoundError"


async def test_a_span_is_a_child_of_the_current_one(
    tracer: trace.Tracer, exporter: InMemorySpanExporter
) -> None:
    listener = OpenTelemetryListener(tracer)
    async with (
        Emulator(users=2, messages=5) as emulator,
        AsyncSession(emulator.app, telemetry=listener) as session,
    ):
        with tracer.start_as_current_span("web request"):
            await session.users.list().limit(2).collect()
    call, request = exporter.get_finished_spans()
    assert call.parent is not None
    assert call.parent.span_id == request.context.span_id
