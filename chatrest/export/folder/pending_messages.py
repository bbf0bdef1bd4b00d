"""The messages that wait in a journal: newer versions, hints of edits, and what is left to other parts.

A recheck gives a newer version itself, which waits for the end of the run. A record of an edit or a deletion
is a hint, which is compared with the message on disk first (`edits`).
"""

from collections.abc import Iterable

from ..._core.replies.rows import Row, row_of
from ..plan.id_set import IdSet
from ..plan.message_ids import number
from ..store.store_journal import StoreJournal


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
        """Return the records of messages by their ids, as they were shown."""
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
