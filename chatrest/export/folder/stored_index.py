"""Messages on disk that are read again from the service: which have changed, or are not shown any more.

`StoredIndex` is a private temporary database of SQLite's own, which needs little memory and leaves nothing
behind.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable

from ..._core.replies.rows import Row
from ..._storage import sql_in
from ..formats.action_records import is_deleted
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number

_SCHEMA = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
CREATE TABLE stored(key TEXT PRIMARY KEY, number INTEGER, sent_at INTEGER, digest BLOB,
    is_deleted INTEGER) WITHOUT ROWID;
"""


class StoredIndex:
    """Rows on disk, by id; `names` gives the numbers of ids that are texts."""

    def __init__(self, names: Callable[[Iterable[str]], dict[str, int]]) -> None:
        self._names = names
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def load(self, stored: Iterable[Row]) -> None:
        self._db.execute("BEGIN")
        entries = (
            (key_of(row), number(row.id), row.sent_at, _digest(row), is_deleted(row.raw)) for row in stored
        )
        self._db.executemany("INSERT OR IGNORE INTO stored VALUES(?, ?, ?, ?, ?)", entries)
        self._db.execute("COMMIT")

    def since(self, since: int) -> IdSet:
        """Return the ids of the rows that were sent at a time or later; not those without a time."""
        return self._where("sent_at >= ?", since)

    def deleted(self) -> IdSet:
        """Return the ids of the rows that say that their message was deleted."""
        return self._where("is_deleted = ?", 1)

    def _where(self, condition: str, value: int) -> IdSet:
        numbers = self._db.execute(f"SELECT number FROM stored WHERE number > 0 AND {condition}", (value,))  # noqa: S608
        keys = self._db.execute(f"SELECT key FROM stored WHERE number IS NULL AND {condition}", (value,))  # noqa: S608
        return IdSet(each for (each,) in numbers) | IdSet(self._names(key for (key,) in keys).values())

    def changed(self, rows: list[Row]) -> list[Row]:
        keys = [key_of(row) for row in rows]
        known = dict(sql_in(self._db, "SELECT key, digest FROM stored WHERE key IN", keys))
        pairs = zip(keys, rows, strict=True)
        return [row for key, row in pairs if key in known and known[key] != _digest(row)]

    def renew(self, rows: Iterable[Row]) -> None:
        """Note newer versions of rows on disk; of others nothing."""
        entries = ((_digest(row), is_deleted(row.raw), key_of(row)) for row in rows)
        self._db.executemany("UPDATE stored SET digest = ?, is_deleted = ? WHERE key = ?", entries)


def _digest(row: Row) -> bytes:
    return hashlib.blake2b(row.raw, digest_size=16).digest()
