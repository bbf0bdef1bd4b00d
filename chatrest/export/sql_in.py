"""Many values in one query: as values of their own, for in SQLite's JSON a text ends at a NUL."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

_MOST: Final = 500
"""Values of one query: every SQLite takes so many."""


def sql_in(db: sqlite3.Connection, sql: str, values: Iterable[str | int]) -> Iterator[Any]:
    """The rows of a query that ends in `IN`, for any number of values."""
    rest = iter(values)
    while batch := list(islice(rest, _MOST)):
        yield from db.execute(f"{sql} ({','.join('?' * len(batch))})", batch)
