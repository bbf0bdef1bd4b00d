"""The gauge: rates, what is left, and what an export waits for."""

from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.cli.exporting.gauge import Gauge
from chatrest.export import Progress


class _Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pool(*, active: int = 0, waiting: int = 0, for_places: int = 0) -> Any:
    return SimpleNamespace(active=active, waiting=waiting, places=SimpleNamespace(waiting=for_places))


def test_rates_and_what_is_left_need_something_to_go_by() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    assert gauge.look().left is None
    progress.phase, progress.ids, progress.received = "walking", 1000, 1
    for second in range(1, 31):
        clock.now += 1
        progress.written, progress.covered = 50 * second, 10 * second
        seen = gauge.look()
        assert (seen.left is None) == (second <= 5)
    assert seen.rate == pytest.approx(50)
    assert seen.share == 0.3
    assert seen.left == pytest.approx(70)
    assert seen.elapsed == 30
    progress.trouble = "ConnectError"  # nobody knows for how long
    assert [gauge.look().left is None for _ in range(2)] == [False, True]
    progress.trouble = None
    for _ in range(20):  # a limit strikes: the last ten seconds count, and not the minute
        clock.now += 1
        seen = gauge.look()
    assert seen.rate == 0
    assert seen.left is None
    progress.phase = "finishing"
    assert gauge.look().left is None


def test_nothing_is_said_of_what_is_left_where_ids_are_not_known() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    progress.received = 1
    for _ in range(100):
        clock.now += 1
        progress.written += 1
        seen = gauge.look()
    assert (seen.share, seen.left) == (None, None)
    assert seen.rate == pytest.approx(1)


@pytest.mark.parametrize(
    ("trouble", "pools", "disk", "text"),
    [
        (None, [], False, None),
        (None, [pool(active=32)], False, None),
        ("NotFoundError", [], False, None),
        ("RateLimitError", [], False, "waits for the service's rate limit"),
        (None, [pool(waiting=30)], False, "waits for the service's rate limit"),
        (None, [pool(active=90, waiting=30, for_places=1)], False, None),
        ("ConnectError", [], False, "the service does not answer: ConnectError"),
        ("RequestTimeoutError", [], True, "the service does not answer: RequestTimeoutError"),
        ("ServerError", [], False, "the service fails: ServerError"),
        (None, [], True, "waits for the disk"),
    ],
)
def test_what_it_waits_for_is_said_once_it_lasts(
    trouble: str | None, pools: list[Any], disk: bool, text: str | None
) -> None:
    progress = Progress()
    gauge = Gauge(progress, _Clock())
    progress.trouble, progress.waits_for_disk = trouble, disk
    assert gauge.look(pools).waits is None
    assert gauge.look(pools).waits == text


def test_a_service_that_says_nothing_is_said_to() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    for _ in range(3):
        clock.now += 9
        seen = gauge.look([pool(active=1)])
    assert seen.waits == "waits for an answer of the service, 27 s by now"
    progress.requests += 1
    assert gauge.look([pool(active=1)]).waits is None


def test_while_it_stops_it_says_so() -> None:
    assert Gauge(Progress()).look(stopping=True).phase.startswith("stopping")
