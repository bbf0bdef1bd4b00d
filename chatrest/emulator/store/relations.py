"""Users in relation to another user or to a group: blocked by it, friends of it, banned from it."""

import sqlite3
from typing import Final, Literal, TypeAlias, final

from .directory import RecordPage

Relation: TypeAlias = Literal["banned", "blocked", "friend"]

_FROM: Final = """
FROM relations r JOIN users u ON u.uid = r.uid WHERE r.kind = ? AND r.owner = ? AND NOT u.deactivated
    AND (instr(u.folded_uid, ?) = 1 OR instr(u.folded_name, ?) = 1)
"""
_COUNT: Final = f"SELECT count(*) {_FROM}"
_LIST: Final = f"SELECT u.record, r.at, u.updated_at {_FROM} ORDER BY r.number LIMIT ? OFFSET ?"


@final
class Relations:
    """The relations of one store; every method is one or two SQL statements, each change a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def add(self, kind: Relation, owner: str, uid: str, at: int = 0) -> None:
        """Put `uid` into a relation to `owner` at a time, epoch seconds; one that exists stays as it is."""
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO relations VALUES(NULL,?,?,?,?)", (kind, owner, uid, at))

    def remove(self, kind: Relation, owner: str, uid: str) -> None:
        """End a relation; nothing happens where there is none."""
        with self._db:
            sql = "DELETE FROM relations WHERE kind = ? AND owner = ? AND uid = ?"
            self._db.execute(sql, (kind, owner, uid))

    def since(self, kind: Relation, owner: str, uid: str) -> int | None:
        """Return the time at which a relation began, epoch seconds; None where there is none."""
        sql = "SELECT at FROM relations WHERE kind = ? AND owner = ? AND uid = ?"
        row = self._db.execute(sql, (kind, owner, uid)).fetchone()
        return None if row is None else int(row[0])

    def uids(self, kind: Relation, owner: str) -> list[str]:
        """Return the users in a relation to `owner`, in the order of the beginnings."""
        sql = "SELECT uid FROM relations WHERE kind = ? AND owner = ? ORDER BY number"
        return [uid for (uid,) in self._db.execute(sql, (kind, owner))]

    def count(self, kind: Relation, owner: str) -> int:
        """Return how many users are in a relation to `owner`, those switched off included."""
        sql = "SELECT count(*) FROM relations WHERE kind = ? AND owner = ?"
        return int(self._db.execute(sql, (kind, owner)).fetchone()[0])

    def forget_user(self, uid: str) -> None:
        """End all relations of a user, in either direction."""
        with self._db:
            sql = "DELETE FROM relations WHERE uid = ? OR (owner = ? AND kind != 'banned')"
            self._db.execute(sql, (uid, uid))

    def list(
        self, kind: Relation, owner: str, page: int, size: int, *, prefix: str = ""
    ) -> tuple[RecordPage, list[int]]:
        """Return page `page` (from 1) of the users in a relation to `owner`, and since when each of them is.

        The users are in the order of the beginnings. `prefix`: of uid or name, without regard to case.
        """
        folded = prefix.casefold()
        values = (kind, owner, folded, folded)
        [total] = self._db.execute(_COUNT, values).fetchone()
        rows = self._db.execute(_LIST, (*values, size, (page - 1) * size)).fetchall()
        records = [record for record, _, _ in rows]
        return RecordPage(records, total, rows[-1][2] if rows else None), [at for _, at, _ in rows]
