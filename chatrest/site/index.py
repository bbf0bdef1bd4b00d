"""The messages of a site by conversation and time: a small SQLite file on top of the export's database.

The database of `chatrest.database` has the records; `posts` has for each of them the few numbers that place
it, so memory stays flat. A message's `rank` is its id as a number, or for other ids a hash: it orders
messages of one time, and names a message in addresses. Times are milliseconds; 0 stands for none. A
conversation is cut into pages by counts and sizes from its beginning, so that new messages change its last
page alone. `index_build` makes an index, and makes it again when the database has changed.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
from msgspec import Struct

from .._models.deleted_texts import without_deleted_texts
from ..errors import ChatRestError
from .choice import EVERYTHING, Choice
from .heads import rank_of
from .pseudonyms import Pseudonyms, number_of, pseudonym
from .redaction import Redaction, without_secrets
from .text import visible

MESSAGES: Final = 250
"""The most messages of a page."""
_PEOPLE: Final = 2_000
"""People that are kept in memory."""
_WAIT: Final = 10.0
"""Seconds that a load may have the database for itself."""


class MessageEntry(Struct, gc=False):
    place: int
    """Its row in the database."""
    time: int
    rank: int
    sender: int
    parent: int | None
    flags: int
    """Other than 0 of a deleted message."""
    raw: bytes


COLUMNS: Final = (
    "p.place, p.time, p.rank, p.sender, p.parent, p.flags,"
    " ifnull(CAST(m.raw AS BLOB), x'7b7d')"  # of a deleted message whose record was erased
)
_ALIASES: Final = """
SELECT name, iif(min(nullif(person, 0)) = max(person), max(person), 0) AS number, max(is_name), app
FROM aliases GROUP BY name, app ORDER BY number
"""
"""What two people have in common leads to neither."""
_STORED: Final = "posts p JOIN chat.messages m ON m.place = p.place"


class PageLink(NamedTuple):
    name: str
    """Of its conversation."""
    page: int
    rank: int
    flags: int


class QuotedMessage(NamedTuple):
    sender: int
    text: str
    link: PageLink


class PersonEntry(NamedTuple):
    """Somebody who wrote or was written to."""

    number: int
    uid: str
    """Of many apps with that of the app: `shop/ann`."""
    name: str
    file: str
    """The name of the page, without its end."""
    initials: str
    app: str = ""


_NOBODY: Final = PersonEntry(0, "", "", "", "")
"""Who a page of an earlier run was made with, and who is not in the site any more."""


class ConversationEntry(NamedTuple):
    number: int
    id: str
    """Of many apps with that of the app: `shop/ann_user_bob`."""
    name: str
    """The name of its folder."""
    title: str
    """Of many apps with that of the app: `shop: Ann & Bob`."""
    is_group: bool
    messages: int
    first: int
    last: int
    newest: int
    app: str = ""
    plain_title: str = ""
    """Without the app."""
    members: int = 0
    """Of a group, where the export has them; else 0."""


class PageCut(NamedTuple):
    """A page of a conversation: its number from 1, the place of its first message, and how many it has."""

    page: int
    time: int
    rank: int
    messages: int
    last: int
    sign: int
    """Of its records: another one where any is new or has changed."""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise `ChatRestError` with a path in the place of SQLite's own error, such as that of a full disk."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ChatRestError(f"{path}: {error}") from error


class Index:
    """The index at `path`, on the export's database that is attached; used with `with`.

    No message that it returns has the content of deleted ones: what is made of it is handed on.

    In a condition `+` keeps a column from being looked up by its index, where another one leads to few rows.
    All that is read of both is of one state: what others change meanwhile is seen by the next one.
    Raises sqlite3.DatabaseError for a file that is no index.
    """

    def __init__(self, path: Path, choice: Choice = EVERYTHING) -> None:
        self.choice = choice
        self.redaction = Redaction(redact=choice.redact, patterns=choice.patterns)
        self.hidden: dict[int, Counter[str]] = {}
        """By rank of a message: how often something of a kind was hidden in it, since it was cleared."""
        self.person: Callable[[int], PersonEntry] = lru_cache(_PEOPLE)(
            lambda number: next(self._people_where("WHERE number = ?", number), _NOBODY)
        )
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_WAIT)
        try:
            for sql in ("journal_mode=WAL", "synchronous=OFF", "cache_size=-20000"):
                self.db.execute(f"PRAGMA {sql}")
        except BaseException:
            self.db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    def use_pseudonyms(self) -> None:
        """Hide the names of people from now on, where that is chosen."""
        if self.choice.pseudonyms:
            self.redaction.names = Pseudonyms(self.db.execute(_ALIASES))

    def hide(self, text: str, app: str = "") -> str:
        """Return a text of an app without what is hidden."""
        self.redaction.app = app
        return self.redaction.hide(text)

    def attach(self, database: Path) -> None:
        """Have the export's database as `chat`; a load into it does not wait for its readers from now on."""
        self.db.execute("ATTACH ? AS chat", (str(database),))
        self.db.execute("PRAGMA chat.cache_size=-20000")
        with suppress(sqlite3.OperationalError):  # it cannot be written to
            self.db.execute("PRAGMA chat.journal_mode=WAL")

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.db.execute(sql, values).fetchall()

    @cached_property
    def has_files(self) -> bool:
        return bool(self._rows("SELECT 1 FROM files LIMIT 1"))

    @cached_property
    def has_reactors(self) -> bool:
        return bool(self._rows("SELECT 1 FROM reactors LIMIT 1"))

    @cached_property
    def has_versions(self) -> bool:
        return bool(self._rows("SELECT 1 FROM chat.versions LIMIT 1"))

    def count(self, rows: str) -> int:
        return int(self._rows(f"SELECT count(*) FROM {rows}")[0][0])  # noqa: S608

    def writer_count(self) -> int:
        return self.count("people WHERE messages > 0")

    # ── conversations ──

    def conversations(self, *, offset: int, limit: int) -> Iterator[ConversationEntry]:
        return self._conversations("ORDER BY last DESC, id LIMIT ? OFFSET ?", limit, offset)

    def stored_conversations(self) -> Iterator[ConversationEntry]:
        """Yield all conversations as they are in the database: its pages are read once then."""
        return self._conversations("ORDER BY place")

    def conversation(self, number: int) -> ConversationEntry:
        return next(self._conversations("WHERE number = ?", number))

    def _conversations(self, clause: str, *values: Any) -> Iterator[ConversationEntry]:
        columns = "number, id, name, title, guid NOT NULL, messages, first, last, newest, app, title, members"
        rows = self.db.execute(f"SELECT {columns} FROM conversations {clause}", values)  # noqa: S608
        return (
            ConversationEntry(
                number, self._shown_id(fields[5], key), name, f"{app}: {title}" if app else title, *fields
            )
            for number, key, name, title, *fields in rows
            for app in [visible(fields[5])]
        )

    def _shown_id(self, app: str, key: str) -> str:
        return f"{app}/{visible(self.hide(key[len(app) + 1 :], app))}" if app else visible(self.hide(key))

    def pages(self, conversation: int) -> list[PageCut]:
        sql = "SELECT page, time, rank, messages, last, sign FROM pages WHERE conversation = ? ORDER BY page"
        return list(map(PageCut._make, self.db.execute(sql, (conversation,))))

    def colours(self, conversation: int) -> dict[int, int]:
        """Return a number for each sender in a conversation, by the order in which they first wrote there."""
        rows = self._rows(
            "SELECT sender FROM posts INDEXED BY by_place WHERE conversation = ?"
            " GROUP BY sender ORDER BY min(time), sender",
            conversation,
        )
        return {sender: number for number, (sender,) in enumerate(rows)}

    def parties(self, conversation: int) -> tuple[str | None, int | None, int | None]:
        """Return the guid of a group; else None, and the numbers of the two people."""
        sql = "SELECT guid, one, other FROM conversations WHERE number = ?"
        [(guid, first, second)] = self._rows(sql, conversation)
        return guid, first, second

    def page_count(self, conversation: int) -> int:
        return int(self._rows("SELECT max(page) FROM pages WHERE conversation = ?", conversation)[0][0])

    def days(self, conversation: int) -> list[tuple[int, int, int]]:
        """Return (days since 1970, page, messages) of each day that has messages."""
        return self._rows(
            "SELECT day, page, messages FROM days WHERE conversation = ? ORDER BY day", conversation
        )

    # ── messages ──

    def messages(self, conversation: int, cut: PageCut) -> list[MessageEntry]:
        return self._entries(
            "WHERE p.conversation = ? AND (p.time, p.rank) >= (?, ?) ORDER BY p.time, p.rank LIMIT ?",
            conversation, cut.time, cut.rank, cut.messages,
        )  # fmt: skip

    def message(self, place: int) -> MessageEntry:
        return self._entries("WHERE p.place = ?", place)[0]

    def messages_by_rank(self, conversation: int, ranks: list[int]) -> dict[int, MessageEntry]:
        messages = self._entries(
            "WHERE p.rank IN (SELECT value FROM json_each(?)) AND +p.conversation = ?",
            msgspec.json.encode(ranks).decode(), conversation,
        )  # fmt: skip
        return {message.rank: message for message in messages}

    def replies(self, conversation: int, parent: int, offset: int, limit: int) -> list[MessageEntry]:
        return self._entries(
            "WHERE p.parent = ? AND +p.conversation = ? ORDER BY p.time, p.rank LIMIT ? OFFSET ?",
            parent, conversation, limit, offset,
        )  # fmt: skip

    def _entries(self, clause: str, *values: Any) -> list[MessageEntry]:
        """Return messages with their records, in which nothing is that the choice hides."""
        rows = self.db.execute(f"SELECT {COLUMNS} FROM {_STORED} {clause}", values)  # noqa: S608
        entries = [MessageEntry(*row) for row in rows]
        for each in entries:
            each.raw = without_secrets(each.raw)
            app = self.person(each.sender).app
            each.raw = without_deleted_texts(each.raw, each.flags != 0, partial(self._is_deleted, app))
            if self.choice.hides:
                self.redaction.app = app
                each.raw = self._redacted(each.rank, each.raw)
        return entries

    def _is_deleted(self, app: str, id: Any) -> bool:
        sql = (
            "SELECT 1 FROM posts p JOIN conversations c ON c.number = p.conversation"
            " WHERE p.rank = ? AND p.flags AND +c.app = ?"
        )
        return isinstance(id, str | int) and bool(self._rows(sql, rank_of(id), app))

    def _redacted(self, rank: int, raw: bytes) -> bytes:
        counts = self.redaction.counts
        counts.clear()
        raw = self.redaction.record(raw)
        if counts:
            self.hidden[rank] = counts.copy()
        return raw

    def page_link(self, app: str, rank: int) -> PageLink | None:
        """Return where a message is shown; None if the site does not have it."""
        rows = self._rows(
            "SELECT c.name, (SELECT page FROM pages p WHERE p.conversation = m.conversation"
            " AND (p.time, p.rank) <= (m.time, m.rank) ORDER BY p.time DESC, p.rank DESC LIMIT 1),"
            " m.rank, m.flags FROM posts m JOIN conversations c ON c.number = m.conversation"
            " WHERE m.rank = ? AND +c.app = ?",
            rank,
            app,
        )
        return PageLink._make(rows[0]) if rows else None

    def quoted(self, app: str, rank: int) -> QuotedMessage | None:
        """Return a message as those that answer it show it; None if the site does not have it."""
        rows = self._rows(
            f"SELECT p.sender, coalesce(nullif(m.text, ''), m.type, '') FROM {_STORED}"  # noqa: S608
            " WHERE p.rank = ? AND m.app = ?",
            rank,
            app,
        )
        if not rows or (link := self.page_link(app, rank)) is None:
            return None
        return QuotedMessage(rows[0][0], self.hide(rows[0][1], app), link)

    def reactors(self, app: str, ranks: Iterable[int]) -> list[tuple[int, str, str]]:
        """Return (rank, reaction, uid) of who has reacted to any of these messages, as records have them."""
        rows = self._rows(
            "SELECT message, reaction, uid FROM reactors WHERE app = ?"
            " AND message IN (SELECT value FROM json_each(?)) ORDER BY message, reaction, uid",
            app,
            msgspec.json.encode(list(ranks)).decode(),
        )
        return [(message, self.hide(reaction, app), self.hide(uid, app)) for message, reaction, uid in rows]

    def reactors_of_page(self, conversation: ConversationEntry, cut: PageCut) -> list[tuple[int, str, str]]:
        """Return the same for the messages of a page, and those of the same time as its last one."""
        return self._rows(
            "SELECT r.message, r.reaction, r.uid FROM posts p INDEXED BY by_place CROSS JOIN reactors r"
            " ON r.app = ? AND r.message = p.rank"
            " WHERE p.conversation = ? AND (p.time, p.rank) >= (?, ?) AND p.time <= ? ORDER BY 1, 2, 3",
            conversation.app, conversation.number, cut.time, cut.rank, cut.last,
        )  # fmt: skip

    def files(self, app: str, rank: int) -> dict[int, str]:
        """Return the names of the stored files of a message, by their positions in it."""
        return dict(self._rows("SELECT position, file FROM files WHERE app = ? AND message = ?", app, rank))

    # ── threads ──

    def threads(self, conversation: int) -> list[tuple[int, int, int, int]]:
        """Return (page, rank of the first message, replies on earlier pages, replies on this one)."""
        return self._rows(
            "SELECT page, parent, skipped, replies FROM threads WHERE conversation = ? ORDER BY page, parent",
            conversation,
        )

    def thread_facts(self, conversation: int) -> tuple[str, list[tuple[int, int]]]:
        """Return a hash of a conversation's threads, and in order (time, rank) of what they began with."""
        begun = self._rows(
            "SELECT DISTINCT m.time, m.rank FROM threads t JOIN posts m ON m.rank = t.parent"
            " AND +m.conversation = t.conversation WHERE t.conversation = ? ORDER BY m.time, m.rank",
            conversation,
        )
        return blake2b(msgspec.json.encode(self.threads(conversation)), digest_size=16).hexdigest(), begun

    def thread_counts(self, conversation: int) -> dict[int, tuple[int, int]]:
        """Return (replies, page) of each thread, by the rank of its first message."""
        rows = self._rows(
            "SELECT parent, sum(replies), min(page) FROM threads WHERE conversation = ? GROUP BY parent",
            conversation,
        )
        return {parent: (replies, page) for parent, replies, page in rows}

    def is_thread(self, conversation: int, parent: int, reply: tuple[int, int]) -> bool:
        """Return True if the parent of a reply at (time, rank) is an earlier message of the conversation."""
        sql = "SELECT 1 FROM posts WHERE rank = ? AND +conversation = ? AND (time, rank) < (?, ?)"
        return bool(self._rows(sql, parent, conversation, *reply))

    def versions(self, app: str, rank: int) -> list[tuple[str, int]]:
        """Return the earlier texts of a message with their times, oldest first."""
        rows = self._rows(
            "SELECT v.text, ifnull(v.edited_at, v.sent_at) FROM posts p JOIN chat.messages m"
            " ON m.place = p.place JOIN chat.versions v ON v.id = m.id AND v.app = m.app"
            " WHERE p.rank = ? AND m.app = ? ORDER BY v.version",
            rank,
            app,
        )
        self.redaction.counts.clear()
        versions = [(visible(self.hide(text or "", app)), time or 0) for text, time in rows]
        if self.redaction.counts:
            self.hidden.setdefault(rank, Counter()).update(self.redaction.counts)
        return versions

    def newest_version(self, app: str, rank: int) -> int:
        """Return the number of the newest earlier version of a message; 0 if there is none."""
        sql = (
            "SELECT max(v.version) FROM posts p JOIN chat.messages m ON m.place = p.place"
            " JOIN chat.versions v ON v.id = m.id AND v.app = m.app WHERE p.rank = ? AND m.app = ?"
        )
        return self._rows(sql, rank, app)[0][0] or 0

    # ── people ──

    def people_of(self, conversation: int) -> list[PersonEntry]:
        """Return who takes part in a conversation, or has written there, by uid."""
        return list(
            self._people_where(
                "WHERE number IN (SELECT sender FROM posts WHERE conversation = ?1"
                " UNION SELECT one FROM conversations WHERE number = ?1"
                " UNION SELECT other FROM conversations WHERE number = ?1) ORDER BY uid",
                conversation,
            )
        )

    def silent_members(self, conversation: ConversationEntry) -> list[tuple[str, str]]:
        """Return (name, uid) of a group's members who have written nothing there, by uid.

        None where names are hidden: nothing is left of them then.
        """
        if not conversation.members or self.choice.pseudonyms:
            return []
        rows = self._rows(
            "SELECT ifnull(nullif(u.name, ''), m.uid), m.uid FROM conversations c"
            " JOIN chat.members m ON m.guid = c.guid AND m.app = c.app"
            " LEFT JOIN chat.users u ON u.uid = m.uid AND u.app = m.app"
            " WHERE c.number = ?1 AND m.uid > '' AND m.uid NOT IN (SELECT own FROM people"
            " WHERE number IN (SELECT sender FROM posts WHERE conversation = ?1)) ORDER BY m.uid",
            conversation.number,
        )
        app = conversation.app
        return [(visible(self.hide(name, app)), visible(self.hide(uid, app))) for name, uid in rows]

    def person_of(self, app: str, uid: str) -> PersonEntry | None:
        """Return a person by the uid that a record has, in which it may be a pseudonym."""
        if self.choice.pseudonyms:
            return next(self._people_where("WHERE number = ?", number_of(uid)), None)
        return next(self._people_where("WHERE uid = ?", f"{app}/{uid}" if app else uid), None)

    def all_people(self) -> Iterator[PersonEntry]:
        return self._people_where("ORDER BY number")

    def _people_where(self, clause: str, *values: Any) -> Iterator[PersonEntry]:
        rows = self.db.execute(f"SELECT number, uid, name, file, app FROM people {clause}", values)  # noqa: S608
        return (
            PersonEntry(number, self._shown_uid(app, uid, number), name, file, initials(name), app)
            for number, uid, name, file, app in rows
        )

    def _shown_uid(self, app: str, key: str, number: int) -> str:
        if not self.choice.pseudonyms or len(key) == len(app) + bool(app):  # nobody is named
            return self._shown_id(app, key)
        return f"{app}/{pseudonym(number)}" if app else pseudonym(number)

    def people(self, *, offset: int, limit: int) -> Iterator[tuple[PersonEntry, int, int, int]]:
        """Yield people with the number, the first and the last time of their messages, the busiest first."""
        rows = self._rows(
            "SELECT number, messages, first, last FROM people WHERE messages > 0"
            " ORDER BY messages DESC, uid LIMIT ? OFFSET ?",
            limit, offset,
        )  # fmt: skip
        return ((self.person(number), *counts) for number, *counts in rows)

    def record_of_person(self, person: PersonEntry) -> bytes | None:
        record = "(SELECT record FROM people WHERE number = ?)"
        rows = self._rows(f"SELECT CAST(raw AS BLOB) FROM chat.users WHERE rowid = {record}", person.number)  # noqa: S608
        self.redaction.app = person.app
        return (self.redaction.record(rows[0][0]) if self.choice.hides else rows[0][0]) if rows else None

    def conversations_of(self, sender: int, limit: int) -> list[tuple[int, int, int, int]]:
        """Return (conversation, messages, first, last) where a person wrote, most messages first."""
        return self._rows(
            "SELECT conversation, count(*), min(time), max(time) FROM posts WHERE sender = ?"
            " GROUP BY conversation ORDER BY 2 DESC, 1 LIMIT ?",
            sender, limit,
        )  # fmt: skip


def initials(name: str) -> str:
    words = [word for word in name.replace("&", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"
