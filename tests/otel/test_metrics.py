"""Metrics for OpenTelemetry, against the SDK's own reader."""

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from chatrest import App, ChatRestError, ConnectError, RetryPolicy, UserQuery
from chatrest.core.pace.pacer import Pace
from chatrest.otel import OpenTelemetryMetrics
from tests.faulty import KEY
from tests.stage import UID, Stage, forever, reply

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)


class Meter:
    """A meter and what was recorded with it."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.meter = MeterProvider(metric_readers=[self.reader]).get_meter("test")

    def metrics(self) -> dict[str, Any]:
        """Metrics by name."""
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> list[Any]:
        """The data points of a metric, one for each set of attributes."""
        metric = self.metrics().get(name)
        return [] if metric is None else list(metric.data.data_points)


@pytest.fixture
def meter() -> Meter:
    return Meter()


OF_CALL = {"chatrest.operation": "messages.list_user", "chatrest.region": "us"}
OF_REQUEST = {
    "http.request.method": "GET",
    "server.address": "chat.invalid",
    "server.port": 443,
    "url.template": "/users/{uid}/messages",
}


async def test_a_call_is_counted_and_timed(meter: Meter) -> None:
    await Stage(reply(), slow=0.25, telemetry=OpenTelemetryMetrics(meter.meter)).list()
    metrics = meter.metrics()
    assert metrics.keys() == {"http.client.request.duration", "chatrest.call.duration"}
    assert {metric.unit for metric in metrics.values()} == {"s"}
    [request] = metrics["http.client.request.duration"].data.data_points
    assert dict(request.attributes) == OF_REQUEST | {"http.response.status_code": 200}
    assert (request.count, request.sum) == (1, 0.25)
    assert request.explicit_bounds[0] == 0.005  # those of the SDK begin with 0 and 5, for milliseconds
    assert request.explicit_bounds[-1] == 10
    [call] = metrics["chatrest.call.duration"].data.data_points
    assert dict(call.attributes) == OF_CALL
    assert (call.count, call.sum) == (1, 0.25)


async def test_retries_are_counted_by_their_cause(meter: Meter) -> None:
    answers = [ConnectError("no"), reply(503, b""), reply(503, b""), reply()]
    await Stage(*answers, slow=0.25, dice=lambda: 0.5, telemetry=OpenTelemetryMetrics(meter.meter)).list()
    metrics = meter.metrics()
    assert metrics["chatrest.retries"].unit == "{retry}"
    retries = metrics["chatrest.retries"].data.data_points
    assert {point.attributes["error.type"]: point.value for point in retries} == {
        "ConnectError": 1,
        "ServerError": 2,
    }
    requests = metrics["http.client.request.duration"].data.data_points
    assert {
        (point.attributes.get("http.response.status_code"), point.attributes.get("error.type")): point.count
        for point in requests
    } == {(None, "ConnectError"): 1, (503, "ServerError"): 2, (200, None): 1}
    [waited] = metrics["chatrest.retry.wait_time"].data.data_points
    assert (waited.count, waited.sum) == (1, 0.25 + 0.5 + 1.0)
    [call] = metrics["chatrest.call.duration"].data.data_points
    assert call.sum == 4 * 0.25 + 1.75


async def test_the_error_of_a_call_is_an_attribute(meter: Meter) -> None:
    stage = Stage(reply(404, b""), telemetry=OpenTelemetryMetrics(meter.meter))
    with pytest.raises(ChatRestError):
        await stage.list()
    [call] = meter.points("chatrest.call.duration")
    assert dict(call.attributes) == OF_CALL | {"error.type": "NotFoundError"}


async def test_a_wait_for_the_rate_limit_is_recorded(meter: Meter) -> None:
    stage = Stage(reply(), pace=Pace(rate=60), telemetry=[OpenTelemetryMetrics(meter.meter)])
    started = stage.time.now
    for _ in range(5):
        await stage.list()
    [paced] = meter.points("chatrest.pace.wait_time")
    assert 0 < paced.count < 5  # only calls that waited
    assert paced.sum == pytest.approx(stage.time.now - started)
    assert dict(paced.attributes) == OF_CALL


async def test_a_wait_for_a_place_is_recorded(meter: Meter) -> None:
    free = asyncio.Event()

    async def slow() -> Any:
        await free.wait()
        return reply()

    stage = Stage(slow, reply(), concurrency=1, telemetry=OpenTelemetryMetrics(meter.meter))
    tasks = [asyncio.create_task(stage.list()) for _ in range(2)]
    await asyncio.sleep(0.001)
    stage.time.now += 3
    free.set()
    await asyncio.gather(*tasks)
    [queued] = meter.points("chatrest.pool.wait_time")
    assert (queued.count, queued.sum) == (1, 3.0)


async def test_a_call_that_sent_nothing_is_no_request(meter: Meter) -> None:
    stage = Stage(forever, concurrency=1, telemetry=OpenTelemetryMetrics(meter.meter))
    tasks = [asyncio.create_task(stage.list()) for _ in range(3)]
    await asyncio.sleep(0.001)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    [request] = meter.points("http.client.request.duration")
    assert (request.count, request.attributes["error.type"]) == (1, "CancelledError")
    [call] = meter.points("chatrest.call.duration")
    assert call.count == 3


@pytest.mark.parametrize("app_id", [False, True])
async def test_apps_share_time_series_unless_asked_for(meter: Meter, app_id: bool) -> None:
    listener = OpenTelemetryMetrics(meter.meter, app_id=app_id)
    stage = Stage(reply(), app=App("app-0", KEY, service_domain="chat.invalid"), telemetry=listener)
    await stage.list()
    for number in range(1, 4):
        app = App(f"app-{number}", KEY, service_domain="chat.invalid")
        await stage.session.for_app(app).messages.list_user(UID).collect()
    requests = meter.points("http.client.request.duration")
    addresses = sorted(point.attributes["server.address"] for point in requests)
    calls = meter.points("chatrest.call.duration")
    if app_id:
        assert addresses == [f"app-{number}.api-us.chat.invalid" for number in range(4)]
        assert sorted(point.attributes["chatrest.app_id"] for point in calls) == [
            f"app-{n}" for n in range(4)
        ]
    else:
        assert addresses == ["api-us.chat.invalid"]
        assert [point.count for point in calls] == [4]


@pytest.mark.parametrize(
    "answer", [reply(), reply(404, KEY.encode()), reply(503, UID.encode()), ConnectError(UID)]
)
async def test_no_metric_shows_a_key_a_uid_or_a_query(meter: Meter, answer: Any) -> None:
    stage = Stage(answer, telemetry=OpenTelemetryMetrics(meter.meter, app_id=True))
    view = (await stage.opened()).as_user("me-myself").with_options(retry=RetryPolicy(attempts=2))
    for call in (
        view.users.list(UserQuery(search_key="a-query")).collect(),
        view.messages.list_user(UID).collect(),
        view.request("GET", f"/users/{UID}/messages", query={"a": "a-query"}),
    ):
        await asyncio.gather(call, return_exceptions=True)
    shown = "".join(metric.to_json() for metric in meter.metrics().values())
    assert "messages.list_user" in shown
    for hidden in (KEY, UID, "me-myself", "a-query"):
        assert hidden not in shown
