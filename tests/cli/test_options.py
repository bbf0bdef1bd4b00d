"""Times of the command: absolute, or relative to a clock."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from chatrest._cli.options import TimeOption
from chatrest._cli.value_types import parse_time
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
    assert command("export", str(out), "--quiet").exit_code == 0
    older = [row["sentAt"] for row in rows(command("cat", str(out), "--until", "yesterday"))]
    assert older
    assert max(older) < before // DAY * DAY
    assert "--since" in error_line(command("cat", str(out), "--since", "tomorrow"), 2)
