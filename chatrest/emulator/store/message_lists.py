"""The lists of messages, read: the app's, a conversation's, a participant's, a thread's.

Rules:
- Messages are only ever added, with ascending ids. So the position of a message in each of its lists is a
  number that never changes, and "how many are left" is a subtraction: an unfiltered page is one walk along
  an index, for a store of any size.
- A filter is an SQL condition over the columns of `message_index.COLUMNS`. The ids that match it in a list
  are cached; later only what was added since is searched. So a filtered walk scans its list once.
"""

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.json import encode

from ...errors import RequestInvalidError
from .directory import spliced
from .documents import Tables
from .message_index import (
    ALL,
    COLUMNS,
    conversation_list,
    group_list,
    index_message,
    parse_record,
    participant_list,
    thread_list,
)

BEGIN: Final = 0
END: Final = 2**63 - 1
_CACHED_FILTERS = 256
_RECORDS: Final = "SELECT record FROM records WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
_TAGS: Final = "SELECT id, tags FROM messages WHERE tags NOT NULL AND id IN (SELECT value FROM json_each(?))"
_MENTIONS: Final = """
SELECT id FROM messages WHERE mentions NOT NULL AND id IN (SELECT value FROM json_each(?)) ORDER BY id
"""
_COUNTS: Final = """
SELECT receiver_type, CASE WHEN receiver_type = 'user' AND receiver = ? THEN sender ELSE receiver END AS side,
    count(*)
FROM messages WHERE id IN (SELECT value FROM json_each(?)) GROUP BY receiver_type, side ORDER BY 1, 2
"""


class Condition(NamedTuple):
    """An SQL condition over `m`, the columns of a message, and its values; an empty one matches all."""

    sql: str = ""
    values: tuple[str | int, ...] = ()


class Span(NamedTuple):
    ids: Sequence[int]
    """In the list's order: ascending."""
    left: int
    """The number of messages from here on in the walk's direction, these included."""


NO_CONDITION: Final = Condition()


class MessageLists(Tables):
    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db)
        self._sizes: dict[str, int] = {}
        self._matches: OrderedDict[tuple[str, Condition], tuple[array[int], int]] = OrderedDict()
        self.last_id: int = 0
        self.last_sent_at: int = 0

    def size(self, name: str) -> int:
        if name not in self._sizes:
            sql = "SELECT position FROM positions WHERE list = ? ORDER BY id DESC LIMIT 1"
            self._sizes[name] = self._value(sql, name) or 0
        return self._sizes[name]

    def after(self, name: str, id: int, size: int, condition: Condition = NO_CONDITION) -> Span:
        """Return the oldest `size` messages of a list with an id above `id`."""
        if condition.sql:
            ids = self.matching(name, condition)
            first = bisect_right(ids, id)
            return Span(ids[first : first + size], len(ids) - first)
        sql = "SELECT id, position FROM positions WHERE list = ? AND id > ? ORDER BY id LIMIT ?"
        rows = self._db.execute(sql, (name, id, size)).fetchall()
        return Span([number for number, _ in rows], self.size(name) - rows[0][1] + 1 if rows else 0)

    def before(self, name: str, id: int, size: int, condition: Condition = NO_CONDITION) -> Span:
        """Return the newest `size` messages of a list with an id below `id`."""
        if condition.sql:
            ids = self.matching(name, condition)
            end = bisect_left(ids, id)
            return Span(ids[max(0, end - size) : end], end)
        sql = "SELECT id, position FROM positions WHERE list = ? AND id < ? ORDER BY id DESC LIMIT ?"
        rows = self._db.execute(sql, (name, id, size)).fetchall()
        return Span([number for number, _ in reversed(rows)], rows[0][1] if rows else 0)

    def matching(self, name: str, condition: Condition = NO_CONDITION) -> Sequence[int]:
        """Return the ids, ascending, of all messages of a list that match; cached for the next call."""
        key = (name, condition)
        ids, searched = self._matches.pop(key) if key in self._matches else (array("q"), 0)
        if searched < self.last_id:
            sql = "SELECT m.id FROM positions p JOIN messages m ON m.id = p.id WHERE p.list = ? AND p.id > ?"
            sql += f" AND {condition.sql} ORDER BY p.id" if condition.sql else " ORDER BY p.id"
            ids.extend(self._column(sql, name, searched, *condition.values))
        self._matches[key] = ids, self.last_id
        if len(self._matches) > _CACHED_FILTERS:
            self._matches.popitem(last=False)
        return ids

    def contains(self, name: str, id: int) -> bool:
        return self._value("SELECT 1 FROM positions WHERE list = ? AND id = ?", name, id) is not None

    def records(self, ids: Sequence[int], *, with_tags: bool = False) -> list[bytes]:
        """Return the records of these ids, ascending, as they are served; their `tags` only `with_tags`."""
        records: list[bytes] = self._column(_RECORDS, _json(ids))
        if with_tags:
            for number, tags in self._db.execute(_TAGS, (_json(ids),)):
                at = bisect_left(ids, number)
                records[at] = spliced(records[at], "tags", tags.encode())
        return records

    def message(self, id: int) -> bytes | None:
        return next(iter(self.records([id], with_tags=True)), None)

    def record(self, id: int) -> dict[str, Any]:
        """Return a message as an object; empty for an id not known."""
        return parse_record(self.message(id) or b"{}")

    def sent_at(self, id: int) -> int | None:
        """Return the time at which a message was sent; None for an id not known."""
        at: int | None = self._value("SELECT sent_at FROM messages WHERE id = ?", id)
        return at

    def with_mentions(self, ids: Sequence[int]) -> list[int]:
        return self._column(_MENTIONS, _json(ids))

    def counts(self, name: str, uid: str | None, condition: Condition) -> list[tuple[str, str, int]]:
        """Count the messages of a list that match, per other side: (user or group, uid or guid, count).

        The other side of a group's message is the group; of a user's message, whoever `uid` is not.
        """
        return self._db.execute(_COUNTS, (uid, _json(self.matching(name, condition)))).fetchall()

    def ids(
        self,
        *,
        conversation: str | None = None,
        group: str | None = None,
        participant: str | None = None,
        thread: int | str | None = None,
    ) -> list[int]:
        """Return the ids, ascending, of a conversation, group, participant or thread, or of all messages."""
        lists = {
            conversation_list: conversation,
            group_list: group,
            participant_list: participant,
            thread_list: None if thread is None else str(thread),
        }
        names = [list_name(value) for list_name, value in lists.items() if value is not None]
        if len(names) > 1:
            raise RequestInvalidError("ids: expected one of conversation, group, participant, thread")
        return list(self.matching(names[0] if names else ALL))


def _json(ids: Sequence[int]) -> str:
    return f"[{','.join(map(str, ids))}]"


_NAMES: Final = [column.split()[0] for column in COLUMNS]
_UPDATE: Final = f"UPDATE messages SET {', '.join(f'{name} = ?' for name in _NAMES[1:])} WHERE id = ?"  # noqa: S608
_MOVE_UP: Final = "UPDATE positions SET position = position - 1 WHERE list = ? AND id > ?"
LOST_WITH_MESSAGES: Final = (
    "messages", "records", "marks", "positions", "conversations", "views"
)  # fmt: skip
"""The tables that have nothing without messages."""
_DELETIONS: Final = (
    "DELETE FROM messages WHERE id = ?",
    "DELETE FROM records WHERE id = ?",
    "DELETE FROM marks WHERE message = ?",
)


class MessageVersions(MessageLists):
    """The messages of one store, to be read and changed."""

    def forget_matches(self) -> None:
        """Search again for what filters match, as messages or what filters know of them have changed."""
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
