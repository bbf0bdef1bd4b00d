"""Option types for times: a point in time in any form that a plan takes, and an age such as `7d`."""

import re
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import click

from ..errors import RequestInvalidError
from ..times import TIME_FORMS, parse_timestamp

if TYPE_CHECKING:
    _ParamType: TypeAlias = click.ParamType[Any]
else:  # before click 8.4 it is not generic
    _ParamType: TypeAlias = click.ParamType

_FORMS: Final = (
    "a date such as 2026-01-31, a time such as 2026-01-31T12:00Z, or a timestamp such as 1767225600"
)
"""The forms of `TIME_FORMS`, without the types of Python."""
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@final
class TimeOption(_ParamType):
    """A time as `times.parse_timestamp` reads it, in UTC where it has no zone.

    A date is its first second, or with `end` its last. `per_second` is 1000 for a time in milliseconds.
    """

    name = "time"

    def __init__(self, *, end: bool = False, per_second: int = 1) -> None:
        self._end = end
        self._per_second = per_second

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a timestamp; raise `click.BadParameter` for any other text."""
        try:
            return parse_timestamp("", value, per_second=self._per_second, end=self._end, zone=UTC)
        except RequestInvalidError as error:
            reason = str(error).removeprefix(" = ")
            self.fail(reason.replace(TIME_FORMS, _FORMS), param, ctx)


@final
class AgeOption(_ParamType):
    """A number of seconds, given as `90s`, `30m`, `12h`, `7d` or `2w`."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds; raise `click.BadParameter` for any other text."""
        if isinstance(value, int):
            return value
        match = _AGE.fullmatch(value)
        if match is None or not int(match[1]):
            self.fail(
                f"{value!r} is not an age: give a whole number from 1 to 999,999,999 with s, m, h, d or w, "
                "such as 7d",
                param,
                ctx,
            )
        return int(match[1]) * _SECONDS[match[2]]
