"""The threads of a store: messages that have replies, in the order of the newest reply."""

import sqlite3
from typing import Final, NamedTuple, final

from .message_index import thread_list

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
class Threads:
    """The threads of one store, to be read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

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
        """Return how many replies of others a user has not read."""
        return self._count(_UNREAD, (thread_list(str(parent)), uid, uid))

    def mention_count(self, parent: int, uid: str) -> int:
        """Return how many replies mention a user."""
        return self._count(_MENTIONS, (thread_list(str(parent)), uid))

    def _count(self, sql: str, values: tuple[str, ...]) -> int:
        count: int = self._db.execute(sql, values).fetchone()[0]
        return count
