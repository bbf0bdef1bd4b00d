"""The conversations of a site, their pages and threads: a small SQLite file on top of the export's database.

The database of `chatrest.database` has the records; `posts` has for each of them the few numbers that order
it, so memory stays flat. A message's `rank` is its id as a number, or for other ids a hash: it orders
messages of one time, and names a message in addresses. Times are milliseconds; 0 stands for none. A
conversation is cut into pages by counts and sizes from its beginning, so that new messages change its last
page alone. `index_build` makes an index, and makes it again when the database has changed.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from ..errors import ChatRestError
from .choice import Choice
from .contents import visible
from .index_messages import IndexedMessages, PageCut
from .pseudonyms import Pseudonyms, number_of, pseudonym
from .redaction import Redaction

_WAIT: Final = 10.0
"""Seconds that a load may have the database for itself."""
_ALIASES: Final = """
SELECT name, iif(min(nullif(person, 0)) = max(person), max(person), 0) AS number, max(is_name), app
FROM aliases GROUP BY name, app ORDER BY number
"""
"""What two people have in common leads to neither."""
_PEOPLE: Final = 2_000
"""People that are kept in memory."""


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


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise `ChatRestError` with a path in the place of SQLite's own error, such as that of a full disk."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ChatRestError(f"{path}: {error}") from error


class Index:
    """The index at `path`, on the export's database that is attached; used with `with`.

    `messages` and `people` are its other parts. All that is read is of one state: what others change
    meanwhile is seen by the next one. Raises sqlite3.DatabaseError for a file that is no index.
    """

    def __init__(self, path: Path, choice: Choice) -> None:
        self.choice = choice
        self.redaction = Redaction(redact=choice.redact, patterns=choice.patterns)
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_WAIT)
        try:
            for sql in ("journal_mode=WAL", "synchronous=OFF", "cache_size=-20000"):
                self.db.execute(f"PRAGMA {sql}")
        except BaseException:
            self.db.close()
            raise
        self.messages = IndexedMessages(self.db, choice, self.redaction)
        self.people = IndexedPeople(self.db, choice, self.redaction)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def attach(self, database: Path) -> None:
        """Have the export's database as `chat`; a load into it does not wait for its readers from now on."""
        self.db.execute("ATTACH ? AS chat", (str(database),))
        self.db.execute("PRAGMA chat.cache_size=-20000")
        with suppress(sqlite3.OperationalError):  # it cannot be written to
            self.db.execute("PRAGMA chat.journal_mode=WAL")

    def use_pseudonyms(self) -> None:
        """Hide the names of people from now on, where that is chosen."""
        if self.choice.pseudonyms:
            self.redaction.set_names(Pseudonyms(self.db.execute(_ALIASES)))

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.db.execute(sql, values).fetchall()

    def count(self, rows: str) -> int:
        return int(self._rows(f"SELECT count(*) FROM {rows}")[0][0])  # noqa: S608

    # ── conversations ──

    def conversations(self, *, offset: int = 0, limit: int = -1) -> Iterator[ConversationEntry]:
        """Yield conversations, the one with the newest message first; -1 is no limit."""
        return self._conversations("ORDER BY last DESC, id LIMIT ? OFFSET ?", limit, offset)

    def stored_conversations(self) -> Iterator[ConversationEntry]:
        """Yield all conversations as they are in the database: its pages are read once then."""
        return self._conversations("ORDER BY first_row")

    def conversation(self, number: int) -> ConversationEntry:
        return next(self._conversations("WHERE number = ?", number))

    def _conversations(self, clause: str, *values: Any) -> Iterator[ConversationEntry]:
        columns = "number, id, name, title, guid NOT NULL, messages, first, last, newest, app, title, members"
        rows = self.db.execute(f"SELECT {columns} FROM conversations {clause}", values)  # noqa: S608
        for number, key, name, title, *fields in rows:
            app = visible(fields[5])
            shown_id = self.redaction.visible_key(fields[5], key)
            yield ConversationEntry(number, shown_id, name, f"{app}: {title}" if app else title, *fields)

    def parties(self, conversation: int) -> tuple[str | None, int | None, int | None]:
        """Return the guid of a group; else None, and the numbers of the two people."""
        sql = "SELECT guid, one, other FROM conversations WHERE number = ?"
        [(guid, first, second)] = self._rows(sql, conversation)
        return guid, first, second

    def colours(self, conversation: int) -> dict[int, int]:
        """Return a number for each sender in a conversation, by the order in which they first wrote there."""
        rows = self._rows(
            "SELECT sender FROM posts INDEXED BY by_time WHERE conversation = ?"
            " GROUP BY sender ORDER BY min(time), sender",
            conversation,
        )
        return {sender: number for number, (sender,) in enumerate(rows)}

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
        shown = self.redaction.visible_text
        return [(shown(name, conversation.app), shown(uid, conversation.app)) for name, uid in rows]

    # ── pages, days and threads ──

    def pages(self, conversation: int) -> list[PageCut]:
        sql = "SELECT page, time, rank, messages, last, sign FROM pages WHERE conversation = ? ORDER BY page"
        return list(map(PageCut._make, self._rows(sql, conversation)))

    def page_count(self, conversation: int) -> int:
        return int(self._rows("SELECT max(page) FROM pages WHERE conversation = ?", conversation)[0][0])

    def days(self, conversation: int) -> list[tuple[int, int, int]]:
        """Return (days since 1970, page, messages) of each day that has messages; -1 is for undated ones."""
        sql = "SELECT day, page, messages FROM days WHERE conversation = ? ORDER BY day"
        return self._rows(sql, conversation)

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


class IndexedPeople:
    """The people in the index `db`; `redaction` hides what is not shown of them."""

    def __init__(self, db: sqlite3.Connection, choice: Choice, redaction: Redaction) -> None:
        self._db, self._choice, self._redaction = db, choice, redaction
        self.person: Callable[[int], PersonEntry] = lru_cache(_PEOPLE)(
            lambda number: next(self._select("WHERE number = ?", number), _NOBODY)
        )

    def person_of(self, app: str, uid: str) -> PersonEntry | None:
        """Return a person by the uid that a record has, in which it may be a pseudonym."""
        if self._choice.pseudonyms:
            return next(self._select("WHERE number = ?", number_of(uid)), None)
        return next(self._select("WHERE uid = ?", f"{app}/{uid}" if app else uid), None)

    def people(self) -> Iterator[PersonEntry]:
        return self._select("ORDER BY number")

    def people_of(self, conversation: int) -> list[PersonEntry]:
        """Return who takes part in a conversation, or has written there, by uid."""
        clause = (
            "WHERE number IN (SELECT sender FROM posts WHERE conversation = ?1"
            " UNION SELECT one FROM conversations WHERE number = ?1"
            " UNION SELECT other FROM conversations WHERE number = ?1) ORDER BY uid"
        )
        return list(self._select(clause, conversation))

    def writers(self, *, offset: int, limit: int) -> Iterator[tuple[PersonEntry, int, int, int]]:
        """Yield people with the number, the first and the last time of their messages, the busiest first."""
        rows = self._db.execute(
            "SELECT number, messages, first, last FROM people WHERE messages > 0"
            " ORDER BY messages DESC, uid LIMIT ? OFFSET ?",
            (limit, offset),
        ).fetchall()
        return ((self.person(number), *counts) for number, *counts in rows)

    def conversations_of(self, sender: int, limit: int) -> list[tuple[int, int, int, int]]:
        """Return (conversation, messages, first, last) where a person wrote, most messages first."""
        return self._db.execute(
            "SELECT conversation, count(*), min(time), max(time) FROM posts WHERE sender = ?"
            " GROUP BY conversation ORDER BY 2 DESC, 1 LIMIT ?",
            (sender, limit),
        ).fetchall()

    def record_of(self, person: PersonEntry) -> bytes | None:
        """Return the user's record of a person; None if the export has none."""
        sql = (
            "SELECT CAST(u.raw AS BLOB) FROM people p"
            " JOIN chat.users u ON u.rowid = p.record WHERE p.number = ?"
        )
        for (raw,) in self._db.execute(sql, (person.number,)).fetchall():
            return self._redaction.record(raw, person.app) if self._choice.hides else raw
        return None

    def _select(self, clause: str, *values: Any) -> Iterator[PersonEntry]:
        rows = self._db.execute(f"SELECT number, uid, name, file, app FROM people {clause}", values)  # noqa: S608
        return (
            PersonEntry(number, self._shown_uid(app, uid, number), name, file, initials(name), app)
            for number, uid, name, file, app in rows
        )

    def _shown_uid(self, app: str, key: str, number: int) -> str:
        if not self._choice.pseudonyms or len(key) == len(app) + bool(app):  # nobody is named
            return self._redaction.visible_key(app, key)
        return f"{app}/{pseudonym(number)}" if app else pseudonym(number)


def initials(name: str) -> str:
    letters = "".join(" " if each in "&\u2068\u2069" else each for each in name)
    words = [word for word in letters.split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"
