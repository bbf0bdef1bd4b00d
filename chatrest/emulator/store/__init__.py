"""The data of the emulated service: SQLite in memory; no socket, no clock."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Self, final

from msgspec.json import encode

from .conversation_views import ConversationViews
from .directory import Directory, Membership, Memberships, RecordPage, Relations
from .documents import Documents, LoginTokens
from .message_index import COLUMNS, IndexedMessage, conversation_id, index_message
from .message_lists import LOST_WITH_MESSAGES, MessageVersions
from .message_marks import Mark, MessageMarks, Threads

_RECORD: Final = "CAST(record AS TEXT)"


def _members(*names: str) -> str:
    columns = {re.sub("([A-Z])", r"_\1", name).lower(): name for name in names}
    return ", ".join(f"{column} AS (json_extract({_RECORD}, '$.{name}'))" for column, name in columns.items())


_MESSAGE_TABLES: Final = """
CREATE TABLE marks(id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, message INTEGER, owner TEXT, value TEXT,
    at INTEGER, UNIQUE(owner, message, kind, value));
CREATE INDEX marks_of_message ON marks(message);
CREATE TABLE conversations(conversation TEXT PRIMARY KEY, kind TEXT, sender TEXT, receiver TEXT,
    created_at INTEGER) WITHOUT ROWID;
CREATE INDEX conversations_of_sender ON conversations(sender);
CREATE INDEX conversations_of_receiver ON conversations(receiver);
CREATE TABLE views(uid TEXT, conversation TEXT, read_id INTEGER NOT NULL DEFAULT 0,
    delivered_id INTEGER NOT NULL DEFAULT 0, reset_id INTEGER NOT NULL DEFAULT 0, kept_at INTEGER, tags TEXT,
    pinned_at INTEGER, PRIMARY KEY(uid, conversation)) WITHOUT ROWID;
"""


_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE users(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, folded_uid TEXT, folded_name TEXT,
    status TEXT, role TEXT, deactivated INTEGER, updated_at INTEGER, tags TEXT, record BLOB,
    {_members("createdAt")});
CREATE TABLE groups(number INTEGER PRIMARY KEY, guid TEXT UNIQUE NOT NULL, record BLOB, password TEXT,
    {_members("name", "type", "tags", "createdAt", "updatedAt", "membersCount")});
CREATE TABLE members(number INTEGER PRIMARY KEY, guid TEXT, uid TEXT, scope TEXT, joined_at INTEGER,
    UNIQUE(guid, uid));
CREATE TABLE relations(number INTEGER PRIMARY KEY, kind TEXT, owner TEXT, uid TEXT, at INTEGER,
    UNIQUE(kind, owner, uid));
CREATE TABLE documents(number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, parent TEXT, key TEXT,
    record BLOB, UNIQUE(kind, parent, key));
CREATE TABLE messages({", ".join(COLUMNS)});
CREATE TABLE records(id INTEGER PRIMARY KEY, record BLOB);
CREATE TABLE positions(list TEXT, id INTEGER, position INTEGER, PRIMARY KEY(list, id)) WITHOUT ROWID;
{_MESSAGE_TABLES}
COMMIT;
"""


def open_database() -> sqlite3.Connection:
    """Return a new database in memory."""
    db = sqlite3.connect(":memory:")
    # SQLite's own lower() knows the letters of ASCII alone.
    db.create_function("casefold", 1, lambda text: text and text.casefold(), deterministic=True)
    db.executescript(_SCHEMA)
    return db


_BATCH: Final = 5_000
_INSERT: Final = f"INSERT INTO messages VALUES({','.join('?' * len(COLUMNS))})"


@final
class Store(MessageVersions):
    """Users, groups, members and messages of one emulated app; `MessageLists` has the reading of messages,
    and `MessageVersions` their changes. Not for several threads.
    """

    last_id: int
    last_sent_at: int

    def __init__(self) -> None:
        super().__init__(open_database())
        self.people: Directory = Directory(self._db)
        """The users, and the groups."""
        self.relations: Relations = Relations(self._db)
        """Users in relation to others: blocked, friends, banned."""
        self.documents: Documents = Documents(self._db)
        """Settings, and small collections of documents."""
        self.auth_tokens: LoginTokens = LoginTokens(self._db, self.documents)
        self.members: Memberships = Memberships(self._db)
        self.marks: MessageMarks = MessageMarks(self._db, self.forget_matches)
        """Pins, saves, subscriptions, interactions and reactions."""
        self.threads: Threads = Threads(self._db)
        self.views: ConversationViews = ConversationViews(self._db, self.forget_matches)
        """The conversations, as each of their users sees them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database: its data is gone."""
        self._db.close()

    def add_user(self, uid: str, name: str | None = None, **fields: Any) -> None:
        """Add a user; any text is a uid here. `fields` are the record's other members, wire names."""
        record = {"uid": uid, "name": name or uid, "status": "offline", "role": "default"}
        self.add_all([record | {"createdAt": 0} | fields], (), ())

    def add_group(self, guid: str, name: str | None = None, **fields: Any) -> None:
        """Add a group without members; any text is a guid here. `fields` as those of `add_user`."""
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
        """Add a message with the next id, and return its record.

        `data` gets `text` and the entities of sender and receiver; `sent_at`, epoch seconds, is at least
        that of the message before; `fields` are the record's other members under wire names (`tags`,
        `parentId`), and go before: `sentAt=5` is a message that is older than those before it.
        """
        entities = {
            "sender": self.people.entity("user", sender),
            "receiver": self.people.entity(receiver_type, receiver),
        }
        content = ({} if text is None else {"text": text}) | dict(data or {}) | {"entities": entities}
        about = {"category": category, "type": type, "data": content}
        return self._append(sender, receiver_type, receiver, about, sent_at, fields)

    def add_action(
        self, by: str, action: str, on: Mapping[str, Any], message: Mapping[str, Any], *, sent_at: int
    ) -> dict[str, Any]:
        """Add the message that shows a conversation of an action, and return its record.

        `on` is the entity of what was acted on; `message` has the sender, the receiver and its type, and
        perhaps the conversation: an action on a message is in the lists of that message.
        """
        sender, kind, receiver = (str(message.get(name)) for name in ("sender", "receiverType", "receiver"))
        ends = {"by": self.people.entity("user", by), "on": on, "for": self.people.entity(kind, receiver)}
        data = {"action": action, "entities": ends}
        about = {"category": "action", "type": "message", "data": data}
        place = {name: message[name] for name in ("conversationId",) if name in message}
        return self._append(sender, kind, receiver, about, sent_at, place)

    def _append(
        self,
        sender: str,
        receiver_type: str,
        receiver: str,
        about: Mapping[str, Any],
        sent_at: int | None,
        fields: Mapping[str, Any],
    ) -> dict[str, Any]:
        is_group, at = receiver_type == "group", max(self.last_sent_at, sent_at or 0)
        record = {
            "id": str(self.last_id + 1),
            "conversationId": f"group_{receiver}" if is_group else conversation_id(sender, receiver),
            "sender": sender,
            "receiverType": receiver_type,
            "receiver": receiver,
            **about,
            "sentAt": at,
            "updatedAt": at,
            **fields,
        }
        self.add_records([encode(record)])
        return record

    def add_records(self, records: Iterable[bytes]) -> None:
        """Add messages given as JSON bytes, as odd as a test wants them, in one transaction.

        A record's own `id` counts where it is a number, or digits, above the last; else it is stored
        under the next one, and served as it is. `RequestInvalidError` for what is not JSON, and then
        none of them is added.
        """
        self.add_all((), (), records)

    def add_all(
        self,
        users: Iterable[Mapping[str, Any]],
        groups: Iterable[Mapping[str, Any]],
        messages: Iterable[bytes],
        members: Iterable[tuple[str, str, Membership]] = (),
        marks: Iterable[Mark] = (),
    ) -> None:
        """Add users, groups, messages, members (guid, uid, member) and marks: all, or none.

        Members do not change a group's `membersCount`: it is in the group's record already. The marks are
        read after the messages, and get new ids.
        """
        before = self.last_id, self.last_sent_at
        try:
            with self._db:
                self.people.add_users(users)
                for group in groups:
                    self.people.add_group(group)
                self.members.insert(members)
                indexed = (self._indexed(record) for record in messages)
                while batch := list(islice(indexed, _BATCH)):
                    self._insert(batch)
                self.marks.insert(marks)
        except BaseException:
            self._sizes.clear()
            self.last_id, self.last_sent_at = before
            raise

    def page(
        self, columns: str, source: str, values: tuple[Any, ...], names: tuple[str, ...], page: int, size: int
    ) -> RecordPage:
        """Return page `page` (from 1) of the records that an SQL `source` has: a statement from its FROM on.

        `columns` are the record, its `updatedAt`, and JSON of further members, which are called `names`; a
        record has none of them where the first one is NULL.
        """
        # What stands after ORDER BY is no matter of the count.
        total = self._value(f"SELECT count(*) {source.partition('ORDER BY')[0]}", *values)
        sql = f"SELECT {columns} {source} LIMIT ? OFFSET ?"
        rows = self._db.execute(sql, (*values, size, (page - 1) * size)).fetchall()
        end = "".join(f',"{name}":%s' for name in names) + "}"
        records = [
            row[0] if not names or row[2] is None else row[0][:-1] + (end % row[2:]).encode() for row in rows
        ]
        return RecordPage(records, total, rows[-1][1] if rows else None)

    def lose_messages(self) -> None:
        """Lose all messages and what was attached to them: the next one has the id 1 again."""
        with self._db:
            for table in LOST_WITH_MESSAGES:
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608
            self._db.execute("DELETE FROM sqlite_sequence WHERE name = 'marks'")
        self.last_id = self.last_sent_at = 0
        self._sizes.clear()
        self.documents.of("data_import.muids").clear()
        self.views.forget()
        self.forget_matches()

    def hide(self, ids: Iterable[int], *names: str) -> None:
        """Take messages out of the lists of these names, such as `u:ann`; out of all where none is given."""
        hidden = set(ids)
        with self._db:
            for name in names or self._column("SELECT DISTINCT list FROM positions"):
                self._fill_list(name, [number for number in self.matching(name) if number not in hidden])

    def show(self, ids: Iterable[int], *names: str) -> None:
        """Put messages into the lists of these names, also if they were hidden."""
        shown = set(ids)
        with self._db:
            for name in names:
                self._fill_list(name, sorted(shown.union(self.matching(name))))

    def _fill_list(self, name: str, ids: list[int]) -> None:
        self._db.execute("DELETE FROM positions WHERE list = ?", (name,))
        rows = [(name, number, position) for position, number in enumerate(ids, start=1)]
        self._db.executemany("INSERT INTO positions VALUES(?,?,?)", rows)
        self._sizes.clear()
        self.forget_matches()

    def _indexed(self, record: bytes) -> IndexedMessage:
        message = index_message(record, self.last_id)
        self.last_id = int(message.columns[0] or 0)
        self.last_sent_at = max(self.last_sent_at, int(message.columns[7] or 0))
        return message

    def _insert(self, batch: list[IndexedMessage]) -> None:
        self._db.executemany(_INSERT, [message.columns for message in batch])
        records = [(message.columns[0], message.record) for message in batch]
        self._db.executemany("INSERT INTO records VALUES(?,?)", records)
        self._db.executemany("INSERT INTO positions VALUES(?,?,?)", sorted(self._positions(batch)))

    def _positions(self, batch: list[IndexedMessage]) -> Iterator[tuple[str, int, int]]:
        for message in batch:
            number = int(message.columns[0] or 0)
            for name in message.lists:
                position = self._sizes[name] = self.size(name) + 1
                yield name, number, position
