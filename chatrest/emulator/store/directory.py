"""Users, groups and auth tokens: the part of the store that is not messages.

A record is kept as the JSON bytes that are served; `tags` apart, because a list shows them only where it
is asked `withTags`. Users are listed in the order in which they came.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, final

from msgspec.json import decode, encode

from ...errors import RequestInvalidError

SYSTEM: Final = {"uid": "app_system", "name": "System", "role": "default", "status": "available"}
"""The app itself, as a sender (operations table, `on_behalf_of`)."""

_COUNT: Final = "SELECT count(*) FROM users WHERE CONDITION"
_LIST: Final = "SELECT record, tags, updated_at FROM users WHERE CONDITION ORDER BY number LIMIT ? OFFSET ?"


class Listing(NamedTuple):
    """A page of users."""

    rows: list[bytes]
    total: int
    """All that match, on whatever page."""
    updated_at: int | None
    """`updatedAt` of the last row; None where the page is empty."""


@final
class People:
    """The users, groups and tokens of one store; every method is one or two SQL statements."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def add_users(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Files user records, each with `uid` and `name`; `RequestInvalidError` for a uid that is taken."""
        rows = [_user_row(record) for record in records]
        try:
            self._db.executemany("INSERT INTO users VALUES(NULL,?,?,?,?,?,?,?,?,?)", rows)
        except sqlite3.IntegrityError:
            raise RequestInvalidError("uid: one of the users exists already") from None

    def add_group(self, record: Mapping[str, Any]) -> None:
        """Files a group record, with `guid`; `RequestInvalidError` for a guid that is taken."""
        try:
            self._db.execute("INSERT INTO groups VALUES(?,?)", (record["guid"], encode(record)))
        except sqlite3.IntegrityError:
            raise RequestInvalidError(f"guid = {record['guid']!r}: this group exists already") from None

    def user(self, uid: str, *, with_tags: bool = False) -> bytes | None:
        """The user's record; None where there is none, or where the user is switched off."""
        sql = "SELECT record, tags FROM users WHERE uid = ? AND NOT deactivated"
        found = self._db.execute(sql, (uid,)).fetchone()
        return None if found is None else _tagged(*found) if with_tags else found[0]

    def taken(self, uid: str) -> bool:
        """Whether a user of this uid was ever made, switched off or not."""
        return self._db.execute("SELECT 1 FROM users WHERE uid = ?", (uid,)).fetchone() is not None

    def group(self, guid: str) -> bytes | None:
        """The group's record, or None."""
        found = self._db.execute("SELECT record FROM groups WHERE guid = ?", (guid,)).fetchone()
        return None if found is None else found[0]

    def uids(self) -> list[str]:
        """Every uid, in the order of the list, those of users switched off included."""
        return [uid for (uid,) in self._db.execute("SELECT uid FROM users ORDER BY number")]

    def guids(self) -> list[str]:
        """Every guid, in the order in which the groups came."""
        return [guid for (guid,) in self._db.execute("SELECT guid FROM groups ORDER BY rowid")]

    def list_users(
        self, where: str, values: tuple[Any, ...], *, page: int, size: int, with_tags: bool = False
    ) -> Listing:
        """Page `page` (from 1) of the users that match an SQL condition."""
        total: int = self._db.execute(_COUNT.replace("CONDITION", where), values).fetchone()[0]
        sql, skipped = _LIST.replace("CONDITION", where), (page - 1) * size
        found = self._db.execute(sql, (*values, size, skipped)).fetchall()
        rows = [_tagged(record, tags) if with_tags else record for record, tags, _ in found]
        return Listing(rows, total, found[-1][2] if found else None)

    def block(self, uid: str, blocked: str) -> None:
        """Lets `uid` block another user: seen by `mentionsWithBlockedInfo`."""
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO blocks VALUES(?,?)", (uid, blocked))

    def blocks(self, uid: str, blocked: str) -> bool:
        """Whether `uid` has blocked the other."""
        sql = "SELECT 1 FROM blocks WHERE uid = ? AND blocked = ?"
        return self._db.execute(sql, (uid, blocked)).fetchone() is not None

    def tags(self, uid: str) -> list[str]:
        """The tags of a user; none for a user not known."""
        found = self._db.execute("SELECT tags FROM users WHERE uid = ?", (uid,)).fetchone()
        return decode(found[0], type=list[str]) if found and found[0] else []

    def token(self, uid: str, at: int, scope: Mapping[str, Any], *, fresh: bool) -> bytes:
        """An auth token of the user: the newest of the same scope, or a new one where `fresh` or none."""
        key = encode(scope, order="deterministic").decode()
        sql = "SELECT record FROM tokens WHERE uid = ? AND scope = ? ORDER BY number DESC LIMIT 1"
        found = None if fresh else self._db.execute(sql, (uid, key)).fetchone()
        if found is not None:
            return bytes(found[0])
        number = self._db.execute("SELECT coalesce(max(number), 0) + 1 FROM tokens").fetchone()[0]
        digest = hashlib.sha256(f"{uid}\0{number}".encode()).hexdigest()[:40]
        record = encode({"uid": uid, "authToken": f"{uid}_{digest}", "createdAt": at, **scope})
        with self._db:
            self._db.execute("INSERT INTO tokens VALUES(?,?,?,?)", (number, uid, key, record))
        return record

    def entity(self, receiver_type: str, receiver: str) -> dict[str, Any]:
        """The entity wrapper of a user or a group, as it stands in a message's `data.entities`."""
        raw = self.user(receiver) if receiver_type == "user" else self.group(receiver)
        record = dict(SYSTEM) if raw is None else decode(raw, type=dict[str, Any])
        if receiver_type == "user":
            names = ("uid", "name", "role", "status", "avatar")
            record = {name: record[name] for name in names if name in record}
        return {"entity": record, "entityType": receiver_type}


def spliced(record: bytes, name: str, value: bytes) -> bytes:
    """The JSON object `record` with one more member at its end."""
    return b'%b,"%b":%b}' % (record[:-1], name.encode(), value)


def _tagged(record: bytes, tags: str | None) -> bytes:
    return record if tags is None else spliced(record, "tags", tags.encode())


def _user_row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    tags = record.get("tags")
    kept = {name: value for name, value in record.items() if name != "tags"}
    return (
        record["uid"],
        record["uid"].casefold(),
        record["name"].casefold(),
        record.get("status", "offline"),
        record.get("role", "default"),
        int(bool(record.get("deactivatedAt"))),
        record.get("updatedAt", record.get("createdAt", 0)),
        encode(tags).decode() if tags else None,
        encode(kept),
    )
