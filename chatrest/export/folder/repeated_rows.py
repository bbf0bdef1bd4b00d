"""Rows that are listed again, and may differ.

`RepeatedRows`: under an id that this run has written; those that differ are reported, as one is kept.
`StoredIndex`: read again from the service, and on disk: which have changed, which are not shown any more. It
is a private temporary database of SQLite's own, which needs little memory and leaves nothing behind.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from typing import Final, final

from ..._core.replies.rows import Row
from ..._storage import sql_in
from ..formats.action_records import is_deleted
from ..plan.id_set import IdSet
from ..plan.message_ids import PageIds, ids_of, key_of, number

MOST: Final = 100_000
"""Rows that are compared, and ids that are no numbers and are known: some 20 MB."""
_SHOWN: Final = 10


@final
class RepeatedRows:
    """The rows of a run that were not written, as their ids were; compared with those on disk at its end."""

    def __init__(self) -> None:
        self._numbers = IdSet()
        self._keys: set[str] = set()
        self._digests: dict[int | str, int] = {}
        self._differing: dict[int | str, None] = {}

    def add(self, shown: list[Row], written: list[Row], ids: PageIds) -> None:
        """Take the rows of a page, and those of them that are written. Quick where these are all of them."""
        new = ids if len(written) == len(shown) else ids_of(written)
        self._numbers.update(new.numbers)
        if new.others and len(self._keys) < MOST:
            self._keys.update(new.others)
        if new is not ids:
            places = set(map(id, written))
            self.note(row for row in shown if id(row) not in places)

    def note(self, rows: Iterable[Row]) -> None:
        """Take rows that are not written; those that this run has written under the same id are compared."""
        for row in rows:
            key = _key(row)
            is_known = key in self._numbers if isinstance(key, int) else key in self._keys
            if is_known and len(self._digests) < MOST:
                digest = hash(row.raw)
                if self._digests.setdefault(key, digest) != digest:
                    self._differing[key] = None

    def compare(self, scan: Callable[[int, int], Iterable[Row]]) -> None:
        """Compare them with the rows on disk of two ids and between: costs the reading of their files."""
        if not self._digests:
            return
        numbers = [key for key in self._digests if isinstance(key, int)]
        for row in scan(min(numbers, default=0), max(numbers, default=0)):
            key = _key(row)
            if self._digests.get(key, own := hash(row.raw)) != own:
                self._differing[key] = None

    def warnings(self) -> list[str]:
        """Return the ids that came with different records, as a sentence; nothing where there are none."""
        count = len(self._differing)
        if not count:
            return []
        ids = ", ".join(map(str, list(self._differing)[:_SHOWN]))
        more = f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
        return [f"different records came under one id, and the first of each was kept: {ids}{more}"]


def _key(row: Row) -> int | str:
    """Return what two records of one message have in common: 07 is 7."""
    digits = row.id.lstrip("0") or row.id
    return number(digits) or key_of(row)


# ── rows on disk ──

_SCHEMA = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
CREATE TABLE stored(key TEXT PRIMARY KEY, number INTEGER, sent_at INTEGER, digest BLOB,
    is_deleted INTEGER) WITHOUT ROWID;
"""


@final
class StoredIndex:
    """Rows on disk, by id."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Let go of it; nothing stays behind."""
        self._db.close()

    def load(self, stored: Iterable[Row]) -> None:
        """Add rows on disk."""
        self._db.execute("BEGIN")
        entries = (
            (key_of(row), number(row.id), row.sent_at, _digest(row), is_deleted(row.raw)) for row in stored
        )
        self._db.executemany("INSERT OR IGNORE INTO stored VALUES(?, ?, ?, ?, ?)", entries)
        self._db.execute("COMMIT")

    def since(self, since: int) -> tuple[IdSet, list[str]]:
        """Return the ids of the rows that were sent at a time or later; not those without a time.

        Those that are no numbers are in the list.
        """
        return self._where("sent_at >= ?", since)

    def deleted(self) -> tuple[IdSet, list[str]]:
        """Return, in the same way, the ids of the rows that say that their message was deleted."""
        return self._where("is_deleted = ?", 1)

    def _where(self, condition: str, value: int) -> tuple[IdSet, list[str]]:
        numbers = self._db.execute(f"SELECT number FROM stored WHERE number > 0 AND {condition}", (value,))  # noqa: S608
        keys = self._db.execute(f"SELECT key FROM stored WHERE number IS NULL AND {condition}", (value,))  # noqa: S608
        return IdSet(each for (each,) in numbers), [key for (key,) in keys]

    def changed(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are on disk, but not as they are now."""
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
