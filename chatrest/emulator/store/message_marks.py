"""Marks on messages: pins for everybody; saves, subscriptions, interactions and reactions of single users."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.json import encode

from .documents import Tables

Kind: TypeAlias = Literal["pin", "save", "subscription", "interaction", "reaction"]

_OF_OWNER: Final = "SELECT * FROM marks WHERE owner = ? AND message IN (SELECT value FROM json_each(?))"
_OF_OWNER_BETWEEN: Final = "SELECT * FROM marks WHERE owner = ? AND message BETWEEN ? AND ?"
_DENSE: Final = 20
"""A range of at most so many ids for each wanted one is read faster than the wanted ones one by one."""
_REACTIONS: Final = """
SELECT * FROM marks WHERE kind = 'reaction' AND message = ? AND (? IS NULL OR value = ?) AND id BEYOND ?
ORDER BY id ORDER_ LIMIT ?
"""


class Mark(NamedTuple):
    id: int
    kind: Kind
    message: int
    owner: str
    """The user; of a pin the conversation."""
    value: str
    """The emoji of a reaction, the element of an interaction; "" for the other kinds."""
    at: int
    """In epoch seconds."""


class MessageMarks(Tables):
    """The marks on all messages of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        super().__init__(db)
        self._forget_matches = forget_matches
        self._owners = set(self._column("SELECT DISTINCT owner FROM marks"))

    def add(self, kind: Kind, message: int, owner: str, at: int = 0, value: str = "") -> bool:
        """Store a mark; False if it is there already, and then it keeps its time."""
        self._owners.add(owner)
        sql = "INSERT OR IGNORE INTO marks VALUES(NULL,?,?,?,?,?)"
        return self._mark(sql, kind, message, owner, value, at)

    def insert(self, marks: Iterable[Mark]) -> None:
        """Store many new marks, each with a new id, within the caller's transaction."""
        for mark in marks:
            self._db.execute("INSERT INTO marks VALUES(NULL,?,?,?,?,?)", mark[1:])
            self._owners.add(mark.owner)

    def remove(self, kind: Kind, message: int, owner: str, value: str = "") -> bool:
        """Remove a mark; False if there is none."""
        sql = "DELETE FROM marks WHERE kind = ? AND message = ? AND owner = ? AND value = ?"
        return self._mark(sql, kind, message, owner, value)

    def _mark(self, sql: str, *values: int | str) -> bool:
        has_changed = self._change(sql, *values)
        self._forget_matches()
        return has_changed

    def count(self, kind: Kind, owner: str) -> int:
        return int(self._value("SELECT count(*) FROM marks WHERE owner = ? AND kind = ?", owner, kind))

    def of(self, owner: str, ids: Sequence[int]) -> list[Mark]:
        """Return the marks of a user on these messages; there may be some on messages between them, too."""
        if owner not in self._owners or not ids:
            return []
        first, last = min(ids), max(ids)
        if last - first < _DENSE * len(ids):
            return [*map(Mark._make, self._db.execute(_OF_OWNER_BETWEEN, (owner, first, last)))]
        return [*map(Mark._make, self._db.execute(_OF_OWNER, (owner, encode(ids).decode())))]

    def reactions(
        self, message: int, emoji: str | None, id: int | None, size: int, *, ascending: bool = True
    ) -> list[Mark]:
        """Return the first reactions to a message beyond an id, of one emoji or of all, by their ids."""
        signs = (">", "ASC", 0) if ascending else ("<", "DESC", 2**63 - 1)
        sql = _REACTIONS.replace("BEYOND", signs[0]).replace("ORDER_", signs[1])
        values = (message, emoji, emoji, signs[2] if id is None else id, size)
        return [*map(Mark._make, self._db.execute(sql, values))]


_THREADS: Final = """
SELECT m.id, count(*) AS replies, max(p.id) AS last, l.sent_at
FROM positions p JOIN messages m ON m.id = CAST(substr(p.list, 3) AS INTEGER) JOIN messages l ON l.id = p.id
WHERE p.list >= 't:' AND p.list < 't;' AND CONDITION
GROUP BY p.list HAVING BOUND ORDER BY l.sent_at ORDER_, p.list ORDER_
"""


class Thread(NamedTuple):
    """A message with replies."""

    id: int
    reply_count: int
    last_reply: int
    updated_at: int
    """When the newest reply was sent, in epoch seconds."""


class Threads(Tables):
    def page(
        self,
        condition: str,
        values: tuple[str | int, ...],
        updated_at: int | None,
        size: int,
        *,
        ascending: bool,
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
