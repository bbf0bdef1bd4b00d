"""The conversations of a store, as each of their users sees them.

Rules:
- A conversation begins with its first message, or is added without one. The table of them is
  brought up to date when it is read, so a message that is stored costs nothing for it.
- Users see the conversations that they send or receive in, and those of the groups that they are members of.
- The last message is the newest one that is no action; actions on messages move no conversation.
- What a user has read, reset, tagged or pinned is a row in `views`; without one, nothing was.
"""

import sqlite3
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from .documents import DocumentSet, Tables
from .message_index import conversation_id, conversation_list

Kind: TypeAlias = Literal["user", "group"]

_ADD_NEW: Final = """
INSERT OR IGNORE INTO conversations
SELECT conversation, receiver_type, sender, receiver, min(sent_at) FROM messages
WHERE id > ? AND conversation != '' AND receiver_type IN ('user', 'group') GROUP BY conversation
"""
_VIEWS: Final = """
SELECT s.uid, s.conversation, s.kind, s.party, s.created_at, coalesce(v.read_id, 0),
    coalesce(v.delivered_id, 0), coalesce(v.reset_id, 0), v.kept_at, v.tags, v.pinned_at
FROM (
    SELECT sender AS uid, receiver AS party, conversation, kind, created_at
    FROM conversations WHERE kind = 'user'
    UNION ALL
    SELECT receiver, sender, conversation, kind, created_at
    FROM conversations WHERE kind = 'user' AND sender != receiver
    UNION ALL
    SELECT m.uid, c.receiver, c.conversation, c.kind, c.created_at
    FROM conversations c JOIN members m ON m.guid = c.receiver WHERE c.kind = 'group'
) s LEFT JOIN views v ON v.uid = s.uid AND v.conversation = s.conversation
WHERE (? IS NULL OR s.uid = ?)
"""
_LAST: Final = """
SELECT m.id, m.sent_at FROM positions p JOIN messages m ON m.id = p.id
WHERE p.list = ? AND p.id > ? AND m.category != 'action' ORDER BY p.id DESC LIMIT 1
"""
_OTHERS: Final = """
FROM positions p JOIN messages m ON m.id = p.id WHERE p.list = ? AND p.id > ? AND m.sender != ?
"""
_UNREAD: Final = f"SELECT count(*) {_OTHERS} AND NOT m.read AND NOT m.deleted AND m.category != 'action'"
_IDS: Final = f"SELECT m.id {_OTHERS} AND p.id <= ? AND NOT m.COLUMN ORDER BY p.id"
_READ_IDS: Final = f"SELECT m.id {_OTHERS} AND m.read ORDER BY p.id"

_STORED: Final = ("read_id", "delivered_id", "reset_id", "kept_at", "tags", "pinned_at")


class ConversationView(NamedTuple):
    uid: str
    conversation: str
    kind: Kind
    party: str
    """The other user's uid, or the group's guid."""
    created_at: int = 0
    read_id: int = 0
    delivered_id: int = 0
    reset_id: int = 0
    """The last message that the user has removed from the own view; 0 for none."""
    kept_at: int | None = None
    """The time that a reset conversation keeps in the list."""
    tags: str | None = None
    pinned_at: int | None = None


def view_of(uid: str, kind: Kind, party: str) -> ConversationView:
    """Return the view of a user on a conversation that may have no message yet."""
    return ConversationView(
        uid, conversation_id(uid, party) if kind == "user" else f"group_{party}", kind, party
    )


class ConversationViews(Tables):
    """The conversations of one store, as users see them; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection, forget_matches: Callable[[], None]) -> None:
        super().__init__(db)
        self._forget_matches = forget_matches
        self._synced_id = 0
        self.app_pins: DocumentSet = DocumentSet(db, "conversations.pins", "")
        """The pins of the app, which are for all users."""
        self._users_with_resets = set[str]()

    def all(self, uid: str | None, conversation: str | None = None) -> list[ConversationView]:
        """Return the views of a user, or of all users; of one conversation, or of all that have messages."""
        self._find_new()
        sql, values = _VIEWS, [uid, uid]
        if conversation is not None:
            sql, values = f"{sql} AND s.conversation = ?", [*values, conversation]
        return [ConversationView(*row) for row in self._db.execute(sql, values)]

    def add(self, uid: str, party: str, at: int) -> None:
        """Add the conversation of two users that has no message yet; one that exists stays as it is."""
        self._find_new()
        sql = "INSERT OR IGNORE INTO conversations VALUES(?,'user',?,?,?)"
        self._change(sql, conversation_id(uid, party), uid, party, at)

    def last(self, view: ConversationView) -> tuple[int, int] | None:
        """Return id and time of the last message that a user sees; None if there is none."""
        row = self._db.execute(_LAST, (conversation_list(view.conversation), view.reset_id)).fetchone()
        return None if row is None else (row[0], row[1] or 0)

    def is_removed(self, view: ConversationView) -> bool:
        """Return True for a conversation that its user has reset, without a message since and without a place
        kept in the list.
        """
        return bool(view.reset_id) and view.kept_at is None and self.last(view) is None

    def unread_count(self, view: ConversationView) -> int:
        """Return how many messages of others a user has not read; actions and deleted ones do not count."""
        last_read = max(view.read_id, view.reset_id)
        return int(self._value(_UNREAD, *_named(view, last_read)))

    def last_of_others(self, view: ConversationView) -> int:
        sql = f"SELECT coalesce(max(m.id), 0) {_OTHERS} AND m.category != 'action'"
        return int(self._value(sql, *_named(view, 0)))

    def unmarked(self, view: ConversationView, column: Literal["read", "delivered"], id: int) -> list[int]:
        """Return the messages of others up to `id` that are not marked as read, or as delivered."""
        return self._column(_IDS.replace("COLUMN", column), *_named(view, 0), id)

    def read_since(self, view: ConversationView, id: int) -> list[int]:
        return self._column(_READ_IDS, *_named(view, id - 1))

    def set(self, view: ConversationView, **values: int | str | None) -> None:
        """Store what a user did with a conversation: columns of `views`."""
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        updates = ", ".join(f"{name} = excluded.{name}" for name in values)
        sql = f"INSERT INTO views(uid, conversation, {names}) VALUES(?, ?, {marks})"
        sql += f" ON CONFLICT(uid, conversation) DO UPDATE SET {updates}"
        self._change(sql, view.uid, view.conversation, *values.values())
        if values.get("reset_id"):
            self._users_with_resets.add(view.uid)
        self._forget_matches()

    def stored(self, view: ConversationView) -> ConversationView:
        sql = f"SELECT {', '.join(_STORED)} FROM views WHERE uid = ? AND conversation = ?"  # noqa: S608
        row = self._db.execute(sql, (view.uid, view.conversation)).fetchone()
        return view if row is None else view._replace(**dict(zip(_STORED, row, strict=True)))

    def pinned_count(self, uid: str) -> int:
        sql = "SELECT count(*) FROM views WHERE uid = ? AND pinned_at NOT NULL"
        return int(self._value(sql, uid))

    def has_resets(self, uid: str) -> bool:
        return uid in self._users_with_resets

    def forget(self) -> None:
        """Look for all conversations again, as all messages are gone."""
        self._synced_id = 0
        self._users_with_resets.clear()

    def _find_new(self) -> None:
        last = self._value("SELECT coalesce(max(id), 0) FROM messages")
        if last > self._synced_id:
            self._change(_ADD_NEW, self._synced_id)
            self._synced_id = last


def _named(view: ConversationView, id: int) -> tuple[str, int, str]:
    return conversation_list(view.conversation), id, view.uid
