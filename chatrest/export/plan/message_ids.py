"""Ids as numbers, for coverage, order and sets; others by their texts, until a journal numbers them."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from ..._core.replies.rows import UNKNOWN, Row
from .id_set import IdSet
from .intervals import LAST, number_of as number

__all__ = ["PageIds", "ids_of", "key_of", "number", "plain_numbers", "times"]

_NUMBERS: Final = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(gt=0, lt=LAST)]])


class PageIds(NamedTuple):
    """The ids of rows."""

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
    """Return the id of each row as a number, None for one that is not; as cheap as `ids_of`."""
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
