"""The messages of an archive by conversation and time: one SQLite file, so that memory stays flat.

A message is its record's bytes and the few numbers that place it. Its `rank` is its id as a number, or for
other ids a hash: it orders messages of one time, and names a message in addresses. Times are milliseconds;
0 stands for none. A conversation is cut into pages by counts and sizes from its beginning, so that new
messages change its last page alone.

An index that is kept is brought up to date by adding all records again: one that is there unchanged costs a
comparison. All other tables follow from the messages.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from ..models.raw_json import read_value, write_value
from .heads import HeadEntity, RecordHead, head_of, milliseconds, rank_of, record_of, token
from .text import redacted, redacted_record, shown

MESSAGES: Final = 250
"""The most messages of a page."""
BYTES: Final = 280_000
"""The bytes of records after which a page ends."""
LONGEST: Final = 8_000
"""Bytes of a record that count: a longer text is shortened on its page."""
_MARKUP: Final = 250
_BATCH: Final = 2_000
_KNOWN: Final = 100_000
"""Numbers of people and conversations that are kept in memory."""
DELETED: Final = 1

_SCHEMA: Final = """
CREATE TABLE messages(number INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL,
    time INTEGER NOT NULL, rank INTEGER NOT NULL, sender INTEGER NOT NULL, parent INTEGER,
    flags INTEGER NOT NULL, size INTEGER NOT NULL, raw BLOB NOT NULL);
CREATE TABLE conversations(number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, name TEXT, title TEXT,
    guid TEXT, one INTEGER, other INTEGER, messages INTEGER, first INTEGER, last INTEGER, newest INTEGER);
CREATE TABLE people(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, name TEXT NOT NULL DEFAULT '',
    file TEXT, record BLOB, messages INTEGER NOT NULL DEFAULT 0, first INTEGER, last INTEGER);
CREATE TABLE groups(guid TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE files(message INTEGER, position INTEGER, file TEXT NOT NULL, bytes INTEGER,
    PRIMARY KEY(message, position)) WITHOUT ROWID;
CREATE TABLE pages(conversation INTEGER, page INTEGER, time INTEGER, rank INTEGER, messages INTEGER,
    last INTEGER, PRIMARY KEY(conversation, page)) WITHOUT ROWID;
CREATE TABLE days(conversation INTEGER, day INTEGER, page INTEGER, messages INTEGER,
    PRIMARY KEY(conversation, day)) WITHOUT ROWID;
CREATE TABLE threads(conversation INTEGER, page INTEGER, parent INTEGER, skipped INTEGER, replies INTEGER,
    PRIMARY KEY(conversation, page, parent)) WITHOUT ROWID;
CREATE TABLE state(text TEXT NOT NULL)
"""
_INDEXES: Final = """
CREATE INDEX IF NOT EXISTS by_place ON messages(conversation, time, rank, size);
CREATE INDEX IF NOT EXISTS by_rank ON messages(rank);
CREATE INDEX IF NOT EXISTS by_parent ON messages(parent, time, rank) WHERE parent NOT NULL;
CREATE INDEX IF NOT EXISTS by_sender ON messages(sender, time, rank, conversation);
DELETE FROM pages;
DELETE FROM days;
DELETE FROM threads;
DELETE FROM messages WHERE rank IN (SELECT rank FROM messages GROUP BY rank HAVING count(*) > 1)
    AND number NOT IN (SELECT max(number) FROM messages GROUP BY rank HAVING count(*) > 1)
"""
_COUNTS: Final = """
UPDATE conversations SET (messages, first, last, newest) = (
    SELECT count(*), ifnull(min(nullif(time, 0)), 0), max(time),
        (SELECT number FROM messages WHERE conversation = conversations.number
         ORDER BY time DESC, rank DESC LIMIT 1)
    FROM messages WHERE conversation = conversations.number);
DELETE FROM conversations WHERE messages = 0;
UPDATE people SET (messages, first, last) = (SELECT count(*), min(time), max(time) FROM messages
    WHERE sender = people.number);
CREATE INDEX IF NOT EXISTS by_last ON conversations(last DESC, id);
CREATE INDEX IF NOT EXISTS by_messages ON people(messages DESC, uid);
CREATE INDEX IF NOT EXISTS pages_by_place ON pages(conversation, time, rank);
CREATE INDEX IF NOT EXISTS threads_by_parent ON threads(parent, page, replies)
"""


_ATTACHMENT_ROW: Final = msgspec.json.Decoder(dict[str, Any])


class MessageEntry(NamedTuple):
    """A message of the index."""

    number: int
    time: int
    rank: int
    sender: int
    parent: int | None
    flags: int
    raw: bytes


class MessagePlace(NamedTuple):
    """The page of a message."""

    name: str
    """Of its conversation."""
    page: int
    rank: int
    flags: int


class PersonEntry(NamedTuple):
    """Somebody who wrote or was written to."""

    number: int
    uid: str
    name: str
    file: str
    """The name of the page, without its end."""


class ConversationEntry(NamedTuple):
    number: int
    id: str
    name: str
    """The name of its folder."""
    title: str
    is_group: bool
    messages: int
    first: int
    last: int
    newest: int


class Choice(NamedTuple):
    """The part of an export that an archive has."""

    conversations: Collection[str] = ()
    users: Collection[str] = ()
    """Only conversations that one of these takes part in, or has written in."""
    redact: bool = False


EVERYTHING: Final = Choice()


class Index:
    """The index at `path`; used with `with`. It is filled by `add`, perhaps `add_tables`, and then `finish`.

    One that `is_kept` is filled in one transaction; another file serves one run, and a kill leaves rubbish.
    """

    def __init__(self, path: Path, choice: Choice = EVERYTHING, *, is_kept: bool = False) -> None:
        self._choice = choice
        self._hide: Callable[[str], str] = redacted if choice.redact else str
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        journal = "DELETE" if is_kept else "OFF"
        for sql in (
            "locking_mode=EXCLUSIVE",
            f"journal_mode={journal}",
            "synchronous=OFF",
            "cache_size=-40000",
        ):
            self._db.execute(f"PRAGMA {sql}")
        self._is_old, self._newest = False, 0
        self._numbers: dict[str, dict[str, int]] = {"people": {}, "conversations": {}}
        self._names: dict[str, dict[str, str]] = {"people": {}, "groups": {}}
        self._people = OrderedDict[int, PersonEntry]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; twice is fine."""
        if hasattr(self, "_db"):  # else it could not be opened
            self._db.close()

    # ── filling ──

    def add(self, records: Iterable[bytes], progress: Callable[[int], None] = lambda _: None) -> None:
        """Take all messages, and report their number from time to time; those that are not among them go."""
        self._db.execute("BEGIN EXCLUSIVE")
        self._is_old = self.is_filled
        if not self._is_old:
            self._script(_SCHEMA)
        [self._newest] = self._db.execute("SELECT ifnull(max(number), 0) FROM messages").fetchone()
        self._db.execute("CREATE TEMP TABLE seen(number INTEGER PRIMARY KEY)")
        count, rest = 0, iter(records)
        while batch := list(islice(rest, _BATCH)):
            rows = [row for raw in batch if (row := self._row(raw)) is not None]
            self._db.executemany(
                "INSERT INTO messages(conversation, time, rank, sender, parent, flags, size, raw)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            self._write_names()
            count += len(batch)
            progress(count)

    def _row(self, raw: bytes) -> tuple[Any, ...] | None:
        head = head_of(raw)
        conversation = head.conversation
        if self._choice.conversations and conversation not in self._choice.conversations:
            return None
        sender = self._number("people", head.sender)
        number = self._conversation(conversation, head, sender)
        if head.data is not None and (entities := head.data.entities) is not None:
            for wrapper in (entities.sender, entities.receiver, entities.by):
                if wrapper is not None and (entity := wrapper.entity) is not None and entity.name:
                    self._learn(entity)
        if self._choice.redact:
            raw = _redacted(raw)
        parent = None if head.parent_id in (None, "", 0, "0") else rank_of(head.parent_id or "")
        rank = rank_of(head.id or raw.hex())
        if self._is_old and self._is_known(rank, raw):
            return None
        flags = DELETED if head.deleted_at else 0
        size = min(len(raw), LONGEST) + _MARKUP
        return number, milliseconds(head.sent_at), rank, sender, parent, flags, size, raw

    def _is_known(self, rank: int, raw: bytes) -> bool:
        """Return True for a message that is there as it is; one that has changed is taken out."""
        row = self._db.execute("SELECT number, raw FROM messages WHERE rank = ?", (rank,)).fetchone()
        if row is not None and bytes(row[1]) == raw:
            self._db.execute("INSERT OR IGNORE INTO seen VALUES(?)", (row[0],))
            return True
        if row is not None:
            self._db.execute("DELETE FROM messages WHERE number = ?", (row[0],))
        return False

    def _conversation(self, id: str, head: RecordHead, sender: int) -> int:
        known = self._numbers["conversations"]
        if (number := known.get(id)) is not None:
            return number
        is_group = head.receiver_type == "group"
        other = None if is_group or not head.receiver else self._number("people", head.receiver)
        return self._number(
            "conversations", id, guid=head.receiver if is_group else None, one=sender, other=other
        )

    def _number(self, table: str, key: str, **values: Any) -> int:
        """Return the number of a person or conversation, a new one where there is none."""
        known = self._numbers[table]
        if (number := known.get(key)) is not None:
            return number
        name = "uid" if table == "people" else "id"
        names, marks = ", ".join([name, *values]), ", ".join("?" * (len(values) + 1))
        self._db.execute(
            f"INSERT OR IGNORE INTO {table}({names}) VALUES({marks})",
            (key, *values.values()),
        )
        [number] = self._db.execute(f"SELECT number FROM {table} WHERE {name} = ?", (key,)).fetchone()  # noqa: S608
        if len(known) > _KNOWN:
            known.clear()
        known[key] = number
        return int(number)

    def _learn(self, entity: HeadEntity) -> None:
        """Note the name of a user or group, as the last message has it."""
        table, key = ("people", entity.uid) if entity.uid else ("groups", entity.guid)
        if key:
            self._names[table][key] = entity.name or ""

    def _write_names(self) -> None:
        people, groups = self._names["people"], self._names["groups"]
        named = [(self._number("people", uid), shown(name)) for uid, name in people.items()]
        self._db.executemany("UPDATE people SET name = ?2 WHERE number = ?1 AND name != ?2", named)
        titled = [(guid, shown(name)) for guid, name in groups.items()]
        self._db.executemany("INSERT OR REPLACE INTO groups VALUES(?, ?)", titled)
        people.clear()
        groups.clear()

    def add_tables(self, users: Iterable[bytes], groups: Iterable[bytes], files: Iterable[bytes]) -> None:
        """Take the records of users and groups, whose names are newer, and the stored attachments."""
        for raw in users:
            record = record_of(raw)
            uid, name = record.get("uid"), record.get("name")
            if isinstance(uid, str) and isinstance(name, str):
                raw = _redacted(raw) if self._choice.redact else raw
                self._db.execute(
                    "UPDATE people SET name = ?, record = ? WHERE uid = ?", (shown(name), raw, shown(uid))
                )
        for raw in groups:
            record = record_of(raw)
            guid, name = record.get("guid"), record.get("name")
            if isinstance(guid, str) and isinstance(name, str):
                self._db.execute("UPDATE groups SET name = ? WHERE guid = ?", (shown(name), shown(guid)))
        self._db.execute("DELETE FROM files")
        for raw in files:
            row = _ATTACHMENT_ROW.decode(raw)
            if row.get("state") == "stored" and row.get("file"):
                values = rank_of(row["messageId"]), row["position"], row["file"], row.get("bytes")
                self._db.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)", values)

    def finish(self) -> None:
        """Order the messages, and cut conversations into pages."""
        self._order()
        self._db.execute("COMMIT")

    def _order(self) -> None:
        if self._is_old:  # those that are new have larger numbers
            self._db.execute(
                "DELETE FROM messages WHERE number <= ? AND number NOT IN (SELECT number FROM seen)",
                (self._newest,),
            )
        self._db.execute("DROP TABLE seen")
        self._choose_users()
        self._script(_INDEXES)
        self._script(_COUNTS)
        self._name_all()
        self._cut_pages()
        self._cut_threads()

    def _script(self, script: str) -> None:
        for statement in script.split(";"):
            self._db.execute(statement)

    def _choose_users(self) -> None:
        if users := self._choice.users:
            marks = ", ".join("?" * len(users))
            chosen = f"SELECT number FROM people WHERE uid IN ({marks})"  # noqa: S608
            self._db.execute(
                f"DELETE FROM messages WHERE conversation NOT IN (SELECT conversation FROM messages"  # noqa: S608
                f" WHERE sender IN ({chosen}) UNION SELECT number FROM conversations WHERE one IN ({chosen})"
                f" OR other IN ({chosen}))",
                [*users, *users, *users],
            )

    def _name_all(self) -> None:
        """Give each conversation and person a title and the name of a file."""
        redact, hide = self._choice.redact, self._hide
        rows = self._db.execute(
            "SELECT c.number, c.id, c.guid, ifnull(g.name, ''), ifnull(nullif(a.name, ''), a.uid),"
            " ifnull(nullif(b.name, ''), b.uid) FROM conversations c LEFT JOIN groups g ON g.guid = c.guid"
            " LEFT JOIN people a ON a.number = c.one LEFT JOIN people b ON b.number = c.other"
            " ORDER BY c.first, c.id"
        )
        for place, batch in _batches(rows):
            self._db.executemany("UPDATE conversations SET name = ?, title = ? WHERE number = ?", [
                (str(place + each) if redact else token(key), hide(_title(key, *names)), number)
                for each, (number, key, *names) in enumerate(batch)
            ])  # fmt: skip
        rows = self._db.execute("SELECT number, uid, name FROM people ORDER BY first IS NULL, first, uid")
        for place, batch in _batches(rows):
            self._db.executemany("UPDATE people SET file = ?, name = ? WHERE number = ?", [
                (str(place + each) if redact else token(uid), hide(name or uid), number)
                for each, (number, uid, name) in enumerate(batch)
            ])  # fmt: skip

    def _cut_pages(self) -> None:
        rows = self._db.execute(
            "SELECT conversation, time, rank, size FROM messages INDEXED BY by_place"
            " ORDER BY conversation, time, rank"
        )
        pages, days = list[list[int]](), list[list[int]]()
        page, day, size = [0, 0, 0, 0, 0, 0], [0, -1, 0, 0], 0
        for conversation, time, rank, own in rows:
            is_other = conversation != page[0]
            size += own
            if is_other or page[4] >= MESSAGES or size > BYTES:
                page = [conversation, 1 if is_other else page[1] + 1, time, rank, 0, 0]
                pages.append(page)
                size = own
            page[4] += 1
            page[5] = time
            number = time // 86_400_000
            if is_other or number != day[1]:
                day = [conversation, number, page[1], 0]
                days.append(day)
            day[3] += 1
            if len(pages) > _BATCH or len(days) > _BATCH:
                self._write_cuts(pages[:-1], days[:-1])
                pages, days = pages[-1:], days[-1:]
        self._write_cuts(pages, days)

    def _cut_threads(self) -> None:
        """Put threads on pages, some to a page or one on some pages."""
        rows = self._db.execute(
            "SELECT conversation, parent, count(*) FROM messages WHERE parent NOT NULL"
            " GROUP BY conversation, parent ORDER BY conversation, parent"
        )
        last, page, room = 0, 0, 0
        for conversation, parent, replies in rows:
            if conversation != last:
                last, page, room = conversation, 0, 0
            for skipped in range(0, replies, MESSAGES):
                part = min(replies - skipped, MESSAGES)
                if part + 1 > room:
                    page, room = page + 1, MESSAGES + 1
                room -= part + 1
                self._db.execute(
                    "INSERT INTO threads VALUES(?, ?, ?, ?, ?)", (conversation, page, parent, skipped, part)
                )

    def _write_cuts(self, pages: Sequence[Sequence[int]], days: Sequence[Sequence[int]]) -> None:
        self._db.executemany("INSERT INTO pages VALUES(?, ?, ?, ?, ?, ?)", pages)
        self._db.executemany("INSERT INTO days VALUES(?, ?, ?, ?)", days)

    # ── reading ──

    @property
    def is_filled(self) -> bool:
        """True for an index that has been filled."""
        return bool(self._all("SELECT 1 FROM sqlite_master WHERE name = 'messages'"))

    @cached_property
    def has_threads(self) -> bool:
        return bool(self._all("SELECT 1 FROM threads LIMIT 1"))

    @cached_property
    def has_files(self) -> bool:
        return bool(self._all("SELECT 1 FROM files LIMIT 1"))

    def _all(self, sql: str, *values: Any) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    def writers(self) -> int:
        """Return the number of people who have written."""
        return int(self._db.execute("SELECT count(*) FROM people WHERE messages > 0").fetchone()[0])

    def conversations(self, *, offset: int = 0, limit: int = -1) -> Iterator[ConversationEntry]:
        """Yield conversations, the one with the newest message first."""
        return self._conversations("ORDER BY last DESC, id LIMIT ? OFFSET ?", limit, offset)

    def conversation(self, number: int) -> ConversationEntry:
        return next(self._conversations("WHERE number = ?", number))

    def conversation_named(self, name: str) -> ConversationEntry | None:
        return next(self._conversations("WHERE name = ?", name), None)

    def _conversations(self, rest: str, *values: Any) -> Iterator[ConversationEntry]:
        rows = self._db.execute(
            "SELECT number, id, name, title, guid NOT NULL, messages, first, last, newest"  # noqa: S608
            f" FROM conversations {rest}",
            values,
        )
        return (ConversationEntry(number, shown(self._hide(name)), *rest) for number, name, *rest in rows)

    def pages(self, conversation: int) -> list[tuple[int, int, int, int, int]]:
        """Return (page, time, rank, messages, time of the last) of each page."""
        return self._db.execute(
            "SELECT page, time, rank, messages, last FROM pages WHERE conversation = ? ORDER BY page",
            (conversation,),
        ).fetchall()

    def page_count(self, conversation: int) -> int:
        row = self._db.execute(
            "SELECT max(page) FROM pages WHERE conversation = ?", (conversation,)
        ).fetchone()
        return int(row[0])

    def days(self, conversation: int) -> list[tuple[int, int, int]]:
        """Return (day since 1970, page, messages) of each day that has messages."""
        return self._db.execute(
            "SELECT day, page, messages FROM days WHERE conversation = ? ORDER BY day", (conversation,)
        ).fetchall()

    def messages(self, conversation: int, time: int, rank: int, limit: int) -> list[MessageEntry]:
        """Return the messages of a page."""
        return self._stored(
            "WHERE conversation = ? AND (time, rank) >= (?, ?) ORDER BY time, rank LIMIT ?",
            conversation, time, rank, limit,
        )  # fmt: skip

    def message(self, number: int) -> MessageEntry:
        return self._stored("WHERE number = ?", number)[0]

    def of_rank(self, rank: int) -> MessageEntry | None:
        return next(iter(self._stored("WHERE rank = ?", rank)), None)

    def replies(self, parent: int, offset: int, limit: int) -> list[MessageEntry]:
        """Return the replies in the thread of a message."""
        return self._stored("WHERE parent = ? ORDER BY time, rank LIMIT ? OFFSET ?", parent, limit, offset)

    def newest_of(self, sender: int, limit: int) -> list[MessageEntry]:
        """Return the newest messages of a person."""
        return self._stored("WHERE sender = ? ORDER BY time DESC, rank DESC LIMIT ?", sender, limit)

    def _stored(self, rest: str, *values: Any) -> list[MessageEntry]:
        rows = self._db.execute(
            f"SELECT number, time, rank, sender, parent, flags, raw FROM messages {rest}",  # noqa: S608
            values,
        )
        return list(map(MessageEntry._make, rows))

    def threads(self, conversation: int) -> list[tuple[int, int, int, int]]:
        """Return (page, rank of the first message, replies on earlier pages, replies on this one)."""
        return self._db.execute(
            "SELECT page, parent, skipped, replies FROM threads WHERE conversation = ? ORDER BY page, parent",
            (conversation,),
        ).fetchall()

    def threads_of(self, ranks: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return (replies, page) of the threads that began with any of these messages."""
        listed = msgspec.json.encode(list(ranks)).decode()
        rows = self._db.execute(
            "SELECT parent, sum(replies), min(page) FROM threads"
            " WHERE parent IN (SELECT value FROM json_each(?)) GROUP BY parent",
            (listed,),
        )
        return {parent: (replies, page) for parent, replies, page in rows}

    def place(self, rank: int) -> MessagePlace | None:
        """Return the page of a message; None where the archive does not have it."""
        row = self._db.execute(
            "SELECT c.name, m.conversation, m.time, m.flags FROM messages m"
            " JOIN conversations c ON c.number = m.conversation WHERE m.rank = ?",
            (rank,),
        ).fetchone()
        if row is None:
            return None
        [page] = self._db.execute(
            "SELECT page FROM pages WHERE conversation = ? AND (time, rank) <= (?, ?)"
            " ORDER BY time DESC, rank DESC LIMIT 1",
            (row[1], row[2], rank),
        ).fetchone()
        return MessagePlace(row[0], page, rank, row[3])

    def files(self, rank: int) -> dict[int, str]:
        """Return the stored files of a message by position."""
        return dict(self._db.execute("SELECT position, file FROM files WHERE message = ?", (rank,)))

    def person(self, number: int) -> PersonEntry:
        """Return a person; those of the last thousands of calls are kept in memory."""
        if (person := self._people.get(number)) is None:
            person = next(self._persons("WHERE number = ?", number))
            self._people[number] = person
            if len(self._people) > _BATCH:
                self._people.popitem(last=False)
        return person

    def person_of(self, uid: str) -> PersonEntry | None:
        return next(self._persons("WHERE uid = ?", uid), None)

    def person_filed(self, file: str) -> PersonEntry | None:
        return next(self._persons("WHERE file = ?", file), None)

    def _persons(self, rest: str, *values: Any) -> Iterator[PersonEntry]:
        rows = self._db.execute(f"SELECT number, uid, name, file FROM people {rest}", values)  # noqa: S608
        return (PersonEntry(number, shown(self._hide(uid)), name, file) for number, uid, name, file in rows)

    def everybody(self) -> Iterator[PersonEntry]:
        """Yield all people, those who wrote nothing included."""
        return (
            self.person(number) for (number,) in self._db.execute("SELECT number FROM people ORDER BY number")
        )

    def people(self, *, offset: int, limit: int) -> Iterator[tuple[PersonEntry, int, int, int]]:
        """Yield people with the number, the first and the last time of their messages, the busiest first."""
        rows = self._db.execute(
            "SELECT number, messages, first, last FROM people WHERE messages > 0"
            " ORDER BY messages DESC, uid LIMIT ? OFFSET ?",
            (limit, offset),
        )
        return ((self.person(number), *rest) for number, *rest in rows)

    def record_of_person(self, number: int) -> bytes | None:
        """Return a user's record, where the export has the table of users."""
        [record] = self._db.execute("SELECT record FROM people WHERE number = ?", (number,)).fetchone()
        return None if record is None else bytes(record)

    def conversations_of(self, sender: int, limit: int) -> list[tuple[int, int, int, int]]:
        """Return (conversation, messages, first, last) of where a person wrote, most messages first."""
        return self._db.execute(
            "SELECT conversation, count(*), min(time), max(time) FROM messages WHERE sender = ?"
            " GROUP BY conversation ORDER BY 2 DESC, 1 LIMIT ?",
            (sender, limit),
        ).fetchall()


def _batches(rows: sqlite3.Cursor) -> Iterator[tuple[int, list[Any]]]:
    """Yield a cursor's rows in batches, each with the number of its first row, from 1."""
    place = 1
    while batch := rows.fetchmany(_BATCH):
        yield place, batch
        place += len(batch)


def _title(id: str, guid: str | None, group: str, one: str | None, other: str | None) -> str:
    """Return the title of a conversation, by the names of its group or its people."""
    if guid is not None:
        return shown(group or guid)
    names = sorted({name for name in (one, other) if name}, key=str.casefold)
    return shown(" & ".join(names) or id) or "(no conversation)"


def _redacted(raw: bytes) -> bytes:
    """Return a record without addresses and phone numbers; of what is no JSON nothing can be left in."""
    try:
        return write_value(redacted_record(read_value(raw)))
    except (ValueError, RecursionError):
        return b'{"redacted":"the record could not be read"}'
