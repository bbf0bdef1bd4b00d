"""Spans for OpenTelemetry, against the SDK's own exporter."""

import asyncio
import logging
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from chatrest import AsyncSession, ConnectError, DeadlineExceededError, RequestInvalidError
from chatrest._core.requests.wire import Request
from chatrest.emulator import Emulator
from chatrest.otel import OpenTelemetryListener
from tests.support.cases import loop_over
from tests.support.scripted_session import Stage, forever, reply, turns

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> trace.Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


def current_id() -> int:
    return trace.get_current_span().get_span_context().span_id


def span_id(span: ReadableSpan) -> int:
    return span.context.span_id


async def test_a_call_is_a_span_with_an_event_for_each_attempt(
    tracer: trace.Tracer, exporter: InMemorySpanExporter
) -> None:
    async with Emulator(users=2, messages=5) as emulator:
        async with AsyncSession(emulator.app, telemetry=OpenTelemetryListener(tracer)) as session:
            await session.messages.list_user("user-001").limit(3).collect()
        [span] = exporter.get_finished_spans()
        assert span.name == "GET /users/{uid}/messages"
        assert span.kind is trace.SpanKind.CLIENT
        assert span.status.status_code is trace.StatusCode.UNSET
        port = int(emulator.base_url.split(":")[2].partition("/")[0])
        expected = {
            "http.request.method": "GET", "url.template": "/users/{uid}/messages",
            "server.address": "127.0.0.1", "server.port": port, "http.response.status_code": 200,
            "chatrest.operation": "messages.list_user", "chatrest.region": "us",
        }  # fmt: skip
        assert attributes(span).items() >= expected.items()
        assert not attributes(span).keys() & {"error.type", "http.request.resend_count", "url.full"}
        assert [event.name for event in span.events] == ["attempt"]
        assert emulator.app.api_key not in span.to_json()
        assert "user-001" not in span.to_json()


@pytest.mark.usefixtures("staged")
async def test_attempts_are_events_in_order(tracer: trace.Tracer, exporter: InMemorySpanExporter) -> None:
    answers = [ConnectError("no"), reply(429, b"", retry_after="7"), reply()]
    await Stage(*answers, slow=0.25, telemetry=OpenTelemetryListener(tracer)).list()
    [span] = exporter.get_finished_spans()
    first, second, third = (attributes(event) for event in span.events)
    assert (first["error.type"], first["chatrest.pause"]) == ("ConnectError", 0.0)
    assert "http.response.status_code" not in first
    assert (second["http.response.status_code"], second["chatrest.pause"]) == (429, 7.0)
    assert second["chatrest.cause"] == "ConnectError"
    assert third["chatrest.attempt"] == 3
    assert not third.keys() & {"error.type", "chatrest.pause"}
    whole = attributes(span)
    assert whole["http.request.resend_count"] == 2
    assert (whole["chatrest.network"], whole["chatrest.waited"]) == (0.75, 7.0)


@pytest.mark.usefixtures("staged")
async def test_the_span_is_current_during_the_call_and_no_longer(
    tracer: trace.Tracer, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    during: list[int] = []
    handler = logging.Handler()
    handler.emit = lambda _: during.append(current_id())  # type: ignore[method-assign]
    caplog.set_level(logging.INFO, "chatrest")
    logging.getLogger("chatrest").addHandler(handler)

    async def answer() -> Any:
        during.append(current_id())
        return reply(503, b"") if len(during) < 2 else reply()

    try:
        with tracer.start_as_current_span("web request") as around:
            listeners = [OpenTelemetryListener(tracer), lambda _: during.append(current_id())]
            await Stage(answer, telemetry=listeners).list()
            assert current_id() == around.get_span_context().span_id
    finally:
        logging.getLogger("chatrest").removeHandler(handler)
    call, _ = exporter.get_finished_spans()
    assert during == [span_id(call)] * 7  # two answers, two attempts, two log lines, one outcome


@pytest.mark.usefixtures("staged")
@pytest.mark.parametrize("end", ["cancel", "deadline", "close", "close elsewhere"])
async def test_a_span_ends_with_the_call(
    end: str, tracer: trace.Tracer, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    session = await Stage(forever, telemetry=OpenTelemetryListener(tracer)).opened()
    before = context.get_current()
    running = session.with_options(deadline=0.01 if end == "deadline" else None).request("GET", "/users")
    if end == "cancel":
        task = asyncio.create_task(running)
        await turns()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    elif end == "deadline":
        with pytest.raises(DeadlineExceededError):
            await running
    else:
        task_context = copy_context() if end == "close elsewhere" else None
        running.send(None) if task_context is None else task_context.run(running.send, None)
        running.close()
    assert context.get_current() is before
    [span] = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    expected = "DeadlineExceededError" if end == "deadline" else "CancelledError"
    assert attributes(span)["error.type"] == expected
    assert [line for line in caplog.records if line.levelno >= logging.WARNING] == []


def trace_headers(request: Request) -> dict[str, str]:
    names = ("traceparent", "tracestate", "baggage")
    return {name.lower(): value for name, value in request.headers.items() if name.lower() in names}


@pytest.mark.usefixtures("staged")
@pytest.mark.parametrize(
    ("options", "names"),
    [({}, set()), ({"propagate": False}, set()), ({"propagate": True}, {"traceparent"})],
)
async def test_trace_headers_are_sent_only_if_asked_for(
    options: dict[str, bool], names: set[str], tracer: trace.Tracer, exporter: InMemorySpanExporter
) -> None:
    stage = Stage(reply(503, b""), reply(), telemetry=OpenTelemetryListener(tracer, **options))
    token = context.attach(baggage.set_baggage("user", "somebody"))
    try:
        await stage.list()
    finally:
        context.detach(token)
    [span] = exporter.get_finished_spans()
    assert [trace_headers(request).keys() for request in stage.requests] == [names, names]
    ids = f"00-{span.context.trace_id:032x}-{span_id(span):016x}-"
    for headers in map(trace_headers, stage.requests):
        assert headers.get("traceparent", ids).startswith(ids)


@pytest.mark.usefixtures("staged")
async def test_without_a_provider_nothing_is_sent_and_nothing_fails() -> None:
    stage = Stage(reply(), telemetry=OpenTelemetryListener(propagate=True))
    assert await stage.list() == []
    assert trace_headers(stage.requests[0]) == {}


@pytest.mark.usefixtures("staged")
async def test_an_unsampled_call_sends_the_unsampled_flag() -> None:
    tracer = TracerProvider(sampler=ALWAYS_OFF).get_tracer("test")
    stage = Stage(reply(), telemetry=OpenTelemetryListener(tracer, propagate=True))
    await stage.list()
    flags = trace_headers(stage.requests[0])["traceparent"].rpartition("-")[2]
    assert int(flags, 16) & 1 == 0  # W3C Trace Context: the sampled flag


@loop_over("wrong", ["yes", None, 1])
def test_propagate_is_checked(wrong: Any) -> None:
    with pytest.raises(RequestInvalidError, match="propagate = "):
        OpenTelemetryListener(propagate=wrong)
