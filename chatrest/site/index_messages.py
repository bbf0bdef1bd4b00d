"""The messages of a site with what belongs to them: replies, quotes, files, reactions and earlier versions.

No record has the secret of a call's channel or the content of a deleted message, nor what the choice hides:
what is made of it is handed on.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from .._models.deleted_texts import without_deleted_texts
from .choice import Choice
from .contents import rank_of
from .redaction import Redaction, without_secrets

_COLUMNS: Final = (
    "p.row, p.time, p.rank, p.sender, p.parent, p.flags,"
    " ifnull(CAST(m.raw AS BLOB), x'7b7d'), m.app"  # of a deleted message whose record was erased
)
_STORED: Final = "posts p JOIN chat.messages m ON m.place = p.row"
_VERSIONS: Final = (
    f"{_STORED} JOIN chat.versions v ON v.id = m.id AND v.app = m.app WHERE p.rank = ? AND m.app = ?"
)


class MessageEntry(Struct, gc=False):
    row: int
    """Of the database."""
    time: int
    rank: int
    sender: int
    parent: int | None
    flags: int
    """Other than 0 of a deleted message."""
    raw: bytes
    app: str


class PageCut(NamedTuple):
    """A page of a conversation: its number from 1, time and rank of its first message, and how many."""

    page: int
    time: int
    rank: int
    messages: int
    last: int
    sign: int
    """Of its records: another one where any is new or has changed."""


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


class IndexedMessages:
    """The messages in the index `db`, which has the export's database as `chat`.

    In a condition `+` keeps a column from being looked up by its index, where another one leads to few rows.
    """

    def __init__(self, db: sqlite3.Connection, choice: Choice, redaction: Redaction) -> None:
        self._db, self._choice, self._redaction = db, choice, redaction
        self.hidden: dict[int, Counter[str]] = {}
        """By rank of a message: how often something of a kind was hidden in it, since it was cleared."""

    def of_page(self, conversation: int, cut: PageCut) -> list[MessageEntry]:
        return self._select(
            "WHERE p.conversation = ? AND (p.time, p.rank) >= (?, ?) ORDER BY p.time, p.rank LIMIT ?",
            conversation, cut.time, cut.rank, cut.messages,
        )  # fmt: skip

    def at(self, row: int) -> MessageEntry:
        return self._select("WHERE p.row = ?", row)[0]

    def by_rank(self, conversation: int, ranks: list[int]) -> dict[int, MessageEntry]:
        messages = self._select(
            "WHERE p.rank IN (SELECT value FROM json_each(?)) AND +p.conversation = ?",
            msgspec.json.encode(ranks).decode(), conversation,
        )  # fmt: skip
        return {message.rank: message for message in messages}

    def replies(self, conversation: int, parent: int, offset: int, limit: int) -> list[MessageEntry]:
        return self._select(
            "WHERE p.parent = ? AND +p.conversation = ? ORDER BY p.time, p.rank LIMIT ? OFFSET ?",
            parent, conversation, limit, offset,
        )  # fmt: skip

    def _select(self, clause: str, *values: Any) -> list[MessageEntry]:
        """Return messages with their records, in which nothing is that must not be shown."""
        rows = self._db.execute(f"SELECT {_COLUMNS} FROM {_STORED} {clause}", values)  # noqa: S608
        entries = [MessageEntry(*row) for row in rows]
        for each in entries:
            raw = without_secrets(each.raw)
            raw = without_deleted_texts(raw, each.flags != 0, partial(self._is_deleted, each.app))
            each.raw = self._redacted(each.rank, raw, each.app) if self._choice.hides else raw
        return entries

    def _is_deleted(self, app: str, id: Any) -> bool:
        sql = (
            "SELECT 1 FROM posts p JOIN conversations c ON c.number = p.conversation"
            " WHERE p.rank = ? AND p.flags AND +c.app = ?"
        )
        if not isinstance(id, str | int):
            return False
        return self._db.execute(sql, (rank_of(id), app)).fetchone() is not None

    def _redacted(self, rank: int, raw: bytes, app: str) -> bytes:
        counts = self._redaction.counts
        counts.clear()
        raw = self._redaction.record(raw, app)
        if counts:
            self.hidden[rank] = counts.copy()
        return raw

    def page_link(self, app: str, rank: int) -> PageLink | None:
        """Return where a message is shown; None if the site does not have it."""
        rows = self._db.execute(
            "SELECT c.name, (SELECT page FROM pages p WHERE p.conversation = m.conversation"
            " AND (p.time, p.rank) <= (m.time, m.rank) ORDER BY p.time DESC, p.rank DESC LIMIT 1),"
            " m.rank, m.flags FROM posts m JOIN conversations c ON c.number = m.conversation"
            " WHERE m.rank = ? AND +c.app = ?",
            (rank, app),
        ).fetchall()
        return PageLink._make(rows[0]) if rows else None

    def quoted(self, app: str, rank: int) -> QuotedMessage | None:
        """Return a message as those that answer it show it; None if the site does not have it."""
        if (link := self.page_link(app, rank)) is None:
            return None
        sender, text = self._db.execute(
            f"SELECT p.sender, coalesce(nullif(m.text, ''), m.type, '') FROM {_STORED}"  # noqa: S608
            " WHERE p.rank = ? AND m.app = ?",
            (rank, app),
        ).fetchone()
        return QuotedMessage(sender, self._redaction.hide(text, app), link)

    @cached_property
    def has_files(self) -> bool:
        return self._has_rows("files")

    @cached_property
    def has_reactors(self) -> bool:
        return self._has_rows("reactors")

    @cached_property
    def has_versions(self) -> bool:
        return self._has_rows("chat.versions")

    def _has_rows(self, table: str) -> bool:
        return self._db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608

    def files(self, app: str, rank: int) -> dict[int, str]:
        """Return the names of the stored files of a message, by their positions in it."""
        sql = "SELECT position, file FROM files WHERE app = ? AND message = ?"
        return dict(self._db.execute(sql, (app, rank)).fetchall())

    def reactors(self, app: str, ranks: Iterable[int]) -> list[tuple[int, str, str]]:
        """Return (rank, reaction, uid) of who has reacted to any of these messages, as records have them."""
        rows = self._db.execute(
            "SELECT message, reaction, uid FROM reactors WHERE app = ?"
            " AND message IN (SELECT value FROM json_each(?)) ORDER BY message, reaction, uid",
            (app, msgspec.json.encode(list(ranks)).decode()),
        ).fetchall()
        hide = self._redaction.hide
        return [(message, hide(reaction, app), hide(uid, app)) for message, reaction, uid in rows]

    def reactors_of_page(self, app: str, conversation: int, cut: PageCut) -> list[tuple[int, str, str]]:
        """Return the same for the messages of a page, and those of the same time as its last one."""
        return self._db.execute(
            "SELECT r.message, r.reaction, r.uid FROM posts p INDEXED BY by_time CROSS JOIN reactors r"
            " ON r.app = ? AND r.message = p.rank"
            " WHERE p.conversation = ? AND (p.time, p.rank) >= (?, ?) AND p.time <= ? ORDER BY 1, 2, 3",
            (app, conversation, cut.time, cut.rank, cut.last),
        ).fetchall()

    def versions(self, app: str, rank: int) -> list[tuple[str, int]]:
        """Return the earlier texts of a message with their times, oldest first."""
        sql = f"SELECT v.text, ifnull(v.edited_at, v.sent_at) FROM {_VERSIONS} ORDER BY v.version"  # noqa: S608
        rows = self._db.execute(sql, (rank, app)).fetchall()
        counts = self._redaction.counts
        counts.clear()
        versions = [(self._redaction.visible_text(text or "", app), time or 0) for text, time in rows]
        if counts:
            self.hidden.setdefault(rank, Counter()).update(counts)
        return versions

    def newest_version(self, app: str, rank: int) -> int:
        """Return the number of the newest earlier version of a message; 0 if there is none."""
        sql = f"SELECT ifnull(max(v.version), 0) FROM {_VERSIONS}"  # noqa: S608
        return int(self._db.execute(sql, (rank, app)).fetchone()[0])
