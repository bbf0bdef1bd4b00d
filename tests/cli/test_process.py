"""The command as a process: pipes, signals, and the emulator that runs until it is told to stop."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest

from .conftest import Front, Served

Start = Callable[..., subprocess.Popen[bytes]]
Fronted = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Front]

TALK = ("messages", "user-02", "--on-behalf-of", "user-01", "--page-limit", "10")
PATIENCE = 20.0


def ends(started: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    """Its status, and what was left of its output and of its complaints."""
    out, told = started.communicate(timeout=PATIENCE)
    return started.returncode, out, told.decode()


def test_a_reader_that_goes_away_is_no_failure(process: Start, service: Served) -> None:
    started = process(*TALK)
    assert started.stdout is not None
    assert json.loads(started.stdout.readline())
    started.stdout.close()
    assert started.stderr is not None
    assert started.wait(PATIENCE) == 0
    assert started.stderr.read() == b""
    started.communicate()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("args", [TALK, ("token", "user-01"), ("--help",), ("emulator",)])
def test_a_full_disk_is_one_line(service: Served, args: tuple[str, ...]) -> None:
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


@pytest.fixture
def stuck(front: Fronted) -> Iterator[tuple[str, Event]]:
    """A service whose third reply never comes."""
    release, heard = Event(), Event()

    def answer(number: int, _: str) -> None:
        if number == 3:
            heard.set()
            release.wait()

    with front(answer) as url:
        yield url, heard
        release.set()


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by a signal")],
)
def test_an_interrupted_walk_says_how_to_go_on(
    process: Start,
    service: Served,
    stuck: tuple[str, Event],
    number: signal.Signals,
    status: int,
    word: str,
) -> None:
    url, heard = stuck
    started = process(*TALK, CHATREST_BASE_URL=url)
    assert heard.wait(PATIENCE)
    started.send_signal(number)
    returned, out, told = ends(started)
    assert returned == status
    [token] = re.findall(rf"^chatrest: {word}; go on with the same command and --cursor (\S+)\n$", told)
    status, rest, told = ends(process(*TALK, "--cursor", token))
    assert (status, told) == (0, "")
    ids = [int(json.loads(line)["id"]) for line in (out + rest).splitlines()]
    stored = service.ask(lambda emulator: emulator.store.ids(conversation="user-01_user_user-02"))
    assert len(out.splitlines()) == 20
    assert ids == stored[::-1]


def test_output_is_utf8_in_any_locale(process: Start) -> None:
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    status, out, told = ends(process("send", "user-03", "☃", "--on-behalf-of", "user-04", **plain))
    assert (status, told) == (0, "")
    assert "☃" in out.decode()
    assert ends(process("messages", "☃", **plain))[2].count("☃") == 1


def test_a_missing_environment(process: Start) -> None:
    status, out, told = ends(process("users", CHATREST_APP_ID=""))
    assert (status, out) == (2, b"")
    assert told == "chatrest: the environment lacks CHATREST_APP_ID\n"


def test_a_wrong_key(process: Start) -> None:
    status, out, told = ends(process("users", CHATREST_API_KEY="quite-wrong-key"))
    assert (status, out) == (1, b"")
    assert "401" in told
    assert "quite-wrong-key" not in told


# ── the emulator ──


def announced(started: subprocess.Popen[bytes]) -> dict[str, str]:
    """What it exports: all that it ever writes to standard output."""
    assert started.stdout is not None
    words = [shlex.split(line) for line in started.stdout.read().decode().splitlines()]
    assert all(word == "export" and name.startswith("CHATREST_") for word, name in words)
    return {name: value for name, _, value in (word.partition("=") for _, word in words)}


def status_of(env: dict[str, str]) -> int:
    address = urlsplit(env["CHATREST_BASE_URL"])
    connection = HTTPConnection(address.hostname or "", address.port)
    connection.request("GET", f"{address.path}/users", headers={"apikey": env["CHATREST_API_KEY"]})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_emulator_runs_until_it_is_told_to_stop(process: Start, number: signal.Signals) -> None:
    started = process("emulator", "--users", "3", "--messages", "20")
    env = announced(started)
    assert status_of(env) == 200
    assert env["CHATREST_EMULATOR_PID"] == str(started.pid)
    started.send_signal(number)
    status, _, told = ends(started)
    assert status == 0
    assert told.startswith(f"chatrest: emulator at {env['CHATREST_BASE_URL']} with 3 users and 20 messages")
    assert len(told.splitlines()) == 1


def test_what_the_emulator_exports_is_what_the_command_reads(process: Start) -> None:
    started = process("emulator", "--users", "3", "--messages", "20")
    env = announced(started)
    assert len(ends(process("users", **env))[1].splitlines()) == 3
    assert len(ends(process("apps", **env))[1].splitlines()) == 1
    started.terminate()
    ends(started)


def test_eval_of_a_background_emulator(tmp_path: Path) -> None:
    script = """
        eval "$("$PYTHON" -m chatrest emulator --users 3 --messages 20 &)"
        "$PYTHON" -m chatrest users --limit 2
        kill -0 $CHATREST_EMULATOR_PID && kill $CHATREST_EMULATOR_PID
    """
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


def test_the_emulator_can_end_with_its_input(process: Start) -> None:
    started = process("emulator", "--users", "3", "--messages", "20", "--until-eof")
    assert status_of(announced(started)) == 200
    assert ends(started)[0] == 0  # communicate closes its input


@pytest.mark.parametrize("source", [Path(__file__), Path(os.devnull)])
def test_an_input_that_has_no_end_to_wait_for_is_one_line(source: Path) -> None:
    with source.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "chatrest", "emulator", "--messages", "2", "--until-eof"],
            stdin=file,
            capture_output=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1


def test_the_emulator_keeps_a_database(process: Start, tmp_path: Path) -> None:
    args = ("emulator", "--users", "3", "--messages", "20", "--until-eof", "--database", str(tmp_path / "x"))
    started = process(*args)
    env = announced(started)
    assert ends(process("send", "user-01", "one more", **env))[0] == 0
    ends(started)
    assert "with 3 users and 21 messages" in ends(process(*args))[2]


def test_a_port_that_is_taken_and_a_database_that_is_none_are_one_line(
    process: Start, service: Served, tmp_path: Path
) -> None:
    taken = str(service.emulator.port)
    wrong = tmp_path / "notes.txt"
    wrong.write_text("not a database at all")
    for args, status in ((("--port", taken), 1), (("--database", str(wrong)), 2)):
        returned, out, told = ends(process("emulator", "--messages", "1", *args))
        assert (returned, out) == (status, b"")
        assert len(told.splitlines()) == 1
        assert "Traceback" not in told


# ── terminals ──


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own")
@pytest.mark.parametrize("args", [TALK, ("demo", "--users", "3", "--messages", "9", "--out", "out")])
def test_progress_is_for_a_terminal_and_the_output_stays_plain(
    service: Served, tmp_path: Path, args: tuple[str, ...]
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
