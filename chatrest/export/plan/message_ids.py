"""Ids as numbers, for coverage, order and sets; others by their texts, until a journal numbers them. Pure.

The ids of a list that are covered are intervals, instead of a high-water mark. An id between the first and
the last of one is covered: the service was asked, and every item that it showed there is safe. The ids
between two intervals, or after the last one, are a gap.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from ..._core.replies.rows import UNKNOWN, Row
from ..._core.requests.endpoint import Pairs
from .id_set import IdSet

LAST: Final = (1 << 63) - 1
"""An open end: no id is as high."""
_MAX: Final = 19
_NUMBERS: Final = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(gt=0, lt=LAST)]])


def number(text: str) -> int | None:
    """Return an id as a number from 1; None if it does not fit into 64 bits with the id after it.

    One that begins with a 0 is a text: 07 is not 7, and nothing is covered below 1.
    """
    if text.isdecimal() and text[0] != "0" and text.isascii() and len(text) <= _MAX:
        value = int(text)
        return value if value < LAST else None
    return None


class PageIds(NamedTuple):
    numbers: IdSet
    others: dict[str, Row]
    """By their keys, the rows whose ids are no numbers."""


NO_IDS: Final = PageIds(IdSet(), {})
"""Not to be changed."""


def ids_of(rows: list[Row]) -> PageIds:
    """Return the ids of rows. Costs 0.1 microseconds a row, where all of them are numbers."""
    if not rows:
        return PageIds(IdSet(), {})
    numbers, others = numbers_in(rows), dict[str, Row]()
    if None not in numbers:
        return PageIds(IdSet(numbers), others)  # type: ignore[arg-type]
    for row, each in zip(rows, numbers, strict=True):
        if each is None:
            others.setdefault(key_of(row), row)
    return PageIds(IdSet(filter(None, numbers)), others)


def numbers_in(rows: list[Row]) -> Sequence[int | None]:
    ids = [row.id for row in rows]
    plain = plain_numbers(ids)
    return list(map(number, ids)) if plain is None else plain


def plain_numbers(ids: list[str]) -> list[int] | None:
    """Return ids as numbers; None if any is not a number, or is not written plainly."""
    if "".join(ids).isdecimal():  # with nothing but digits, JSON is the quickest way to numbers
        try:
            return _NUMBERS.decode(f"[{','.join(ids)}]")
        except msgspec.DecodeError:  # empty, a 0 in front, digits of another script, or too many
            pass
    return None


def key_of(row: Row) -> str:
    """Return the text that shows a row from all others: its id, or a hash of its bytes where it has none."""
    return row.id or f"#{hashlib.sha256(row.raw).hexdigest()}"


def times(rows: list[Row]) -> tuple[int, int, bool]:
    """Return the first and the last time of rows, UNKNOWN where none has one, and whether all do."""
    sent = [row.sent_at for row in rows]
    known = [each for each in sent if each != UNKNOWN] if UNKNOWN in sent else sent
    since, until = (min(known), max(known)) if known else (UNKNOWN, UNKNOWN)
    return since, until, len(known) == len(sent)


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


def position_of(text: str, last: int) -> Pairs:
    """Return the position after an id, of its JSON; none if that was edited and would leave messages out."""
    try:
        position = msgspec.json.decode(text, type=tuple[tuple[str, str], ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    named = number(dict(position).get("id", ""))
    return () if named is None or named > last else position


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
