"""The progress of an export: its snapshots, and its line."""

from types import SimpleNamespace
from typing import Any

from chatrest.export.plan.report import Phase, Progress
from chatrest.export.run.monitor import Monitor
from tests.network.clocks import Clock
from tests.support.cases import loop_over


def pool(*, active: int = 0, waiting: int = 0, is_full: bool = False) -> Any:
    return SimpleNamespace(active=active, waiting=waiting, is_full=is_full)


def test_the_remaining_time_needs_some_seconds_of_data() -> None:
    clock, progress = Clock(100.0), Progress()
    monitor = Monitor(progress, clock)
    assert monitor.snapshot().line == "beginning: 0.0 s"
    progress.phase, progress.ids, progress.received = Phase.WALKING, 1000, 1
    for second in range(1, 31):
        clock.now += 1
        progress.written, progress.covered = 50 * second, 10 * second
        line = monitor.snapshot().line
        assert ("left" not in line) == (second <= 5)
    assert line == "walking: 30%, about 70 s left, 1,500 messages at 50/s, 1 byte, 0 requests, 30.0 s"
    progress.trouble = "ConnectError"  # of unknown duration
    assert ["left" in monitor.snapshot().line for _ in range(2)] == [True, False]
    progress.trouble = None
    for _ in range(20):  # a rate limit has begun
        clock.now += 1
        line = monitor.snapshot().line
    assert line.startswith("walking: 30%, 1,500 messages at 0/s")
    progress.enter(Phase.FETCHING_ATTACHMENTS)
    assert monitor.snapshot().line.startswith("fetching attachments: 1,500 messages, 1 byte")


@loop_over(
    ("trouble", "pools", "disk", "text"),
    [
        (None, [], False, ""),
        (None, [pool(active=32)], False, ""),
        ("NotFoundError", [], False, ""),
        ("RateLimitError", [], False, "waits for the service's rate limit"),
        (None, [pool(waiting=30)], False, "waits for the service's rate limit"),
        (None, [pool(active=90, waiting=30, is_full=True)], False, ""),
        ("ConnectError", [], False, "the service does not answer: ConnectError"),
        ("RequestTimeoutError", [], True, "the service does not answer: RequestTimeoutError"),
        ("ServerError", [], False, "the service fails: ServerError"),
        (None, [], True, "waits for the disk"),
    ],
)
def test_the_reason_for_a_wait_is_shown_from_the_second_snapshot_on(
    trouble: str | None, pools: list[Any], disk: bool, text: str
) -> None:
    progress = Progress()
    monitor = Monitor(progress, Clock(100.0))
    progress.trouble, progress.waits_for_disk = trouble, disk
    assert monitor.snapshot(pools).waits == ""
    assert monitor.snapshot(pools).waits == text


def test_a_silent_service_is_reported_with_the_seconds_of_silence() -> None:
    clock, progress = Clock(100.0), Progress()
    monitor = Monitor(progress, clock)
    for _ in range(3):
        clock.now += 9
        snapshot = monitor.snapshot([pool(active=1)])
    assert snapshot.waits == "has waited 27 s for the service's answer"
    progress.requests += 1
    assert monitor.snapshot([pool(active=1)]).waits == ""


def test_the_phase_shows_that_the_export_is_stopping() -> None:
    assert Monitor(Progress()).snapshot(stopping=True).phase is Phase.STOPPING


def test_the_progress_as_one_line() -> None:
    clock, progress = Clock(100.0), Progress()
    monitor = Monitor(progress, clock)
    clock.now += 192.0
    progress.enter(Phase.WAITING_FOR_WORKER, "tcp://host:1")
    assert monitor.snapshot().line == "waiting for a worker (tcp://host:1): 3:12"
    progress.unpublished = "nothing published for 62 min: no reply"
    assert monitor.snapshot().line.endswith("3:12, nothing published for 62 min: no reply")
    progress.enter(Phase.WALKING)
    progress.written, progress.received, progress.requests, progress.limited = 1_234_567, 345_600_000, 2345, 3
    progress.sources, progress.done, progress.failed, progress.trouble = 200, 123, 2, "RateLimitError"
    monitor.snapshot()
    assert monitor.snapshot().line == (
        "walking: 1,234,567 messages at 6,430/s, 345.6 MB, 2,345 requests (3 × 429), 123 of 200 sources, "
        "2 failed, 3:12, waits for the service's rate limit, nothing published for 62 min: no reply"
    )
