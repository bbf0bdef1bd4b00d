"""The options of commands: tables of them, their types, and which exclude each other."""

from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from .._secrets import shown
from ..errors import RequestInvalidError
from ..times import Now, age_seconds, timestamp_of

if TYPE_CHECKING:
    _ParamType: TypeAlias = click.ParamType[Any]
else:  # before click 8.4 it is not generic
    _ParamType: TypeAlias = click.ParamType

_FORMS: Final = (
    "a date such as 2026-01-31, a time such as 2026-01-31T12:00Z, a timestamp such as 1767225600, "
    "today, yesterday, or an age such as 7d"
)
"""The forms of `times` without the types of Python."""


def parse_time(
    name: str, text: str, *, per_second: int = 1, end: bool = False, now: Now | None = None
) -> int:
    """Return the timestamp of an absolute or relative time, in UTC where it has no zone.

    A date is its first second, or with `end` its last. `per_second` is 1000 for a time in milliseconds.
    Raises `RequestInvalidError` with the parameter's `name` for any other text.
    """
    try:
        return timestamp_of(text, per_second, end=end, zone=UTC, forms=_FORMS, now=now)
    except ValueError as reason:
        raise RequestInvalidError(f"{name} = {shown(text)}: {reason}") from None


class TimeOption(_ParamType):
    """A time as `parse_time` reads it; `now` is the clock for relative ones."""

    name = "time"

    def __init__(self, *, end: bool = False, per_second: int = 1, now: Now | None = None) -> None:
        self._end = end
        self._per_second = per_second
        self._now = now

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return timestamp_of(value, self._per_second, end=self._end, zone=UTC, forms=_FORMS, now=self._now)
        except ValueError as reason:
            self.fail(f"{shown(value)}: {reason}", param, ctx)


class AgeOption(_ParamType):
    """A number of seconds, given as `90s`, `30m`, `12h`, `7d` or `2w`."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if (seconds := age_seconds(value)) is None:
            self.fail(
                f"{value!r} is not an age: give a whole number from 1 to 999,999,999 with s, m, h, d or w, "
                "such as 7d",
                param,
                ctx,
            )
        return seconds


F = TypeVar("F", bound=Callable[..., Any])


def shown_default(value: object) -> dict[str, Any]:
    """Return what a row has for a default that the help shows."""
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
            value = click.Choice(kind) if isinstance(kind, tuple) else kind
            typed: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": value, "metavar": metavar}
            typed |= more[0] if more else {}
            command = click.option(*names.split(), help=help_text, **typed)(command)
        return command

    return decorate


def check_together(*rules: tuple[str, str, str]) -> None:
    """Raise `click.UsageError` for options of the command line that exclude each other.

    A rule has options, others that are not to be given with them, and the error. `!` is before an option
    that has to be given with them.
    """
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    params = [
        param for param in context.command.params if context.get_parameter_source(param.name or "") is source
    ]
    given = {name for param in params for name in param.opts}
    for options, others, words in rules:
        is_there = not given.isdisjoint(others.removeprefix("!").split())
        if not given.isdisjoint(options.split()) and is_there is not others.startswith("!"):
            raise click.UsageError(words)


# Options that several commands have: each is described once.
SINCE: Final = ("--since", TimeOption(), "T", "Sent at T or later: a date, a time, yesterday, 7d …")
UNTIL: Final = ("--until", TimeOption(end=True), "T", "Sent at T or earlier; a date is its whole day.")
QUIET: Final = ("--quiet -q", bool, None, "Print nothing unless something is wrong.")
PORT: Final = (
    "--port", click.IntRange(0, 65_535), "N", "TCP port; 0 for any free one.", shown_default(0)
)  # fmt: skip
TITLE: Final = ("--title", None, "TEXT", "The title of the pages.", shown_default("Messages"))
AS_JSON: Final = ("--json as_json", bool, None, "Print the result as one JSON object.")


def local_copy(out: str, journal: Path | None) -> Path | None:
    """Return the folder of the local copy of the export in `out`; None if `out` is a folder itself.

    A `journal` beside a folder is a `click.UsageError`; the other errors are those of `journal_root`.
    """
    from .._cloud.address import is_address
    from ..export.run.place import journal_root

    if journal is not None and not is_address(out):
        raise click.UsageError(f"--journal is for an export in an object store: {out!r} is a folder")
    return journal_root(out, journal)
