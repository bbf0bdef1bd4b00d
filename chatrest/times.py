"""Times: the service's timestamps as datetimes, and the forms in which a caller may give a time.

The unit of a timestamp is not documented. Services of this kind send epoch seconds in chat records and epoch
milliseconds in some others, so the size of a number decides: from 100,000,000,000 on it is in milliseconds
(as milliseconds that is in 1973, as seconds in the year 5138).

Queries, plans and the command take a time in the same forms, all of them read by `parse_timestamp`:

| form | example | meaning |
|---|---|---|
| aware datetime | `datetime(2026, 1, 31, 12, tzinfo=UTC)` | that moment, fractions of the unit cut off |
| date | `date(2026, 1, 31)`, `"2026-01-31"` | its first second in UTC; as an end its last one |
| date and time with a zone | `"2026-01-31T12:00Z"`, `"2026-01-31 12:00:30+02:00"` | that moment |
| timestamp | `1767225600`, `"1767225600"`, `"1767225600000"` | the number as it is |
| timestamp of any size, as text | `"@86400"` | the number after the `@` |
| day before today or today | `"today"`, `"yesterday"` | that date in UTC, as a date |
| age | `"90s"`, `"12h"`, `"7d"` (s, m, h, d, w), `timedelta(days=7)` | the moment so long ago |

A relative time is read once, when the query or plan is made. Forms with two meanings are refused:
`20260101` is a date to a reader, and August 1970 to a service.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, TypeAlias

from msgspec import UNSET, UnsetType

from ._secrets import repr_of
from .errors import RequestInvalidError

Time: TypeAlias = int | date | timedelta | str
"""A time as a caller may give it: a timestamp, a date, an aware datetime, a timedelta (so long ago), or a
text such as `"7d"`, `"yesterday"`, `"2026-01-31"` or `"2026-01-31T12:00Z"`."""

TIME_FORMS: Final = (
    "a datetime with a time zone, a date, a timedelta (so long ago), a timestamp as a whole number, "
    "0 or later, or a text such as '2026-01-31', '2026-01-31T12:00Z', '7d', 'yesterday' or '1767225600'"
)
MIN_PLAIN: Final = 100_000_000
"""The smallest timestamp (March 1973) that a text may have without `@`: shorter numbers may be dates."""
MILLISECONDS_FROM: Final = 100_000_000_000
"""The smallest timestamp that is in milliseconds, not in seconds."""
_AFTER_9999: Final = 253_402_300_800
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_AGE: Final = re.compile(r"([0-9]{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_AGO: Final = {"today": 0, "yesterday": 1}
_NUMBER: Final = re.compile(r"@?[0-9]{1,100}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
    r"(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_COMPACT: Final = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""By number of digits: the date that a reader may see in a number."""
_MIN_DAY: Final = 10**7
_MAX_DAY: Final = 10**14
_COMPACT_YEARS: Final = range(1970, 2200)
_SLASHED: Final = re.compile(r"[0-9]{1,4}[/.][0-9]{1,2}[/.][0-9]{1,4}.*", re.DOTALL)
_LONG_YEAR: Final = re.compile(r"[+-]?[0-9]{5,}-[0-9]{2}.*", re.DOTALL)


def clock() -> float:
    """Return the epoch seconds now, to which relative times refer."""
    return datetime.now(UTC).timestamp()


def to_datetime(stamp: float | UnsetType | None) -> datetime | None:
    """Return the aware UTC datetime of a timestamp in seconds or milliseconds; None for None and UNSET.

    Raises `RequestInvalidError` if it is not a number, or not in the years 1 to 9999.
    """
    if stamp is None or stamp is UNSET:
        return None
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        raise RequestInvalidError(
            f"stamp = {repr_of(stamp)}: expected a number of seconds or milliseconds, or None"
        )
    try:
        unit = timedelta(milliseconds=1) if abs(stamp) >= MILLISECONDS_FROM else timedelta(seconds=1)
        return _EPOCH + stamp * unit
    except (OverflowError, ValueError):
        raise RequestInvalidError(f"stamp = {repr_of(stamp)}: expected the years 1 to 9999") from None


class _FormError(ValueError):
    """The error of a value that has none of the forms."""


def parse_timestamp(
    name: str, value: object, *, per_second: int = 1, end: bool = False, zone: tzinfo | None = None
) -> int:
    """Return the timestamp of a time in any of the forms above.

    - `per_second`: the unit of the result for a date or datetime, 1 for seconds, 1000 for milliseconds. A
      number is returned as it is.
    - `end`: a date without a time is its last second (or millisecond) and not its first.
    - `zone`: the time zone of a text without one; with None such a text is an error.

    Raises `RequestInvalidError` with the field's `name`, the value, and what is expected.
    """
    try:
        return _timestamp(value, timedelta(seconds=1) / per_second, end=end, zone=zone)
    except ValueError as reason:
        raise RequestInvalidError(f"{name} = {repr_of(value)}: {reason}", name=name) from None


def has_time_form(value: object) -> bool:
    """Return True if a value has one of the forms, also if it is refused for another reason."""
    try:
        _timestamp(value, _DAY, end=False, zone=None)
    except ValueError as reason:
        return not isinstance(reason, _FormError)
    return True


def _timestamp(value: object, unit: timedelta, *, end: bool, zone: tzinfo | None) -> int:
    moment = _relative_time(value)
    if moment is value and isinstance(value, str):
        moment = read_time(value, zone)
    stamp = -1
    if isinstance(moment, datetime):
        if moment.utcoffset() is None:
            raise ValueError("expected a datetime with a time zone (tzinfo=UTC)")
        stamp = (moment - _EPOCH) // unit
    elif isinstance(moment, date):
        stamp = (datetime.combine(moment, time(), UTC) - _EPOCH) // unit + (_DAY // unit - 1) * end
    elif type(moment) is int:
        stamp = moment
        has_length = type(value) is int and _MIN_DAY <= moment < _MAX_DAY
        if has_length and (day := _compact_date(str(moment))):
            raise ValueError(_two_meanings(moment, day))
    if stamp < 0:
        raise _FormError(f"expected {TIME_FORMS}")
    return stamp


def _relative_time(value: object) -> object:
    """Return the date or moment of an age, of today or of yesterday; any other value as it is.

    Raises ValueError for an age in the future.
    """
    if isinstance(value, str):
        if (days := _DAYS_AGO.get(value.lower())) is not None:
            return datetime.fromtimestamp(clock(), UTC).date() - timedelta(days)
        age: float | None = age_seconds(value)
    else:
        age = value.total_seconds() if isinstance(value, timedelta) else None
    if age is None:
        return value
    if age < 0:
        raise ValueError("it is in the future: expected an age, so a timedelta of 0 or more")
    try:
        return datetime.fromtimestamp(int(clock()), UTC) - timedelta(seconds=age)
    except OverflowError:  # before the year 1
        return date.min


def is_relative(value: object) -> bool:
    """Return True for a text whose moment depends on the day, such as `7d` or `yesterday`."""
    return isinstance(value, str) and (value.lower() in _DAYS_AGO or _AGE.fullmatch(value) is not None)


def age_seconds(text: str) -> int | None:
    """Return the seconds of an age such as `7d`; None for any other text, and for an age of 0."""
    match = _AGE.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] or None if match is not None else None


def read_time(text: str, zone: tzinfo | None = None) -> int | date:
    """Return the number, date or aware datetime of a text, in `zone` if the text has no time zone.

    Raises ValueError for a text without a time zone if `zone` is None, and for any other text.
    """
    if _NUMBER.fullmatch(text):
        return _read_number(text)
    moment = _read_iso(text)
    if isinstance(moment, datetime) and moment.tzinfo is None:
        if zone is None:
            raise ValueError(f"it has no time zone: expected one with it, such as {text + 'Z'!r}")
        return moment.replace(tzinfo=zone)
    if moment is not None:
        return moment
    if _SLASHED.fullmatch(text):
        raise ValueError("day and month are not distinct: expected year-month-day, such as 2026-01-31")
    if _LONG_YEAR.fullmatch(text):
        raise ValueError("expected years of four digits, such as 2026-01-31")
    raise _FormError(f"expected {TIME_FORMS}")


def _read_iso(text: str) -> date | None:
    """Return the date or datetime of a text in ISO form, with or without zone; None for any other text."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text.upper()) if _DATE_TIME.fullmatch(text) else None
    except ValueError:  # such as 2026-02-30
        return None


def _read_number(text: str) -> int:
    number = int(text.removeprefix("@"))
    if number >= _AFTER_9999 * 1000:
        raise ValueError("expected timestamps before the year 10000, in seconds or milliseconds")
    if text.startswith("@"):
        return number
    if day := _compact_date(text):
        raise ValueError(_two_meanings(number, day))
    if number < MIN_PLAIN:
        raise ValueError(
            f"expected a date such as 2026-01-31, or a timestamp of at least {MIN_PLAIN}; "
            f"write @{number} if {to_datetime(number):%Y-%m-%d %H:%M:%S} UTC is meant"
        )
    return number


def _compact_date(digits: str) -> str:
    """Return the date that a reader may see in digits such as 20260101, in ISO form; "" for no date."""
    if (form := _COMPACT.get(len(digits))) is None:
        return ""
    try:
        moment = datetime.strptime(digits, form)
    except ValueError:
        return ""
    return f"{moment:%Y-%m-%d}" if moment.year in _COMPACT_YEARS else ""


def _two_meanings(number: int, day: str) -> str:
    return (
        f"it may be a date or the timestamp of {to_datetime(number):%Y-%m-%d}: "
        f"expected '{day}' for the date, or '@{number}' for the timestamp"
    )


def timestamp_words(timestamp: int) -> str:
    """Return a timestamp as a date if it is the first or last second of one (UTC), else as a moment."""
    try:
        moment = to_datetime(timestamp) if timestamp >= MIN_PLAIN else None
    except RequestInvalidError:  # beyond the year 9999
        moment = None
    if moment is None:
        return str(timestamp)
    clock = f"{moment:%H:%M:%S.%f}"
    if clock.startswith(("00:00:00.000000", "23:59:59.")):
        return f"{moment:%Y-%m-%d}"
    return moment.isoformat().replace("+00:00", "Z")
