"""Members of groups, and bans from them: a table each, and the count in the group's record."""

import sqlite3
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias, final

from msgspec.json import encode

from .directory import Directory, RecordPage, spliced
from .tables import Tables

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
class Memberships(Tables):
    """The members of all groups; every method is a few SQL statements, each change a transaction."""

    def __init__(self, db: sqlite3.Connection, directory: Directory) -> None:
        super().__init__(db)
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
        self._change("UPDATE members SET scope = ? WHERE guid = ? AND uid = ?", scope, guid, uid)

    def ban(self, guid: str, uid: str, at: int = 0) -> None:
        """Ban a user at a time, epoch seconds; the user is no member from then on."""
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO relations VALUES(NULL,'banned',?,?,?)", (guid, uid, at))
            self._db.execute("DELETE FROM members WHERE guid = ? AND uid = ?", (guid, uid))
            self._count(guid)

    def member(self, guid: str, uid: str) -> Member | None:
        sql = "SELECT scope, joined_at FROM members WHERE guid = ? AND uid = ?"
        row = self._db.execute(sql, (guid, uid)).fetchone()
        return None if row is None else Member(*row)

    def uids(self, guid: str) -> list[str]:
        """Return the uids of all members, in the order in which they joined."""
        return self._column("SELECT uid FROM members WHERE guid = ? ORDER BY number", guid)

    def guids(self, uid: str) -> list[str]:
        return self._column("SELECT guid FROM members WHERE uid = ?", uid)

    def list(
        self, guid: str, page: int, size: int, *, status: str | None = None, scopes: tuple[str, ...] = ()
    ) -> RecordPage:
        """Return page `page` (from 1) of the members: user records with `scope` and `joinedAt`.

        `scopes`: one of these; empty for all. Members that are switched off are left out.
        """
        values = (guid, status, status, not scopes, encode(scopes).decode())
        total: int = self._value(_COUNT, *values)
        rows = self._db.execute(_LIST, (*values, size, (page - 1) * size)).fetchall()
        records = [_record(record, scope, joined_at) for record, _, scope, joined_at in rows]
        return RecordPage(records, total, rows[-1][1] if rows else None)

    def _count(self, guid: str) -> None:
        count = self._value("SELECT count(*) FROM members WHERE guid = ?", guid)
        self._directory.update_group(guid, membersCount=count)


def _record(user: bytes, scope: str, joined_at: int) -> bytes:
    return spliced(spliced(user, "scope", encode(scope)), "joinedAt", encode(joined_at))


Relation: TypeAlias = Literal["banned", "blocked", "friend"]

_RELATED: Final = """
FROM relations r JOIN users u ON u.uid = r.uid WHERE r.kind = ? AND r.owner = ? AND NOT u.deactivated
    AND (instr(u.folded_uid, ?) = 1 OR instr(u.folded_name, ?) = 1)
"""
_COUNT_RELATED: Final = f"SELECT count(*) {_RELATED}"
_LIST_RELATED: Final = f"SELECT u.record, r.at, u.updated_at {_RELATED} ORDER BY r.number LIMIT ? OFFSET ?"


@final
class Relations(Tables):
    """The relations of one store; every method is one or two SQL statements, each change a transaction."""

    def add(self, kind: Relation, owner: str, uid: str, at: int = 0) -> None:
        """Put `uid` into a relation to `owner` at a time, epoch seconds; one that exists stays as it is."""
        self._change("INSERT OR IGNORE INTO relations VALUES(NULL,?,?,?,?)", kind, owner, uid, at)

    def remove(self, kind: Relation, owner: str, uid: str) -> None:
        """End a relation; nothing happens where there is none."""
        self._change("DELETE FROM relations WHERE kind = ? AND owner = ? AND uid = ?", kind, owner, uid)

    def since(self, kind: Relation, owner: str, uid: str) -> int | None:
        """Return the time at which a relation began, epoch seconds; None where there is none."""
        sql = "SELECT at FROM relations WHERE kind = ? AND owner = ? AND uid = ?"
        at: int | None = self._value(sql, kind, owner, uid)
        return at

    def has(self, kind: Relation, owner: str, uid: str) -> bool:
        return self.since(kind, owner, uid) is not None

    def uids(self, kind: Relation, owner: str) -> list[str]:
        """Return the users in a relation to `owner`, in the order of the beginnings."""
        sql = "SELECT uid FROM relations WHERE kind = ? AND owner = ? ORDER BY number"
        return self._column(sql, kind, owner)

    def count(self, kind: Relation, owner: str) -> int:
        """Return how many users are in a relation to `owner`, those switched off included."""
        return int(self._value("SELECT count(*) FROM relations WHERE kind = ? AND owner = ?", kind, owner))

    def forget_user(self, uid: str) -> None:
        """End all relations of a user, in either direction."""
        self._change("DELETE FROM relations WHERE uid = ? OR (owner = ? AND kind != 'banned')", uid, uid)

    def list(
        self, kind: Relation, owner: str, page: int, size: int, *, prefix: str = ""
    ) -> tuple[RecordPage, list[int]]:
        """Return page `page` (from 1) of the users in a relation to `owner`, and since when each of them is.

        The users are in the order of the beginnings. `prefix`: of uid or name, without regard to case.
        """
        folded = prefix.casefold()
        values = (kind, owner, folded, folded)
        total: int = self._value(_COUNT_RELATED, *values)
        rows = self._db.execute(_LIST_RELATED, (*values, size, (page - 1) * size)).fetchall()
        records = [record for record, _, _ in rows]
        return RecordPage(records, total, rows[-1][2] if rows else None), [at for _, at, _ in rows]
