"""Which ids of a source are on disk: intervals, not a high-water mark. Pure.

An id between the first and the last of an interval is covered: the service was asked, and every message that
it showed there is safe. What lies between two intervals, or behind the last, is a hole.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..core.endpoint import Pairs


class Span(NamedTuple):
    """The ids from `first` to `last`, both included."""

    first: int
    last: int
    at: Pairs = ()
    """Where the service said that its list goes on after `last`; empty where it did not."""


class Hole(NamedTuple):
    """The ids above `after` up to `until`, not covered."""

    after: int
    until: int
    at: Pairs = ()
    """The place after `after`, as the service gave it."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same ids as ascending intervals that neither touch nor overlap; what is no interval is left out."""
    found: list[Span] = []
    for span in sorted(spans):
        if span.last < span.first:
            continue
        if found and span.first <= found[-1].last + 1:
            ahead = max(found[-1], span, key=lambda each: (each.last, bool(each.at)))
            found[-1] = Span(found[-1].first, ahead.last, ahead.at)
        else:
            found.append(span)
    return found


def without(spans: Iterable[Span], first: int, last: int) -> list[Span]:
    """The intervals without the ids from `first` to `last`."""
    left: list[Span] = []
    for span in spans:
        before, behind = min(span.last, first - 1), max(span.first, last + 1)
        if before >= span.first:
            left.append(Span(span.first, before, span.at if before == span.last else ()))
        if behind <= span.last:
            left.append(Span(behind, span.last, span.at))
    return merged(left)


def holes(spans: Iterable[Span], until: int) -> list[Hole]:
    """What is missing of the ids from 1 to `until`, in ascending order."""
    found: list[Hole] = []
    after, at = 0, Span(0, 0).at
    for span in merged(spans):
        if span.first > after + 1 and after < until:
            found.append(Hole(after, min(span.first - 1, until), at))
        if span.last >= after:
            after, at = span.last, span.at
    if after < until:
        found.append(Hole(after, until, at))
    return found
