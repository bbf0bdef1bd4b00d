"""The zone of a site: all of its days and times are in this one, for all readers.

A time is written as `2026-11-22T13:11:03+01:00`, from which templates take the day, the clock and the whole.
"""

import re
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from ..errors import RequestInvalidError
from ..times import MILLISECONDS_FROM, Time, parse_timestamp, read_time

_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999 in UTC."""
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


class Zone:
    """The zone of this name, such as `Europe/Berlin`; raises `RequestInvalidError` where there is none."""

    def __init__(self, name: str) -> None:
        try:
            if not re.fullmatch(r"[A-Za-z0-9_+/-]{1,64}", name):
                raise ValueError
            self._zone = ZoneInfo(name)
        except (ValueError, OSError, LookupError):
            raise RequestInvalidError(
                f"timezone = {name!r}: expected the name of a zone, such as 'Europe/Berlin' or 'UTC'",
                name="timezone",
            ) from None
        self.name: Final = name

    def iso(self, time: int) -> str:
        """Return a time in milliseconds as `2026-11-22T13:11:03+01:00`; empty for 0."""
        return datetime.fromtimestamp(time // 1000, self._zone).isoformat() if time else ""

    def day_number(self, time: int) -> int:
        """Return the number of the day of a time in milliseconds, from 0 of 1970-01-01; -1 for 0."""
        return datetime.fromtimestamp(time // 1000, self._zone).toordinal() - _EPOCH if time else -1

    def day(self, time: int) -> str:
        """Return the day of a time in milliseconds, such as `2026-11-22`; `undated` for 0."""
        return self.iso(time)[:10] or "undated"

    def time_text(self, time: int) -> str:
        """Return a time in milliseconds in full, such as `2026-11-22 13:11:03 +01:00`; empty for 0."""
        return time_text(self.iso(time))

    def window_text(self, since: int | None, until: int | None) -> str:
        """Return two bounds in milliseconds, such as `from 2026-05-01 00:00:00 +02:00`; empty for none."""
        bounds = (("from", since), ("until", until))
        return " ".join(f"{word} {self.time_text(time)}" for word, time in bounds if time is not None)

    def milliseconds_of(self, name: str, value: Time, *, end: bool) -> int:
        """Return a time in milliseconds, as `parse_timestamp` reads it; a date is a day of this zone.

        With `end` it is the last millisecond of a day or second.
        """
        day, rest = self._day_of(value), 999 if end else 0
        if day is None:
            stamp = parse_timestamp(name, value, end=end, zone=self._zone)
            return stamp if stamp >= MILLISECONDS_FROM else stamp * 1000 + rest
        clock = time(23, 59, 59, fold=1) if end else time()  # the later one, of an hour that is there twice
        return min(round(datetime.combine(day, clock, self._zone).timestamp()) * 1000 + rest, _LAST)

    def _day_of(self, value: Time) -> date | None:
        """Return the day that is given without a clock; None for any other time."""
        if isinstance(value, str):
            if (day := value.lower()) in ("today", "yesterday"):
                return datetime.now(self._zone).date() - timedelta(day == "yesterday")
            with suppress(ValueError):
                value = read_time(value, self._zone)
        return value if isinstance(value, date) and not isinstance(value, datetime) else None


def day_text(day: int) -> str:
    """Return the day with this number, such as `2026-11-22`; `undated` for -1."""
    return str(date.fromordinal(_EPOCH + day)) if day >= 0 else "undated"


def weekday_of(day: str) -> str:
    """Return the short name of the weekday of a day such as `2026-11-22`."""
    return _WEEKDAYS[date.fromisoformat(day).weekday()]


def month_of(day: str) -> str:
    """Return the name of the month of a day such as `2026-11-22`."""
    return _MONTHS[int(day[5:7]) - 1]


def time_text(iso: str) -> str:
    """Return a time as people read it in full: `2026-11-22 13:11:03 +01:00`; empty for none."""
    return f"{iso[:10]} {iso[11:19]} {iso[19:]}" if iso else ""
