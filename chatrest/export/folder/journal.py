"""The journal of an export: the messages on disk, the ids its sources have shown, and the work left.

| table        | holds                                                                                   |
|--------------|-----------------------------------------------------------------------------------------|
| sources      | every list that is read; the number is its rank among users                             |
| covered      | per source the intervals of ids that were read, each with the position that follows     |
| rechecks     | sources that are read again, with their progress                                        |
| shown        | the ids that the service shows while it is read again                                   |
| changed      | messages that have changed, before they are written to the files                        |
| deleted      | ids that the service does not show any more; `missing` where the export lacks them, too |
| news         | by run the ids that are new, changed, deleted, or shown again (`restored`)              |
| edits        | messages as edits and deletions show them, before they are compared with those on disk  |
| foreign_ids  | of a part: ids that its lists have shown, and that another part writes; `sent` where    |
|              | they were left there                                                                    |
| foreign_rows | of a part: messages that are left to another part                                       |

The tables of files and ids are those of the store (`store/store_journal.py`). A page is committed in one
transaction: its rows, the ids that it showed, the ids it covers. All rows that the journal names are on the
disk. All writes are made inside `transaction`.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..._storage import Layout
from ..plan.export_plan import Plan
from ..plan.id_set import IdSet
from ..plan.message_ids import Interval, merge, position_of
from ..plan.ownership import Source
from ..store.store_journal import (
    DAMAGE,
    LAYOUT as STORE_LAYOUT,
    NAME as NAME,
    PORTION,
    SCHEMA,
    Count,
    StoreJournal,
)
from .fetched_page import ListOrder
from .journal_notes import RUN, EditHints, NewsLog, OutgoingMessages, PendingChanges, Rechecks

_SCHEMA: Final = f"""{SCHEMA};
CREATE TABLE sources(number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, state TEXT NOT NULL DEFAULT 'open',
    error TEXT, list_order TEXT NOT NULL DEFAULT 'ids', proven INTEGER NOT NULL DEFAULT 0,
    asked INTEGER NOT NULL DEFAULT 1);
CREATE TABLE covered(source INTEGER, first INTEGER, last INTEGER NOT NULL, position TEXT NOT NULL,
    PRIMARY KEY(source, first)) WITHOUT ROWID;
CREATE TABLE rechecks(source INTEGER PRIMARY KEY, since INTEGER NOT NULL, after INTEGER NOT NULL,
    until INTEGER NOT NULL, position TEXT NOT NULL);
CREATE TABLE shown(number INTEGER PRIMARY KEY, source INTEGER NOT NULL, ids BLOB NOT NULL);
CREATE TABLE changed(id TEXT PRIMARY KEY, number INTEGER, raw BLOB NOT NULL);
CREATE INDEX changed_numbers ON changed(number);
CREATE TABLE deleted(id TEXT PRIMARY KEY, source INTEGER NOT NULL, noticed INTEGER NOT NULL,
    missing INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE news(number INTEGER PRIMARY KEY, run INTEGER NOT NULL, kind TEXT NOT NULL, ids BLOB NOT NULL);
CREATE TABLE edits(id TEXT, raw BLOB, PRIMARY KEY(id, raw)) WITHOUT ROWID;
CREATE TABLE foreign_ids(number INTEGER PRIMARY KEY, part INTEGER NOT NULL, ids BLOB NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0);
CREATE TABLE foreign_rows(id TEXT, raw BLOB, part INTEGER NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(id, raw)) WITHOUT ROWID
"""
LAYOUT: Final[Layout] = STORE_LAYOUT._replace(schema=_SCHEMA)
_TABLES: Final = {
    "sources": 7, "covered": 4, "files": 7, "blocks": 7, "seen": 3, "names": 2, "rechecks": 5, "shown": 3,
    "changed": 3, "deleted": 4, "foreign_ids": 4, "foreign_rows": 4,
}  # fmt: skip
"""Those of the facts, and how many columns they have."""
GENERATION: Final = "generation"
PREVIOUS_GENERATION: Final = "previous_generation"
NO_PLAN: Final = "has no plan: it is no export's journal"
LOST_VERSIONS: Final = "lost_versions"
"""In the meta: the files of older versions that were lost or damaged, a name on each line."""
_OWN_META: Final = f"'{GENERATION}', '{PREVIOUS_GENERATION}', '{RUN}'"
_SELECTS: Final = (
    (3, "SELECT type, name, sql{} FROM sqlite_master ORDER BY 1, 2"),
    (2, f"SELECT *{{}} FROM meta WHERE name NOT IN ({_OWN_META}) ORDER BY 1"),  # noqa: S608
    *((1 + count, f"SELECT '{name}', *{{}} FROM {name} ORDER BY 2, 3") for name, count in _TABLES.items()),  # noqa: S608
)
_FACTS: Final = " UNION ALL ".join(
    f"SELECT {count}, * FROM ({select.format(', NULL' * (8 - count))})"  # noqa: S608
    for count, select in _SELECTS
)
"""The statement that gives all rows in a fixed order, but for the generation: how many values, and these."""
State: TypeAlias = Literal["open", "failed", "deleted_user"]
"""open: read, or to be read; failed: the service refused it; deleted_user: it is not listed any more."""


class SourceState(NamedTuple):
    number: int
    """Its rank among users: the lower one writes what two of them have."""
    source: Source
    state: State = "open"
    error: str | None = None
    order: ListOrder = "ids"
    proven: int = 0
    """The frozen end for which its newest id was probed: all that the service has up to there was seen."""
    asked: bool = True
    """True if the plan still asks for it; what it wrote is kept where not."""

    @property
    def is_read(self) -> bool:
        """True if runs read it: the plan asks for it, and its user is listed."""
        return self.asked and self.state != "deleted_user"


class Journal(StoreJournal):
    """The journal of one folder: its sources and what they cover, and by attribute its other tables."""

    layout = LAYOUT

    def __init__(
        self, path: Path, begin: Mapping[str, str] | None = None, *, is_shared: bool = False
    ) -> None:
        self._cached_sources: tuple[int, list[SourceState]] | None = None
        """The first of them, and the count of changed rows until which they are valid."""
        super().__init__(path, begin, is_shared=is_shared)
        self.rechecks: Rechecks = Rechecks(self)
        self.pending_changes: PendingChanges = PendingChanges(self)
        self.edits: EditHints = EditHints(self)
        self.news: NewsLog = NewsLog(self)
        self.outgoing: OutgoingMessages = OutgoingMessages(self)

    def _forget(self) -> None:
        super()._forget()
        self._cached_sources = None

    @property
    def run(self) -> int:
        return self.news.run

    def expected_ids(self) -> IdSet:
        """Return the ids that lists have shown, without those that other parts write."""
        return self.seen() - self.outgoing.ids() if self["part"] else self.seen()

    def rows_sha256(self) -> str:
        """Return a SHA-256 of all rows in the order of their keys: a changed value gives another one.

        The generation, the run's number and the news are left out, as each opening changes them.
        """
        digest = hashlib.sha256()
        with self._held():
            for count, *row in self._db.execute(_FACTS):
                digest.update(msgspec.msgpack.encode(row[:count]))
        return digest.hexdigest()

    def lost_versions(self) -> list[str]:
        return (self[LOST_VERSIONS] or "").splitlines()

    # ── sources ──

    def sources(self) -> list[SourceState]:
        return list(self.iter_sources())

    def iter_sources(self) -> Iterator[SourceState]:
        """Yield all sources, in the order of their numbers; a part of them is in memory at a time.

        A change during the iteration may be seen, or not.
        """
        with self.lock:  # rows of another thread's transaction may be rolled back
            if self._cached_sources is None or self._cached_sources[0] != self._db.total_changes:
                self._cached_sources = (self._db.total_changes, self._sources_after(-1))
            portion = self._cached_sources[1]
        yield from portion
        while len(portion) == PORTION:
            portion = self._sources_after(portion[-1].number)
            yield from portion

    def _sources_after(self, number: int) -> list[SourceState]:
        sql = """SELECT number, key, state, error, list_order, proven, asked FROM sources WHERE number > ?
            ORDER BY number LIMIT ?"""
        kind = tuple[int, str, State, str | None, ListOrder, Count, bool]
        try:
            return [
                SourceState(number, Source.parse(key), *rest)
                for number, key, *rest in self.rows(sql, kind, number, PORTION)
            ]
        except DAMAGE as error:
            raise self._damage(f"is damaged: {error}") from None

    def sources_of(self, numbers: Iterable[int]) -> dict[int, Source]:
        """Return the sources of these numbers, without unknown ones; other sources are not read."""
        rows = self.rows_in("SELECT number, key FROM sources WHERE number IN", set(numbers))
        try:
            return {number: Source.parse(key) for number, key in rows}
        except DAMAGE as error:
            raise self._damage(f"is damaged: {error}") from None

    def source_number(self, key: str) -> int:
        """Return the number of the source of a key; 0 if there is none."""
        rows = self.rows("SELECT number FROM sources WHERE key = ?", tuple[int], key)
        return int(rows[0][0]) if rows else 0

    def note_sources(self, sources: Collection[Source], plan: Plan) -> None:
        """Note sources, and those of them that a plan asks for: a transaction, where anything of it is new.

        Sources that it does not ask for are kept.
        """
        asked, all_users = frozenset(plan.sources), plan.all_users
        unknown = set(sources)
        is_noted = True
        for each in self.iter_sources():
            if each.state != "deleted_user":
                unknown.discard(each.source)
            is_asked = each.source in asked or (all_users and each.source.kind == "user")
            is_noted = is_noted and each.asked == is_asked
        if unknown or not is_noted:
            with self.transaction():
                self.add_sources(sources)
                self.write("UPDATE sources SET asked = ? AND key LIKE '[\"user\",%'", all_users)
                keys = [(each.key,) for each in asked]
                self.write_many("UPDATE sources SET asked = 1 WHERE key = ?", keys)

    def note_order(self, source: int, order: ListOrder) -> None:
        """Note the order of the list of a source; one whose ids are no positions stays so."""
        sql = "UPDATE sources SET list_order = ? WHERE number = ? AND list_order NOT IN (?, 'other')"
        self.write(sql, order, source, order)

    def add_sources(self, sources: Iterable[Source], *, is_asked: bool = True) -> None:
        self.write_many(
            """INSERT INTO sources(key, asked) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET state = 'open'
            WHERE state = 'deleted_user'""",
            ((source.key, is_asked) for source in sources),
        )

    def forget_sources(self) -> None:
        """Forget all sources, as long as no list has shown anything."""
        self.write("DELETE FROM sources")

    def set_state(self, source: int, state: State, error: str | None = None) -> None:
        self.write("UPDATE sources SET state = ?, error = ? WHERE number = ?", state, error, source)

    def note_proven(self, source: int, until: int) -> None:
        """Note the frozen end for which the end of a source was proven; one that is lower changes nothing."""
        self.write("UPDATE sources SET proven = max(proven, ?) WHERE number = ?", until, source)

    # ── coverage ──

    def intervals(self, source: int) -> list[Interval]:
        sql = "SELECT first, last, position FROM covered WHERE source = ?"
        rows = self.rows(sql, tuple[int, int, str], source)
        return merge(Interval(first, last, position_of(text, last)) for first, last, text in rows)

    def note_covered(self, source: int, read: Iterable[Interval]) -> None:
        """Note the ids that were read, joined to the intervals beside them, and where the list continues."""
        for new in merge(read):
            sql = """DELETE FROM covered WHERE source = ? AND first <= ? AND last >= ?
                RETURNING first, last, position"""
            rows = self.rows(sql, tuple[int, int, str], source, new.last + 1, new.first - 1)
            near = [Interval(first, end, position_of(text, end)) for first, end, text in rows]
            values = [(source, *each[:2], json.dumps(each.position)) for each in merge([*near, new])]
            self.write_many("INSERT OR REPLACE INTO covered VALUES(?, ?, ?, ?)", values)

    def forget_coverage(self) -> None:
        """Note that no list was read: each is read again, as for a wider window."""
        self.write("DELETE FROM covered")
        self.write("UPDATE sources SET proven = 0")


def has_journal(folder: Path) -> bool:
    """Return True if a folder has a journal that is not empty."""
    path = folder / NAME
    return path.is_file() and path.stat().st_size > 0
