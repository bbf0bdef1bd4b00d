"""Encoding, control characters and secrets in the output."""

import io
import sys

import pytest

from chatrest.cli import streams


class AsciiStream(io.TextIOWrapper):
    """A text stream in ASCII, as in the C locale."""

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


@pytest.mark.parametrize(
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


def test_keys_of_the_environment_are_hidden_in_warnings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHATREST_API_KEY", "abcdef")
    monkeypatch.setenv("CHATREST_MANAGEMENT_SECRET", "")
    streams.warn("the key abcdef is wrong")
    assert capsys.readouterr().err == "chatrest: the key [hidden] is wrong\n"
