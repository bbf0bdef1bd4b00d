"""The data beside the messages, in one run of an export: what is asked for, and the order of its steps.

```
messages → tables → manifest → attachments → manifest
```

Tables and attachments come after the messages, which they never hold up. What is asked for once is kept in
the journal, so that every later run goes on with it; a run may ask for more.

A table holds the exact bytes of the records of lists. Members are read group by group, and conversations user
by user, a bounded number of them at once. The ids of the groups and users are read first: a list by page
numbers that stayed open meanwhile would skip whoever moves over a page's border.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, final

import msgspec

from ...core.replies.rows import AsRows
from ...errors import AuthenticationError, ChatRestError, FanOutError, NotFoundError
from ...parameters.conversations import ConversationQuery
from ...parameters.groups import GroupQuery
from ...parameters.users import UserQuery
from ...resources.conversations import Conversations
from ...resources.groups import Groups, Members
from ...resources.users import Users
from ...session import AsyncSession
from ...walk.walk import Walk
from ..archive import Archive
from ..in_thread import in_thread
from ..manifest import TableEntry, tables_of
from ..report import AttachmentCounts, Failure, Phase, Progress, Report
from .attachments import AttachmentOptions, AttachmentRun
from .snapshot import NewTable, TableFolder, publish, recover
from .tables import Table, check_tables, record_of, with_member

CONCURRENCY: Final = 16
"""Groups or users that are read at once."""
MOST_FAILURES: Final = 20
"""Groups or users that may fail before the rest of a table is given up: it will not be whole."""
_PARENTS: Final[dict[Table, Table]] = {"members": "groups", "conversations": "users"}
_KEYS: Final[dict[Table, tuple[str, ...]]] = {
    "users": ("uid",), "groups": ("guid",), "members": ("guid", "uid"),
    "conversations": ("onBehalfOf", "conversationId"),
}  # fmt: skip
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
            progress.enter(Phase.READING_TABLES)
            entries, failures = await read_tables(bulk, self._place, self._tables, self._now)
            self._new |= {entry.table: entry for entry in entries}
            report.tables = {entry.table: entry.rows for entry in self.entries if entry.table in self._tables}
            report.failed += failures
        report.complete = report.complete and not report.failed
        if self._attachments is not None:
            progress.enter(Phase.FETCHING_ATTACHMENTS)
            await self._fetch(bulk, report, self._attachments, save)
        await self._publish(save)

    async def _fetch(
        self, session: AsyncSession, report: Report, options: AttachmentOptions, save: Callable[[], None]
    ) -> None:
        """Fetch attachments; until they are there the manifest says so, and vouches for all the rest."""
        complete, reasons = report.complete, [*report.reasons]
        report.complete, report.reasons = False, [*reasons, "attachments are not fetched yet"]
        await self._publish(save)
        with await in_thread(partial(AttachmentRun, self._place, options, self._now)) as run:
            if report.changed:
                await in_thread(run.forget_searched)
            is_settled = not self._archive.journal.rechecks()
            entry, report.attachments = await run.fetch(session, self._archive, is_settled=is_settled)
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
        errors = "; ".join(f"{error} ({count:,})" for error, count in counts.errors.items())
        reasons.append(f"{counts.failed:,} attachments could not be fetched: {errors}")
    if counts.pending:
        reasons.append(f"{counts.pending:,} attachments are left to the next run")
    return reasons


# ── tables ──


async def read_tables(
    session: AsyncSession, place: TableFolder, tables: Iterable[Table], now: Callable[[], float]
) -> tuple[list[TableEntry], list[Failure]]:
    """Write a new file for each table beside the older one; return the entries of those that are whole.

    Costs the requests of the lists: one a thousand users or groups, one at least a group for the members and
    a user for the conversations. Memory: the ids of all users and groups, and a page for each list that is
    read at the same time. Raises `AuthenticationError` and OSError; nothing is replaced then.
    """
    lists, entries, failures = TableLists(session), list[TableEntry](), list[Failure]()
    for table in tables:
        new = await in_thread(partial(NewTable, place, table), NewTable.discard)
        try:
            failed = await lists.read(table, new)
            if not failed:
                entries.append(await in_thread(partial(new.finish, int(now()))))
        except BaseException:
            await in_thread(new.discard)
            raise
        if failed:
            await in_thread(new.discard)
        failures += failed
    return entries, failures


@final
class TableLists:
    """The lists of the tables, read one after another."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        self._rows: Any = AsRows(session.sender)
        self._ids: dict[Table, list[str]] = {}
        self._writing = asyncio.Lock()

    async def read(self, table: Table, new: NewTable) -> list[Failure]:
        """Write all records of a table, each once, and return what failed: then it is not whole.

        Raises `AuthenticationError`, after which nothing else would fare better, and OSError.
        """
        if (parent := _PARENTS.get(table)) is None:
            return await self._read_own(table, new)
        failures = [] if parent in self._ids else await self._read_own(parent, None)
        return failures or await self._read_each(table, self._ids[parent], new)

    async def _read_own(self, table: Table, new: NewTable | None) -> list[Failure]:
        """Read the list of users or of groups, and keep the ids; without `new` these alone are needed."""
        walk: Walk[Any] = (
            Users(self._rows).list(UserQuery(with_deactivated=True, with_tags=True))
            if table == "users"
            else Groups(self._rows).list(GroupQuery(with_tags=True))
        )
        try:
            self._ids[table] = list(await self._write(table, walk, new))
        except AuthenticationError:
            raise
        except ChatRestError as error:
            return [Failure(table, str(error))]
        return []

    async def _read_each(self, table: Table, parents: list[str], new: NewTable) -> list[Failure]:
        """Read the list of each group or user."""
        failures, is_any_there = list[Failure](), not parents
        read = partial(self._read_one, table, new)
        fan_out = self._session.fan_out(parents, read, concurrency=CONCURRENCY, stop_after=MOST_FAILURES)
        try:
            async with fan_out as outcomes:
                async for outcome in outcomes:
                    error = outcome.error
                    if isinstance(error, ChatRestError) and not isinstance(error, AuthenticationError):
                        failures.append(Failure(_source(table, outcome.item), str(error)))
                    elif error is not None:
                        raise error
                    is_any_there = is_any_there or outcome.value is not False
        except FanOutError:
            rest = f"the rest was not read after {len(failures)} failures"
            failures.append(Failure(table, rest))
        if not is_any_there:  # they cannot all have been removed a moment ago
            failures.append(Failure(table, f"the service has none of {len(parents):,} lists (404)"))
        return failures

    async def _read_one(self, table: Table, new: NewTable, parent: str) -> bool:
        """Read the list of one group or user; False where it does not exist any more, and so has nothing."""
        walk: Walk[Any]
        if table == "members":
            name, walk = "guid", Members(self._rows).list(parent)
        else:
            query = ConversationQuery(with_tags=True)
            name, walk = "onBehalfOf", Conversations(self._rows).list(query, on_behalf_of=parent)
        try:
            await self._write(table, walk, new, member=(name, parent))
        except NotFoundError:
            return False
        return True

    async def _write(
        self, table: Table, walk: Walk[Any], new: NewTable | None, member: tuple[str, str] | None = None
    ) -> dict[str, None]:
        """Write the records of a list, each key once, with one more `member`; return the keys.

        A record without a key is always written.
        """
        keys: dict[str, None] = {}
        async for page in walk.pages():
            records = []
            for row in page.items:
                raw = bytes(row.raw) if member is None else with_member(bytes(row.raw), *member)
                key = _key(table, raw)
                if key not in keys:
                    records.append(raw)
                if key:
                    keys[key] = None
            if new is not None:
                async with self._writing:
                    await in_thread(partial(new.add, records))
        return keys


def _key(table: Table, raw: bytes) -> str:
    """Return what tells a record of a table from all others; an empty text where it has none."""
    record = record_of(raw)
    parts = [record.get(name) for name in _KEYS[table]]
    return "\0".join(map(str, parts)) if all(parts) else ""


def _source(table: Table, parent: str) -> str:
    return f"members of group {parent}" if table == "members" else f"conversations of user {parent}"
