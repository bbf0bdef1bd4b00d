"""The progress of an export: its snapshots, and how they are displayed."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from chatrest.cli import streams
from chatrest.cli.export import display_of
from chatrest.cli.export_progress import LOG_INTERVAL, LineDisplay, Monitor, Snapshot, progress_line
from chatrest.cli.export_terminal import rendered
from chatrest.cli.export_texts import about, duration, rounded
from chatrest.export.report import Active, Phase, Progress
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


@loop_over(
    ("number", "text"), [(0, "0"), (7, "7"), (99, "99"), (123, "120"), (253_770, "250,000"), (999, "1,000")]
)
def test_an_estimated_number(number: int, text: str) -> None:
    assert rounded(number) == text


def snapshot(**changes: Any) -> Snapshot:
    progress = Progress()
    counts: dict[str, Any] = {
        "written": 1_234_567, "received": 345_600_000, "requests": 2345, "limited": 3, "sources": 200,
        "done": 123, "failed": 2,
        "active": {each: Active(f"user user-{each:03}", each / 40, each * 1000) for each in range(32)},
    }  # fmt: skip
    known: dict[str, Any] = {
        "phase": Phase.WALKING, "rate": 12_345.6, "elapsed": 192.0, "share": 0.63, "left": 250.0,
        "waits": "waits for the service's rate limit",
    }  # fmt: skip
    known |= {name: value for name, value in changes.items() if name in known}
    for name, value in (counts | changes).items():
        setattr(progress, name, value)
    return Snapshot(progress=progress, **known)


def lines_of(snapshot: Snapshot, width: int = 80, out: str = "out") -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(rendered(snapshot, out))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_lines_fit_into_80_columns() -> None:
    lines = lines_of(snapshot())
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"{'walking  out':<76}3:12"
    assert lines[1].endswith("63%  about 4 min left")
    assert lines[2] == "1,234,567 messages   12,346/s   345.6 MB   2,345 requests   3 × 429"
    assert lines[3] == "123 of 200 sources   2 failed   waits for the service's rate limit"
    assert lines[4].startswith("  user user-000")
    assert lines[5].split()[2:4] == ["1,000", "messages"]
    assert lines[12:] == ["  … and 24 more", ""]
    unknown = lines_of(snapshot(share=None, left=None, active={}, waits="x" * 200), 40, "a/long/path/" * 9)
    assert len(unknown) == 5
    assert max(map(len, unknown)) <= 40


def test_the_progress_as_one_line() -> None:
    assert progress_line(snapshot()) == (
        "walking: 1,234,567 messages at 12,346/s, 345.6 MB, 2,345 requests (3 × 429), 123 of 200 sources, "
        "2 failed, 63%, about 4 min left, 3:12, waits for the service's rate limit"
    )
    assert progress_line(snapshot(received=0, waits=None)) == "walking: 3:12"
    waiting = snapshot(received=0, waits=None, phase=Phase.WAITING_FOR_WORKER, detail="tcp://host:1")
    assert progress_line(waiting) == "waiting for a worker (tcp://host:1): 3:12"


@pytest.mark.parametrize("received", [0, 1000])
def test_a_run_that_cannot_publish_says_so(received: int) -> None:
    shown = snapshot(received=received, waits=None, unpublished="nothing published for 62 min: no reply")
    assert progress_line(shown).endswith("3:12, nothing published for 62 min: no reply")
    assert "nothing published for 62 min" in lines_of(shown)[3]


def test_plain_lines_are_one_for_each_phase_and_every_ten_seconds() -> None:
    lines: list[str] = []
    with LineDisplay(lines.append) as log:
        for elapsed, phase in (
            (0.0, Phase.BEGINNING),
            (0.1, Phase.WALKING),
            (5.0, Phase.WALKING),
            (LOG_INTERVAL + 1, Phase.WALKING),
            (LOG_INTERVAL + 2, Phase.FINISHING),
            (2 * LOG_INTERVAL + 1, Phase.FINISHING),
        ):
            log.show(snapshot(elapsed=elapsed, phase=phase))
    assert [line.partition(":")[0] for line in lines] == ["walking", "walking", "finishing"]


@pytest.mark.parametrize(
    ("is_terminal", "quiet", "lines"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_a_terminal_without_a_cursor_has_plain_lines_and_a_pipe_has_none(
    is_terminal: bool,
    quiet: bool,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda name: is_terminal)
    monkeypatch.setenv("TERM", "dumb")
    with display_of("out", quiet=quiet) as display:
        display.show(snapshot())
    assert len(capsys.readouterr().err.splitlines()) == lines
