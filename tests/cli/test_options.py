"""Times of the command, absolute or relative to a clock, and an option for every filter."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

import chatrest
from chatrest._cli.options import NO_OPTION, FilterOption, TimeOption, query_of
from chatrest._cli.records import apps, messages, users
from chatrest._cli.value_types import parse_time
from chatrest._parameters.checked import Filter
from chatrest.export.folder import manifest
from tests.cases import loop_over
from tests.commands import Run

from .conftest import error_line, rows

NOW = datetime(2026, 3, 1, 15, 30, 20, 500_000, UTC).timestamp()
DAY = 86_400
MIDNIGHT = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())


@loop_over(
    ("text", "start", "end"),
    [
        ("yesterday", MIDNIGHT - DAY, MIDNIGHT - 1),
        ("7d", int(NOW) - 7 * DAY, int(NOW) - 7 * DAY),
        ("2026-02-28T00:00", MIDNIGHT - DAY, MIDNIGHT - DAY),
        ("1767225600", 1767225600, 1767225600),
    ],
)
def test_a_time(text: str, start: int, end: int) -> None:
    assert TimeOption(now=lambda: NOW).convert(text, None, None) == start
    assert TimeOption(end=True, now=lambda: NOW).convert(text, None, None) == end


def test_a_relative_time_has_the_unit_that_is_asked_for() -> None:
    assert parse_time("12h", per_second=1000, now=lambda: NOW) == (int(NOW) - DAY // 2) * 1000
    assert parse_time("today", per_second=1000, end=True, now=lambda: NOW) == (MIDNIGHT + DAY) * 1000 - 1


@loop_over("text", ["tomorrow", "0d", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    words = rf"{re.escape(repr(text))}: expected a date such as .*, today, yesterday, or an age such as 7d$"
    with pytest.raises(click.BadParameter, match=rf"^{words}"):
        TimeOption(now=lambda: NOW).convert(text, None, None)
    with pytest.raises(ValueError, match=rf"^{words}"):
        parse_time(text, now=lambda: NOW)


def test_an_export_keeps_the_moment(command: Run, out: Path) -> None:
    before = int(time.time())
    assert command("export", str(out), "--user", "user-001", "--since", "3650d", "--quiet").exit_code == 0
    since = json.loads(bytes(manifest.read(out / manifest.NAME).plan))["since"]
    assert before - 3650 * DAY <= since <= int(time.time()) - 3650 * DAY
    assert command("export", str(out), "--user", "user-001", "--since", "3650d", "--quiet").exit_code == 0
    assert json.loads(bytes(manifest.read(out / manifest.NAME).plan))["since"] == since
    wider = error_line(command("export", str(out), "--user", "user-001", "--since", "5000d"), 2)
    assert "was exported with since=" in wider
    older = [row["sentAt"] for row in rows(command("cat", str(out), "--until", "yesterday"))]
    assert older
    assert max(older) < before // DAY * DAY
    assert "--since" in error_line(command("cat", str(out), "--since", "tomorrow"), 2)


# ── filters ──

COMMANDS = {chatrest.MessageQuery: messages, chatrest.UserQuery: users, chatrest.AppQuery: apps}
CHOICES = {"affix": "prepend", "attachment_types": "image", "search_in": "uid", "status": "offline"}
VALUES: dict[type, object] = {click.IntRange: 7, TimeOption: 1_600_000_000}
CASES = [
    (kind, field) for kind in COMMANDS for field in kind.__struct_fields__ if field not in NO_OPTION[kind]
]


def test_the_27_parameters_of_the_specification_are_options() -> None:
    assert sum(isinstance(param, FilterOption) for param in messages.params) == 27


@loop_over(("kind", "field"), CASES)
def test_an_option_reaches_its_field(kind: type[Filter], field: str) -> None:
    option = _option(kind, field)
    name = option.opts[0]
    value: object = CHOICES.get(field, VALUES.get(type(option.type), "a text"))
    args = [name] if option.is_flag else [name, str(value)]
    expected = True if option.is_flag else (value,) if option.multiple else value
    assert query_of(kind, _parsed(kind, args)) == kind(**{field: expected})


@loop_over(("kind", "field"), CASES)
def test_an_option_can_be_negated_or_repeated(kind: type[Filter], field: str) -> None:
    option = _option(kind, field)
    if option.is_flag:
        assert query_of(kind, _parsed(kind, option.secondary_opts)) == kind(**{field: False})
    elif option.multiple and not isinstance(option.type, click.Choice):
        args = [option.opts[0], "a", option.opts[0], "b"]
        assert query_of(kind, _parsed(kind, args)) == kind(**{field: ("a", "b")})


def test_the_total_limit_and_the_page_limit_are_two_options() -> None:
    names = {name: param.name for param in messages.params for name in param.opts}
    assert names["--limit"] == "limit"
    assert names["--page-limit"] == "filter_limit"


def test_times_are_given_as_for_an_export() -> None:
    given = _parsed(chatrest.MessageQuery, ["--since", "2026-01-01", "--until", "2026-01-01"])
    query = query_of(chatrest.MessageQuery, given)
    assert (query.from_timestamp, query.to_timestamp) == (1767225600, 1767225600 + 86_399)


def _option(kind: type[Filter], field: str) -> click.Option:
    [option] = [param for param in COMMANDS[kind].params if param.name == f"filter_{field}"]
    assert isinstance(option, FilterOption)
    return option


def _parsed(kind: type[Filter], args: list[str]) -> dict[str, object]:
    uid = ["bob"] if kind is chatrest.MessageQuery else []
    return COMMANDS[kind].make_context("x", [*uid, *args], help_option_names=["-h", "--help"]).params
