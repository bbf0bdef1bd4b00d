"""The covered ids of a list, as intervals instead of a high-water mark. Pure.

An id between the first and the last of an interval is covered: the service was asked, and every item that it
showed there is safe. The ids between two intervals, or after the last one, are a gap.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ..._core.requests.endpoint import Pairs

LAST: Final = (1 << 63) - 1
"""An open end: no id is as high."""
_LONGEST: Final = 19


class Interval(NamedTuple):
    """The ids from `first` to `last`, both included."""

    first: int
    last: int
    position: Pairs = ()
    """Where the list continues after `last`, as the service named it; empty if it did not."""


class Gap(NamedTuple):
    """The ids above `after` up to `until`, not covered."""

    after: int
    until: int
    position: Pairs = ()
    """Where the list continues after `after`, as the service named it; empty if it did not."""


def number_of(text: str) -> int | None:
    """Return an id as a number from 1; None if it does not fit into 64 bits with the id after it.

    One that begins with a 0 is a text: 07 is not 7, and nothing is covered below 1.
    """
    if text.isdecimal() and text[0] != "0" and text.isascii() and len(text) <= _LONGEST:
        number = int(text)
        return number if number < LAST else None
    return None


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same ids as ascending intervals that neither touch nor overlap.

    An interval that ends before it begins is left out. Of two that end at the same id, the position that is
    known is kept.
    """
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if interval.last < interval.first:
            continue
        if merged and interval.first <= merged[-1].last + 1:
            farther = max(merged[-1], interval, key=lambda each: (each.last, bool(each.position)))
            merged[-1] = Interval(merged[-1].first, farther.last, farther.position)
        else:
            merged.append(interval)
    return merged


def gaps(intervals: Iterable[Interval], until: int, after: int = 0) -> list[Gap]:
    """Return the ids above `after` up to `until` that no interval covers, in ascending order."""
    missing: list[Gap] = []
    position: Pairs = ()
    for interval in merge(intervals):
        if interval.first > after + 1 and after < until:
            missing.append(Gap(after, min(interval.first - 1, until), position))
        if interval.last >= after:
            after, position = interval.last, interval.position
    if after < until:
        missing.append(Gap(after, until, position))
    return missing
