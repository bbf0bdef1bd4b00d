"""The progress of an export: its snapshots, and its line."""

from types import SimpleNamespace
from typing import Any

import pytest

from chatrest.export.plan.report import Phase, Progress
from chatrest.export.run.monitor import Monitor, Snapshot, progress_line
from tests.cases import loop_over


class _Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pool(*, active: int = 0, waiting: int = 0, is_full: bool = False) -> Any:
    return SimpleNamespace(active=active, waiting=waiting, is_full=is_full)


def test_the_remaining_time_needs_some_seconds_of_data() -> None:
    clock, progress = _Clock(), Progress()
    monitor = Monitor(progress, clock)
    assert monitor.snapshot().left is None
    progress.phase, progress.ids, progress.received = Phase.WALKING, 1000, 1
    for second in range(1, 31):
        clock.now += 1
        progress.written, progress.covered = 50 * second, 10 * second
        snapshot = monitor.snapshot()
        assert (snapshot.left is None) == (second <= 5)
    assert snapshot.rate == pytest.approx(50)
    assert snapshot.share == 0.3
    assert snapshot.left == pytest.approx(70)
    assert snapshot.elapsed == 30
    progress.trouble = "ConnectError"  # of unknown duration
    assert [monitor.snapshot().left is None for _ in range(2)] == [False, True]
    progress.trouble = None
    for _ in range(20):  # with a rate limit the last ten seconds count, not the last minute
        clock.now += 1
        snapshot = monitor.snapshot()
    assert snapshot.rate == 0
    assert snapshot.left is None
    progress.enter(Phase.FINISHING)
    assert monitor.snapshot().left is None


@loop_over(
    ("trouble", "pools", "disk", "text"),
    [
        (None, [], False, None),
        (None, [pool(active=32)], False, None),
        ("NotFoundError", [], False, None),
        ("RateLimitError", [], False, "waits for the service's rate limit"),
        (None, [pool(waiting=30)], False, "waits for the service's rate limit"),
        (None, [pool(active=90, waiting=30, is_full=True)], False, None),
        ("ConnectError", [], False, "the service does not answer: ConnectError"),
        ("RequestTimeoutError", [], True, "the service does not answer: RequestTimeoutError"),
        ("ServerError", [], False, "the service fails: ServerError"),
        (None, [], True, "waits for the disk"),
    ],
)
def test_the_reason_for_a_wait_is_shown_from_the_second_snapshot_on(
    trouble: str | None, pools: list[Any], disk: bool, text: str | None
) -> None:
    progress = Progress()
    monitor = Monitor(progress, _Clock())
    progress.trouble, progress.waits_for_disk = trouble, disk
    assert monitor.snapshot(pools).waits is None
    assert monitor.snapshot(pools).waits == text


def test_a_silent_service_is_reported_with_the_seconds_of_silence() -> None:
    clock, progress = _Clock(), Progress()
    monitor = Monitor(progress, clock)
    for _ in range(3):
        clock.now += 9
        snapshot = monitor.snapshot([pool(active=1)])
    assert snapshot.waits == "has waited 27 s for the service's answer"
    progress.requests += 1
    assert monitor.snapshot([pool(active=1)]).waits is None


def test_the_phase_says_that_the_export_is_stopping() -> None:
    assert Monitor(Progress()).snapshot(stopping=True).phase is Phase.STOPPING


def snapshot(**changes: Any) -> Snapshot:
    progress = Progress()
    counts: dict[str, Any] = {
        "written": 1_234_567, "received": 345_600_000, "requests": 2345, "limited": 3, "sources": 200,
        "done": 123, "failed": 2,
    }  # fmt: skip
    known: dict[str, Any] = {
        "phase": Phase.WALKING, "rate": 12_345.6, "elapsed": 192.0, "share": 0.63, "left": 250.0,
        "waits": "waits for the service's rate limit",
    }  # fmt: skip
    known |= {name: value for name, value in changes.items() if name in known}
    for name, value in (counts | changes).items():
        setattr(progress, name, value)
    return Snapshot(progress=progress, **known)


def test_the_progress_as_one_line() -> None:
    assert progress_line(snapshot()) == (
        "walking: 63%, about 4 min left, 1,234,567 messages at 12,346/s, 345.6 MB, 2,345 requests (3 × 429), "
        "123 of 200 sources, 2 failed, 3:12, waits for the service's rate limit"
    )
    assert progress_line(snapshot(received=0, waits=None)) == "walking: 3:12"
    waiting = snapshot(received=0, waits=None, phase=Phase.WAITING_FOR_WORKER, detail="tcp://host:1")
    assert progress_line(waiting) == "waiting for a worker (tcp://host:1): 3:12"


@loop_over("received", [0, 1000])
def test_a_run_that_cannot_publish_says_so(received: int) -> None:
    shown = snapshot(received=received, waits=None, unpublished="nothing published for 62 min: no reply")
    assert progress_line(shown).endswith("3:12, nothing published for 62 min: no reply")
