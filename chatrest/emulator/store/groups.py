"""Groups: their list, their changes, and the passwords of those that have one.

A group's record is stored as it is served, without its password.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any, Final, final

from msgspec.json import encode

from .directory import RecordPage

_COUNT: Final = "SELECT count(*) FROM groups WHERE CONDITION"
_LIST: Final = """
SELECT record, coalesce(updated_at, created_at) FROM groups WHERE CONDITION ORDER BY ORDERING
LIMIT ? OFFSET ?
"""


@final
class Groups:
    """The groups of one store; `Directory` has what members and messages need of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list(self, where: str, values: tuple[Any, ...], order: str, page: int, size: int) -> RecordPage:
        """Return page `page` (from 1) of the groups that match an SQL condition, in an SQL order."""
        [total] = self._db.execute(_COUNT.replace("CONDITION", where), values).fetchone()
        sql = _LIST.replace("CONDITION", where).replace("ORDERING", order)
        rows = self._db.execute(sql, (*values, size, (page - 1) * size)).fetchall()
        return RecordPage([record for record, _ in rows], total, rows[-1][1] if rows else None)

    def replace(self, guid: str, record: Mapping[str, Any], password: str | None) -> None:
        """Give a group another record and password."""
        with self._db:
            sql = "UPDATE groups SET record = ?, password = ? WHERE guid = ?"
            self._db.execute(sql, (encode(record), password, guid))

    def password(self, guid: str) -> str | None:
        """Return the password of a group; None where it has none."""
        row = self._db.execute("SELECT password FROM groups WHERE guid = ?", (guid,)).fetchone()
        return None if row is None else row[0]

    def remove(self, guid: str) -> None:
        """Remove a group with its members and its bans; its messages stay."""
        with self._db:
            self._db.execute("DELETE FROM groups WHERE guid = ?", (guid,))
            self._db.execute("DELETE FROM members WHERE guid = ?", (guid,))
            self._db.execute("DELETE FROM relations WHERE kind = 'banned' AND owner = ?", (guid,))
