"""The command as a process: pipes, signals, terminals, and the text to type to run it again."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from threading import Event, enumerate as enumerate_threads
from urllib.parse import urlsplit

import pytest

from chatrest.cli.process import invocation
from tests.commands import PATIENCE, MakeProxy, Start, finish

from .conftest import EmulatorThread

STUCK_AT = 3
TALK = ("messages", "user-02", "--on-behalf-of", "user-01", "--page-limit", "10")


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
@pytest.mark.parametrize("args", [TALK, ("token", "user-01"), ("--help",), ("emulator",)])
def test_a_full_disk_is_one_error_line(service: EmulatorThread, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "chatrest", *args],
            env={**os.environ, **service.env},
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(b"chatrest: No space left on device")
    assert b"Traceback" not in done.stderr


def test_a_client_that_leaves_a_proxy_puts_nothing_into_the_output_of_a_later_test(
    proxy: MakeProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    release, requested = Event(), Event()

    def answer(number: int, _: str) -> tuple[int, bytes]:
        requested.set()
        release.wait()
        return 200, b"{}"

    with proxy(answer) as url:
        before = set(enumerate_threads())
        with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)) as client:
            client.sendall(b"GET /users HTTP/1.1\r\nHost: test\r\n\r\n")
            assert requested.wait(PATIENCE)
            client.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # ends with a reset
        [thread] = set(enumerate_threads()) - before
        release.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by a signal")],
)
def test_the_error_of_an_interrupted_walk_says_how_to_continue(
    process: Start,
    service: EmulatorThread,
    stuck: tuple[str, Event],
    number: signal.Signals,
    status: int,
    word: str,
) -> None:
    url, requested = stuck
    started = process(*TALK, CHATREST_BASE_URL=url)
    assert requested.wait(PATIENCE)
    started.send_signal(number)
    returned, out, error = finish(started)
    assert returned == status
    [token] = re.findall(rf"^chatrest: {word}; continue with the same command and --cursor (\S+)\n$", error)
    status, rest, error = finish(process(*TALK, "--cursor", token))
    assert (status, error) == (0, "")
    ids = [int(json.loads(line)["id"]) for line in (out + rest).splitlines()]
    stored = service.ask(lambda emulator: emulator.store.ids(conversation="user-01_user_user-02"))
    assert len(out.splitlines()) == 20
    assert ids == stored[::-1]


def test_output_is_utf8_in_any_locale(process: Start) -> None:
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    status, out, error = finish(process("send", "user-03", "☃", "--on-behalf-of", "user-04", **plain))
    assert (status, error) == (0, "")
    assert "☃" in out.decode()
    assert finish(process("messages", "☃", **plain))[2].count("☃") == 1


# ── terminals ──


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")
@pytest.mark.parametrize("args", [TALK, ("demo", "--users", "3", "--messages", "9", "--out", "out")])
def test_progress_goes_to_the_terminal_and_the_output_is_plain(
    service: EmulatorThread, tmp_path: Path, args: tuple[str, ...]
) -> None:
    terminal, end = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "chatrest", *args],
        env={**os.environ, **service.env, "TERM": "xterm", "PYTHONPATH": str(Path.cwd())},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=end,
        timeout=PATIENCE,
    )
    shown = os.read(terminal, 1 << 16).decode()
    os.close(end)
    os.close(terminal)
    assert done.returncode == 0
    assert "messages" in shown
    assert "\x1b[" in shown
    assert b"\x1b" not in done.stdout


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


def test_the_name_if_it_is_on_the_path(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
