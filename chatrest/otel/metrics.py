"""Metrics: durations of requests and calls, retries, and the times that calls spend waiting.

| name                           | kind, unit       | a value for each                                       |
|--------------------------------|------------------|--------------------------------------------------------|
| `http.client.request.duration` | histogram, s     | request on the network, or connection that failed      |
| `chatrest.call.duration`       | histogram, s     | call, with all of its attempts and waits               |
| `chatrest.retries`             | counter, {retry} | attempt after the first; `error.type`: why it was made |
| `chatrest.pace.wait_time`      | histogram, s     | call that waited for the rate limit                    |
| `chatrest.pool.wait_time`      | histogram, s     | call that waited for a place in the region's pool      |
| `chatrest.retry.wait_time`     | histogram, s     | call that waited between attempts                      |

The first one, its attributes and its buckets follow the semantic conventions for HTTP client metrics, with
the attribute `url.template`; its count is the number of requests. The others have the attributes
`chatrest.operation` and `chatrest.region`; `chatrest.call.duration` also has `error.type` after an error. The
value of `error.type` is the name of a class of `chatrest.errors`, or `CancelledError`.

No attribute has a uid or a path with values. An app's id is in them only if it is asked for.
"""

from typing import Final, TypeAlias, final

from opentelemetry import metrics

from ..telemetry import Attempt, Outcome, Record

_Attributes: TypeAlias = dict[str, str | int]

REQUEST_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Seconds: the boundaries that the semantic conventions advise for `http.client.request.duration`."""
CALL_BUCKETS: Final = (*REQUEST_BUCKETS, 30, 60, 120, 300, 600)
"""Seconds: for calls and waits; a rate limit's window is often a minute, and bulk calls wait for longer."""


@final
class OpenTelemetryMetrics:
    """A listener for `AsyncSession(telemetry=…)` that records the metrics of this module.

    - `meter`: by default the global provider's.
    - `app_id`: True adds the attribute `chatrest.app_id`, and keeps the app's id in `server.address`. By
      default that label is cut off the address, so that more apps do not make more time series.
    """

    def __init__(self, meter: metrics.Meter | None = None, *, app_id: bool = False) -> None:
        meter = meter or metrics.get_meter("chatrest")
        self._app_id = app_id
        self._requests = _histogram(
            meter, "http.client.request.duration", "Duration of HTTP client requests.", REQUEST_BUCKETS
        )
        self._calls = _histogram(meter, "chatrest.call.duration", "Duration of calls with all attempts.")
        self._retries = meter.create_counter("chatrest.retries", "{retry}", "Attempts after the first.")
        self._waits = (
            _histogram(meter, "chatrest.pace.wait_time", "Time that calls waited for the rate limit."),
            _histogram(meter, "chatrest.pool.wait_time", "Time that calls waited for a place in the pool."),
            _histogram(meter, "chatrest.retry.wait_time", "Time that calls waited between attempts."),
        )

    def __call__(self, record: Record) -> None:
        """Record the values of an attempt or of a call."""
        if isinstance(record, Attempt):
            self._add_attempt(record)
        else:
            self._add_outcome(record)

    def _add_attempt(self, attempt: Attempt) -> None:
        if attempt.reached_network:
            self._requests.record(attempt.network, self._of_request(attempt))
        if attempt.cause is not None:
            self._retries.add(1, {**self._of_call(attempt), "error.type": attempt.cause})

    def _add_outcome(self, outcome: Outcome) -> None:
        attributes = self._of_call(outcome)
        for histogram, seconds in zip(
            self._waits, (outcome.paced, outcome.queued, outcome.waited), strict=True
        ):
            if seconds > 0:
                histogram.record(seconds, attributes)
        if outcome.error is not None:
            attributes = {**attributes, "error.type": outcome.error}
        self._calls.record(outcome.seconds, attributes)

    def _of_request(self, attempt: Attempt) -> _Attributes:
        address = attempt.server_address
        if not self._app_id:
            address = address.removeprefix(f"{attempt.app_id.lower()}.")
        attributes: _Attributes = {
            "http.request.method": attempt.method,
            "server.address": address,
            "server.port": attempt.server_port,
            "url.template": attempt.template,
        }
        if attempt.status is not None:
            attributes["http.response.status_code"] = attempt.status
        if attempt.error is not None:
            attributes["error.type"] = attempt.error
        return self._with_app(attributes, attempt)

    def _of_call(self, record: Record) -> _Attributes:
        attributes: _Attributes = {"chatrest.operation": record.operation, "chatrest.region": record.region}
        return self._with_app(attributes, record)

    def _with_app(self, attributes: _Attributes, record: Record) -> _Attributes:
        if self._app_id:
            attributes["chatrest.app_id"] = record.app_id
        return attributes


def _histogram(
    meter: metrics.Meter, name: str, description: str, buckets: tuple[float, ...] = CALL_BUCKETS
) -> metrics.Histogram:
    return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=buckets)
