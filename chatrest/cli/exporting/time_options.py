"""Option types for times: a point in time, as a number or a date, and an age such as `7d`."""

import re
from datetime import UTC, datetime
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import click

if TYPE_CHECKING:
    _ParamType: TypeAlias = click.ParamType[Any]
else:  # before click 8.4 it is not generic
    _ParamType: TypeAlias = click.ParamType

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*", re.DOTALL)
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@final
class TimeOption(_ParamType):
    """Epoch seconds, a date or a date with a time; a date means its first second, or with `end` its last."""

    name = "time"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return epoch seconds; raise `click.BadParameter` for any other text."""
        if isinstance(value, int):
            return value
        try:
            seconds = self._parse(value)
        except (ValueError, OverflowError):
            seconds = -1
        if seconds < 0:
            self.fail(
                f"{value!r} is not a time: give a whole number of seconds since 1970, "
                "a date such as 2026-11-01, "
                "or a date with a time such as 2026-11-01T12:00:00Z (without a zone it is UTC)",
                param,
                ctx,
            )
        return seconds

    def _parse(self, text: str) -> int:
        if _NUMBER.fullmatch(text):
            return int(text)
        if _DATE.fullmatch(text):
            day = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return self._to_seconds(day) + (_SECONDS["d"] - 1 if self._end else 0)
        if not _TIME.fullmatch(text):
            raise ValueError
        time = datetime.fromisoformat(text)
        return self._to_seconds(time if time.tzinfo is not None else time.replace(tzinfo=UTC))

    def _to_seconds(self, time: datetime) -> int:
        since = (time - _EPOCH).total_seconds()
        return floor(since) if self._end else ceil(since)


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
                f"{value!r} is not an age: give a whole number from 1 with s, m, h, d or w, such as 7d",
                param,
                ctx,
            )
        return int(match[1]) * _SECONDS[match[2]]
