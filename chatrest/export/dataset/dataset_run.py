"""The data beside the messages, in one run of an export: what is asked for, and the order of its steps.

```
messages → tables → manifest → attachments → manifest
```

Tables and attachments come after the messages, which they never hold up. These options are remembered in the
journal for later runs; a run may add more.

A table holds the exact bytes of the records of lists. It is replaced when they were read completely: until
then its rows are in a file without a name. The ids of groups and users are read first: a list by page numbers
that stayed open meanwhile would skip whoever moves over a page's border.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..._core.send import AsRows
from ..._parameters.conversations import ConversationQuery
from ..._parameters.users import GroupQuery, UserQuery
from ..._resources.conversations import Conversations
from ..._resources.groups import BannedUsers, Groups, Members
from ..._resources.messages import Messages
from ..._resources.users import BlockedUsers, Friends, Users
from ..._texts import plural
from ..._threads import in_thread
from ..._walk.walk import Walk
from ...errors import AuthenticationError, ChatRestError, FanOutError, NotFoundError
from ...session import AsyncSession
from ..folder.export_folder import ExportFolder
from ..folder.manifest import table_entries
from ..folder.tables import ASKED_ATTACHMENTS, ASKED_TABLES, Table, tables_of, with_member
from ..formats.stored_records import SourceLines, record_members
from ..plan.file_names import SPOOL
from ..plan.report import AttachmentCounts, ExportFailure, NextRun, Phase, Progress, Report
from .attachments import AttachmentOptions, AttachmentRun

CONCURRENCY: Final = 16
MAX_FAILURES: Final = 20
"""Lists that may fail before the rest of a table is given up: it will not be whole."""
_MESSAGES: Final = 10_000
_PIECE: Final = 1 << 20
Parent: TypeAlias = Literal["users", "groups", "messages"]


class Dataset:
    """The tables and attachments of one run over an open export. Its methods block, but for `add`.

    `tables` are added to those that earlier runs were asked for, and `attachments` replace their limits.
    `rechecks`: this run may change messages that are stored.
    """

    def __init__(
        self,
        export: ExportFolder,
        tables: tuple[Table, ...] = (),
        attachments: AttachmentOptions | None = None,
        *,
        rechecks: bool = False,
    ) -> None:
        meta = export.journal
        self._tables = tables_of([*msgspec.json.decode(meta[ASKED_TABLES] or "[]", type=list[str]), *tables])
        if tables:
            meta[ASKED_TABLES] = msgspec.json.encode(self._tables).decode()
        if attachments is not None:
            meta[ASKED_ATTACHMENTS] = msgspec.json.encode(attachments).decode()
        limits = msgspec.json.decode(meta[ASKED_ATTACHMENTS] or "null", type=AttachmentOptions | None)
        self._attachments: AttachmentOptions | None = limits
        self._export = export
        if self._attachments is not None and rechecks:
            with AttachmentRun(export, self._attachments) as run:
                run.forget_searched()

    async def add(
        self,
        session: AsyncSession,
        report: Report,
        progress: Progress,
        save: Callable[[], None],
        *,
        is_refused: bool = False,
    ) -> None:
        """Read what is asked for, and add it to the report; `save` writes the manifest, after each step.

        Where the service `is_refused`, tables and attachments stay as earlier runs have left them.
        """
        bulk = session.with_options(priority="bulk")
        if self._tables:
            if not is_refused:
                progress.enter(Phase.READING_TABLES)
                lists = TableLists(bulk, self._export)
                for failure in [each for table in self._tables for each in await lists.replace(table)]:
                    report.lacks(failure)
            entries = await in_thread(lambda: list(table_entries(self._export.journal)))
            report.tables = {entry.table: entry.rows for entry in entries if entry.table in self._tables}
        report.complete &= not report.failed
        if self._attachments is not None and not is_refused:
            progress.enter(Phase.FETCHING_ATTACHMENTS)
            await self._fetch(bulk, report, self._attachments, save)
        await in_thread(save)

    async def _fetch(
        self, session: AsyncSession, report: Report, options: AttachmentOptions, save: Callable[[], None]
    ) -> None:
        """Fetch attachments; until they are there the manifest says so, and vouches for all the rest."""
        complete, reasons, next_run = report.complete, [*report.reasons], report.next_run
        report.complete = False
        report.lacks("attachments are not fetched yet")
        await in_thread(save)
        with await in_thread(partial(AttachmentRun, self._export, options)) as run:
            if report.changed:
                await in_thread(run.forget_searched)
            is_settled = not self._export.journal.rechecks.all()
            report.attachments = await run.fetch(session, is_settled=is_settled)
        report.reasons, report.next_run = reasons, next_run
        lacking = _reasons(report.attachments)
        for reason in lacking:
            report.lacks(reason)
        report.complete = complete and not lacking


def _reasons(counts: AttachmentCounts) -> list[str]:
    reasons = []
    if counts.failed:
        errors = "; ".join(f"{error} ({count:,})" for error, count in counts.errors.items())
        reasons.append(f"{plural(counts.failed, 'attachment')} not fetched: {errors}")
    if counts.pending:
        reasons.append(f"{plural(counts.pending, 'attachment')} left to the next run")
    return reasons


def _pieces(rows: IO[bytes]) -> Iterator[SourceLines]:
    rows.seek(0)
    while lines := rows.readlines(_PIECE):
        yield SourceLines(0, len(lines), b"".join(lines))


class _ServiceList(NamedTuple):
    key: str
    walk: Callable[[Any, str], Walk[Any]]
    """The list of the service, by what reads it and the id of the parent."""
    parent: Parent | None = None
    member: str = ""
    """What the parent's id is called in front of a record that does not have it."""


_LISTS: Final[dict[Table, _ServiceList]] = {
    "users": _ServiceList(
        "uid", lambda rows, _: Users(rows).list(UserQuery(with_deactivated=True, with_tags=True))
    ),
    "groups": _ServiceList("guid", lambda rows, _: Groups(rows).list(GroupQuery(with_tags=True))),
    "members": _ServiceList("uid", lambda rows, guid: Members(rows).list(guid), "groups", "guid"),
    "conversations": _ServiceList(
        "conversationId",
        lambda rows, uid: Conversations(rows).list(ConversationQuery(with_tags=True), on_behalf_of=uid),
        "users",
        "onBehalfOf",
    ),
    "bans": _ServiceList("uid", lambda rows, guid: BannedUsers(rows).list(guid), "groups", "guid"),
    "friends": _ServiceList("uid", lambda rows, uid: Friends(rows).list(uid), "users", "friendOf"),
    "blocks": _ServiceList("uid", lambda rows, uid: BlockedUsers(rows).list(uid), "users", "blockedBy"),
    "reactions": _ServiceList(
        "id", lambda rows, key: Messages(rows).list_reactions(key), "messages", "messageId"
    ),
}


class TableLists:
    """Costs a request for a thousand users or groups, and one at least for each list of a group, a user, or a
    message with reactions. Memory: the ids of all users and groups, and a page of each list under way.
    """

    def __init__(self, session: AsyncSession, export: ExportFolder) -> None:
        self._session = session
        self._export = export
        self._rows: Any = AsRows(session.sender)
        self._ids: dict[str, list[str]] = {}
        """Of all users and groups, once they are read."""
        self._writing = asyncio.Lock()

    async def replace(self, table: Table) -> list[ExportFailure]:
        """Replace a table if its list can be read completely, and return what failed.

        Raises `AuthenticationError`, after which nothing else would fare better, and OSError.
        """
        spool = self._export.folder / SPOOL
        # `IO.close` itself is a type's, and does nothing.
        with await in_thread(lambda: TemporaryFile(dir=spool), lambda file: file.close()) as new:
            if failed := await self._read(table, new):
                return failed
            now = self._session.sender.now()
            await in_thread(partial(self._export.replace_table, table, _pieces(new), now))
        return []

    async def _read(self, table: Table, new: IO[bytes]) -> list[ExportFailure]:
        parent = _LISTS[table].parent
        try:
            if parent is None:
                self._ids[table] = await self._write(table, "", new)
                return []
            if parent != "messages" and parent not in self._ids:
                self._ids[parent] = await self._write(parent, "", None)
        except AuthenticationError:
            raise
        except ChatRestError as error:
            return [ExportFailure.of(parent or table, error)]
        return await self._read_each(table, parent, new)

    async def _read_each(self, table: Table, parent: Parent, new: IO[bytes]) -> list[ExportFailure]:
        ids = self._reacted() if parent == "messages" else self._ids[parent]
        failures, lists, absent = list[ExportFailure](), 0, 0
        read = partial(self._read_one, table, new)
        fan_out = self._session.fan_out(ids, read, concurrency=CONCURRENCY, stop_after=MAX_FAILURES)
        try:
            async with fan_out as outcomes:
                async for outcome in outcomes:
                    error = outcome.error
                    if isinstance(error, ChatRestError) and not isinstance(error, AuthenticationError):
                        failures.append(ExportFailure.of(f"{table} of {parent[:-1]} {outcome.item}", error))
                    elif error is not None:
                        raise error
                    lists, absent = lists + 1, absent + (outcome.value is False)
        except AuthenticationError:
            raise
        except FanOutError:
            failures.append(ExportFailure(table, f"the rest was not read after {len(failures)} failures"))
        except ChatRestError as error:  # of a file of messages
            failures.append(ExportFailure.of(parent, error))
        if lists == absent > 0:  # they cannot all have been removed a moment ago
            text = f"the service has none of {lists:,} lists (404)"
            failures.append(ExportFailure(table, text, NextRun.FAILS))
        return failures

    async def _reacted(self) -> AsyncIterator[str]:
        """Yield the ids of the messages whose records count reactions: some thousand in memory."""
        rows = self._export.scan()
        while batch := await in_thread(lambda: list(islice(rows, _MESSAGES))):
            for row in batch:
                if b'"reactions"' in (raw := row.raw):
                    data = record_members(raw).get("data")
                    if isinstance(data, dict) and data.get("reactions"):
                        yield row.id

    async def _read_one(self, table: Table, new: IO[bytes], parent: str) -> bool:
        """Read the list of one parent; False if that does not exist any more, and so has nothing."""
        try:
            await self._write(table, parent, new)
        except NotFoundError:
            return False
        return True

    async def _write(self, table: Table, parent: str, new: IO[bytes] | None) -> list[str]:
        """Write the records of a list, each key once, and return the keys; without `new` write nothing."""
        own, keys = _LISTS[table], dict[str, None]()
        async for page in own.walk(self._rows, parent).pages():
            records = []
            for row in page.items:
                raw = row.raw
                key = record_members(raw).get(own.key)
                if not key or str(key) not in keys:  # one without a key is always written
                    records.append(with_member(raw, own.member, parent) if own.member else raw)
                if key:
                    keys[str(key)] = None
            if new is not None:
                async with self._writing:
                    await in_thread(partial(new.write, b"\n".join([*records, b""])))
        return list(keys)
