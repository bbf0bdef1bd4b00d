"""Marks on messages: pins for everybody, saves and thread subscriptions of single users, interactions."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from msgspec.json import encode

_SAVED: Final = "SELECT id, saved_at FROM saves WHERE uid = ? AND id IN (SELECT value FROM json_each(?))"
_SUBSCRIBED: Final = "SELECT id FROM subscriptions WHERE uid = ? AND id IN (SELECT value FROM json_each(?))"
_USERS: Final = "SELECT uid FROM saves UNION SELECT uid FROM subscriptions"


@final
class MessageMarks:
    """The marks on all messages of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        self._db = db
        self._forget_matches = forget_matches
        self._users = {uid for (uid,) in db.execute(_USERS)}

    def pin(self, id: int, conversation: str) -> None:
        """Pin a message in its conversation."""
        self._change("INSERT OR IGNORE INTO pins VALUES(?,?)", (id, conversation))

    def unpin(self, id: int) -> None:
        """Unpin a message."""
        self._change("DELETE FROM pins WHERE id = ?", (id,))

    def pinned_count(self, conversation: str) -> int:
        """Return how many messages of a conversation are pinned."""
        return self._count("SELECT count(*) FROM pins WHERE conversation = ?", conversation)

    def save(self, id: int, uid: str, at: int) -> None:
        """Save a message for a user; the first time stays."""
        self._users.add(uid)
        self._change("INSERT OR IGNORE INTO saves VALUES(?,?,?)", (uid, id, at))

    def unsave(self, id: int, uid: str) -> None:
        """Drop a message that a user has saved."""
        self._change("DELETE FROM saves WHERE uid = ? AND id = ?", (uid, id))

    def saved_count(self, uid: str) -> int:
        """Return how many messages a user has saved."""
        return self._count("SELECT count(*) FROM saves WHERE uid = ?", uid)

    def subscribe(self, id: int, uid: str) -> None:
        """Subscribe a user to the thread of a message."""
        self._users.add(uid)
        self._change("INSERT OR IGNORE INTO subscriptions VALUES(?,?)", (uid, id))

    def unsubscribe(self, id: int, uid: str) -> None:
        """End a user's subscription."""
        self._change("DELETE FROM subscriptions WHERE uid = ? AND id = ?", (uid, id))

    def interact(self, id: int, uid: str, elements: Iterable[str], at: int) -> None:
        """Note which elements of a message a user has used; the first time of each stays."""
        with self._db:
            rows = [(id, uid, element, at) for element in elements]
            self._db.executemany("INSERT OR IGNORE INTO interactions VALUES(?,?,?,?)", rows)

    def interactions(self, id: int, uid: str) -> dict[str, int]:
        """Return the elements of a message that a user has used, with the time of each in epoch seconds."""
        sql = "SELECT element, interacted_at FROM interactions WHERE id = ? AND uid = ?"
        return dict(self._db.execute(sql, (id, uid)))

    def saved(self, uid: str, ids: Sequence[int]) -> dict[int, int]:
        """Return those of these messages that a user has saved, with the time of each in epoch seconds."""
        return dict(self._db.execute(_SAVED, (uid, encode(ids).decode()))) if uid in self._users else {}

    def subscribed(self, uid: str, ids: Sequence[int]) -> set[int]:
        """Return those of these messages whose threads a user is subscribed to."""
        if uid not in self._users:
            return set()
        return {number for (number,) in self._db.execute(_SUBSCRIBED, (uid, encode(ids).decode()))}

    def _count(self, sql: str, value: str) -> int:
        count: int = self._db.execute(sql, (value,)).fetchone()[0]
        return count

    def _change(self, sql: str, values: tuple[int | str, ...]) -> None:
        with self._db:
            self._db.execute(sql, values)
        self._forget_matches()
