"""`messages --follow`: lines as messages come, and its ends: a limit, signals, and a reader that leaves."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from chatrest.emulator import Emulator

from .conftest import EmulatorThread, Proxy, error_line, rows

Start = Callable[..., subprocess.Popen[bytes]]

TALK = ("messages", "bob", "--on-behalf-of", "alice", "--follow")
PATIENCE = 20.0


@pytest.fixture
def talk(fresh: EmulatorThread) -> EmulatorThread:
    """An emulator with three messages."""
    fresh.ask(lambda emulator: [emulator.store.add_user(uid) for uid in ("alice", "bob")])
    for number in range(1, 4):
        add(fresh, number)
    return fresh


def add(talk: EmulatorThread, number: int) -> None:
    """Add a message, whose text is its number."""

    def send(emulator: Emulator) -> Any:
        return emulator.store.add_message("alice", "bob", str(number), sent_at=number)

    talk.ask(send)


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["data"]["text"] for line in lines]


def read_lines(started: subprocess.Popen[bytes], count: int) -> list[dict[str, Any]]:
    assert started.stdout is not None
    return [json.loads(started.stdout.readline()) for _ in range(count)]


def test_new_messages_are_printed_as_they_come(talk: EmulatorThread, command: Callable[..., Any]) -> None:
    def answer(number: int, _: str) -> None:
        if number in (3, 5, 6):
            add(talk, number + 1)

    with Proxy(talk.emulator.port, answer) as url:
        env = talk.env | {"CHATREST_BASE_URL": url}
        printed = texts(rows(command(*TALK, "--every", "0.01", "--limit", "6", **env)))
    assert printed == ["1", "2", "3", "4", "6", "7"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--affix", "prepend"), "it goes from new to old"),
        (("--count",), "in one reply"),
        (("--every", "0"), "'--every': 0.0 is not above 0"),
    ],
)
def test_what_cannot_be_followed_is_a_wrong_usage(
    talk: EmulatorThread, command: Callable[..., Any], args: tuple[str, ...], words: str
) -> None:
    paths: list[str] = []
    with Proxy(talk.emulator.port, lambda _, path: paths.append(path)) as url:
        result = command(*TALK, *args, **talk.env | {"CHATREST_BASE_URL": url})
    assert words in error_line(result, 2)
    assert paths == []


def test_a_signal_ends_it_and_the_token_goes_on(process: Start, talk: EmulatorThread) -> None:
    """`test_process.py` has the other signal: it ends every walk in the same way."""
    started = process(*TALK, **talk.env)
    assert texts(read_lines(started, 3)) == ["1", "2", "3"]
    started.send_signal(signal.SIGTERM)
    out, error = started.communicate(timeout=PATIENCE)
    assert (started.returncode, out) == (143, b"")
    [token] = re.findall(rb"^chatrest: (.*)$", error)
    assert token.decode().startswith("ended by a signal; continue with the same command and --cursor ")
    add(talk, 4)
    again = process(*TALK, "--cursor", token.decode().split()[-1], "--limit", "1", **talk.env)
    out, error = again.communicate(timeout=PATIENCE)
    assert (again.returncode, error) == (0, b"")
    assert texts([json.loads(line) for line in out.splitlines()]) == ["4"]


def test_a_reader_that_leaves_ends_it_while_it_waits(process: Start, talk: EmulatorThread) -> None:
    started = process(*TALK, "--every", "3600", **talk.env)
    assert texts(read_lines(started, 3)) == ["1", "2", "3"]
    assert started.stdout is not None
    started.stdout.close()
    assert started.wait(PATIENCE) == 0
    assert started.stderr is not None
    assert started.stderr.read() == b""
    started.communicate()
