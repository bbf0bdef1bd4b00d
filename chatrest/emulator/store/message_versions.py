"""Changes of stored messages: another version in the place of one, and removal.

Rules:
- A change keeps a message's place in its lists; its columns are read from the new version.
- The cached matches of all filters are forgotten, as any of them may go by what has changed.
- A removal moves the later messages of its lists up by one, so it costs more, the older the message is.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.json import encode

from .message_index import COLUMNS, IndexedMessage, index_message
from .message_lists import MessageLists

_NAMES: Final = [column.split()[0] for column in COLUMNS]
_UPDATE: Final = f"UPDATE messages SET {', '.join(f'{name} = ?' for name in _NAMES[1:])} WHERE id = ?"  # noqa: S608
_CHANGE: Final = "INSERT OR REPLACE INTO changes VALUES(?,?,?)"
_QUOTE: Final = "INSERT OR REPLACE INTO quotes VALUES(?)"
_MOVE_UP: Final = "UPDATE positions SET position = position - 1 WHERE list = ? AND id > ?"
_TABLES: Final = (
    "messages", "records", "changes", "quotes", "pins", "saves", "subscriptions", "interactions"
)  # fmt: skip
LOST_WITH_MESSAGES: Final = (*_TABLES, "positions", "reactions", "conversations", "views")
"""The tables that have nothing without messages."""
_DELETIONS: Final = (
    *(f"DELETE FROM {table} WHERE id = ?" for table in _TABLES),  # noqa: S608
    "DELETE FROM reactions WHERE message = ?",
)


class MessageVersions(MessageLists):
    """The messages of one store, to be read and changed."""

    def forget_matches(self) -> None:
        """Search anew for what filters match, as messages or what filters know of them have changed."""
        self._matches.clear()

    def rewrite(self, versions: Mapping[int, Mapping[str, Any]]) -> None:
        """Serve other versions of messages, by id; filters go by them, `tags` included."""
        messages = [index_message(encode(version), number - 1) for number, version in versions.items()]
        with self._db:
            self._db.executemany(
                _UPDATE, [(*message.columns[1:], message.columns[0]) for message in messages]
            )
            records = [(message.record, message.columns[0]) for message in messages]
            self._db.executemany("UPDATE records SET record = ? WHERE id = ?", records)
            self._note_changes(messages)
        self.forget_matches()

    def remove(self, ids: Iterable[int]) -> None:
        """Remove messages for good, with all that was attached to them; unknown ids are passed over."""
        with self._db:
            for number in sorted(ids, reverse=True):
                record = self.message(number)
                if record is None:
                    continue
                for name in index_message(record, number - 1).lists:
                    place = (name, number)
                    if self._db.execute("DELETE FROM positions WHERE list = ? AND id = ?", place).rowcount:
                        self._db.execute(_MOVE_UP, place)
                for deletion in _DELETIONS:
                    self._db.execute(deletion, (number,))
        self._sizes.clear()
        self.forget_matches()

    def _note_changes(self, messages: Iterable[IndexedMessage]) -> None:
        """Note which messages have changed since they were sent, and which quote others."""
        changed = [(message.columns[0], *message.change) for message in messages if message.change]
        quoting = [(message.columns[0],) for message in messages if message.is_quoting]
        if changed:
            self._db.executemany(_CHANGE, changed)
        if quoting:
            self._db.executemany(_QUOTE, quoting)
