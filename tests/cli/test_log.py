"""The library's log on standard error: warnings always, more with `-v`, `-vv` and `CHATREST_LOG`."""

import logging
from collections.abc import Callable, Iterator

import pytest
from click.testing import Result

from chatrest.cli import streams
from chatrest.cli.streams import level_of, shown_log
from chatrest.errors import RequestInvalidError
from chatrest.telemetry import LOGGER

from .conftest import SECRETS, Proxy, error_line, rows

Run = Callable[..., Result]
MakeProxy = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Proxy]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The lines that go to standard error."""
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


def test_an_exception_is_a_part_of_its_line(lines: list[str]) -> None:
    with shown_log(logging.WARNING):
        try:
            raise ValueError("no\nsuch thing")
        except ValueError:
            LOGGER.exception("a listener failed")
    assert lines == ["error: a listener failed: ValueError: no\nsuch thing"]


@pytest.mark.parametrize(
    ("verbosity", "variable", "level"),
    [
        (0, None, logging.WARNING), (0, "", logging.WARNING), (1, "", logging.INFO), (2, "", logging.DEBUG),
        (3, "", logging.DEBUG), (0, "info", logging.INFO), (0, "DEBUG", logging.DEBUG),
        (2, "info", logging.DEBUG),
    ],
)  # fmt: skip
def test_the_larger_of_option_and_variable_counts(
    monkeypatch: pytest.MonkeyPatch, verbosity: int, variable: str | None, level: int
) -> None:
    monkeypatch.delenv("CHATREST_LOG", raising=False)
    if variable is not None:
        monkeypatch.setenv("CHATREST_LOG", variable)
    assert level_of(verbosity) == level


def test_another_value_of_the_variable_is_wrong_usage(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    error = error_line(command("users", CHATREST_LOG="loud"), 2)
    assert error == "CHATREST_LOG = 'loud': expected info or debug"
    monkeypatch.setenv("CHATREST_LOG", "loud")
    with pytest.raises(RequestInvalidError):
        level_of(0)


def failing_once(number: int, _: str) -> tuple[int, bytes] | None:
    return (503, b"{}") if number == 1 else None


@pytest.mark.parametrize(
    ("options", "variable", "levels"),
    [([], "", set()), (["-v"], "", {"info"}), ([], "info", {"info"}), (["-vv"], "", {"info", "debug"})],
)
def test_what_was_repeated_and_every_request_are_shown(
    command: Run, proxy: MakeProxy, options: list[str], variable: str, levels: set[str]
) -> None:
    with proxy(failing_once) as url:
        result = command(*options, "users", "--limit", "1", CHATREST_BASE_URL=url, CHATREST_LOG=variable)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert {line.split(": ")[1] for line in result.stderr.splitlines()} == levels
    assert ("503" in result.stderr) == bool(levels)
    assert ("GET /users to 127.0.0.1" in result.stderr) == bool(levels)
    assert ("waiting between attempts" in result.stderr) == ("debug" in levels)
    for secret in SECRETS:
        assert secret not in result.stderr


def test_a_command_without_the_option_writes_no_line(command: Run) -> None:
    assert rows(command("users", "--limit", "1"))
