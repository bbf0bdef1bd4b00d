"""Changes of messages that are on disk: newer versions, and messages that no list shows any more.

A recheck compares rows that are read again with the rows on disk. A newer version waits in the journal until
the run ends, and then takes the place of the older one, which goes to the history. A message that no list
shows is noted as deleted, and stays in the export. A record can also say that another message was edited or
deleted, or that its own was.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ..._core.replies.rows import Row, row_of
from ..._models.raw_json import REFUSED
from ..._storage import sql_in
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from ..store import Changes, ExportStore
from .journal import Journal

_CHANGES_AT_ONCE: Final = 20_000
_SCHEMA: Final = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;
CREATE TABLE stored(key TEXT PRIMARY KEY, number INTEGER, sent_at INTEGER, digest BLOB,
    is_deleted INTEGER) WITHOUT ROWID;
"""


class ReplacedMessages(NamedTuple):
    """The number of messages that a newer version has replaced."""

    changed: int
    deleted: int
    """Those of which the newer version says that they were deleted."""


class ChangedMessages:
    """The changes that the journal of a folder has noted, open for writing.

    Methods that note anything are called in a transaction of the journal, except `apply`, which has its own.
    """

    def __init__(self, journal: Journal, store: ExportStore) -> None:
        self._journal, self._store = journal, store
        self._index: StoredIndex | None = None
        self.has_older: bool = bool(store.written)
        """True if messages on disk may have been edited since they were read: by an earlier run."""
        self.load_deleted()

    def load_deleted(self) -> None:
        deleted = self._journal.news.deleted()
        missing = [each.id for each in deleted if each.missing]
        self.deleted: IdSet = IdSet(self._journal.ids_by_key(each.id for each in deleted).values())
        """The ids that no source shows any more."""
        self.deleted_missing: IdSet = IdSet(self._journal.ids_by_key(missing).values())
        """Those of them that are not on disk either."""

    def prepare(self, stored: Iterable[Row]) -> None:
        """Index rows on disk, with which those that are read again are compared."""
        self.close()
        self._index = StoredIndex(self._journal.numbers_of_names)
        self._index.load(stored)
        self._index.renew(self._journal.pending_changes.rows())

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None

    def stored_since(self, since: int) -> IdSet:
        """Return the ids on disk that were sent at a time or later, as `prepare` has found them."""
        return IdSet() if self._index is None else self._index.since(since)

    def compare(self, rows: list[Row]) -> int:
        """Note the rows that differ from those on disk; return how many."""
        if not rows:
            return 0
        assert self._index is not None, "prepare() comes first"
        changed = self._index.changed(rows)
        self._index.renew(changed)
        self._journal.pending_changes.note(changed)
        return len(changed)

    def note_deleted(self, source: int, ids: IdSet, now: int, *, missing: bool = False) -> int:
        known = IdSet() if self._index is None else self._index.deleted()
        news = IdSet() if missing else ids - known
        self._journal.news.mark_deleted(source, ids, now, missing=missing, news=news)
        self.load_deleted()
        return len(news)

    def undelete(self, shown: IdSet) -> None:
        """Note that deleted messages are shown again; those also missing are read again."""
        if again := shown & self.deleted:
            self.deleted.discard(again)
            self.deleted_missing.discard(again)
            self._journal.news.undelete(again)

    def apply(self) -> ReplacedMessages:
        """Let all newer versions take the places of the older ones; return how many did."""
        changed = deleted = 0
        while rows := self._journal.pending_changes.rows(_CHANGES_AT_ONCE):
            replaced = list[str]()

            def note(ids: list[str], replaced: list[str] = replaced) -> None:
                replaced += ids
                self._journal.pending_changes.forget(ids)
                self._journal.news.note("changed", ids)

            by_author = {row.id for row in rows if is_deleted(row.raw)}
            newly_deleted = self._not_deleted_yet(by_author)
            self._store.update(Changes({row.id: row for row in rows}, note))
            with self._journal.transaction():
                # Those that did not take a place are of messages that are not on the disk any more.
                self._journal.pending_changes.forget(row.id for row in rows)
            deleted += len(newly_deleted.intersection(replaced))
            changed += len(set(replaced) - by_author)
        return ReplacedMessages(changed, deleted)

    def _not_deleted_yet(self, keys: set[str]) -> set[str]:
        """Return those of which no run has found that they were deleted: each deletion counts once."""
        known = self._journal.ids_by_key(keys)
        stored = self._store.files.rows_by_id(keys) if keys else {}
        return {
            key for key in keys
            if known.get(key, 0) not in self.deleted and not (key in stored and is_deleted(stored[key].raw))
        }  # fmt: skip


class StoredIndex:
    """Rows on disk by id, in a temporary database of SQLite's own: little memory, and no file is left.

    `names` gives the numbers of ids that are texts.
    """

    def __init__(self, names: Callable[[Iterable[str]], dict[str, int]]) -> None:
        self._names = names
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def load(self, stored: Iterable[Row]) -> None:
        self._db.execute("BEGIN")
        entries = (
            (key_of(row), number(row.id), row.sent_at, _digest(row), is_deleted(row.raw)) for row in stored
        )
        self._db.executemany("INSERT OR IGNORE INTO stored VALUES(?, ?, ?, ?, ?)", entries)
        self._db.execute("COMMIT")

    def since(self, since: int) -> IdSet:
        """Return the ids of the rows that were sent at a time or later; not those without a time."""
        return self._where("sent_at >= ?", since)

    def deleted(self) -> IdSet:
        return self._where("is_deleted = ?", 1)

    def _where(self, condition: str, value: int) -> IdSet:
        numbers = self._db.execute(f"SELECT number FROM stored WHERE number > 0 AND {condition}", (value,))  # noqa: S608
        keys = self._db.execute(f"SELECT key FROM stored WHERE number IS NULL AND {condition}", (value,))  # noqa: S608
        return IdSet(each for (each,) in numbers) | IdSet(self._names(key for (key,) in keys).values())

    def changed(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are on disk with other bytes."""
        keys = [key_of(row) for row in rows]
        known = dict(sql_in(self._db, "SELECT key, digest FROM stored WHERE key IN", keys))
        pairs = zip(keys, rows, strict=True)
        return [row for key, row in pairs if key in known and known[key] != _digest(row)]

    def renew(self, rows: Iterable[Row]) -> None:
        """Note newer versions of rows on disk; of others nothing."""
        entries = ((_digest(row), is_deleted(row.raw), key_of(row)) for row in rows)
        self._db.executemany("UPDATE stored SET digest = ?, is_deleted = ? WHERE key = ?", entries)


def _digest(row: Row) -> bytes:
    return hashlib.blake2b(row.raw, digest_size=16).digest()


ACTION: Final = b'"action"'
"""In every record of an edit or a deletion."""


class _On(Struct, frozen=True):
    entity: Raw = Raw(b"null")


class _Entities(Struct, frozen=True):
    on: _On = _On()


class _ActionData(Struct, frozen=True):
    action: str = ""
    entities: _Entities = _Entities()


class _Action(Struct, frozen=True):
    category: str = ""
    data: _ActionData = _ActionData()


_READ_ACTION: Final = Decoder(_Action)


class _DeletedMessage(Struct, frozen=True, rename="camel"):
    deleted_at: Any = None


_READ_DELETED: Final = Decoder(_DeletedMessage)


def is_deleted(raw: bytes) -> bool:
    """Return whether a record is that of a message which its author, or a moderator, has deleted."""
    try:
        at = _READ_DELETED.decode(raw).deleted_at if b'"deletedAt"' in raw else None
    except REFUSED:
        return False
    return at not in (None, 0, "", "0", False)


def shown_edits(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the messages that records of edits and deletions show, as they were then."""
    for raw in (row.raw for row in rows):
        if ACTION not in raw:
            continue
        try:
            action = _READ_ACTION.decode(raw)
        except REFUSED:
            continue
        if action.category == "action" and action.data.action in ("edited", "deleted"):
            row = row_of(bytes(action.data.entities.on.entity))
            if row.id:
                yield row
