"""The progress of an export: its snapshots, and how they are displayed."""

import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest._cli import streams
from chatrest._cli.export.display import (
    Monitor,
    ProgressLog,
    Snapshot,
    progress_display,
    progress_line,
    status_file,
)
from chatrest._cli.export.summary import about, duration
from chatrest.export.plan.report import Phase, Progress, Report
from tests.cases import loop_over


class _Clock:
    """Goes when it is told to."""

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


@loop_over(
    ("seconds", "text"),
    [
        (4.24, "4.2 s"),
        (59.9, "59.9 s"),
        (60, "1:00"),
        (192, "3:12"),
        (3723, "1:02:03"),
        (180_000, "2 d 02:00:00"),
    ],
)
def test_a_measured_time(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@loop_over(
    ("seconds", "text"),
    [
        (3, "a few seconds"),
        (42, "about 40 s"),
        (89, "about 90 s"),
        (250, "about 4 min"),
        (12_100, "about 3 h 20 min"),
        (7_190, "about 2 h"),
        (90_000, "about 1 d 1 h"),
        (172_800, "about 2 d"),
    ],
)
def test_an_estimated_time(seconds: float, text: str) -> None:
    assert about(seconds) == text


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


@pytest.mark.parametrize("received", [0, 1000])
def test_a_run_that_cannot_publish_says_so(received: int) -> None:
    shown = snapshot(received=received, waits=None, unpublished="nothing published for 62 min: no reply")
    assert progress_line(shown).endswith("3:12, nothing published for 62 min: no reply")


def test_a_log_has_a_line_for_each_phase_and_one_a_minute() -> None:
    lines: list[str] = []
    log = ProgressLog(lines.append)
    for elapsed, phase in (
        (0.0, Phase.BEGINNING),
        (0.1, Phase.WALKING),
        (50.0, Phase.WALKING),
        (61.0, Phase.WALKING),
        (62.0, Phase.FINISHING),
        (121.0, Phase.FINISHING),
    ):
        log.show(snapshot(elapsed=elapsed, phase=phase))
    assert [line.partition(":")[0] for line in lines] == ["walking", "walking", "finishing"]
    assert all("63%, about 4 min left" in line for line in lines)


@pytest.mark.parametrize(
    ("is_terminal", "quiet", "lines"), [(True, False, 1), (False, False, 1), (False, True, 0)]
)
def test_a_terminal_without_a_cursor_and_a_log_have_lines_and_quiet_has_none(
    is_terminal: bool,
    quiet: bool,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda name: is_terminal)
    monkeypatch.setenv("TERM", "dumb")
    with progress_display(quiet=quiet) as show:
        show(snapshot())
    assert len(capsys.readouterr().err.splitlines()) == lines


# ── the file for a monitor ──


def test_the_file_for_a_monitor_has_each_run_and_the_last_complete_one(tmp_path: Path) -> None:
    path, clock = tmp_path / "status.json", iter([100, 200, 210, 300])

    def write(report: Report | Exception) -> dict[str, Any]:
        with suppress(OSError), status_file(path, "out", lambda: next(clock)) as reports:
            if isinstance(report, Exception):
                raise report
            reports.append(report)
        loaded: dict[str, Any] = json.loads(path.read_bytes())
        return loaded

    first = write(Report(run=1, complete=True, started=100, finished=190, messages=7, written=7))
    assert (first["state"], first["messages"]) == ("complete", 7)
    assert (first["finished"], first["last_complete"]) == (190, 190)
    second = write(OSError("the disk is full"))
    assert (second["state"], second["error"], second["last_complete"]) == ("failed", "the disk is full", 190)
    assert (second["started"], second["finished"]) == (200, 210)
    third = write(Report(run=3, started=300, finished=390, reasons=["some sources are not read"]))
    assert (third["state"], third["error"]) == ("not complete", "some sources are not read")
    assert third["last_complete"] == 190
    assert [each.name for each in tmp_path.iterdir()] == ["status.json"]
