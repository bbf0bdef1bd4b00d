"""Options made from a filter's fields, with the struct's types and the words under them in the source."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

import click
from msgspec import inspect

from .._parameters.apps import AppQuery
from .._parameters.checked import Filter, meaning
from .._parameters.messages import MessageQuery
from .._parameters.users import UserQuery
from .options import SINCE, UNTIL, TimeOption
from .value_types import ValueType

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound=Filter)

_TIMES: Final = {"from_timestamp": SINCE, "to_timestamp": UNTIL}
_PREFIX: Final = "filter_"
_NAMES: Final = {"limit": "page-limit", "from_timestamp": "since", "to_timestamp": "until"}
"""Options that are not called as their fields: --limit is the total number of records, and an export has
--since and --until.
"""

NO_OPTION: Final[Mapping[type[Filter], frozenset[str]]] = {
    MessageQuery: frozenset(
        {
            "hide_messages_from_blocked_users", "receiver_type", "hide_deleted", "only_deleted", "sent_at",
            "sent_at_from", "sent_at_to", "updated_at_from", "updated_at_to", "edited_at_from",
            "edited_at_to", "senders", "conversation_id", "hide_quoted_messages", "saved", "pinned", "page",
        }
    ),
    UserQuery: frozenset({"count"}),
    AppQuery: frozenset(),
}  # fmt: skip
"""The fields without an option: a count of users is not a list, and the messages of a user do
not have the parameters of other lists.
"""
_FIELD: Final = re.compile(r"`(\w+)`")


class FilterOption(click.Option):
    """An option that filters a list; the help shows these in a section."""


class ListCommand(click.Command):
    """A command whose help has a section for options and one for filters."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for title, shown in (("Options", False), ("Filters", True)):
            records = [
                param.get_help_record(ctx) for param in options if isinstance(param, FilterOption) == shown
            ]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])


def filter_options(kind: type[Filter], *, without: Collection[str] = ()) -> Callable[[F], F]:
    """Return a decorator that adds an option for every field of `kind`, except those in `without`."""

    def decorate(command: F) -> F:
        for field in reversed(_fields(kind)):
            if field.name not in without and field.name not in NO_OPTION[kind]:
                command = _option(field, _help(kind, field.name))(command)
        return command

    return decorate


def _help(kind: type[Filter], field: str) -> str:
    if field in _TIMES:
        return _TIMES[field][3]
    text = _FIELD.sub(lambda match: f"--{match[1].replace('_', '-')}", meaning(kind, field))
    text = re.sub("(the|an) acting user", "--on-behalf-of", text.replace("`", ""))
    return f"{text[:1].upper()}{text[1:]}."


def query_of(kind: type[Q], given: Mapping[str, Any]) -> Q:
    """Return the filter of the parsed options `given`; `RequestInvalidError` if a value is not allowed."""
    values = {name.removeprefix(_PREFIX): value for name, value in given.items() if name.startswith(_PREFIX)}
    return kind(**{name: value for name, value in values.items() if value is not None and value != ()})


def _fields(kind: type[Filter]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _option(field: inspect.Field, meaning: str) -> Callable[[F], F]:
    name = _NAMES.get(field.name, field.name.replace("_", "-"))
    values = ValueType.of(field.type)
    rule = next(kind for kind in (values.item or values).kinds if not isinstance(kind, inspect.NoneType))
    if isinstance(rule, inspect.BoolType):
        return click.option(
            f"{_PREFIX}{field.name}", f"--{name}/--no-{name}", cls=FilterOption, default=None, help=meaning
        )
    kind, metavar = _type_of(rule)
    if values.per_second:
        kind, metavar = TimeOption(end=field.name == "to_timestamp", per_second=values.per_second), "T"
    return click.option(
        f"{_PREFIX}{field.name}",
        f"--{name}",
        cls=FilterOption,
        type=kind,
        metavar=metavar,
        multiple=values.item is not None,
        help=meaning if values.item is None else f"{meaning} May be repeated.",
    )


def _type_of(rule: inspect.Type) -> "tuple[click.ParamType[Any], str | None]":
    if isinstance(rule, inspect.IntType):
        return click.IntRange(rule.ge, rule.le), "N"
    if isinstance(rule, inspect.LiteralType):
        return click.Choice([str(value) for value in rule.values]), None
    return click.STRING, "TEXT"
