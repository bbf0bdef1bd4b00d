"""The command as a process: pipes, signals, terminals, and the text to type to run it again."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from chatrest._cli.environment import invocation
from chatrest._cli.root import root
from tests.support.commands import PATIENCE, Start

from .conftest import EmulatorThread

TALK = ("messages", "user-002", "--on-behalf-of", "user-001", "--page-limit", "10")


def test_a_closed_pipe_is_no_failure(process: Start, service: EmulatorThread) -> None:
    started = process(*TALK)
    assert started.stdout is not None
    assert json.loads(started.stdout.readline())
    started.stdout.close()
    assert started.stderr is not None
    assert started.wait(PATIENCE) == 0
    assert started.stderr.read() == b""
    started.communicate()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "args", [TALK, ("token", "user-001"), ("--help",), ("emulator",), ("export", "out", "--json")]
)
def test_a_full_disk_is_one_error_line(
    service: EmulatorThread,
    args: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in service.env.items():
        monkeypatch.setenv(name, value)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as end:
            root.main(args)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert end.value.code == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("chatrest: standard output: No space left on device")
    assert "continue" not in line  # what was to be done is done


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of an executable file, which is also `sys.argv[0]`."""
    path = tmp_path / "a venv" / "chatrest"
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_the_program_name_is_used_if_it_is_on_the_path(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    assert invocation() == "chatrest"


def test_the_path_if_the_name_is_unknown_or_another_file(script: Path, tmp_path: Path) -> None:
    assert invocation() == f"'{script}'"
    other = tmp_path / "chatrest"
    other.write_text("")
    other.chmod(0o755)
    assert invocation() == f"'{script}'"


def test_the_call_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/chatrest/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/x/bin/python")
    assert invocation() == "/x/bin/python -m chatrest"
