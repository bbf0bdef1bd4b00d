"""The options of commands: tables of them in sections, their types, and which exclude each other.

The help of a command shows its options by section. The options of a filter are made of its fields: their
types, and the words under them in the source.
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
from ..times import age_seconds, has_time_form
from .value_types import TIME_WORDS, ValueType, in_utc

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound=Filter)

_OTHER: Final = "Options"
_WIDEST: Final = 34  # columns of an option's names; longer ones have a line


def time_text(text: str) -> str:
    if not has_time_form(text):
        raise click.BadParameter(f"{text!r}: expected {TIME_WORDS}")
    return text


def time_in_utc(text: str) -> str:
    return in_utc(time_text(text))


def seconds_of_age(text: str) -> int:
    if (seconds := age_seconds(text)) is None:
        raise click.BadParameter(
            f"{text!r}: expected a whole number from 1 to 999,999,999 with s, m, h, d or w, such as 7d"
        )
    return seconds


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the type of an option for whole numbers from `least`, which is 0 or more, to `most`."""

    def convert(text: str) -> int:
        number = int(text) if str(text).isdecimal() else -1  # the default is a number
        if number < least or (most is not None and number > most):
            end = "on" if most is None else f"to {most:,}"
            raise click.BadParameter(f"{text!r}: expected a whole number from {least} {end}")
        return number

    return convert


class LocalPath(click.Path):
    """A path of this machine; the address of an object store would name a strange folder, and "" this one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "://" in str(value) or not str(value):
            self.fail(f"{str(value)!r}: expected a path of this machine", param, ctx)
        return super().convert(value, param, ctx)


class ExistingFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not Path(value).is_file():
            self.fail(f"{value!r}: expected a file that exists", param, ctx)
        return super().convert(value, param, ctx)


class OneOf(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(f"{value!r}: expected {words_of(self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


def shown_default(value: object) -> dict[str, Any]:
    return {"default": value, "show_default": True}


class SectionOption(click.Option):
    def __init__(self, *args: Any, section: str, **given: Any) -> None:
        super().__init__(*args, **given)
        self.section = section

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help; the two names of a flag are one, `--[no-]count`."""
        record = super().get_help_record(ctx)
        if record is None or not self.secondary_opts:
            return record
        return f"--[no-]{self.opts[0].removeprefix('--')}", record[1]


class SectionCommand(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", _OTHER), []).append(record)
        widths = (len(names) for records in sections.values() for names, _ in records)
        width = max(width for width in widths if width <= _WIDEST)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{names:<{width}}", text) for names, text in records], col_max=width)


def option_table(*rows: str | tuple[Any, ...]) -> Callable[[F], F]:
    """Return a decorator that adds a command's options from a table, in its order.

    A row has the names (`--user users`: the option, and the parameter), the type, the name of its value in
    the help, the help, and perhaps further arguments of `click.option`. The type is `bool` for a flag, a
    tuple of texts for a choice, None for a text, or one of click. A text is the title of a section: it is
    that of the options below it.
    """
    section, options = _OTHER, list[Callable[[F], F]]()
    for row in rows:
        if isinstance(row, str):
            section = row
            continue
        names, kind, metavar, help_text, *more = row
        value = OneOf(kind) if isinstance(kind, tuple) else kind
        typed: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": value, "metavar": metavar}
        typed |= {"cls": SectionOption, "section": section, "help": help_text} | (more[0] if more else {})
        options.append(click.option(*names.split(), **typed))

    def decorate(command: F) -> F:
        # A decorated function collects its options from the last to the first.
        for add in options if isinstance(command, click.Command) else reversed(options):
            command = add(command)
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


# Options that several commands have: each is described once.
SINCE: Final = ("--since", time_in_utc, "T", "Sent at T or later: a date, a time, yesterday, 7d …")
UNTIL: Final = ("--until", time_in_utc, "T", "Sent at T or earlier; a date is its whole day.")
QUIET: Final = ("--quiet -q", bool, None, "Print nothing unless something is wrong.")
PORT: Final = (
    "--port", whole_number(0, 65_535), "N", "TCP port; 0 for any free one.", shown_default(0)
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
_FIRST: Final = ("from_timestamp", "to_timestamp", "affix", "search_key", "search_in")
"""The filters that most users want, which are listed before the others."""
_FIELD: Final = re.compile(r"`(\w+)`")


def filter_options(kind: type[Filter]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        described = inspect.type_info(kind)
        assert isinstance(described, inspect.StructType)
        fields = {field.name: field for field in described.fields if field.name not in NO_OPTION[kind]}
        in_order = [fields.pop(name) for name in _FIRST if name in fields] + list(fields.values())
        for field in reversed(in_order):
            command = _filter_option(kind, field)(command)
        return command

    return decorate


def _filter_option(kind: type[Filter], field: inspect.Field) -> Callable[[F], F]:
    name, values = _NAMES.get(field.name, field.name.replace("_", "-")), ValueType.of(field.type)
    options: dict[str, Any] = {
        "cls": SectionOption, "section": "Filters", "help": _help(kind, field.name)
    }  # fmt: skip
    if values.takes(inspect.BoolType):
        return click.option(f"{_PREFIX}{field.name}", f"--{name}/--no-{name}", default=None, **options)
    if values.item is not None:
        options |= {"multiple": True, "callback": _check_items}
        options["help"] += " May be repeated."
    each = values.item or values
    literals = [kind for kind in each.kinds if isinstance(kind, inspect.LiteralType)]
    if literals:
        options["type"] = OneOf(list(map(str, literals[0].values)))
    else:
        convert = time_in_utc if each.is_time else lambda text: each.convert(name, text)
        options |= {"type": convert, "metavar": each.label}
    return click.option(f"{_PREFIX}{field.name}", f"--{name}", **options)


def _check_items(ctx: click.Context, param: click.Parameter, items: tuple[Any, ...]) -> tuple[Any, ...]:
    if "" in items:
        raise click.BadParameter("'': expected a non-empty text")
    return items


def _help(kind: type[Filter], field: str) -> str:
    if field in _NAMES and field != "limit":
        return str(SINCE[3] if _NAMES[field] == "since" else UNTIL[3])
    text = _FIELD.sub(lambda match: f"--{match[1].replace('_', '-')}", meaning(kind, field))
    text = re.sub("(the|an) acting user", "--on-behalf-of", text.replace("`", ""))
    return f"{text[:1].upper()}{text[1:]}."


def query_of(kind: type[Q], given: Mapping[str, Any]) -> Q:
    values = {name.removeprefix(_PREFIX): value for name, value in given.items() if name.startswith(_PREFIX)}
    return kind(**{name: value for name, value in values.items() if value is not None and value != ()})
