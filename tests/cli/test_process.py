"""The command as a process: pipes, signals, and the emulator that runs until it is error to stop."""

import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, enumerate as enumerate_threads
from urllib.parse import urlsplit

import pytest
from click.testing import Result

from .conftest import EmulatorThread, Proxy, error_line, rows

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[bytes]]
MakeProxy = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Proxy]

TALK = ("messages", "user-02", "--on-behalf-of", "user-01", "--page-limit", "10")
PATIENCE = 20.0


def finish(started: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    """Its status, and what was left of its output and of its error_lines."""
    out, error = started.communicate(timeout=PATIENCE)
    return started.returncode, out, error.decode()


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


@pytest.fixture
def stuck(proxy: MakeProxy) -> Iterator[tuple[str, Event]]:
    """The URL of a service whose third reply never comes, and an event that its request sets."""
    release, requested = Event(), Event()

    def answer(number: int, _: str) -> None:
        if number == 3:
            requested.set()
            release.wait()

    with proxy(answer) as url:
        yield url, requested
        release.set()


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


def test_a_missing_environment(process: Start) -> None:
    status, out, error = finish(process("users", CHATREST_APP_ID=""))
    assert (status, out) == (2, b"")
    assert error == "chatrest: the environment lacks CHATREST_APP_ID; see 'chatrest --help'\n"


def test_a_wrong_key(command: Run) -> None:
    error = error_line(command("users", CHATREST_API_KEY="quite-wrong-key"))
    assert "401" in error
    assert "quite-wrong-key" not in error


# ── the emulator ──


def read_environment(started: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return the variables that the emulator prints; it must print nothing else on standard output."""
    assert started.stdout is not None
    words = [shlex.split(line) for line in started.stdout.read().decode().splitlines()]
    assert all(word == "export" and name.startswith("CHATREST_") for word, name in words)
    return {name: value for name, _, value in (word.partition("=") for _, word in words)}


def status_of(env: dict[str, str]) -> int:
    address = urlsplit(env["CHATREST_BASE_URL"])
    with closing(HTTPConnection(address.hostname or "", address.port)) as connection:
        connection.request("GET", f"{address.path}/users", headers={"apikey": env["CHATREST_API_KEY"]})
        with connection.getresponse() as reply:
            reply.read()
            return reply.status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_emulator_prints_variables_for_the_command_and_runs_until_a_signal_stops_it(
    process: Start, command: Run, number: signal.Signals
) -> None:
    started = process("emulator", "--users", "3", "--messages", "20")
    env = read_environment(started)
    assert len(rows(command("users", **env))) == 3
    assert len(rows(command("apps", **env))) == 1
    assert env["CHATREST_EMULATOR_PID"] == str(started.pid)
    started.send_signal(number)
    status, _, error = finish(started)
    assert status == 0
    assert error.startswith(f"chatrest: emulator at {env['CHATREST_BASE_URL']} with 3 users and 20 messages")
    assert len(error.splitlines()) == 1


def test_the_emulator_takes_an_app_a_limit_and_habits(process: Start, command: Run) -> None:
    started = process("emulator", "--users", "3", "--messages", "20", "--app-id", "mine", "--limit", "2",
                      "--habits", "compatible", "--host", "127.0.0.4")  # fmt: skip
    env = read_environment(started)
    assert env["CHATREST_APP_ID"] == "mine"
    assert env["CHATREST_HEADERS"].startswith("authtoken: user-01_")
    assert urlsplit(env["CHATREST_BASE_URL"]).hostname == "127.0.0.4"
    assert [status_of(env) for _ in range(3)] == [200, 200, 429]
    started.send_signal(signal.SIGTERM)
    assert finish(started)[0] == 0


def test_the_emulator_has_bad_weather_where_it_is_asked_for(process: Start) -> None:
    started = process("emulator", "--users", "3", "--messages", "20", "--weather", "0.6")
    env = read_environment(started)
    assert sum(_is_struck(env) for _ in range(20)) >= 5
    started.send_signal(signal.SIGTERM)
    assert finish(started)[0] == 0


def _is_struck(env: dict[str, str]) -> bool:
    try:
        return status_of(env) != 200
    except (OSError, HTTPException):
        return True


def test_eval_of_an_emulator_in_the_background(tmp_path: Path) -> None:
    script = """
        eval "$("$PYTHON" -m chatrest emulator --users 3 --messages 20 &)"
        "$PYTHON" -m chatrest users --limit 2
        kill -0 $CHATREST_EMULATOR_PID && kill $CHATREST_EMULATOR_PID
    """
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("source", [Path(__file__), Path(os.devnull)])
def test_until_eof_with_a_file_as_input_is_one_error_line(source: Path) -> None:
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


def test_the_emulator_stops_at_the_end_of_its_input_and_keeps_a_database(
    process: Start, command: Run, tmp_path: Path
) -> None:
    args = ("emulator", "--users", "3", "--messages", "20", "--until-eof", "--database", str(tmp_path / "x"))
    started = process(*args)
    env = read_environment(started)
    assert status_of(env) == 200
    assert command("send", "user-01", "one more", **env).exit_code == 0
    assert finish(started)[0] == 0  # communicate closes its input
    assert "with 3 users and 21 messages" in finish(process(*args))[2]


def test_a_used_port_and_a_damaged_database_are_one_error_line(
    command: Run, service: EmulatorThread, tmp_path: Path
) -> None:
    used_port = str(service.emulator.port)
    no_database = tmp_path / "notes.txt"
    no_database.write_text("not a database at all")
    for args, status in ((("--port", used_port), 1), (("--database", str(no_database)), 2)):
        result = command("emulator", "--messages", "1", *args)
        assert error_line(result, status)
        assert result.stdout == ""


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
