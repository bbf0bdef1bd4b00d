"""The notes of a run about messages: the news, what waits for its end, and the lists that are read again.

New ids (written and not yet reported) are noted when the folder is opened the next time. So a commit costs
nothing more, and all messages that a killed run committed are reported.

A recheck gives a newer version itself, which waits for the end of the run. A record of an edit or a deletion
is a hint, which is compared with the message on disk first (`edits`).
"""

import json
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from ..._core.replies.rows import Row, row_of
from ..._core.requests.endpoint import Pairs
from ..plan.id_set import IdSet
from ..plan.message_ids import number, position_of
from ..store.store_journal import StoreJournal

RUN: Final = "run"
"""In the meta: the number of the newest run. Each opening for writing gets the next one."""
NewsKind: TypeAlias = Literal["new", "changed", "deleted", "restored"]


class DeletedId(NamedTuple):
    """An id that the service does not show any more; `noticed` is the time at which a run has found that."""

    id: str
    source: int
    noticed: int
    missing: bool
    """True if it is not in the export either: it was in a file that was lost."""


class NewsLog:
    def __init__(self, journal: StoreJournal) -> None:
        self._journal = journal

    @property
    def run(self) -> int:
        """The number of the newest run; 0 before the first one."""
        return int(self._journal[RUN] or 0)

    def begin_run(self, written: IdSet, least: int = 0) -> None:
        """Note the new ids since the last run began as its news, and begin the next run.

        `least` is a number that was used before, which the journal may not know.
        """
        if run := self.run:
            self._note(run, "new", written - self._reported_ids())
        self._journal[RUN] = str(max(run, least) + 1)

    def all(self) -> list[tuple[int, NewsKind, IdSet]]:
        """Return the news by run, in the order of noting, without ids not noted yet."""
        sql = "SELECT run, kind, ids FROM news ORDER BY run, number"
        return self._journal.rows(sql, tuple[int, NewsKind, IdSet])

    def pending(self) -> IdSet:
        """Return the ids that are written, and that are not noted as new yet: they are so in this run."""
        files = self._journal.files("open", "sealing", "sealed")
        return self._journal.ids_in(files) - self._reported_ids()

    def note(self, kind: NewsKind, ids: Iterable[str]) -> None:
        self._note(self.run, kind, IdSet(self._journal.ids_by_key(ids).values()))

    def deleted(self) -> list[DeletedId]:
        """Return the ids that the service does not show any more, `missing` ones included."""
        rows = self._journal.rows("SELECT id, source, noticed, missing FROM deleted", DeletedId)
        return sorted(rows, key=lambda deleted: (number(deleted.id) or 0, deleted.id))

    def mark_deleted(self, source: int, ids: Iterable[int], now: int, *, missing: bool, news: IdSet) -> None:
        """Note ids that the service does not show any more, and that are missing in the export or not.

        `news` are those of them that this run has found to be deleted.
        """
        values = ((key, source, now, int(missing)) for key in self._journal.texts(ids))
        self._journal.write_many("INSERT OR REPLACE INTO deleted VALUES(?, ?, ?, ?)", values)
        self._note(self.run, "deleted", news)

    def undelete(self, ids: Iterable[int]) -> None:
        """Note that ids are shown again; those that are on disk are news of the run."""
        sql, keys = "DELETE FROM deleted WHERE id = ? RETURNING missing", self._journal.texts(ids)
        self.note("restored", [key for key in keys if self._journal.rows(sql, tuple[int], key) == [(0,)]])

    def _note(self, run: int, kind: NewsKind, ids: IdSet) -> None:
        if ids:
            sql = "INSERT INTO news(run, kind, ids) VALUES(?, ?, ?)"
            self._journal.write(sql, run, kind, ids.to_bytes())

    def _reported_ids(self) -> IdSet:
        return self._journal.ids("SELECT ids FROM news WHERE kind = 'new'")


class PendingChanges:
    """The messages that have changed, and are not in the files yet."""

    def __init__(self, journal: StoreJournal) -> None:
        self._journal = journal

    def note(self, rows: Iterable[Row]) -> None:
        values = ((row.id, number(row.id), bytes(row.raw)) for row in rows)
        self._journal.write_many("INSERT OR REPLACE INTO changed VALUES(?, ?, ?)", values)

    def forget(self, ids: Iterable[str]) -> None:
        self._journal.write_many("DELETE FROM changed WHERE id = ?", ((key,) for key in ids))

    def rows(self, most: int = -1) -> list[Row]:
        """Return the messages by id; `most` of them, or all."""
        sql = "SELECT raw FROM changed ORDER BY number, id LIMIT ?"
        return [row_of(raw) for (raw,) in self._journal.rows(sql, tuple[bytes], most)]

    def ids(self) -> set[str]:
        return {key for (key,) in self._journal.rows("SELECT id FROM changed", tuple[str])}


class EditHints:
    """Messages as records of edits and deletions show them, before they are compared with those on disk."""

    def __init__(self, journal: StoreJournal) -> None:
        self._journal = journal

    def note(self, rows: Iterable[Row]) -> None:
        values = ((row.id, row.raw) for row in rows)
        self._journal.write_many("INSERT OR IGNORE INTO edits VALUES(?, ?)", values)

    def ids(self, after: str, most: int) -> list[str]:
        """Return ids of messages after one, in their order; `most` of them."""
        sql = "SELECT DISTINCT id FROM edits WHERE id > ? ORDER BY id LIMIT ?"
        return [key for (key,) in self._journal.rows(sql, tuple[str], after, most)]

    def shown(self, ids: Iterable[str]) -> dict[str, list[bytes]]:
        shown: dict[str, list[bytes]] = {}
        for key, raw in self._journal.rows_in("SELECT id, raw FROM edits WHERE id IN", ids):
            shown.setdefault(key, []).append(raw)
        return shown

    def forget(self, ids: Iterable[str]) -> None:
        self._journal.write_many("DELETE FROM edits WHERE id = ?", ((key,) for key in ids))


class OutgoingMessages:
    """Messages that lists of this part have shown, and that other parts write: what is left to each."""

    def __init__(self, journal: StoreJournal) -> None:
        self._journal = journal

    def ids(self, part: int | None = None) -> IdSet:
        """Return the ids that another part writes, or that one."""
        if part is None:
            return self._journal.ids("SELECT ids FROM foreign_ids")
        return self._journal.ids("SELECT ids FROM foreign_ids WHERE part IN", [part])

    def note_ids(self, part: int, ids: IdSet, *, is_sent: bool = False) -> None:
        sql = "INSERT INTO foreign_ids(part, ids, sent) VALUES(?, ?, ?)"
        self._journal.write(sql, part, ids.to_bytes(), is_sent)

    def rows(self, part: int) -> list[bytes]:
        """Return the messages, and newer versions of them, that are left to a part."""
        sql = "SELECT raw FROM foreign_rows WHERE part = ? ORDER BY id"
        return [raw for (raw,) in self._journal.rows(sql, tuple[bytes], part)]

    def note_rows(self, part: int, rows: Iterable[Row]) -> None:
        sql = "INSERT OR IGNORE INTO foreign_rows(id, raw, part) VALUES(?, ?, ?)"
        self._journal.write_many(sql, ((row.id, row.raw, part) for row in rows))

    def parts(self, *, only_unsent: bool = False) -> set[int]:
        """Return the parts to which anything was left, or something that has not been sent."""
        where = "WHERE NOT sent" if only_unsent else ""
        sql = f"SELECT part FROM foreign_ids {where} UNION SELECT part FROM foreign_rows {where}"  # noqa: S608
        return {part for (part,) in self._journal.rows(sql, tuple[int])}

    def note_sent(self, part: int) -> None:
        """Note in a transaction that all messages left to a part were sent; their ids become one row."""
        with self._journal.transaction():
            ids = self.ids(part)
            self._journal.write("DELETE FROM foreign_ids WHERE part = ?", part)
            if ids:
                self.note_ids(part, ids, is_sent=True)
            self._journal.write("UPDATE foreign_rows SET sent = 1 WHERE part = ?", part)


class Recheck(NamedTuple):
    """The progress of a source that is read again, from a time on, up to the id `until`."""

    since: int
    after: int
    until: int
    position: Pairs

    @property
    def is_done(self) -> bool:
        return self.after >= self.until


class Rechecks:
    def __init__(self, journal: StoreJournal) -> None:
        self._journal = journal

    def all(self) -> dict[int, Recheck]:
        """Return the rechecks by the number of their source, those that are done included."""
        sql = "SELECT source, since, after, until, position FROM rechecks"
        return {
            source: Recheck(since, after, until, position_of(text, after))
            for source, since, after, until, text in self._journal.rows(sql, tuple[int, int, int, int, str])
        }

    def begin(self, source: int, since: int, until: int) -> None:
        """Note that a source is to be read again from a time on, up to an id.

        A recheck in progress that is as long continues.
        """
        sql = """INSERT INTO rechecks VALUES(?, ?, 0, ?, '[]') ON CONFLICT(source) DO UPDATE
            SET since = excluded.since, after = 0, until = excluded.until, position = '[]'
            WHERE excluded.since < since OR after >= until"""
        if self._journal.write(sql, source, since, until).rowcount:
            self._journal.write("DELETE FROM shown WHERE source = ?", source)

    def note(self, source: int, last: int, position: Pairs) -> None:
        """Note that a recheck has read its source up to an id, after which it continues at a position."""
        sql = "UPDATE rechecks SET after = ?, position = ? WHERE source = ?"
        self._journal.write(sql, last, json.dumps(position), source)

    def shown(self) -> IdSet:
        return self._journal.ids("SELECT ids FROM shown")

    def note_shown(self, source: int, ids: IdSet) -> None:
        if ids:
            self._journal.write("INSERT INTO shown(source, ids) VALUES(?, ?)", source, ids.to_bytes())

    def end(self) -> None:
        self._journal.write("DELETE FROM rechecks")
        self._journal.write("DELETE FROM shown")
