"""Every filter has an option, and the value of an option reaches the query."""

import click

import chatrest
from chatrest._cli.options import NO_OPTION, FilterOption, TimeOption, query_of
from chatrest._cli.records import apps, messages, users
from chatrest._parameters.checked import Filter
from tests.cases import loop_over

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
