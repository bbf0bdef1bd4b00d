"""Reactions of users to messages; how many there are of each is in the message itself."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, final

from msgspec.json import encode

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
    """Epoch seconds."""


@final
class Reactions:
    """The reactions to all messages of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        self._db = db
        self._forget_matches = forget_matches
        self._exist = bool(db.execute("SELECT EXISTS (SELECT 1 FROM reactions)").fetchone()[0])

    def add(self, message: int, reaction: str, uid: str, at: int) -> bool:
        """Add a reaction; False where the user has reacted so already."""
        sql = "INSERT OR IGNORE INTO reactions VALUES(NULL,?,?,?,?)"
        with self._db:
            is_new = self._db.execute(sql, (message, reaction, uid, at)).rowcount > 0
        self._exist = True
        self._forget_matches()
        return is_new

    def remove(self, message: int, reaction: str, uid: str) -> bool:
        """Remove a reaction; False where there is none."""
        sql = "DELETE FROM reactions WHERE message = ? AND reaction = ? AND uid = ?"
        with self._db:
            is_gone = self._db.execute(sql, (message, reaction, uid)).rowcount > 0
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
        """Return the user's reactions to these messages, by the message's id."""
        reactions: dict[int, set[str]] = {}
        if self._exist:
            for message, reaction in self._db.execute(_OF_USER, (uid, encode(ids).decode())):
                reactions.setdefault(message, set()).add(reaction)
        return reactions
