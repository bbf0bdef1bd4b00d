"""Which messages were read so far, each once: in a private temporary database, so that memory stays flat.

It finds what stands in an export twice, and what ought to stand there and does not.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, final

import msgspec

from ..message_ids import number

_SCHEMA = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536;
CREATE TABLE numbers(id INTEGER PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE texts(id TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID;
BEGIN;
"""
_LONGEST = 18  # digits: as `ids.number` has it


class Twice(NamedTuple):
    """A message that was read before."""

    id: str
    place: int
    """Where it was read first."""


@final
class IdIndex:
    """Ids, each with the place where it was read first."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # SQLite's own, on disk where it grows
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Lets go of it; nothing stays behind."""
        self._db.close()

    def add(self, numbers: list[int], texts: list[str], place: int) -> list[Twice]:
        """Notes ids that were read at a place; those among them that were read before, or twice here."""
        return [*self._put("numbers", numbers, place), *self._put("texts", texts, place)]

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Those of these ids that were not read."""
        sql = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM numbers)"
        return [each for (each,) in self._db.execute(sql, (f"[{','.join(map(str, ids))}]",))]

    def _put(self, table: str, ids: list[int] | list[str], place: int) -> list[Twice]:
        if not ids:
            return []
        given = msgspec.json.encode(ids).decode()
        insert = f"INSERT OR IGNORE INTO {table} SELECT value, ? FROM json_each(?)"  # noqa: S608
        if self._db.execute(insert, (place, given)).rowcount == len(ids):
            return []
        here = (each for each, count in Counter(ids).items() if count > 1)
        sql = f"SELECT id, place FROM {table} WHERE place < ? AND id IN (SELECT value FROM json_each(?))"  # noqa: S608
        before = dict(self._db.execute(sql, (place, given)).fetchall())
        return [Twice(str(each), where) for each, where in {**dict.fromkeys(here, place), **before}.items()]


def numbered(ids: list[str]) -> tuple[list[int], list[str]]:
    """Ids as numbers, and those that are none."""
    digits = "".join(ids)
    if digits.isdecimal() and digits.isascii() and all(ids) and max(map(len, ids)) <= _LONGEST:
        return list(map(int, ids)), []
    found = {each: number(each) for each in ids}
    numbers = [its for each in ids if (its := found[each]) is not None]
    return numbers, [each for each in ids if found[each] is None]
