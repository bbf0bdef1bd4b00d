"""Times as options: a moment, as a number or as a date, and how long ago something may be."""

import re
from datetime import UTC, datetime
from math import ceil, floor
from typing import Any, Final, final

import click

_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*", re.DOTALL)
_AGO: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@final
class Moment(click.ParamType):  # type: ignore[type-arg]  # no generic at run time before click 8.4
    """Epoch seconds; a date is its first second, and where it is an end, its last."""

    name = "moment"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The moment, or what is wrong with it."""
        if isinstance(value, int):
            return value
        try:
            found = self._read(value)
        except (ValueError, OverflowError):
            found = -1
        if found < 0:
            self.fail(
                f"{value!r}: allowed is a whole number of seconds since 1970, a date such as 2026-11-01, "
                "or a date with a time such as 2026-11-01T12:00:00Z (without a zone it is UTC)",
                param,
                ctx,
            )
        return found

    def _read(self, text: str) -> int:
        if _NUMBER.fullmatch(text):
            return int(text)
        if _DATE.fullmatch(text):
            day = datetime.fromisoformat(text).replace(tzinfo=UTC)
            return self._whole(day) + (_SECONDS["d"] - 1 if self._end else 0)
        if not _TIME.fullmatch(text):
            raise ValueError
        found = datetime.fromisoformat(text)
        return self._whole(found if found.tzinfo is not None else found.replace(tzinfo=UTC))

    def _whole(self, moment: datetime) -> int:
        since = (moment - _EPOCH).total_seconds()
        return floor(since) if self._end else ceil(since)


@final
class Ago(click.ParamType):  # type: ignore[type-arg]
    """Seconds, as `90s`, `30m`, `12h`, `7d` or `2w`."""

    name = "ago"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The seconds, or what is wrong with them."""
        if isinstance(value, int):
            return value
        found = _AGO.fullmatch(value)
        if found is None or not int(found[1]):
            self.fail(
                f"{value!r}: allowed is a whole number from 1 with s, m, h, d or w, such as 7d", param, ctx
            )
        return int(found[1]) * _SECONDS[found[2]]
