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

New ids (written and not yet reported) are noted when the folder is opened the next time.
So a commit costs nothing more, and all messages that a killed run committed are reported.

The tables of files and ids are those of the store (`store/journal.py`). A page is committed in one
transaction: its rows, the ids that it showed, the ids it covers. All rows that the journal names are on the
disk. All writes are made inside `transaction`.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..._core.replies.rows import Row, row_of
from ..._core.requests.endpoint import Pairs
from ..._storage import Layout, sql_in
from ..plan.id_set import IdSet
from ..plan.message_ids import Interval, merge, number
from ..plan.ownership import Source
from ..plan.plan import Plan
from ..store.journal import DAMAGE, LAYOUT as STORE_LAYOUT, NAME as NAME, PORTION, SCHEMA, Count, StoreJournal
from .fetched_page import ListOrder

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
RUN: Final = "run"
"""In the meta: the number of the newest run. Each opening for writing gets the next one."""
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
NewsKind: TypeAlias = Literal["new", "changed", "deleted", "restored"]
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


class Recheck(NamedTuple):
    """The progress of a source that is read again, from a time on, up to the id `until`."""

    since: int
    after: int
    until: int
    position: Pairs

    @property
    def is_done(self) -> bool:
        return self.after >= self.until


class DeletedId(NamedTuple):
    """An id that the service does not show any more; `noticed` is the time at which a run has found that."""

    id: str
    source: int
    noticed: int
    missing: bool
    """True if it is not in the export either: it was in a file that was lost."""


class Journal(StoreJournal):
    """The journal of one folder."""

    layout = LAYOUT

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
        version = self._db.total_changes
        portion = self._cached_rows("sources", version, lambda: self._sources_after(-1))
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
                for number, key, *rest in self._typed(sql, kind, number, PORTION)
            ]
        except DAMAGE as error:
            raise self._damage(f"is damaged: {error}") from None

    def sources_of(self, numbers: Iterable[int]) -> dict[int, Source]:
        """Return the sources of these numbers, without unknown ones; other sources are not read."""
        with self._held():
            rows = list(sql_in(self._db, "SELECT number, key FROM sources WHERE number IN", set(numbers)))
        try:
            return {number: Source.parse(key) for number, key in rows}
        except DAMAGE as error:
            raise self._damage(f"is damaged: {error}") from None

    def source_number(self, key: str) -> int:
        """Return the number of the source of a key; 0 if there is none."""
        rows = self._typed("SELECT number FROM sources WHERE key = ?", tuple[int], key)
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
                self._db.execute("UPDATE sources SET asked = ? AND key LIKE '[\"user\",%'", (all_users,))
                keys = [(each.key,) for each in asked]
                self._db.executemany("UPDATE sources SET asked = 1 WHERE key = ?", keys)

    def note_order(self, source: int, order: ListOrder) -> None:
        """Note the order of the list of a source; one whose ids are no positions stays so."""
        sql = "UPDATE sources SET list_order = ? WHERE number = ? AND list_order NOT IN (?, 'other')"
        self._db.execute(sql, (order, source, order))

    def add_sources(self, sources: Iterable[Source], *, is_asked: bool = True) -> None:
        self._db.executemany(
            """INSERT INTO sources(key, asked) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET state = 'open'
            WHERE state = 'deleted_user'""",
            ((source.key, is_asked) for source in sources),
        )

    def forget_sources(self) -> None:
        """Forget all sources, as long as no list has shown anything."""
        self._db.execute("DELETE FROM sources")

    def set_state(self, source: int, state: State, error: str | None = None) -> None:
        self._db.execute("UPDATE sources SET state = ?, error = ? WHERE number = ?", (state, error, source))

    def note_proven(self, source: int, until: int) -> None:
        """Note the frozen end for which the end of a source was proven; one that is lower changes nothing."""
        self._db.execute("UPDATE sources SET proven = max(proven, ?) WHERE number = ?", (until, source))

    # ── coverage ──

    def intervals(self, source: int) -> list[Interval]:
        sql = "SELECT first, last, position FROM covered WHERE source = ?"
        rows = self._typed(sql, tuple[int, int, str], source)
        return merge(Interval(first, last, position_of(text, last)) for first, last, text in rows)

    def note_covered(self, source: int, read: Iterable[Interval]) -> None:
        """Note the ids that were read, joined to the intervals beside them, and where the list continues."""
        for new in merge(read):
            sql = """DELETE FROM covered WHERE source = ? AND first <= ? AND last >= ?
                RETURNING first, last, position"""
            rows = self._typed(sql, tuple[int, int, str], source, new.last + 1, new.first - 1)
            near = [Interval(first, end, position_of(text, end)) for first, end, text in rows]
            values = [(source, *each[:2], json.dumps(each.position)) for each in merge([*near, new])]
            self._db.executemany("INSERT OR REPLACE INTO covered VALUES(?, ?, ?, ?)", values)

    def forget_coverage(self) -> None:
        """Note that no list was read: each is read again, as for a wider window."""
        self._db.execute("DELETE FROM covered")
        self._db.execute("UPDATE sources SET proven = 0")

    # ── reading again ──

    def rechecks(self) -> dict[int, Recheck]:
        sql = "SELECT source, since, after, until, position FROM rechecks"
        return {
            source: Recheck(since, after, until, position_of(text, after))
            for source, since, after, until, text in self._typed(sql, tuple[int, int, int, int, str])
        }

    def begin_recheck(self, source: int, since: int, until: int) -> None:
        """Note that a source is to be read again from a time on, up to an id.

        A recheck in progress that is as long continues.
        """
        sql = """INSERT INTO rechecks VALUES(?, ?, 0, ?, '[]') ON CONFLICT(source) DO UPDATE
            SET since = excluded.since, after = 0, until = excluded.until, position = '[]'
            WHERE excluded.since < since OR after >= until"""
        if self._db.execute(sql, (source, since, until)).rowcount:
            self._db.execute("DELETE FROM shown WHERE source = ?", (source,))

    def note_recheck(self, source: int, last: int, position: Pairs) -> None:
        """Note that a recheck has read its source up to an id, after which it continues at a position."""
        sql = "UPDATE rechecks SET after = ?, position = ? WHERE source = ?"
        self._db.execute(sql, (last, json.dumps(position), source))

    def shown(self) -> IdSet:
        return self._union("SELECT ids FROM shown")

    def note_shown(self, source: int, ids: IdSet) -> None:
        if ids:
            self._db.execute("INSERT INTO shown(source, ids) VALUES(?, ?)", (source, ids.to_bytes()))

    def end_rechecks(self) -> None:
        self._db.execute("DELETE FROM rechecks")
        self._db.execute("DELETE FROM shown")

    # ── changed messages ──

    def note_changed(self, rows: Iterable[Row]) -> None:
        values = [(row.id, number(row.id), bytes(row.raw)) for row in rows]
        self._db.executemany("INSERT OR REPLACE INTO changed VALUES(?, ?, ?)", values)

    def forget_changed(self, ids: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM changed WHERE id = ?", [(each,) for each in ids])

    def pending_changes(self, most: int = -1) -> list[Row]:
        """Return the changed messages that are not in the files yet, by id; `most` of them, or all."""
        sql = "SELECT raw FROM changed ORDER BY number, id LIMIT ?"
        return [row_of(raw) for (raw,) in self._typed(sql, tuple[bytes], most)]

    def pending_change_ids(self) -> set[str]:
        return {key for (key,) in self._all("SELECT id FROM changed")}

    # ── deleted messages ──

    def deleted(self) -> list[DeletedId]:
        """Return the ids that the service does not show any more, `missing` ones included."""
        rows = self._typed("SELECT id, source, noticed, missing FROM deleted", DeletedId)
        return sorted(rows, key=lambda deleted: (number(deleted.id) or 0, deleted.id))

    def mark_deleted(self, source: int, ids: Iterable[int], now: int, *, missing: bool, news: IdSet) -> None:
        """Note ids that the service does not show any more, and that are missing in the export or not.

        `news` are those of them that this run has found to be deleted.
        """
        sql, keys = "INSERT OR REPLACE INTO deleted VALUES(?, ?, ?, ?)", self.texts(ids)
        self._db.executemany(sql, [(key, source, now, int(missing)) for key in keys])
        self._note_news(self.run, "deleted", news)

    def undelete(self, ids: Iterable[int]) -> None:
        """Note that ids are shown again; those that are on disk are news of the run."""
        sql, keys = "DELETE FROM deleted WHERE id = ? RETURNING missing", self.texts(ids)
        self.note_news("restored", [key for key in keys if self._all(sql, key) == [(0,)]])

    def texts(self, ids: Iterable[int]) -> list[str]:
        """Return ids as the service has them."""
        known = IdSet(ids)
        names = self.keys_of(known)
        return [names.get(each) or str(each) for each in known]

    # ── news ──

    @property
    def run(self) -> int:
        """The number of the newest run; 0 before the first one."""
        return int(self[RUN] or 0)

    def begin_run(self, written: IdSet, least: int = 0) -> None:
        """Note the new ids since the last run began as its news, and begin the next run.

        `least` is a number that was used before, which the journal may not know.
        """
        if run := self.run:
            self._note_news(run, "new", written - self._reported_ids())
        self[RUN] = str(max(run, least) + 1)

    def note_news(self, kind: NewsKind, ids: Iterable[str]) -> None:
        self._note_news(self.run, kind, IdSet(self.ids_by_key(ids).values()))

    def _note_news(self, run: int, kind: NewsKind, ids: IdSet) -> None:
        if ids:
            self._db.execute("INSERT INTO news(run, kind, ids) VALUES(?, ?, ?)", (run, kind, ids.to_bytes()))

    def pending_news(self) -> IdSet:
        """Return the ids that are written, and that are not noted as new yet: they are so in this run."""
        return self.ids_in(self.files("open", "sealing", "sealed")) - self._reported_ids()

    def _reported_ids(self) -> IdSet:
        return self._union("SELECT ids FROM news WHERE kind = 'new'")

    def news(self) -> list[tuple[int, NewsKind, IdSet]]:
        """Return the news by run, in the order of noting, without ids not noted yet."""
        sql = "SELECT run, kind, ids FROM news ORDER BY run, number"
        return self._typed(sql, tuple[int, NewsKind, IdSet])

    # ── edits ──

    def note_edits(self, rows: Iterable[Row]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO edits VALUES(?, ?)", [(row.id, row.raw) for row in rows])

    def edited_ids(self, after: str, most: int) -> list[str]:
        """Return ids of edited messages after one, in their order; `most` of them."""
        sql = "SELECT DISTINCT id FROM edits WHERE id > ? ORDER BY id LIMIT ?"
        return [key for (key,) in self._typed(sql, tuple[str], after, most)]

    def edits(self, ids: Iterable[str]) -> dict[str, list[bytes]]:
        shown: dict[str, list[bytes]] = {}
        with self._held():
            for key, raw in sql_in(self._db, "SELECT id, raw FROM edits WHERE id IN", ids):
                shown.setdefault(key, []).append(raw)
        return shown

    def forget_edits(self, ids: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM edits WHERE id = ?", [(key,) for key in ids])

    # ── other parts ──

    def seen(self, source: int | None = None) -> IdSet:
        """Return the ids that the list of a source has shown; None is any, without what other parts write."""
        ids = super().seen(source)
        return ids - self.foreign_ids() if source is None and self["part"] else ids

    def foreign_ids(self, part: int | None = None) -> IdSet:
        """Return the ids that lists have shown, and that another part writes, or that one."""
        if part is None:
            return self._union("SELECT ids FROM foreign_ids")
        return self._union("SELECT ids FROM foreign_ids WHERE part IN", [part])

    def note_foreign_ids(self, part: int, ids: IdSet, *, is_sent: bool = False) -> None:
        sql = "INSERT INTO foreign_ids(part, ids, sent) VALUES(?, ?, ?)"
        self._db.execute(sql, (part, ids.to_bytes(), is_sent))

    def note_foreign_rows(self, part: int, rows: Iterable[Row]) -> None:
        sql = "INSERT OR IGNORE INTO foreign_rows(id, raw, part) VALUES(?, ?, ?)"
        self._db.executemany(sql, [(row.id, row.raw, part) for row in rows])

    def foreign_rows(self, part: int) -> list[bytes]:
        """Return the messages, and newer versions of them, that are left to a part."""
        sql = "SELECT raw FROM foreign_rows WHERE part = ? ORDER BY id"
        return [raw for (raw,) in self._typed(sql, tuple[bytes], part)]

    def receiving_parts(self, *, only_unsent: bool = False) -> set[int]:
        """Return the parts to which anything was left, or something that has not been sent."""
        where = "WHERE NOT sent" if only_unsent else ""
        sql = f"SELECT part FROM foreign_ids {where} UNION SELECT part FROM foreign_rows {where}"  # noqa: S608
        return {part for (part,) in self._all(sql)}

    def note_sent(self, part: int) -> None:
        """Note that all messages left to a part were sent; their ids become one row."""
        ids = self.foreign_ids(part)
        self._db.execute("DELETE FROM foreign_ids WHERE part = ?", (part,))
        if ids:
            self.note_foreign_ids(part, ids, is_sent=True)
        self._db.execute("UPDATE foreign_rows SET sent = 1 WHERE part = ?", (part,))


def has_journal(folder: Path) -> bool:
    """Return True if a folder has a journal that is not empty."""
    path = folder / NAME
    return path.is_file() and path.stat().st_size > 0


def position_of(text: str, last: int) -> Pairs:
    """The position after an id; none if the journal was edited and it would leave messages out."""
    try:
        position = msgspec.json.decode(text, type=tuple[tuple[str, str], ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    named = number(dict(position).get("id", ""))
    return () if named is None or named > last else position
