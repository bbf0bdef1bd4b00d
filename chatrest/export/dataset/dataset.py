"""The data beside the messages, in one run of an export: what is asked for, and the order of its steps.

Tables and attachments are read after the messages, which they never hold up. What is asked for once is kept
in the journal, so that every later run goes on with it; a run may ask for more.
"""

import time
from collections.abc import Callable
from typing import Final, final

import msgspec

from ...session import AsyncSession
from ..archive import Archive
from ..manifest import TableEntry, tables_of
from ..report import Report
from .snapshot import TableFolder, publish, read_tables, recover
from .tables import Table, check_tables

_META: Final = "tables"
"""The name in the journal's meta; the value is a JSON list."""


@final
class Dataset:
    """The tables of one run over an open archive. Its methods block, but for `read`.

    `tables` are added to those that earlier runs were asked for. Finishes what a killed run has left.
    """

    def __init__(
        self, archive: Archive, tables: tuple[Table, ...] = (), *, now: Callable[[], float] = time.time
    ) -> None:
        stored = msgspec.json.decode(archive.journal[_META] or "[]", type=list[str])
        self._tables = check_tables([*stored, *tables])
        if [*self._tables] != stored:
            archive.journal[_META] = msgspec.json.encode(self._tables).decode()
        self._place = TableFolder(archive.folder, archive.plan, archive.disk)
        self._now = now
        self._new: list[TableEntry] = []
        self._old = tables_of(archive.folder)
        recover(self._place, self._old)

    @property
    def entries(self) -> list[TableEntry]:
        """The tables for the manifest: the new ones, and the older ones where a list could not be read."""
        entries = {entry.table: entry for entry in (*self._old, *self._new)}
        return list(entries.values())

    async def read(self, session: AsyncSession, report: Report) -> None:
        """Read everything that is asked for into new files, and add it to the report."""
        if not self._tables:
            return
        bulk = session.with_options(priority="bulk")
        self._new, failures = await read_tables(bulk, self._place, self._tables, self._now)
        report.tables = {entry.table: entry.rows for entry in self.entries}
        report.failed += failures
        report.complete = report.complete and not failures

    def publish(self) -> None:
        """Put the new tables in the place of the older ones; the manifest has `entries` already."""
        publish(self._place, self._new)
