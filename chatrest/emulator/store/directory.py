"""Users, groups, the members of groups, and users in relation to others: blocked, friends, banned.

A record is stored as the JSON bytes that are served, without `tags`: a list shows those only `withTags`.
Users are listed in the order in which they were added.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec.json import decode, encode

from ...errors import RequestInvalidError
from .documents import Tables

SYSTEM: Final = {"uid": "app_system", "name": "System", "role": "default", "status": "available"}
"""The app itself, as a sender."""

_UPDATE: Final = """
UPDATE users SET (uid, folded_uid, folded_name, status, role, deactivated, updated_at, tags, record)
    = (?,?,?,?,?,?,?,?,?) WHERE uid = ?
"""


class RecordPage(NamedTuple):
    """A page of records that are JSON."""

    records: list[bytes]
    total: int
    """All that match, on whatever page."""
    updated_at: int | None = None
    """`updatedAt` of the last record; None if the page is empty, and where the records have none."""


class Directory(Tables):
    """The users and groups of one store; every method is a few SQL statements."""

    def add_users(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Store user records, each with `uid` and `name`; `RequestInvalidError` for a uid that exists."""
        rows = [_user_row(record) for record in records]
        try:
            self._db.executemany("INSERT INTO users VALUES(NULL,?,?,?,?,?,?,?,?,?)", rows)
        except sqlite3.IntegrityError:
            raise RequestInvalidError("uid: one of the users exists already") from None

    def add_group(self, record: Mapping[str, Any], password: str | None = None) -> None:
        """Store a group record, with `guid`; `RequestInvalidError` for a guid that exists."""
        try:
            sql = "INSERT INTO groups(guid, record, password) VALUES(?,?,?)"
            self._db.execute(sql, (record["guid"], encode(record), password))
        except sqlite3.IntegrityError:
            raise RequestInvalidError(f"guid = {record['guid']!r}: this group exists already") from None

    def user(self, uid: str, *, with_tags: bool = False, with_deactivated: bool = False) -> bytes | None:
        """Return the user's record; None if there is none, or where the user is switched off."""
        sql = "SELECT record, tags FROM users WHERE uid = ? AND (? OR NOT deactivated)"
        row = self._db.execute(sql, (uid, with_deactivated)).fetchone()
        if row is None:
            return None
        record, tags = row
        return spliced(record, "tags", tags.encode()) if with_tags and tags is not None else record

    def update_user(self, record: Mapping[str, Any]) -> None:
        """Give the user of the record's `uid` this record, tags included; its place in the list stays."""
        self._change(_UPDATE, *_user_row(record), record["uid"])

    def remove_user(self, uid: str) -> None:
        self._change("DELETE FROM users WHERE uid = ?", uid)

    def is_taken(self, uid: str) -> bool:
        """Return True for a uid that was ever given, to a user that is switched off too."""
        return self._value("SELECT 1 FROM users WHERE uid = ?", uid) is not None

    def group(self, guid: str) -> bytes | None:
        record: bytes | None = self._value("SELECT record FROM groups WHERE guid = ?", guid)
        return record

    def uids(self) -> list[str]:
        """Return every uid, in the order of the list, those of users switched off included."""
        return self._column("SELECT uid FROM users ORDER BY number")

    def first_and_last(self) -> tuple[str, str] | None:
        """Return the uids of the first and the last user of the list, who may be one; None for no users."""
        first = self._value("SELECT uid FROM users ORDER BY number LIMIT 1")
        return first and (first, self._value("SELECT uid FROM users ORDER BY number DESC LIMIT 1"))

    def replace_group(self, guid: str, record: Mapping[str, Any], password: str | None) -> None:
        sql = "UPDATE groups SET record = ?, password = ? WHERE guid = ?"
        self._change(sql, encode(record), password, guid)

    def group_password(self, guid: str) -> str | None:
        password: str | None = self._value("SELECT password FROM groups WHERE guid = ?", guid)
        return password

    def remove_group(self, guid: str) -> None:
        """Remove a group with its members and its bans; its messages stay."""
        with self._db:
            self._db.execute("DELETE FROM groups WHERE guid = ?", (guid,))
            self._db.execute("DELETE FROM members WHERE guid = ?", (guid,))
            self._db.execute("DELETE FROM relations WHERE kind = 'banned' AND owner = ?", (guid,))

    def tags(self, uid: str) -> list[str]:
        tags = self._value("SELECT tags FROM users WHERE uid = ?", uid)
        return decode(tags, type=list[str]) if tags else []

    def entity(self, receiver_type: str, receiver: str) -> dict[str, Any]:
        """Return the entity wrapper of a user or a group, as it is in a message's `data.entities`."""
        raw = self.user(receiver) if receiver_type == "user" else self.group(receiver)
        record = dict(SYSTEM) if raw is None else decode(raw, type=dict[str, Any])
        if receiver_type == "user":
            names = ("uid", "name", "role", "status", "avatar")
            record = {name: record[name] for name in names if name in record}
        return {"entity": record, "entityType": receiver_type}


def spliced(record: bytes, name: str, value: bytes) -> bytes:
    return b'%b,"%b":%b}' % (record[:-1], name.encode(), value)


def _user_row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    tags = record.get("tags")
    stored = {name: value for name, value in record.items() if name != "tags"}
    return (
        record["uid"],
        record["uid"].casefold(),
        record["name"].casefold(),
        record.get("status", "offline"),
        record.get("role", "default"),
        int(bool(record.get("deactivatedAt"))),
        record.get("updatedAt", record.get("createdAt", 0)),
        encode(tags).decode() if tags else None,
        encode(stored),
    )


# ── members and relations ──


_COUNT: Final = """
UPDATE groups SET record = CAST(json_set(CAST(record AS TEXT), '$.membersCount',
    (SELECT count(*) FROM members WHERE guid = ?)) AS BLOB) WHERE guid = ?
"""


class Membership(NamedTuple):
    scope: str
    joined_at: int


class Memberships(Tables):
    """The members of all groups; every method is a few SQL statements, each change a transaction."""

    def insert(self, rows: Iterable[tuple[str, str, Membership]]) -> None:
        """Store members (guid, uid, member) inside a transaction of the caller's; counts are not touched."""
        values = ((guid, uid, *member) for guid, uid, member in rows)
        self._db.executemany("INSERT INTO members VALUES(NULL,?,?,?,?)", values)

    def add(self, guid: str, uid: str, scope: str = "participant", joined_at: int = 0) -> None:
        """Add a member, who must be none so far; `scope` is admin, moderator or participant."""
        with self._db:
            self.insert([(guid, uid, Membership(scope, joined_at))])
            self._count(guid)

    def remove(self, guid: str, uid: str) -> None:
        """Remove a member; nothing happens for another user."""
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

    def member(self, guid: str, uid: str) -> Membership | None:
        sql = "SELECT scope, joined_at FROM members WHERE guid = ? AND uid = ?"
        row = self._db.execute(sql, (guid, uid)).fetchone()
        return None if row is None else Membership(*row)

    def uids(self, guid: str) -> list[str]:
        """Return the uids of all members, in the order in which they joined."""
        return self._column("SELECT uid FROM members WHERE guid = ? ORDER BY number", guid)

    def guids(self, uid: str) -> list[str]:
        return self._column("SELECT guid FROM members WHERE uid = ?", uid)

    def _count(self, guid: str) -> None:
        self._db.execute(_COUNT, (guid, guid))


Relation: TypeAlias = Literal["banned", "blocked", "friend"]


class Relations(Tables):
    """The relations of one store; every method is one or two SQL statements, each change a transaction."""

    def add(self, kind: Relation, owner: str, uid: str, at: int = 0) -> None:
        """Put `uid` into a relation to `owner` at a time, epoch seconds; one that exists stays as it is."""
        self._change("INSERT OR IGNORE INTO relations VALUES(NULL,?,?,?,?)", kind, owner, uid, at)

    def remove(self, kind: Relation, owner: str, uid: str) -> None:
        """End a relation; nothing happens where there is none."""
        self._change("DELETE FROM relations WHERE kind = ? AND owner = ? AND uid = ?", kind, owner, uid)

    def since(self, kind: Relation, owner: str, uid: str) -> int | None:
        """Return the time at which a relation began, epoch seconds; None if there is none."""
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
        return int(self._value("SELECT count(*) FROM relations WHERE kind = ? AND owner = ?", kind, owner))

    def forget_user(self, uid: str) -> None:
        """End all relations of a user, in either direction."""
        self._change("DELETE FROM relations WHERE uid = ? OR (owner = ? AND kind != 'banned')", uid, uid)
