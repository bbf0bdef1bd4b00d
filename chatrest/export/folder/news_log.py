"""The news of each run in a journal: ids that are new, changed, deleted, or shown again (`restored`).

New ids (written and not yet reported) are noted when the folder is opened the next time. So a commit costs
nothing more, and all messages that a killed run committed are reported.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from ..plan.id_set import IdSet
from ..plan.message_ids import number
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
