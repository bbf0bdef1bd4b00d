"""Types and helpers of options that several commands have: times, ages, whole numbers, `--journal`.

A time is absolute as in a plan, or relative to now:

| relative time          | is                                                                 |
|------------------------|--------------------------------------------------------------------|
| `today`, `yesterday`   | that date in UTC: its first second, as an end its last one         |
| `90s`, `12h`, `7d` …   | the moment so long ago (s, m, h, d, w)                             |
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, final

import click

from .._secrets import shown
from ..errors import RequestInvalidError
from ..times import timestamp_of

if TYPE_CHECKING:
    _ParamType: TypeAlias = click.ParamType[Any]
else:  # before click 8.4 it is not generic
    _ParamType: TypeAlias = click.ParamType

Now: TypeAlias = Callable[[], float]

_FORMS: Final = (
    "a date such as 2026-01-31, a time such as 2026-01-31T12:00Z, a timestamp such as 1767225600, "
    "today, yesterday, or an age such as 7d"
)
"""The forms of `times` without the types of Python, and the relative times."""
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}


def parse_time(name: str, text: str, *, per_second: int = 1, end: bool = False, now: Now = time.time) -> int:
    """Return the timestamp of an absolute or relative time, in UTC where it has no zone.

    A date is its first second, or with `end` its last. `per_second` is 1000 for a time in milliseconds.
    Raises `RequestInvalidError` with the parameter's `name` for any other text.
    """
    try:
        return _timestamp(text, per_second, end=end, now=now)
    except ValueError as reason:
        raise RequestInvalidError(f"{name} = {shown(text)}: {reason}") from None


def _timestamp(text: str, per_second: int, *, end: bool, now: Now) -> int:
    moment = _relative_time(text, now)
    return timestamp_of(text if moment is None else moment, per_second, end=end, zone=UTC, forms=_FORMS)


def _relative_time(text: str, now: Now) -> date | None:
    """Return the date or moment of a relative time; None for any other text."""
    if (days := _DAYS_AGO.get(text.lower())) is not None:
        return datetime.fromtimestamp(now(), UTC).date() - timedelta(days)
    if (seconds := _age(text)) is None:
        return None
    try:
        return datetime.fromtimestamp(int(now()) - seconds, UTC)
    except (OverflowError, OSError, ValueError):  # before the year 1
        return date.min


def _age(text: str) -> int | None:
    """Return the seconds of an age such as `7d`; None for any other text, and for an age of 0."""
    match = _AGE.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] or None if match is not None else None


@final
class TimeOption(_ParamType):
    """A time as `parse_time` reads it; `now` is the clock for relative ones."""

    name = "time"

    def __init__(self, *, end: bool = False, per_second: int = 1, now: Now = time.time) -> None:
        self._end = end
        self._per_second = per_second
        self._now = now

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return _timestamp(value, self._per_second, end=self._end, now=self._now)
        except ValueError as reason:
            self.fail(f"{shown(value)}: {reason}", param, ctx)


@final
class AgeOption(_ParamType):
    """A number of seconds, given as `90s`, `30m`, `12h`, `7d` or `2w`."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if (seconds := _age(value)) is None:
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


# Options that several commands have: each is described once.
SINCE: Final = ("--since", TimeOption(), "T", "Sent at T or later: a date, a time, yesterday, 7d …")
UNTIL: Final = ("--until", TimeOption(end=True), "T", "Sent at T or earlier; a date is its whole day.")
AS_JSON: Final = ("--json as_json", bool, None, "Print the result as one JSON object.")


def local_copy(out: str, journal: Path | None) -> Path | None:
    """Return the folder of the local copy of the export in `out`; None if `out` is a folder itself.

    A `journal` beside a folder is a `click.UsageError`; the other errors are those of `journal_root`.
    """
    from .._cloud.address import is_address
    from ..export.run.entry_points import journal_root

    if journal is not None and not is_address(out):
        raise click.UsageError(f"--journal is for an export in an object store: {out!r} is a folder")
    return journal_root(out, journal)
