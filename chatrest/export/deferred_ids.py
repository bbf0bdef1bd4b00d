"""Is everything there that one source left to another? The proof of the rule of ownership.

Every page notes the ids that its source leaves to others, and those that it writes and others leave to it.
Where the two balance (`journal.Balance`) they are the same ids, and nothing is lost. Where they do
not (a user was removed, a list does not show what the rule says), the ids that were left are looked
for among those that are on disk, one by one; what is not there is read again from the source that saw it.
"""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from .archive import Archive
from .message_ids import number

_SCHEMA = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;
CREATE TABLE written(id INTEGER PRIMARY KEY);
"""
_MISSING = "SELECT 1 FROM json_each(?) WHERE value NOT IN (SELECT id FROM written) LIMIT 1"


class MissingSpan(NamedTuple):
    """Ids that a source saw and left to another one, which did not write all of them."""

    source: int
    first: int
    last: int


def is_settled(archive: Archive) -> bool:
    """Whether all that was left to others is known to be there."""
    return archive.journal.balance("open") == archive.journal.balance("settled")


def settled(archive: Archive) -> None:
    """Notes that all that was left to others is there, or is nowhere any more."""
    with archive.journal.transaction():
        archive.journal.keep_balance("settled", archive.journal.balance("open"))


def orphans(archive: Archive) -> list[MissingSpan]:
    """Spans with ids that nobody wrote. Costs the reading of all that is on disk; memory for a block."""
    db = sqlite3.connect("", isolation_level=None)  # a temporary one of SQLite's own, on disk where it grows
    try:
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        written = ((each,) for each in _written(archive))
        db.executemany("INSERT OR IGNORE INTO written VALUES(?)", written)
        return list(_merged(_missing(archive, db)))
    finally:
        db.close()


def _written(archive: Archive) -> Iterator[int]:
    for row, _ in archive.sink.scan():
        if (its := number(row.id)) is not None:
            yield its


def _missing(archive: Archive, db: sqlite3.Connection) -> Iterator[MissingSpan]:
    for source, first, last, ids in archive.journal.deferred():
        if db.execute(_MISSING, (f"[{','.join(map(str, ids))}]",)).fetchone() is not None:
            yield MissingSpan(source, first, last)


def _merged(found: Iterator[MissingSpan]) -> Iterator[MissingSpan]:
    """Spans of one source that touch or overlap become one."""
    for source, spans in groupby(sorted(found), key=lambda each: each.source):
        first, last = 0, -1
        for span in spans:
            if last >= first and span.first > last + 1:
                yield MissingSpan(source, first, last)
                first, last = span.first, span.last
            elif last < first:
                first, last = span.first, span.last
            last = max(last, span.last)
        yield MissingSpan(source, first, last)
