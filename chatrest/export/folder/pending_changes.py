"""The newer versions of messages that a journal holds until they are written to the files.

A recheck gives the newer version itself; a record of an edit or a deletion is a hint, which is compared with
the message on disk first (`edits`).

A file of its own because nothing else of a journal waits for the end of a run.
"""

from collections.abc import Iterable

from ..._core.replies.rows import Row, row_of
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
