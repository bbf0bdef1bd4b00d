"""`emulator`: a process that serves until a signal or the end of its input stops it."""

import shlex
import signal
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests.commands import Run, Start, finish

from .conftest import EmulatorThread, error_line, rows


def read_environment(started: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return the variables that the emulator prints; it must print nothing else on standard output."""
    assert started.stdout is not None
    words = [shlex.split(line) for line in started.stdout.read().decode().splitlines()]
    assert all(word == "export" and name.startswith("CHATREST_") for word, name in words)
    return {name: value for name, _, value in (word.partition("=") for _, word in words)}


def status_of(env: dict[str, str], path: str = "/v3/users") -> int:
    address = urlsplit(env["CHATREST_BASE_URL"])
    with closing(HTTPConnection(address.hostname or "", address.port)) as connection:
        connection.request("GET", path, headers={"apikey": env["CHATREST_API_KEY"]})
        with connection.getresponse() as reply:
            reply.read()
            return reply.status


def test_the_emulator_prints_variables_for_the_command_and_runs_until_a_signal_stops_it(
    process: Start, command: Run
) -> None:
    started = process("emulator", "--users", "3", "--messages", "20", CHATREST_APP="shop")
    env = read_environment(started)
    assert env["CHATREST_APP"] == ""  # an app that the shell has chosen gives way to the emulator
    assert len(rows(command("users", **{"CHATREST_APP": "shop"} | env))) == 3
    assert len(rows(command("apps", **env))) == 1
    assert env["CHATREST_EMULATOR_PID"] == str(started.pid)
    started.send_signal(signal.SIGINT)
    status, _, error = finish(started)
    assert status == 0
    assert error.startswith(f"chatrest: emulator at {env['CHATREST_BASE_URL']} with 3 users and 20 messages")
    assert len(error.splitlines()) == 1


def test_the_emulator_takes_a_host(process: Start, command: Run) -> None:
    started = process("emulator", "--users", "3", "--messages", "20", "--host", "127.0.0.4")
    env = read_environment(started)
    assert urlsplit(env["CHATREST_BASE_URL"]).hostname == "127.0.0.4"
    assert (status_of(env), status_of(env, "/health")) == (200, 200)
    started.send_signal(signal.SIGTERM)
    assert finish(started)[0] == 0


def test_a_used_port_is_one_error_line(command: Run, service: EmulatorThread) -> None:
    result = command("emulator", "--messages", "1", "--port", str(service.emulator.port))
    assert error_line(result, 1)
    assert result.stdout == ""
