"""What is written, and what never is."""

import io
import sys

import pytest

from chatrest.cli import streams


class Odd(io.TextIOWrapper):
    """A stream with the encoding of a locale that cannot say much."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="ascii")


def test_utf8_whatever_the_locale_says(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Odd()
    monkeypatch.setattr(sys, "stdout", out)
    streams.speak_utf8()
    print("☃ \ud800", flush=True)
    assert out.bytes.getvalue() == "☃ \\ud800\n".encode()


def test_a_process_without_streams_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    streams.speak_utf8()
    streams.complain("nobody hears it")
    streams.let_go()
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
def test_a_complaint_is_one_line_that_does_nothing_to_a_terminal(text: str, line: str) -> None:
    assert streams.one_line(text) == line


def test_no_key_of_the_environment_is_in_a_complaint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHATREST_API_KEY", "abcdef")
    monkeypatch.setenv("CHATREST_MANAGEMENT_SECRET", "")
    streams.complain("the key abcdef is wrong")
    assert capsys.readouterr().err == "chatrest: the key [hidden] is wrong\n"
