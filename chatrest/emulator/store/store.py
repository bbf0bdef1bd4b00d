"""What the emulated service knows: SQLite, in memory or in a file; no socket, no clock.

Rules:
- Messages are only ever added, with ascending ids. So a message's place in each of its lists (the app, a
  conversation, a participant, a thread) is a number that never changes, and "how many are left" is a
  subtraction: an unfiltered page is one walk along an index, however large the store is.
- A filter is an SQL condition over the columns of `rows.COLUMNS`. The ids that match it in a list are
  found once and kept; later only what was added since is looked at. So a filtered walk scans its list once.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import Any, Final, NamedTuple, Self, final

from msgspec.json import encode

from ...errors import RequestInvalidError
from .database import opened
from .directory import People, spliced
from .rows import (
    ALL,
    COLUMNS,
    Row,
    conversation_id,
    conversation_list,
    group_list,
    participant_list,
    row,
    thread_list,
)

BEGIN: Final = 0
END: Final = 2**63 - 1
_KEPT_FILTERS = 256
_BATCH = 5_000
_INSERT: Final = f"INSERT INTO messages VALUES({','.join('?' * len(COLUMNS))})"
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
    """Part of a list: what one page shows."""

    ids: Sequence[int]
    """Ascending."""
    left: int
    """How many messages there are from here on in the walk's direction, these included."""


NO_CONDITION: Final = Condition()


@final
class Store:
    """Users, groups and messages of one emulated app.

    `database` is the path of a file that keeps them; without it they live in memory. Raises
    `RequestInvalidError` where the file is not one of ours, or is in use. Not for several threads.
    """

    def __init__(self, database: str | PathLike[str] | None = None) -> None:
        self._db = opened(database)
        self.people = People(self._db)
        self._sizes: dict[str, int] = {}
        self._found: OrderedDict[tuple[str, Condition], tuple[array[int], int]] = OrderedDict()
        self.last_id, self.last_sent_at = self._last()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database; a file keeps what is in it."""
        self._db.close()

    def is_empty(self) -> bool:
        """Whether nothing was ever added."""
        sql = "SELECT NOT EXISTS (SELECT 1 FROM users UNION ALL SELECT 1 FROM records)"
        return bool(self._db.execute(sql).fetchone()[0])

    # ── adding ──

    def add_user(self, uid: str, name: str | None = None, **fields: Any) -> None:
        """Adds a user; any text is a uid here. `fields` are the record's other members, wire names."""
        record = {"uid": uid, "name": name or uid, "status": "offline", "role": "default"}
        self.add_all([record | {"createdAt": 0} | fields], (), ())

    def add_group(self, guid: str, name: str | None = None, **fields: Any) -> None:
        """Adds a group; any text is a guid here. `fields` are the record's other members, wire names."""
        record = {"guid": guid, "name": name or guid, "type": "public", "owner": "app_system"}
        counted = {"createdAt": 0, "membersCount": 0, "conversationId": f"group_{guid}"}
        self.add_all((), [record | counted | fields], ())

    def add_message(
        self,
        sender: str,
        receiver: str,
        text: str | None = None,
        *,
        receiver_type: str = "user",
        category: str = "message",
        type: str = "text",
        data: Mapping[str, Any] | None = None,
        sent_at: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Adds a message and gives its record, with the next id.

        `data` gets `text` and the entities of sender and receiver; `sent_at` is at least that of the
        message before; `fields` are the record's other members under wire names (`tags`, `parentId`).
        """
        group = receiver_type == "group"
        conversation = f"group_{receiver}" if group else conversation_id(sender, receiver)
        entities = {
            "sender": self.people.entity("user", sender),
            "receiver": self.people.entity(receiver_type, receiver),
        }
        at = max(self.last_sent_at, sent_at or 0)
        record = {
            "id": str(self.last_id + 1),
            "conversationId": conversation,
            "sender": sender,
            "receiverType": receiver_type,
            "receiver": receiver,
            "category": category,
            "type": type,
            "data": ({} if text is None else {"text": text}) | dict(data or {}) | {"entities": entities},
            "sentAt": at,
            "updatedAt": at,
        } | fields
        self.add_records([encode(record)])
        return record

    def add_records(self, records: Iterable[bytes]) -> None:
        """Adds messages given as JSON bytes, as odd as a test wants them, in one transaction.

        A record's own `id` counts where it is a number, or digits, above the last; else it is filed
        under the next one, and served as it is. `RequestInvalidError` for what is not JSON, and then
        none of them is added.
        """
        self.add_all((), (), records)

    def add_all(
        self,
        users: Iterable[Mapping[str, Any]],
        groups: Iterable[Mapping[str, Any]],
        messages: Iterable[bytes],
    ) -> None:
        """Adds users, groups and messages in one transaction: all, or after an error none."""
        before = self.last_id, self.last_sent_at
        try:
            with self._db:
                self.people.add_users(users)
                for group in groups:
                    self.people.add_group(group)
                filed = (self._filed(record) for record in messages)
                while batch := list(islice(filed, _BATCH)):
                    self._insert(batch)
        except BaseException:
            self._sizes.clear()
            self.last_id, self.last_sent_at = before
            raise

    def _filed(self, record: bytes) -> Row:
        filed = row(record, self.last_id)
        self.last_id = int(filed.columns[0] or 0)
        self.last_sent_at = max(self.last_sent_at, int(filed.columns[7] or 0))
        return filed

    def _insert(self, batch: list[Row]) -> None:
        self._db.executemany(_INSERT, [row.columns for row in batch])
        self._db.executemany(
            "INSERT INTO records VALUES(?,?)", [(row.columns[0], row.record) for row in batch]
        )
        self._db.executemany("INSERT INTO places VALUES(?,?,?)", sorted(self._places(batch)))

    def _places(self, batch: list[Row]) -> Iterator[tuple[str, int, int]]:
        for filed in batch:
            number = int(filed.columns[0] or 0)
            for name in filed.lists:
                place = self.size(name) + 1
                self._sizes[name] = place
                yield name, number, place

    # ── reading ──

    def size(self, name: str) -> int:
        """How many messages stand in a list."""
        if name not in self._sizes:
            sql = "SELECT place FROM places WHERE list = ? ORDER BY id DESC LIMIT 1"
            found = self._db.execute(sql, (name,)).fetchone()
            self._sizes[name] = found[0] if found else 0
        return self._sizes[name]

    def after(self, name: str, id: int, size: int, condition: Condition = NO_CONDITION) -> Span:
        """The oldest `size` messages of a list with an id above `id`."""
        if condition.sql:
            ids = self.matching(name, condition)
            first = bisect_right(ids, id)
            return Span(ids[first : first + size], len(ids) - first)
        sql = "SELECT id, place FROM places WHERE list = ? AND id > ? ORDER BY id LIMIT ?"
        found = self._db.execute(sql, (name, id, size)).fetchall()
        return Span([number for number, _ in found], self.size(name) - found[0][1] + 1 if found else 0)

    def before(self, name: str, id: int, size: int, condition: Condition = NO_CONDITION) -> Span:
        """The newest `size` messages of a list with an id below `id`."""
        if condition.sql:
            ids = self.matching(name, condition)
            end = bisect_left(ids, id)
            return Span(ids[max(0, end - size) : end], end)
        sql = "SELECT id, place FROM places WHERE list = ? AND id < ? ORDER BY id DESC LIMIT ?"
        found = self._db.execute(sql, (name, id, size)).fetchall()
        return Span([number for number, _ in reversed(found)], found[0][1] if found else 0)

    def matching(self, name: str, condition: Condition = NO_CONDITION) -> Sequence[int]:
        """The ids, ascending, of all messages of a list that match; kept for the next call."""
        key = (name, condition)
        ids, seen = self._found.pop(key) if key in self._found else (array("q"), 0)
        if seen < self.last_id:
            sql = "SELECT m.id FROM places p JOIN messages m ON m.id = p.id WHERE p.list = ? AND p.id > ?"
            sql += f" AND {condition.sql} ORDER BY p.id" if condition.sql else " ORDER BY p.id"
            ids.extend(number for (number,) in self._db.execute(sql, (name, seen, *condition.values)))
        self._found[key] = ids, self.last_id
        if len(self._found) > _KEPT_FILTERS:
            self._found.popitem(last=False)
        return ids

    def records(self, ids: Sequence[int], *, with_tags: bool = False) -> list[bytes]:
        """The records of these ids, ascending, as they are served; with their `tags` only where asked."""
        records: list[bytes] = [record for (record,) in self._db.execute(_RECORDS, (_json(ids),))]
        if with_tags:
            for number, tags in self._db.execute(_TAGS, (_json(ids),)):
                at = bisect_left(ids, number)
                records[at] = spliced(records[at], "tags", tags.encode())
        return records

    def message(self, id: int) -> bytes | None:
        """One record with its tags, or None."""
        return next(iter(self.records([id], with_tags=True)), None)

    def sent_at(self, id: int) -> int | None:
        """When a message was sent; None for an id not known."""
        found = self._db.execute("SELECT sent_at FROM messages WHERE id = ?", (id,)).fetchone()
        return None if found is None else found[0]

    def with_mentions(self, ids: Sequence[int]) -> list[int]:
        """Those of these ids whose messages mention somebody."""
        return [number for (number,) in self._db.execute(_MENTIONS, (_json(ids),))]

    def counts(self, name: str, uid: str | None, condition: Condition) -> list[tuple[str, str, int]]:
        """How many messages of a list match, per other side: (user or group, uid or guid, count).

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
        """The ids, ascending, of a conversation, a group, a participant, a thread, or of all messages."""
        named = {
            conversation_list: conversation,
            group_list: group,
            participant_list: participant,
            thread_list: None if thread is None else str(thread),
        }
        given = [name(value) for name, value in named.items() if value is not None]
        if len(given) > 1:
            raise RequestInvalidError("ids: allowed is one of conversation, group, participant, thread")
        return list(self.matching(given[0] if given else ALL))

    def conversations(self) -> list[str]:
        """The id of every conversation, the one with the most messages first."""
        sql = "SELECT conversation FROM messages GROUP BY 1 ORDER BY count(*) DESC, 1"
        return [conversation for (conversation,) in self._db.execute(sql)]

    def _last(self) -> tuple[int, int]:
        sql = "SELECT id, sent_at FROM messages ORDER BY id DESC LIMIT 1"
        found = self._db.execute(sql).fetchone()
        return (found[0], found[1] or 0) if found else (0, 0)


def _json(ids: Sequence[int]) -> str:
    return f"[{','.join(map(str, ids))}]"
