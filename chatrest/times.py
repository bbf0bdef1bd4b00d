"""Conversion between datetimes and the service's timestamps in seconds or milliseconds since 1970.

The specification does not show the unit. Services of this kind send epoch seconds in chat records and epoch
milliseconds in some others (operations table, oddities), so the size of a number decides: from
100,000,000,000 on it is milliseconds (in milliseconds that is 1973, in seconds the year 5138).
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from msgspec import UNSET, UnsetType

from .errors import RequestInvalidError
from .secrets import shown

_MILLISECONDS_FROM: Final = 100_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(stamp: float | UnsetType | None) -> datetime | None:
    """Return the aware UTC datetime of a timestamp in seconds or milliseconds; None for None and UNSET.

    Raises `RequestInvalidError` if it is not a number, or not in the years 1 to 9999.
    """
    if stamp is None or stamp is UNSET:
        return None
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        raise RequestInvalidError(
            f"stamp = {shown(stamp)}: allowed is a number of seconds or milliseconds, or None"
        )
    try:
        unit = timedelta(milliseconds=1) if abs(stamp) >= _MILLISECONDS_FROM else timedelta(seconds=1)
        return _EPOCH + stamp * unit
    except (OverflowError, ValueError):
        raise RequestInvalidError(f"stamp = {shown(stamp)}: allowed are the years 1 to 9999") from None


def to_seconds(name: str, moment: date) -> int:
    """Return the epoch seconds of an aware datetime, rounded down, or of the start of a date in UTC.

    Raises `RequestInvalidError` with the field's `name` for a datetime without a time zone.
    """
    return _since_epoch(name, moment) // timedelta(seconds=1)


def to_milliseconds(name: str, moment: date) -> int:
    """Return the epoch milliseconds of an aware datetime or a date, as `to_seconds` does the seconds."""
    return _since_epoch(name, moment) // timedelta(milliseconds=1)


def _since_epoch(name: str, moment: date) -> timedelta:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(), UTC)
    if moment.utcoffset() is None:
        raise RequestInvalidError(f"{name} = {moment!r}: allowed is a datetime with a time zone (tzinfo=UTC)")
    return moment - _EPOCH
