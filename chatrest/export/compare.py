"""What is on disk already, by id: for the parts of an export that are read a second time.

A private temporary database of SQLite's own, which needs little memory and leaves nothing behind. It is made
only where something is read again: a gap, a lost file, a recheck.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, final

from ..core.rows import Row
from .message_ids import key_of, number
from .sql_in import sql_in
from .workspace import StoredRow

_SCHEMA = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
CREATE TABLE stored(id TEXT PRIMARY KEY, number INTEGER, source INTEGER, sent_at INTEGER, digest BLOB)
    WITHOUT ROWID;
CREATE INDEX stored_of_source ON stored(source, number);
CREATE TABLE shown(number INTEGER PRIMARY KEY);
CREATE TABLE missing(number INTEGER PRIMARY KEY, source INTEGER NOT NULL);
"""
_BATCH = 10_000


class Compared(NamedTuple):
    """Rows of a page, against what is on disk."""

    new: list[Row]
    changed: list[Row]


@final
class Index:
    """Rows on disk, by id."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Lets go of it; nothing stays behind."""
        self._db.close()

    def load(self, stored: Iterable[StoredRow]) -> None:
        """Notes rows on disk."""
        self._db.execute("BEGIN")
        sql = "INSERT OR IGNORE INTO stored VALUES(?, ?, ?, ?, ?)"
        self._db.executemany(sql, (_entry(row, source) for row, source in stored))
        self._db.execute("COMMIT")

    def renew(self, rows: Iterable[Row]) -> None:
        """Notes newer versions of rows on disk; of others nothing."""
        entries = ((_digest(row), key_of(row)) for row in rows)
        self._db.executemany("UPDATE stored SET digest = ? WHERE id = ?", entries)

    def compare(self, rows: list[Row]) -> Compared:
        """Which of these rows are not on disk, and which are, but not as they are now."""
        keys = [key_of(row) for row in rows]
        known = dict(sql_in(self._db, "SELECT id, digest FROM stored WHERE id IN", keys))
        new = [row for key, row in zip(keys, rows, strict=True) if key not in known]
        there = [(key, row) for key, row in zip(keys, rows, strict=True) if key in known]
        return Compared(new, [row for key, row in there if known[key] != _digest(row)])

    def put(self, source: int, rows: Iterable[Row]) -> None:
        """Notes rows that are being written."""
        sql = "INSERT OR REPLACE INTO stored VALUES(?, ?, ?, ?, ?)"
        self._db.executemany(sql, [_entry(row, source) for row in rows])

    def of(self, source: int, rows: list[Row]) -> list[Row]:
        """Those of these rows that a source wrote."""
        keys = [key_of(row) for row in rows]
        sql = f"SELECT id FROM stored WHERE source = {int(source)} AND id IN"  # noqa: S608
        its = {found for (found,) in sql_in(self._db, sql, keys)}
        return [row for key, row in zip(keys, rows, strict=True) if key in its]

    def unknown(self, ids: list[int]) -> list[int]:
        """Those of these ids that are not on disk."""
        known = {found for (found,) in sql_in(self._db, "SELECT id FROM stored WHERE id IN", map(str, ids))}
        return [each for each in ids if str(each) not in known]

    def missing(self, source: int, after: int, last: int, since: int, shown: frozenset[int]) -> list[int]:
        """Note and return the ids above `after` up to `last`, sent at `since` or later, that a source wrote,
        and that are neither among `shown` nor among those that `show` noted.
        """
        sql = """SELECT number FROM stored WHERE source = ? AND number > ? AND number <= ? AND sent_at >= ?
            AND number NOT IN (SELECT number FROM shown) AND number NOT IN (SELECT number FROM missing)"""
        known = {number for (number,) in self._db.execute(sql, (source, after, last, since))}
        missing = sorted(known - shown)
        self._db.executemany("INSERT INTO missing VALUES(?, ?)", [(each, source) for each in missing])
        return missing

    def missing_spans(self, apart: int) -> Iterator[tuple[int, int, int]]:
        """The missing ids, as (source, first, last): spans that have `apart` rows of their source or more
        between them.
        """
        rows = self._db.execute("SELECT source, number FROM missing ORDER BY source, number").fetchall()
        for source, pairs in groupby(rows, key=itemgetter(0)):
            ids = [each for _, each in pairs]
            first = last = ids[0]
            for following in ids[1:]:
                if self._rows_between(source, last, following) >= apart:
                    yield source, first, last
                    first = following
                last = following
            yield source, first, last

    def _rows_between(self, source: int, first: int, last: int) -> int:
        sql = "SELECT count(*) FROM stored WHERE source = ? AND number > ? AND number < ?"
        [count] = self._db.execute(sql, (source, first, last)).fetchone()
        return int(count)

    def show(self, ids: Iterable[int]) -> int:
        """Note ids that the service showed, whatever source wrote them; return how many of them were missing
        until now.
        """
        values = [(each,) for each in ids]
        self._db.executemany("INSERT OR IGNORE INTO shown VALUES(?)", values)
        return self._db.executemany("DELETE FROM missing WHERE number = ?", values).rowcount if values else 0


def _entry(row: Row, source: int) -> tuple[str, int | None, int, int, bytes]:
    return key_of(row), number(row.id), source, row.sent_at, _digest(row)


def _digest(row: Row) -> bytes:
    return hashlib.blake2b(row.raw, digest_size=16).digest()
