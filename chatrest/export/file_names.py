"""Names: of files, for any uid; and of the month that a message was sent in."""

import hashlib
import time
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from ..core.rows import UNKNOWN, Row
from .ownership import Source

UNDATED: Final = "undated"
DATABASE: Final = "messages.sqlite"
_LONGEST = 150  # a file's name may have 255 bytes on most systems, with what is added to it
_DAY: Final = 86_400
MILLISECONDS: Final = 10**11
"""A timestamp from here on is in milliseconds: as seconds it would be after the year 5100."""


def file_name(text: str) -> str:
    """A file name for any text: percent-encoded, never hidden, never a path, never too long."""
    name = quote(text, safe="", errors="surrogatepass") or "%"  # which no other text becomes
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def source_name(source: Source) -> str:
    """The name of a source's file, without its ending."""
    if source.kind == "everything":
        return "messages"
    return file_name("-".join((source.kind, *source.names)))


def seconds(timestamp: int) -> int:
    """A timestamp of the service as epoch seconds, also where it is in milliseconds."""
    return timestamp // 1000 if timestamp >= MILLISECONDS else timestamp


def by_month(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each month (UTC), such as `2020-09`; those that tell no time are `undated`."""
    found: dict[str, list[Row]] = {}
    if not rows:
        return found
    times = [row.sent_at for row in rows]
    low, high = min(times), max(times)
    of_one_unit = low >= MILLISECONDS or 0 <= low <= high < MILLISECONDS
    if of_one_unit and (first := month(low)) == month(high):
        return {first: rows}
    for row in rows:
        found.setdefault(month(row.sent_at), []).append(row)
    return found


def month(timestamp: int) -> str:
    """The month of a timestamp."""
    return UNDATED if timestamp == UNKNOWN else _month_of_day(seconds(timestamp) // _DAY)


@lru_cache(maxsize=4096)
def _month_of_day(day: int) -> str:
    try:
        return time.strftime("%Y-%m", time.gmtime(day * _DAY))
    except (OverflowError, ValueError, OSError):
        return UNDATED
