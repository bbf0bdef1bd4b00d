"""Encoding, control characters and secrets in the output."""

import io
import logging
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from chatrest._cli import streams
from chatrest._cli.streams import level_of, shown_log
from chatrest._telemetry import LOGGER
from tests.support.cases import loop_over
from tests.support.commands import MakeProxy, Run

from .conftest import SECRETS, error_line


class AsciiStream(io.TextIOWrapper):
    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="ascii")


def test_output_is_utf8_in_any_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    out = AsciiStream()
    monkeypatch.setattr(sys, "stdout", out)
    streams.use_utf8()
    print("☃ \ud800", flush=True)
    assert out.bytes.getvalue() == "☃ \\ud800\n".encode()


def test_missing_streams_are_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    streams.use_utf8()
    streams.warn("not printed")
    streams.detach_stdout()
    assert not streams.is_terminal("stdout")
    with pytest.raises(OSError, match="standard output is closed"):
        streams.write(b"x")


def test_all_is_written_where_a_stream_takes_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unbuffered(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(data[:7])

    raw = Unbuffered()
    monkeypatch.setattr(streams, "output", lambda: raw)
    streams.write(b"0123456789" * 3)
    assert raw.getvalue() == b"0123456789" * 3


@loop_over(
    ("text", "line"),
    [
        ("two\nlines\r\n and  a\ttab", "two lines and a tab"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("‮reversed", "\\u202ereversed"),
        ("\udcff", "\\udcff"),
        ("наташа ☃", "наташа ☃"),
    ],
)
def test_a_warning_is_one_line_without_control_characters(text: str, line: str) -> None:
    assert streams.one_line(text) == line


def test_control_characters_in_json_are_escaped_by_every_command(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = "\x9b31m \x7f \u202egnp.exe\u2066 \u2028 ☃"
    line = msgspec.json.encode({"text": text}) + b"\n"
    streams.write(line)
    assert capfdbinary.readouterr().out == line
    monkeypatch.setattr(streams, "is_terminal", lambda name: name == "stdout")
    streams.write(line)
    shown = capfdbinary.readouterr().out.decode()
    assert not set("\x9b\x7f\u202e\u2066\u2028") & set(shown)
    assert msgspec.json.decode(shown) == {"text": text}


def test_keys_of_the_environment_are_hidden_in_warnings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHATREST_API_KEY", "abcdef")
    monkeypatch.setenv("CHATREST_MANAGEMENT_SECRET", "")
    streams.warn("the key abcdef is wrong")
    assert capsys.readouterr().err == "chatrest: the key [hidden] is wrong\n"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    written: list[str] = []
    monkeypatch.setattr(streams, "warn", written.append)
    yield written
    assert LOGGER.level == logging.NOTSET
    assert [type(each) for each in LOGGER.handlers if each.level] == []


def test_a_warning_is_written_once_and_other_levels_every_time(lines: list[str]) -> None:
    with shown_log(logging.INFO):
        for text in ("a", "b", "a"):
            LOGGER.warning("%s is odd", text)
            LOGGER.info("attempt of %s", text)
        LOGGER.debug("too much")
    assert [line for line in lines if line.startswith("warning")] == [
        "warning: a is odd",
        "warning: b is odd",
    ]
    assert [line for line in lines if line.startswith("info")] == [f"info: attempt of {x}" for x in "aba"]
    assert len(lines) == 5


@loop_over(
    ("verbosity", "variable", "level"),
    [(0, "", "WARNING"), (1, "", "INFO"), (3, "", "DEBUG"), (0, "DEBUG", "DEBUG"), (2, "info", "DEBUG")],
)
def test_the_larger_of_option_and_variable_counts(
    monkeypatch: pytest.MonkeyPatch, verbosity: int, variable: str, level: str
) -> None:
    monkeypatch.setenv("CHATREST_LOG", variable)
    assert logging.getLevelName(level_of(verbosity)) == level


def test_another_value_of_the_variable_is_wrong_usage(command: Run) -> None:
    error = error_line(command("users", CHATREST_LOG="loud"), 2)
    assert error == "CHATREST_LOG = 'loud': expected info or debug"


@pytest.mark.parametrize(
    ("options", "variable", "levels"),
    [([], "", set()), (["-v"], "", {"info"}), ([], "info", {"info"}), (["-vv"], "", {"info", "debug"})],
)
def test_verbose_shows_repeats_and_every_request(
    command: Run, proxy: MakeProxy, options: list[str], variable: str, levels: set[str]
) -> None:
    with proxy(lambda number, _: (503, b"{}") if number == 1 else None) as url:
        result = command(*options, "users", "--limit", "1", CHATREST_BASE_URL=url, CHATREST_LOG=variable)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    lines = result.stderr.splitlines()
    assert {line.split(": ")[1] for line in lines} == levels
    requests = [line for line in lines if ": info: " in line]
    assert ["503" in line for line in requests] == ([True, False] if levels else [])
    assert ("GET /users to 127.0.0.1" in result.stderr) == bool(levels)
    assert ("waiting between attempts" in result.stderr) == ("debug" in levels)
    assert not [secret for secret in SECRETS if secret in result.stderr]


def test_vv_shows_the_sent_address_without_secrets(command: Run) -> None:
    private = {"CHATREST_HEADERS": "X-Route: t0k3n-of-a-proxy"}
    args = ("messages", "user-001", "--on-behalf-of", "user-002", "--search-key", "hello", "--limit", "1")
    [line] = [line for line in command("-vv", *args, **private).stderr.splitlines() if "?" in line]
    assert line.startswith("chatrest: debug: GET http://127.0.0.1:")
    assert "/v3/users/user-001/messages?" in line
    assert "searchKey=hello" in line
    assert "onBehalfOf: user-002" in line
    assert "X-Route: [hidden]" in line
    assert "t0k3n" not in line
    assert SECRETS[0] not in line
    path = ("call", "auth_tokens.get", "uid=user-001", "auth_token=l0gin-t0k3n")
    shown = command("-vv", *path).stderr
    assert "/users/user-001/auth_tokens/[hidden], headers" in shown
    assert "l0gin" not in shown
