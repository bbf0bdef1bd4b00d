"""Times of the command, and an option for every filter."""

import json
import time
from pathlib import Path

import click

import chatrest
from chatrest._cli.command_options import NO_OPTION, query_of
from chatrest._cli.records import apps, messages, users
from chatrest._parameters.checked import Filter
from chatrest.export.folder import manifest
from tests.support.cases import loop_over
from tests.support.commands import Run

from .conftest import error_line, rows

DAY = 86_400


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
    words = "--since 'tomorrow': expected a date such as"
    for args in (("cat", str(out)), ("messages", "user-001"), ("export", str(out))):
        error = error_line(command(*args, "--since", "tomorrow"), 2)
        assert error.startswith(words)
        assert error.endswith(f"or an age such as 7d (see 'chatrest {args[0]} --help')")


COMMANDS = {chatrest.MessageQuery: messages, chatrest.UserQuery: users, chatrest.AppQuery: apps}
CHOICES = {"affix": "prepend", "attachment_types": "image", "search_in": "uid", "status": "offline"}
VALUES = {"N": 7, "TIME": 1_600_000_000}
CASES = [
    (kind, field) for kind in COMMANDS for field in kind.__struct_fields__ if field not in NO_OPTION[kind]
]


def test_the_27_parameters_of_the_specification_are_options() -> None:
    assert sum((param.name or "").startswith("filter_") for param in messages.params) == 27


@loop_over(("kind", "field"), CASES)
def test_an_option_reaches_its_field(kind: type[Filter], field: str) -> None:
    option = _option(kind, field)
    name = option.opts[0]
    if option.is_flag:
        assert query_of(kind, _parsed(kind, option.secondary_opts)) == kind(**{field: False})
    value: object = CHOICES.get(field, VALUES.get(option.metavar or "", "a text"))
    args = [name] if option.is_flag else [name, str(value)]
    expected = True if option.is_flag else (value,) if option.multiple else value
    assert query_of(kind, _parsed(kind, args)) == kind(**{field: expected})


def test_options_that_are_not_called_as_their_fields() -> None:
    args = ["--page-limit", "5", "--since", "2026-01-01", "--until", "2026-01-01T12:00", "--limit", "7"]
    query = query_of(
        chatrest.MessageQuery, _parsed(chatrest.MessageQuery, [*args, "--tags", "a", "--tags", "b"])
    )
    noon = 1767225600 + DAY // 2
    assert (query.from_timestamp, query.to_timestamp, query.limit) == (1767225600, noon, 5)
    assert query.tags == ("a", "b")


def _option(kind: type[Filter], field: str) -> click.Option:
    [option] = [param for param in COMMANDS[kind].params if param.name == f"filter_{field}"]
    assert isinstance(option, click.Option)
    return option


def _parsed(kind: type[Filter], args: list[str]) -> dict[str, object]:
    uid = ["bob"] if kind is chatrest.MessageQuery else []
    return COMMANDS[kind].make_context("x", [*uid, *args], help_option_names=["-h", "--help"]).params
