"""The rechecks of a journal: sources that are read again, and the ids that they show meanwhile."""

import json
from typing import NamedTuple

from ..._core.requests.endpoint import Pairs
from ..plan.id_set import IdSet
from ..plan.message_ids import position_of
from ..store.store_journal import StoreJournal


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
