"""The messages of an archive by conversation and time: one SQLite file, so that memory stays flat.

A message is its record's bytes and the few numbers that place it. Its `rank` is its id as a number, or for
other ids a hash: it orders messages of one time, and names a message in addresses. Times are milliseconds;
0 stands for none. A conversation is cut into pages by counts and sizes from its beginning, so that new
messages change its last page alone. `filling` makes an index, and brings it up to date.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from .text import redacted, shown

MESSAGES: Final = 250
"""The most messages of a page."""
DELETED: Final = 1
"""The flag of a message whose record says that it is deleted."""
GONE: Final = 2
"""The flag of a message that the service does not show any more."""
_PEOPLE: Final = 2_000
"""People that are kept in memory."""


class MessageEntry(NamedTuple):
    """A message of the index."""

    number: int
    time: int
    rank: int
    sender: int
    parent: int | None
    flags: int
    """Any of a deleted message."""
    raw: bytes


class MessagePlace(NamedTuple):
    """The page of a message."""

    name: str
    """Of its conversation."""
    page: int
    rank: int
    is_deleted: bool


class PersonEntry(NamedTuple):
    """Somebody who wrote or was written to."""

    number: int
    uid: str
    name: str
    file: str
    """The name of the page, without its end."""
    initials: str


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


class PageCut(NamedTuple):
    """A page of a conversation: its number from 1, the place of its first message, and how many it has."""

    page: int
    time: int
    rank: int
    messages: int
    last: int
    sign: int
    """Of the numbers of its messages: another one where any is new or has changed."""


class Choice(NamedTuple):
    """The part of an export that an archive has."""

    conversations: Collection[str] = frozenset()
    users: Collection[str] = frozenset()
    """Only conversations that one of these takes part in, or has written in."""
    redact: bool = False
    since: int | None = None
    until: int | None = None


EVERYTHING: Final = Choice()


class IndexState(NamedTuple):
    """What an index has been filled with."""

    kind: str
    """The version and choice."""
    fingerprint: str
    """Of the export's files."""
    run: int
    """The export's last run; 0 where there is none."""
    started: int


_VERSION: Final = 3


def kind_of(choice: Choice) -> str:
    """Return what differs for indexes that cannot follow from one another."""
    return f"{_VERSION} {[sorted(each) if isinstance(each, Collection) else each for each in choice]}"


class Index:
    """The index at `path`, which is locked while it is open; used with `with`.

    Raises sqlite3.DatabaseError for a file that is no index, and for one of another choice or version.
    """

    def __init__(self, path: Path, choice: Choice = EVERYTHING) -> None:
        self.choice = choice
        self._hide: Callable[[str], str] = redacted if choice.redact else str
        self._people = OrderedDict[int, PersonEntry]()
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
        try:
            for sql in ("locking_mode=EXCLUSIVE", "synchronous=OFF", "cache_size=-40000"):
                self.db.execute(f"PRAGMA {sql}")
            state = self.state()
            if state is not None and state.kind != kind_of(choice):
                raise sqlite3.DatabaseError("it is of another version or choice")
        except BaseException:
            self.db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; twice is fine."""
        self.db.close()

    def state(self) -> IndexState | None:
        """Return what the index has been filled with; None for an empty one."""
        if not self._all("SELECT 1 FROM sqlite_master"):
            return None
        [row] = self._all("SELECT kind, fingerprint, run, started FROM state")
        return IndexState._make(row)

    def _all(self, sql: str, *values: Any) -> list[Any]:
        return self.db.execute(sql, values).fetchall()

    @cached_property
    def has_threads(self) -> bool:
        return bool(self._all("SELECT 1 FROM threads LIMIT 1"))

    @cached_property
    def has_files(self) -> bool:
        return bool(self._all("SELECT 1 FROM files LIMIT 1"))

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    def writers(self) -> int:
        """Return the number of people who have written."""
        return int(self.db.execute("SELECT count(*) FROM people WHERE messages > 0").fetchone()[0])

    def conversations(self, *, offset: int = 0, limit: int = -1) -> Iterator[ConversationEntry]:
        """Yield conversations, the one with the newest message first."""
        return self._conversations("ORDER BY last DESC, id LIMIT ? OFFSET ?", limit, offset)

    def conversation(self, number: int) -> ConversationEntry:
        return next(self._conversations("WHERE number = ?", number))

    def conversation_named(self, name: str) -> ConversationEntry | None:
        return next(self._conversations("WHERE name = ?", name), None)

    def _conversations(self, rest: str, *values: Any) -> Iterator[ConversationEntry]:
        rows = self.db.execute(
            "SELECT number, id, name, title, guid NOT NULL, messages, first, last, newest"  # noqa: S608
            f" FROM conversations {rest}",
            values,
        )
        return (ConversationEntry(number, shown(self._hide(name)), *rest) for number, name, *rest in rows)

    def pages(self, conversation: int) -> list[PageCut]:
        """Return the pages of a conversation, oldest first."""
        sql = "SELECT page, time, rank, messages, last, sign FROM pages WHERE conversation = ? ORDER BY page"
        return list(map(PageCut._make, self.db.execute(sql, (conversation,))))

    def page_count(self, conversation: int) -> int:
        row = self.db.execute(
            "SELECT max(page) FROM pages WHERE conversation = ?", (conversation,)
        ).fetchone()
        return int(row[0])

    def days(self, conversation: int) -> list[tuple[int, int, int]]:
        """Return (day since 1970, page, messages) of each day that has messages."""
        return self.db.execute(
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
        rows = self.db.execute(
            f"SELECT number, time, rank, sender, parent, flags, raw FROM messages {rest}",  # noqa: S608
            values,
        )
        return list(map(MessageEntry._make, rows))

    def threads(self, conversation: int) -> list[tuple[int, int, int, int]]:
        """Return (page, rank of the first message, replies on earlier pages, replies on this one)."""
        return self.db.execute(
            "SELECT page, parent, skipped, replies FROM threads WHERE conversation = ? ORDER BY page, parent",
            (conversation,),
        ).fetchall()

    def thread_facts(self, conversation: int) -> tuple[str, list[tuple[int, int]]]:
        """Return a hash of a conversation's threads, and in order (time, rank) of what they began with."""
        rows = self.db.execute(
            "SELECT DISTINCT m.time, m.rank FROM threads t JOIN messages m ON m.rank = t.parent"
            " WHERE t.conversation = ? ORDER BY m.time, m.rank",
            (conversation,),
        )
        digest = blake2b(msgspec.json.encode(self.threads(conversation)), digest_size=16)
        return digest.hexdigest(), rows.fetchall()

    def threads_of(self, ranks: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return (replies, page) of the threads that began with any of these messages."""
        listed = msgspec.json.encode(list(ranks)).decode()
        rows = self.db.execute(
            "SELECT parent, sum(replies), min(page) FROM threads"
            " WHERE parent IN (SELECT value FROM json_each(?)) GROUP BY parent",
            (listed,),
        )
        return {parent: (replies, page) for parent, replies, page in rows}

    def place(self, rank: int) -> MessagePlace | None:
        """Return the page of a message; None where the archive does not have it."""
        row = self.db.execute(
            "SELECT c.name, m.conversation, m.time, m.flags FROM messages m"
            " JOIN conversations c ON c.number = m.conversation WHERE m.rank = ?",
            (rank,),
        ).fetchone()
        if row is None:
            return None
        [page] = self.db.execute(
            "SELECT page FROM pages WHERE conversation = ? AND (time, rank) <= (?, ?)"
            " ORDER BY time DESC, rank DESC LIMIT 1",
            (row[1], row[2], rank),
        ).fetchone()
        return MessagePlace(row[0], page, rank, bool(row[3]))

    def files(self, rank: int) -> dict[int, str]:
        """Return the stored files of a message by position."""
        return dict(self.db.execute("SELECT position, file FROM files WHERE message = ?", (rank,)))

    def person(self, number: int) -> PersonEntry:
        """Return a person; those of the last thousands of calls are kept in memory."""
        if (person := self._people.get(number)) is None:
            person = next(self._persons("WHERE number = ?", number))
            self._people[number] = person
            if len(self._people) > _PEOPLE:
                self._people.popitem(last=False)
        return person

    def person_of(self, uid: str) -> PersonEntry | None:
        return next(self._persons("WHERE uid = ?", uid), None)

    def person_filed(self, file: str) -> PersonEntry | None:
        return next(self._persons("WHERE file = ?", file), None)

    def _persons(self, rest: str, *values: Any) -> Iterator[PersonEntry]:
        rows = self.db.execute(f"SELECT number, uid, name, file FROM people {rest}", values)  # noqa: S608
        return (
            PersonEntry(number, shown(self._hide(uid)), name, file, initials(name))
            for number, uid, name, file in rows
        )

    def everybody(self) -> Iterator[PersonEntry]:
        """Yield all people, those who wrote nothing included."""
        return (
            self.person(number) for (number,) in self.db.execute("SELECT number FROM people ORDER BY number")
        )

    def people(self, *, offset: int, limit: int) -> Iterator[tuple[PersonEntry, int, int, int]]:
        """Yield people with the number, the first and the last time of their messages, the busiest first."""
        rows = self.db.execute(
            "SELECT number, messages, first, last FROM people WHERE messages > 0"
            " ORDER BY messages DESC, uid LIMIT ? OFFSET ?",
            (limit, offset),
        )
        return ((self.person(number), *rest) for number, *rest in rows)

    def record_of_person(self, number: int) -> bytes | None:
        """Return a user's record, where the export has the table of users."""
        [record] = self.db.execute("SELECT record FROM people WHERE number = ?", (number,)).fetchone()
        return None if record is None else bytes(record)

    def conversations_of(self, sender: int, limit: int) -> list[tuple[int, int, int, int]]:
        """Return (conversation, messages, first, last) of where a person wrote, most messages first."""
        return self.db.execute(
            "SELECT conversation, count(*), min(time), max(time) FROM messages WHERE sender = ?"
            " GROUP BY conversation ORDER BY 2 DESC, 1 LIMIT ?",
            (sender, limit),
        ).fetchall()


def initials(name: str) -> str:
    """Return up to two letters for a name."""
    words = [word for word in name.replace("&", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"
