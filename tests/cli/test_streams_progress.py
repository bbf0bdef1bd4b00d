"""The line of progress: live on a terminal, once a minute and phase in a log, and of what is wrong alone."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest._cli import streams
from chatrest._cli.streams import ProgressLine, regularly
from tests.support.commands import MakeProxy, Run


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    written: list[str] = []
    monkeypatch.setattr(streams, "warn", written.append)
    return written


def times(*moments: float) -> Callable[[], float]:
    return iter([0.0, *moments]).__next__


def test_a_log_has_a_line_for_each_phase_and_one_a_minute(lines: list[str]) -> None:
    steps = (
        (0.1, ""), (0.2, "walking"), (50.0, "walking"), (61.0, "walking"), (62.0, "finishing"), (121.0, ""),
    )  # fmt: skip
    with ProgressLine(clock=times(*(at for at, _ in steps))) as line:
        for at, phase in steps[:-1]:
            line.show(f"{phase} at {at}", phase)
    assert lines == ["walking at 0.2", "walking at 61.0", "finishing at 62.0"]


def test_quiet_reports_only_problems_older_than_a_minute(lines: list[str]) -> None:
    steps = (
        (100.0, False), (130.0, True), (159.0, False), (200.0, True), (219.0, True), (230.0, True),
        (280.0, True),
    )  # fmt: skip
    with ProgressLine(quiet=True, clock=times(*(at for at, _ in steps))) as line:
        for at, is_wrong in steps:
            line.show(f"at {at}", "walking", is_wrong=is_wrong)
    assert lines == ["at 219.0", "at 280.0"]


def test_a_share_has_the_time_that_is_left(lines: list[str]) -> None:
    with ProgressLine(clock=times(0.0, 0.0, 60.0, 60.0, 60.0, 120.0, 120.0)) as line:
        line.share("verifying", 0, 200)
        line.share("verifying", 50, 200)
        line.share("walking", 1200, None)
    assert lines == ["verifying: 25%, about 3 min left", "walking: 1,200"]


@pytest.mark.parametrize(("term", "is_live"), [("xterm", True), ("dumb", False)])
def test_a_terminal_has_one_line_that_is_removed(
    term: str, is_live: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda name: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", term)
    with ProgressLine() as line:
        line.show("walking [bold]\x1b[2J", "walking")
    shown = capsys.readouterr().err
    assert ("\x1b[?25l" in shown, "\x1b[?25h" in shown) == (is_live, is_live)
    assert "walking [bold]\\x1b[2J" in re.sub(r"\x1b\[[0-9;]*m", "", shown)


def test_a_quiet_export_says_that_the_service_fails(
    command: Run, proxy: MakeProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings, warn = list[str](), streams.warn

    def note(text: str) -> None:
        warnings.append(text)
        warn(text)

    monkeypatch.setattr(streams, "warn", note)
    monkeypatch.setattr(streams, "LOG_INTERVAL", 0.0)
    with proxy(lambda *_: None if warnings else (503, b"{}")) as url:  # it fails until that is said
        result = command("export", str(tmp_path / "out"), "--quiet", CHATREST_BASE_URL=url)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "the service fails: ServerError" in result.stderr


async def test_a_terminal_that_fails_does_not_stop_the_work() -> None:
    has_failed = asyncio.Event()

    def update() -> None:
        has_failed.set()
        raise OSError("the terminal is gone")

    async with regularly(update):
        await has_failed.wait()
