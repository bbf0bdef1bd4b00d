"""Fill an index with an export, and bring it up to date: with what is new since the export's run of then.

| the export, since the index was filled    | is read                                                     |
|-------------------------------------------|-------------------------------------------------------------|
| has the same files                        | nothing                                                     |
| had more runs, and none is at work        | what they have changed, where that gives as many messages   |
| anything else, or a part of it is chosen  | all: a message that is there unchanged costs a comparison   |

A message of which the manifest says that the service does not show it any more is marked as deleted. It gets
a new number then, as one that has changed does.

All is one transaction. What follows from the messages is made again for the conversations and people that
have new or changed ones.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import count, islice
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from .._cloud.address import is_address
from .._models.raw_json import read_value, write_value
from ..errors import ChatRestError
from ..export import RunEntry, changes, read_raw, read_table, runs
from ..export.folder import manifest
from ..export.read.folder_view import open_view
from .heads import HeadEntity, RecordHead, head_of, milliseconds, rank_of, record_of, token
from .index import DELETED, MESSAGES, Choice, Index, IndexState, kind_of
from .text import redacted, redacted_record, shown

BYTES: Final = 280_000
"""The bytes of records after which a page ends."""
LONGEST: Final = 8_000
"""Bytes of a record that count: a longer text is shortened on its page."""
_MARKUP: Final = 250
_BATCH: Final = 2_000
_LONGEST_NAME: Final = 200
_KNOWN: Final = 100_000
"""Numbers of people and conversations that are kept in memory."""
_NEVER: Final = IndexState("", "", 0, 0)

_SCHEMA: Final = """
CREATE TABLE messages(number INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL,
    time INTEGER NOT NULL, rank INTEGER NOT NULL, sender INTEGER NOT NULL, parent INTEGER,
    flags INTEGER NOT NULL, size INTEGER NOT NULL, raw BLOB NOT NULL);
CREATE TABLE conversations(number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, name TEXT, title TEXT,
    guid TEXT, one INTEGER, other INTEGER, messages INTEGER, first INTEGER, last INTEGER, newest INTEGER);
CREATE TABLE people(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, name TEXT NOT NULL DEFAULT '',
    named INTEGER NOT NULL DEFAULT -1, file TEXT, record BLOB, messages INTEGER NOT NULL DEFAULT 0,
    first INTEGER, last INTEGER);
CREATE TABLE groups(guid TEXT PRIMARY KEY, name TEXT NOT NULL, named INTEGER NOT NULL, record BLOB);
CREATE TABLE files(message INTEGER, position INTEGER, file TEXT NOT NULL, bytes INTEGER,
    PRIMARY KEY(message, position)) WITHOUT ROWID;
CREATE TABLE pages(conversation INTEGER, page INTEGER, time INTEGER, rank INTEGER, messages INTEGER,
    last INTEGER, sign INTEGER, PRIMARY KEY(conversation, page)) WITHOUT ROWID;
CREATE TABLE days(conversation INTEGER, day INTEGER, page INTEGER, messages INTEGER,
    PRIMARY KEY(conversation, day)) WITHOUT ROWID;
CREATE TABLE threads(conversation INTEGER, page INTEGER, parent INTEGER, skipped INTEGER, replies INTEGER,
    PRIMARY KEY(conversation, page, parent)) WITHOUT ROWID;
CREATE TABLE state(kind TEXT NOT NULL, fingerprint TEXT NOT NULL, run INTEGER NOT NULL,
    started INTEGER NOT NULL)
"""
_WORK: Final = """
CREATE TEMP TABLE IF NOT EXISTS seen(number INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS touched(conversation INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS writers(sender INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS gone(rank INTEGER PRIMARY KEY);
DELETE FROM gone;
DELETE FROM seen;
DELETE FROM touched;
DELETE FROM writers
"""
_INDEXES: Final = """
CREATE INDEX IF NOT EXISTS by_place ON messages(conversation, time, rank, size);
CREATE INDEX IF NOT EXISTS by_rank ON messages(rank);
CREATE INDEX IF NOT EXISTS by_gone ON messages(rank) WHERE flags & 2;
CREATE INDEX IF NOT EXISTS by_parent ON messages(parent, time, rank) WHERE parent NOT NULL;
CREATE INDEX IF NOT EXISTS by_sender ON messages(sender, time, rank, conversation);
CREATE INDEX IF NOT EXISTS by_last ON conversations(last DESC, id);
CREATE INDEX IF NOT EXISTS by_messages ON people(messages DESC, uid);
CREATE INDEX IF NOT EXISTS pages_by_place ON pages(conversation, time, rank);
CREATE INDEX IF NOT EXISTS threads_by_parent ON threads(parent, page, replies)
"""
_COUNTS: Final = """
DELETE FROM pages WHERE conversation IN touched;
DELETE FROM days WHERE conversation IN touched;
DELETE FROM threads WHERE conversation IN touched;
UPDATE conversations SET (messages, first, last, newest) = (
    SELECT count(*), ifnull(min(nullif(time, 0)), 0), max(time),
        (SELECT number FROM messages WHERE conversation = conversations.number
         ORDER BY time DESC, rank DESC LIMIT 1)
    FROM messages WHERE conversation = conversations.number) WHERE number IN touched;
DELETE FROM conversations WHERE messages = 0;
UPDATE people SET (messages, first, last) = (SELECT count(*), min(time), max(time) FROM messages
    WHERE sender = people.number) WHERE number IN writers
"""
_WRONG: Final = """
SELECT number FROM messages WHERE rank IN gone AND NOT flags & 2
UNION ALL SELECT number FROM messages WHERE flags & 2 AND rank NOT IN gone
"""
_MARK: Final = """
INSERT INTO messages(conversation, time, rank, sender, parent, flags, size, raw)
SELECT conversation, time, rank, sender, parent, (flags | 2) - (flags & 2), size, raw FROM messages
WHERE number = ?
"""
_NAMING: Final = (
    ("UPDATE conversations SET name = ?, title = ? WHERE number = ?", """
SELECT c.id, iif(c.guid IS NULL, NULL, ifnull(nullif(g.name, ''), c.guid)),
    ifnull(nullif(a.name, ''), a.uid), ifnull(nullif(b.name, ''), b.uid),
    ifnull(nullif(c.id, ''), '(no conversation)'), c.number, c.name, c.title FROM conversations c
LEFT JOIN groups g ON g.guid = c.guid LEFT JOIN people a ON a.number = c.one
LEFT JOIN people b ON b.number = c.other ORDER BY c.first, c.id"""),
    ("UPDATE people SET file = ?, name = ? WHERE number = ?",
     "SELECT uid, NULL, name, NULL, uid, number, file, name FROM people ORDER BY first IS NULL, first, uid"),
)  # fmt: skip
"""What sets the names of files and titles, and what they are made of."""
_ATTACHMENT_ROW: Final = msgspec.json.Decoder(dict[str, Any])
OnCount: TypeAlias = Callable[[int, int | None], None]
"""Called with the records that have been read, and how many there are."""


def bring_up_to_date(
    index: Index,
    out: str | PathLike[str],
    on_count: OnCount = lambda *_: None,
    then: Callable[[], object] = lambda: None,
) -> None:
    """Take in what has changed in the export in `out`; `then` is called before that is committed.

    Raises `ChatRestError` for a damaged export, sqlite3.Error for a damaged index.
    """
    before, choice = index.state() or _NEVER, index.choice
    fingerprint = _fingerprint(out)
    if before.fingerprint == fingerprint:
        return
    entries = list[RunEntry]()
    with suppress(OSError):  # there is no log of runs
        entries = list(runs(out))
    last = entries[-1] if entries else RunEntry()
    after = IndexState(kind_of(choice), fingerprint, last.run, last.started)
    known_runs = [(each.run, each.started) for each in entries]
    if choice == Choice(redact=choice.redact) and before[2:] in known_runs:
        with suppress(ChatRestError):  # while a run is at work what it has written can be read all the same
            told = changes(out, after=before.run)
            news = (each.raw_after or each.raw_before or b"" for each in told)  # the deleted may be new, too
            if Filling(index).run(out, news, after, then, lambda count: on_count(count, None), last.messages):
                return
    records = read_raw(out, since=choice.since, until=choice.until)
    Filling(index).run(out, records, after, then, lambda count: on_count(count, last.messages or None))


class Filling:
    """Takes records into an index, in one transaction that `run` begins and ends."""

    def __init__(self, index: Index) -> None:
        self._index, self._db, self._choice = index, index.db, index.choice
        self._hide: Callable[[str], str] = redacted if self._choice.redact else str
        self._newest = 0
        self._numbers: dict[str, dict[str, int]] = {"people": {}, "conversations": {}}
        self._names: dict[str, dict[str, tuple[str, int]]] = {"people": {}, "groups": {}}

    def run(
        self, out: str | PathLike[str], records: Iterable[bytes], after: IndexState,
        then: Callable[[], object], on_count: Callable[[int], None], messages: int | None = None,
    ) -> bool:  # fmt: skip
        """Take the records, which are all, or with `messages` what is new: there are so many then.

        Return False if that is not so; then nothing has changed.
        """
        self._db.execute("BEGIN EXCLUSIVE")
        try:
            if not self._index.state():
                self._script(_SCHEMA)
            self._script(_WORK)
            [self._newest] = self._one("SELECT ifnull(max(number), 0) FROM messages")
            self._add(records, on_count)
            if messages is None:
                self._remove("number <= ? AND number NOT IN seen", self._newest)
            is_right = messages in (None, self._index.count("messages"))
            if is_right:
                self._add_tables(*(read_table(out, name) for name in ("users", "groups", "attachments")))
                self._script(_INDEXES)
                self._mark_gone(_gone_ids(out))
                self._order()
                self._db.execute("DELETE FROM state")
                self._db.execute("INSERT INTO state VALUES(?, ?, ?, ?)", after)
                then()
            self._db.execute("COMMIT" if is_right else "ROLLBACK")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        return is_right

    def _one(self, sql: str, *values: Any) -> Any:
        return self._db.execute(sql, values).fetchone()

    def _script(self, script: str) -> None:
        for statement in script.split(";"):
            self._db.execute(statement)

    # ── messages ──

    def _add(self, records: Iterable[bytes], on_count: Callable[[int], None]) -> None:
        done, rest = 0, iter(records)
        while batch := list(islice(rest, _BATCH)):
            rows = [row for raw in batch if (row := self._row(raw)) is not None]
            self._db.executemany(
                "INSERT INTO messages(conversation, time, rank, sender, parent, flags, size, raw)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            self._write_names()
            for table, column in (("touched", 0), ("writers", 3)):
                changed = {(row[column],) for row in rows}
                self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES(?)", changed)
            done += len(batch)
            on_count(done)

    def _remove(self, where: str, *values: Any) -> None:
        """Remove messages, and note whom that touches."""
        for table, column in (("touched", "conversation"), ("writers", "sender")):
            self._db.execute(
                f"INSERT OR IGNORE INTO {table} SELECT {column} FROM messages WHERE {where}",  # noqa: S608
                values,
            )
        self._db.execute(f"DELETE FROM messages WHERE {where}", values)  # noqa: S608

    def _row(self, raw: bytes) -> tuple[Any, ...] | None:
        head = head_of(raw)
        conversation = head.conversation
        if self._choice.conversations and conversation not in self._choice.conversations:
            return None
        sender, time = self._number("people", head.sender), milliseconds(head.sent_at)
        number = self._conversation(conversation, head, sender)
        if head.data is not None and (entities := head.data.entities) is not None:
            for wrapper in (entities.sender, entities.receiver, entities.by):
                if wrapper is not None and (entity := wrapper.entity) is not None and entity.name:
                    self._learn(entity, time)
        if self._choice.redact:
            raw = _redacted(raw)
        parent = None if head.parent_id in (None, "", 0, "0") else rank_of(head.parent_id or "")
        rank = rank_of(head.id or raw.hex())
        if self._newest and self._is_known(rank, raw):
            return None
        flags = DELETED if head.deleted_at else 0
        size = min(len(raw), LONGEST) + _MARKUP
        return number, time, rank, sender, parent, flags, size, raw

    def _is_known(self, rank: int, raw: bytes) -> bool:
        """Return True for a message that is there as it is; one that has changed is taken out."""
        row = self._one("SELECT number, raw FROM messages WHERE rank = ?", rank)
        if row is not None and row[1] == raw:
            self._db.execute("INSERT OR IGNORE INTO seen VALUES(?)", (row[0],))
            return True
        if row is not None:
            self._remove("number = ?", row[0])
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

    def _learn(self, entity: HeadEntity, time: int) -> None:
        """Note the name of a user or group, as the newest message has it."""
        table, key = ("people", entity.uid) if entity.uid else ("groups", entity.guid)
        key = shown(key or "")  # as the head has it, without half a character
        if key and self._names[table].get(key, ("", -1))[1] <= time:
            self._names[table][key] = entity.name or "", time

    def _write_names(self) -> None:
        people, groups = self._names["people"], self._names["groups"]
        self._db.executemany(
            "UPDATE people SET name = :name, named = :time WHERE number = :number"
            " AND (name != :name OR named < :time) AND named <= :time",
            [
                {"number": self._number("people", uid), "name": _name(name), "time": time}
                for uid, (name, time) in people.items()
            ],
        )
        self._db.executemany(
            "INSERT INTO groups(guid, name, named) VALUES(?, ?, ?) ON CONFLICT DO UPDATE"
            " SET name = excluded.name, named = excluded.named WHERE named <= excluded.named",
            [(guid, _name(name), time) for guid, (name, time) in groups.items()],
        )
        people.clear()
        groups.clear()

    # ── tables ──

    def _add_tables(self, users: Iterable[bytes], groups: Iterable[bytes], files: Iterable[bytes]) -> None:
        """Take the records of users and groups, whose names are newer, and the stored attachments."""
        for table, key, rows in (("people", "uid", users), ("groups", "guid", groups)):
            for raw in rows:
                record = record_of(raw)
                own, name = record.get(key), record.get("name")
                if isinstance(own, str) and isinstance(name, str):
                    raw = _redacted(raw) if self._choice.redact else raw
                    self._db.execute(
                        f"UPDATE {table} SET name = :name, record = :record"  # noqa: S608
                        f" WHERE {key} = :key AND (name != :name OR record IS NOT :record)",
                        {"name": _name(name), "record": raw, "key": shown(own)},
                    )
        self._db.execute("DELETE FROM files")
        for raw in files:
            row = _ATTACHMENT_ROW.decode(raw)
            if row.get("state") == "stored" and row.get("file"):
                values = rank_of(row["messageId"]), row["position"], row["file"], row.get("bytes")
                self._db.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)", values)

    # ── what follows ──

    def _order(self) -> None:
        """Count and cut the conversations that were touched, and name all."""
        twice = "SELECT rank FROM messages WHERE number > ? GROUP BY rank HAVING count(*) > 1"
        for (rank,) in self._db.execute(twice, (self._newest,)).fetchall():
            last = "SELECT max(number) FROM messages WHERE rank = ?"
            self._remove(f"rank = ? AND number < ({last})", rank, rank)
        self._choose_users()
        self._script(_COUNTS)
        self._name_all()
        self._db.executemany("INSERT INTO pages VALUES(?, ?, ?, ?, ?, ?, ?)", self._pages())
        self._db.executemany("INSERT INTO threads VALUES(?, ?, ?, ?, ?)", self._threads())

    def _mark_gone(self, ids: Iterable[str]) -> None:
        """Make the flag right of messages that the service does not show any more, or shows again."""
        self._db.executemany("INSERT OR IGNORE INTO gone VALUES(?)", ((rank_of(each),) for each in ids))
        for (number,) in self._db.execute(_WRONG).fetchall():
            self._db.execute(_MARK, (number,))
            self._remove("number = ?", number)

    def _choose_users(self) -> None:
        if users := self._choice.users:
            marks = ", ".join("?" * len(users))
            chosen = f"SELECT number FROM people WHERE uid IN ({marks})"  # noqa: S608
            self._remove(
                "conversation NOT IN (SELECT conversation FROM messages"  # noqa: S608
                f" WHERE sender IN ({chosen}) UNION SELECT number FROM conversations WHERE one IN ({chosen})"
                f" OR other IN ({chosen}))",
                *users, *users, *users,
            )  # fmt: skip

    def _name_all(self) -> None:
        """Give each conversation and person a title and the name of a file."""
        redact = self._choice.redact
        for update, select in _NAMING:
            rows, place = self._db.execute(select), count(1)
            while batch := rows.fetchmany(_BATCH):
                named = [
                    (str(next(place)) if redact else token(key), self._hide(_title(*names)), *known)
                    for key, *names, number, file, title in batch
                    for known in [(number, file, title)]
                ]
                self._db.executemany(update, [row[:3] for row in named if row[:2] != row[3:]])

    def _pages(self) -> Iterator[list[int]]:
        """Yield the pages of the conversations that were touched, and store their days."""
        rows = self._db.execute(
            "SELECT conversation, time, rank, size, number FROM messages INDEXED BY by_place"
            " WHERE conversation IN touched ORDER BY conversation, time, rank"
        )
        page, day, size = [0, 0, 0, 0, 0, 0, 0], [0, -1, 0, 0], 0
        for conversation, time, rank, own, number in rows:
            is_other = conversation != page[0]
            size += own
            if is_other or page[4] >= MESSAGES or size > BYTES:
                if page[0]:
                    yield page
                page, size = [conversation, 1 if is_other else page[1] + 1, time, rank, 0, 0, 0], own
            page[4] += 1
            page[5] = time
            page[6] = hash((page[6], number))
            date = time // 86_400_000
            if is_other or date != day[1]:
                self._store_day(day)
                day = [conversation, date, page[1], 0]
            day[3] += 1
        if page[0]:
            yield page
        self._store_day(day)

    def _store_day(self, day: list[int]) -> None:
        if day[0]:
            self._db.execute("INSERT INTO days VALUES(?, ?, ?, ?)", day)

    def _threads(self) -> Iterator[tuple[int, ...]]:
        """Yield threads with their pages: some on a page, or one on some pages."""
        rows = self._db.execute(
            "SELECT conversation, parent, count(*) FROM messages INDEXED BY by_parent WHERE parent NOT NULL"
            " AND conversation IN touched GROUP BY conversation, parent ORDER BY conversation, parent"
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
                yield conversation, page, parent, skipped, part


def _title(group: str | None, one: str | None, other: str | None, id: str) -> str:
    """Return the title of a conversation, by the names of its group or its people."""
    names = sorted({name for name in (one, other) if name}, key=str.casefold)
    return shown(group or " & ".join(names) or id)


def _name(name: str) -> str:
    return shown(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def _redacted(raw: bytes) -> bytes:
    """Return a record without addresses and phone numbers; of what is no JSON nothing can be left in."""
    try:
        return write_value(redacted_record(read_value(raw)))
    except (ValueError, RecursionError):
        return b'{"redacted":"the record could not be read"}'


def _gone_ids(out: str | PathLike[str]) -> list[str]:
    with open_view(out) as view, suppress(FileNotFoundError):
        return manifest.read(view.folder / manifest.NAME).deleted
    return []


def _fingerprint(out: str | PathLike[str]) -> str:
    """Return a hash of what shows that an export has changed: its files' sizes and times, or its runs."""
    digest = blake2b(digest_size=16)
    if isinstance(out, str) and is_address(out):
        for entry in runs(out):
            digest.update(f"{entry.started} {entry.finished} {entry.messages}\n".encode())
        return digest.hexdigest()
    for path in sorted(Path(out).rglob("*")):
        if path.is_file():
            status = path.stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
