"""The data beside the messages, in one run of an export: what is asked for, and the order of its steps.

```
messages → tables → manifest → attachments → manifest
```

Tables and attachments come after the messages, which they never hold up. What is asked for once is kept in
the journal, so that every later run goes on with it; a run may ask for more.
"""

import time
from collections.abc import Callable
from typing import Any, Final, final

import msgspec

from ...errors import ChatRestError
from ...session import AsyncSession
from ..archive import Archive
from ..in_thread import in_thread
from ..manifest import TableEntry, tables_of
from ..report import AttachmentCounts, Progress, Report
from .attachments import AttachmentOptions, AttachmentRun
from .snapshot import TableFolder, publish, read_tables, recover
from .tables import Table, check_tables

_TABLES: Final = "tables"
"""The name in the journal's meta; the value is a JSON list."""
_ATTACHMENTS: Final = "attachments"
"""The name in the journal's meta; the value is `AttachmentOptions` as JSON."""


@final
class Dataset:
    """The tables and attachments of one run over an open archive. Its methods block, but for `add`.

    `tables` are added to those that earlier runs were asked for, and `attachments` replace their limits.
    Finishes what a killed run has left. `rechecks`: this run may change messages that are stored.
    """

    def __init__(
        self,
        archive: Archive,
        tables: tuple[Table, ...] = (),
        attachments: AttachmentOptions | None = None,
        *,
        rechecks: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        meta = archive.journal
        self._tables = check_tables([*_stored(meta[_TABLES], list[str], []), *tables])
        if tables:
            meta[_TABLES] = msgspec.json.encode(self._tables).decode()
        if attachments is not None:
            meta[_ATTACHMENTS] = msgspec.json.encode(attachments).decode()
        self._attachments = _stored(meta[_ATTACHMENTS], AttachmentOptions, None)
        self._archive = archive
        self._place = TableFolder(archive.folder, archive.plan, archive.disk)
        self._now = now
        self._new: dict[str, TableEntry] = {}
        if self._attachments is not None and rechecks:
            with AttachmentRun(self._place, self._attachments) as run:
                run.forget_searched()
        self._old = {entry.table: entry for entry in tables_of(archive.folder)}
        recover(self._place, self._old.values())

    @property
    def entries(self) -> list[TableEntry]:
        """The tables for the manifest: the new ones, and the older ones where a list could not be read."""
        return list({**self._old, **self._new}.values())

    async def add(
        self, session: AsyncSession, report: Report, progress: Progress, save: Callable[[], None]
    ) -> None:
        """Read what is asked for, and add it to the report; `save` writes the manifest, after each step."""
        bulk = session.with_options(priority="bulk")
        if self._tables:
            progress.phase = "reading tables"
            entries, failures = await read_tables(bulk, self._place, self._tables, self._now)
            self._new |= {entry.table: entry for entry in entries}
            report.tables = {entry.table: entry.rows for entry in self.entries if entry.table in self._tables}
            report.failed += failures
        report.complete = report.complete and not report.failed
        if self._attachments is not None:
            progress.phase = "fetching attachments"
            await self._fetch(bulk, report, self._attachments, save)
        await self._publish(save)

    async def _fetch(
        self, session: AsyncSession, report: Report, options: AttachmentOptions, save: Callable[[], None]
    ) -> None:
        """Fetch attachments; until they are there the manifest says so, and vouches for all the rest."""
        complete, reasons = report.complete, [*report.reasons]
        report.complete, report.reasons = False, [*reasons, "attachments are not fetched yet"]
        await self._publish(save)
        run = await in_thread(lambda: AttachmentRun(self._place, options, self._now))
        with run:
            if report.changed:
                await in_thread(run.forget_searched)
            is_settled = not self._archive.journal.rechecks()
            entry, report.attachments = await run.fetch(session, self._archive.sink, is_settled=is_settled)
        self._new[entry.table] = entry
        report.reasons = [*reasons, *_reasons(report.attachments)]
        report.complete = complete and report.reasons == reasons

    async def _publish(self, save: Callable[[], None]) -> None:
        """Write the manifest, and then put the new tables in the place of the older ones."""
        await in_thread(save)
        await in_thread(lambda: publish(self._place, self._new.values()))


def _stored(text: str | None, kind: Any, default: Any) -> Any:
    """Return a value of the journal's meta, or `default` where it has none."""
    try:
        return default if text is None else msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise ChatRestError(f"the journal is damaged: {error}") from None


def _reasons(counts: AttachmentCounts) -> list[str]:
    """Return why the attachments are not complete, a sentence each."""
    reasons = []
    if counts.failed:
        reasons.append(f"{counts.failed:,} attachments could not be fetched")
    if counts.pending:
        reasons.append(f"{counts.pending:,} attachments are left to the next run")
    return reasons
