"""Ids as numbers: what coverage, order and the journal's tables reckon with."""

import hashlib
from collections.abc import Iterable
from typing import Final

from ..core.rows import UNKNOWN, Row

_LONGEST: Final = 19
_TOO_HIGH: Final = (1 << 63) - 1
"""A database holds 64 bits, and the id after the last one has to fit as well."""


def number(id: str) -> int | None:
    """An id as a number; None where it is none that a database can hold."""
    if id.isdecimal() and id.isascii() and len(id) <= _LONGEST and (found := int(id)) < _TOO_HIGH:
        return found
    return None


def key_of(row: Row) -> str:
    """What tells a row from all others: its id, and where it has none its bytes."""
    return row.id or f"#{hashlib.sha256(row.raw).hexdigest()}"


def span(rows: list[Row]) -> tuple[int, int]:
    """The first and the last id of rows in ascending order; (0, 0) where none is a number."""
    return _first(rows), _first(reversed(rows))


def _first(rows: Iterable[Row]) -> int:
    return next((found for row in rows if (found := number(row.id)) is not None), 0)


def loose(rows: list[Row]) -> int:
    """2 where any of some rows in order has no number for an id, 1 where any tells no time, else 0."""
    if rows and number(rows[0].id) is None:
        return 2
    return int(UNKNOWN in [row.sent_at for row in rows])


def times(rows: list[Row]) -> tuple[int, int]:
    """The first and the last time that some rows were sent; UNKNOWN where none tells."""
    known = [row.sent_at for row in rows if row.sent_at != UNKNOWN]
    return (min(known), max(known)) if known else (UNKNOWN, UNKNOWN)
