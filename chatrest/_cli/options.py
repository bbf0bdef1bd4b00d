"""The options of commands: tables of them, their types, which exclude each other, and the filters of lists.

The options of a filter are made of its fields: their types, and the words under them in the source. Times are
checked where they are used, by queries and plans.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from msgspec import inspect

from .._parameters.apps import AppQuery
from .._parameters.checked import Filter, meaning
from .._parameters.fields import words_of
from .._parameters.messages import MessageQuery
from .._parameters.users import UserQuery
from ..times import age_seconds
from .value_types import ValueType, in_utc

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound=Filter)


def seconds_of_age(text: str) -> int:
    if (seconds := age_seconds(text)) is None:
        raise click.BadParameter(
            f"{text!r}: expected a whole number from 1 to 999,999,999 with s, m, h, d or w, such as 7d"
        )
    return seconds


class LocalPath(click.Path):
    """A path of this machine: the address of an object store would name a strange folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "://" in str(value):
            self.fail(f"{value!r}: expected a path of this machine, not an address", param, ctx)
        return super().convert(value, param, ctx)


class ExistingFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not Path(value).is_file():
            self.fail(f"{value!r}: expected a file that exists", param, ctx)
        return super().convert(value, param, ctx)


class WholeNumber(click.IntRange):
    """A whole number from `min` to `max`, or from `min` on; its error says which numbers are expected."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            end = "on" if self.max is None else f"to {self.max:,}"
            self.fail(f"{value!r}: expected a whole number from {self.min} {end}", param, ctx)


class OneOf(click.Choice[str]):
    """One of some texts; its error lists them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(f"{value!r}: expected {words_of(self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


def shown_default(value: object) -> dict[str, Any]:
    return {"default": value, "show_default": True}


def option_table(*rows: tuple[Any, ...]) -> Callable[[F], F]:
    """Return a decorator that adds a command's options from a table, in its order.

    A row has the names (`--user users`: the option, and the parameter), the type, the name of its value in
    the help, the help, and perhaps further arguments of `click.option`. The type is `bool` for a flag, a
    tuple of texts for a choice, None for a text, or one of click.
    """

    def decorate(command: F) -> F:
        # A decorated function collects its options from the last to the first.
        in_order = rows if isinstance(command, click.Command) else reversed(rows)
        for names, kind, metavar, help_text, *more in in_order:
            value = OneOf(kind) if isinstance(kind, tuple) else kind
            typed: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": value, "metavar": metavar}
            typed |= more[0] if more else {}
            command = click.option(*names.split(), help=help_text, **typed)(command)
        return command

    return decorate


def check_together(*rules: tuple[str, str, str]) -> None:
    """Raise `click.UsageError` for options of the command line that exclude each other."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    params = [
        param for param in context.command.params if context.get_parameter_source(param.name or "") is source
    ]
    given = {name for param in params for name in param.opts}
    for options, others, words in rules:
        if not given.isdisjoint(options.split()) and not given.isdisjoint(others.split()):
            raise click.UsageError(words)


def check_outside(out: str, *paths: str | Path) -> None:
    folder = Path(out).resolve()
    for path in paths:
        if Path(path).resolve().is_relative_to(folder):
            raise click.UsageError(f"'{path}' is in the folder of the export: expected a place outside of it")


# Options that several commands have: each is described once.
SINCE: Final = ("--since", in_utc, "T", "Sent at T or later: a date, a time, yesterday, 7d …")
UNTIL: Final = ("--until", in_utc, "T", "Sent at T or earlier; a date is its whole day.")
QUIET: Final = ("--quiet -q", bool, None, "Print nothing unless something is wrong.")
PORT: Final = (
    "--port", WholeNumber(0, 65_535), "N", "TCP port; 0 for any free one.", shown_default(0)
)  # fmt: skip
AS_JSON: Final = ("--json as_json", bool, None, "Print the result as one JSON object.")


_PREFIX: Final = "filter_"
_NAMES: Final = {"limit": "page-limit", "from_timestamp": "since", "to_timestamp": "until"}
"""Options that are not called as their fields: --limit is the total number of records."""
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
"""Fields without an option: a count is no list of users; the others are of other lists of messages."""
_FIELD: Final = re.compile(r"`(\w+)`")


class ListCommand(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for title, is_filter in (("Options", False), ("Filters", True)):
            shown = [each for each in options if (each.name or "").startswith(_PREFIX) == is_filter]
            with formatter.section(title):
                formatter.write_dl(list(filter(None, [each.get_help_record(ctx) for each in shown])))


def filter_options(kind: type[Filter]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        described = inspect.type_info(kind)
        assert isinstance(described, inspect.StructType)
        for field in reversed(described.fields):
            if field.name not in NO_OPTION[kind]:
                command = _filter_option(kind, field)(command)
        return command

    return decorate


def _filter_option(kind: type[Filter], field: inspect.Field) -> Callable[[F], F]:
    name, values = _NAMES.get(field.name, field.name.replace("_", "-")), ValueType.of(field.type)
    options: dict[str, Any] = {"help": _help(kind, field.name)}
    if values.takes(inspect.BoolType):
        return click.option(f"{_PREFIX}{field.name}", f"--{name}/--no-{name}", default=None, **options)
    if values.item is not None:
        options |= {"multiple": True, "help": f"{options['help']} May be repeated."}
    each = values.item or values
    literals = [kind for kind in each.kinds if isinstance(kind, inspect.LiteralType)]
    if literals:
        options["type"] = OneOf(list(map(str, literals[0].values)))
    else:
        options |= {"type": lambda text: each.convert(name, text), "metavar": each.label}
    return click.option(f"{_PREFIX}{field.name}", f"--{name}", **options)


def _help(kind: type[Filter], field: str) -> str:
    if field in _NAMES and field != "limit":
        return str(SINCE[3] if _NAMES[field] == "since" else UNTIL[3])
    text = _FIELD.sub(lambda match: f"--{match[1].replace('_', '-')}", meaning(kind, field))
    text = re.sub("(the|an) acting user", "--on-behalf-of", text.replace("`", ""))
    return f"{text[:1].upper()}{text[1:]}."


def query_of(kind: type[Q], given: Mapping[str, Any]) -> Q:
    values = {name.removeprefix(_PREFIX): value for name, value in given.items() if name.startswith(_PREFIX)}
    return kind(**{name: value for name, value in values.items() if value is not None and value != ()})
