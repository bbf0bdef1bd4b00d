"""Members of groups, and bans from them: a table each, and the count in the group's record."""

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple, final

from msgspec.json import encode

from .directory import Directory, RecordPage, spliced

_FROM: Final = """
FROM members m JOIN users u ON u.uid = m.uid WHERE m.guid = ? AND NOT u.deactivated
    AND (? IS NULL OR u.status = ?) AND (? OR m.scope IN (SELECT value FROM json_each(?)))
"""
_COUNT: Final = f"SELECT count(*) {_FROM}"
_LIST: Final = f"""
SELECT u.record, u.updated_at, m.scope, m.joined_at {_FROM} ORDER BY m.number LIMIT ? OFFSET ?
"""


class Member(NamedTuple):
    """The part of a user in a group."""

    scope: str
    joined_at: int
    """Epoch seconds."""


@final
class Memberships:
    """The members of all groups; every method is a few SQL statements, each change a transaction."""

    def __init__(self, db: sqlite3.Connection, directory: Directory) -> None:
        self._db = db
        self._directory = directory

    def insert(self, rows: Iterable[tuple[str, str, Member]]) -> None:
        """Store members (guid, uid, member) inside a transaction of the caller's; counts are not touched."""
        values = ((guid, uid, *member) for guid, uid, member in rows)
        self._db.executemany("INSERT INTO members VALUES(NULL,?,?,?,?)", values)

    def add(self, guid: str, uid: str, member: Member) -> None:
        """Add a member, who must be none so far."""
        with self._db:
            self.insert([(guid, uid, member)])
            self._count(guid)

    def remove(self, guid: str, uid: str) -> None:
        """Remove a member; nothing happens where the user is none."""
        with self._db:
            self._db.execute("DELETE FROM members WHERE guid = ? AND uid = ?", (guid, uid))
            self._count(guid)

    def change_scope(self, guid: str, uid: str, scope: str) -> None:
        """Give a member another scope."""
        with self._db:
            sql = "UPDATE members SET scope = ? WHERE guid = ? AND uid = ?"
            self._db.execute(sql, (scope, guid, uid))

    def ban(self, guid: str, uid: str, at: int = 0) -> None:
        """Ban a user at a time, epoch seconds; the user is no member from then on."""
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO relations VALUES(NULL,'banned',?,?,?)", (guid, uid, at))
            self._db.execute("DELETE FROM members WHERE guid = ? AND uid = ?", (guid, uid))
            self._count(guid)

    def is_banned(self, guid: str, uid: str) -> bool:
        """Return True for a user that is banned from the group."""
        sql = "SELECT 1 FROM relations WHERE kind = 'banned' AND owner = ? AND uid = ?"
        return self._db.execute(sql, (guid, uid)).fetchone() is not None

    def member(self, guid: str, uid: str) -> Member | None:
        """Return the member of that uid; None where the user is none."""
        sql = "SELECT scope, joined_at FROM members WHERE guid = ? AND uid = ?"
        row = self._db.execute(sql, (guid, uid)).fetchone()
        return None if row is None else Member(*row)

    def uids(self, guid: str) -> list[str]:
        """Return the uids of all members, in the order in which they joined."""
        sql = "SELECT uid FROM members WHERE guid = ? ORDER BY number"
        return [uid for (uid,) in self._db.execute(sql, (guid,))]

    def guids(self, uid: str) -> list[str]:
        """Return the guids of all groups that a user is a member of."""
        return [guid for (guid,) in self._db.execute("SELECT guid FROM members WHERE uid = ?", (uid,))]

    def list(
        self, guid: str, page: int, size: int, *, status: str | None = None, scopes: tuple[str, ...] = ()
    ) -> RecordPage:
        """Return page `page` (from 1) of the members: user records with `scope` and `joinedAt`.

        `scopes`: one of these; empty for all. Members that are switched off are left out.
        """
        values = (guid, status, status, not scopes, encode(scopes).decode())
        [total] = self._db.execute(_COUNT, values).fetchone()
        rows = self._db.execute(_LIST, (*values, size, (page - 1) * size)).fetchall()
        records = [_record(record, scope, joined_at) for record, _, scope, joined_at in rows]
        return RecordPage(records, total, rows[-1][1] if rows else None)

    def _count(self, guid: str) -> None:
        [count] = self._db.execute("SELECT count(*) FROM members WHERE guid = ?", (guid,)).fetchone()
        self._directory.update_group(guid, membersCount=count)


def _record(user: bytes, scope: str, joined_at: int) -> bytes:
    return spliced(spliced(user, "scope", encode(scope)), "joinedAt", encode(joined_at))
