"""Marks on messages: pins for everybody, saves and thread subscriptions of single users, interactions."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, final

from msgspec.json import encode

from .documents import Tables
from .message_index import thread_list

_SAVED: Final = "SELECT id, saved_at FROM saves WHERE uid = ? AND id IN (SELECT value FROM json_each(?))"
_SUBSCRIBED: Final = "SELECT id FROM subscriptions WHERE uid = ? AND id IN (SELECT value FROM json_each(?))"
_USERS: Final = "SELECT uid FROM saves UNION SELECT uid FROM subscriptions"


@final
class MessageMarks(Tables):
    """The marks on all messages of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        super().__init__(db)
        self._forget_matches = forget_matches
        self._users = {uid for (uid,) in db.execute(_USERS)}

    def pin(self, id: int, conversation: str) -> None:
        self._mark("INSERT OR IGNORE INTO pins VALUES(?,?)", id, conversation)

    def unpin(self, id: int) -> None:
        self._mark("DELETE FROM pins WHERE id = ?", id)

    def pinned_count(self, conversation: str) -> int:
        return int(self._value("SELECT count(*) FROM pins WHERE conversation = ?", conversation))

    def save(self, id: int, uid: str, at: int) -> None:
        self._users.add(uid)
        self._mark("INSERT OR IGNORE INTO saves VALUES(?,?,?)", uid, id, at)

    def unsave(self, id: int, uid: str) -> None:
        self._mark("DELETE FROM saves WHERE uid = ? AND id = ?", uid, id)

    def saved_count(self, uid: str) -> int:
        return int(self._value("SELECT count(*) FROM saves WHERE uid = ?", uid))

    def subscribe(self, id: int, uid: str) -> None:
        self._users.add(uid)
        self._mark("INSERT OR IGNORE INTO subscriptions VALUES(?,?)", uid, id)

    def unsubscribe(self, id: int, uid: str) -> None:
        self._mark("DELETE FROM subscriptions WHERE uid = ? AND id = ?", uid, id)

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
        return set(self._column(_SUBSCRIBED, uid, encode(ids).decode()))

    def _mark(self, sql: str, *values: int | str) -> None:
        self._change(sql, *values)
        self._forget_matches()


_PAGE: Final = """
SELECT id, message, reaction, uid, reacted_at FROM reactions
WHERE message = ? AND (? IS NULL OR reaction = ?)
"""
_OF_USER: Final = """
SELECT message, reaction FROM reactions WHERE uid = ? AND message IN (SELECT value FROM json_each(?))
"""


class ReactionRow(NamedTuple):
    """One reaction of one user."""

    id: int
    message: int
    reaction: str
    uid: str
    reacted_at: int


@final
class Reactions(Tables):
    """The reactions to all messages of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        super().__init__(db)
        self._forget_matches = forget_matches
        self._exist = bool(self._value("SELECT EXISTS (SELECT 1 FROM reactions)"))

    def add(self, message: int, reaction: str, uid: str, at: int) -> bool:
        """Add a reaction; False where the user has reacted so already."""
        sql = "INSERT OR IGNORE INTO reactions VALUES(NULL,?,?,?,?)"
        is_new = self._change(sql, message, reaction, uid, at)
        self._exist = True
        self._forget_matches()
        return is_new

    def remove(self, message: int, reaction: str, uid: str) -> bool:
        sql = "DELETE FROM reactions WHERE message = ? AND reaction = ? AND uid = ?"
        is_gone = self._change(sql, message, reaction, uid)
        self._forget_matches()
        return is_gone

    def page(
        self, message: int, reaction: str | None, id: int | None, size: int, *, ascending: bool
    ) -> list[ReactionRow]:
        """Return at most `size` reactions to a message, after (or before) the reaction `id`, by their ids.

        `reaction` is the one emoji to list; None lists all.
        """
        sql, values = _PAGE, [message, reaction, reaction]
        if id is not None:
            sql += " AND id > ?" if ascending else " AND id < ?"
            values.append(id)
        sql += f" ORDER BY id {'ASC' if ascending else 'DESC'} LIMIT ?"
        return [ReactionRow(*row) for row in self._db.execute(sql, (*values, size))]

    def of_user(self, uid: str, ids: Sequence[int]) -> dict[int, set[str]]:
        reactions: dict[int, set[str]] = {}
        if self._exist:
            for message, reaction in self._db.execute(_OF_USER, (uid, encode(ids).decode())):
                reactions.setdefault(message, set()).add(reaction)
        return reactions


_THREADS: Final = """
SELECT m.id, count(*) AS replies, max(p.id) AS last, l.sent_at
FROM positions p JOIN messages m ON m.id = CAST(substr(p.list, 3) AS INTEGER) JOIN messages l ON l.id = p.id
WHERE p.list >= 't:' AND p.list < 't;' AND CONDITION
GROUP BY p.list HAVING BOUND ORDER BY l.sent_at ORDER_, p.list ORDER_
"""
_UNREAD: Final = """
SELECT count(*) FROM positions p JOIN messages m ON m.id = p.id
WHERE p.list = ? AND NOT m.read AND m.sender != ? AND m.id > coalesce(
    (SELECT read_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)
"""
_MENTIONS: Final = """
SELECT count(*) FROM positions p JOIN messages m ON m.id = p.id
WHERE p.list = ? AND m.mentions NOT NULL AND EXISTS (SELECT 1 FROM json_each(m.mentions) WHERE value = ?)
"""


class Thread(NamedTuple):
    """A message with replies."""

    id: int
    reply_count: int
    last_reply: int
    updated_at: int
    """When the newest reply was sent, in epoch seconds."""


@final
class Threads(Tables):
    def page(
        self, condition: str, values: tuple[str, ...], updated_at: int | None, size: int, *, ascending: bool
    ) -> list[Thread]:
        """Return the threads whose message `m` matches an SQL condition, after (or before) a time.

        At least `size` of them where there are so many: threads of one second are never torn, as a walk goes
        on from a second.
        """
        bound = "1" if updated_at is None else f"l.sent_at {'>' if ascending else '<'} {updated_at:d}"
        sql = _THREADS.replace("CONDITION", condition).replace("BOUND", bound)
        sql = sql.replace("ORDER_", "ASC" if ascending else "DESC")
        page: list[Thread] = []
        for row in self._db.execute(sql, values):
            thread = Thread(*row)
            if len(page) >= size and thread.updated_at != page[-1].updated_at:
                break
            page.append(thread)
        return page

    def unread_count(self, parent: int, uid: str) -> int:
        return int(self._value(_UNREAD, thread_list(str(parent)), uid, uid))

    def mention_count(self, parent: int, uid: str) -> int:
        return int(self._value(_MENTIONS, thread_list(str(parent)), uid))
