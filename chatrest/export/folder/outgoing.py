"""The messages that lists of this part have shown, and that other parts write: what is left to each.

A file of its own because only an export of parts has any.
"""

from collections.abc import Iterable

from ..._core.replies.rows import Row
from ..plan.id_set import IdSet
from ..store.store_journal import StoreJournal


class OutgoingMessages:
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
        """Note that all messages left to a part were sent; their ids become one row."""
        ids = self.ids(part)
        self._journal.write("DELETE FROM foreign_ids WHERE part = ?", part)
        if ids:
            self.note_ids(part, ids, is_sent=True)
        self._journal.write("UPDATE foreign_rows SET sent = 1 WHERE part = ?", part)
