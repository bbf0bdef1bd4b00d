"""The display of an export's progress."""

import pytest

from chatrest._cli import streams
from chatrest._cli.export.display import ProgressLog, progress_display
from chatrest.export.plan.report import Phase, Progress
from chatrest.export.run.monitor import Snapshot


def snapshot(elapsed: float = 192.0, phase: Phase = Phase.WALKING) -> Snapshot:
    progress = Progress()
    progress.received = 345
    return Snapshot(progress=progress, phase=phase, rate=1.0, elapsed=elapsed, share=0.63, left=250.0)


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
