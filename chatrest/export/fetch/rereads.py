"""Reads messages again: those that are missing, and those that may have changed.

| read again              | where                                        | and then                          |
|-------------------------|----------------------------------------------|-----------------------------------|
| missing: seen - written | a source that has seen it, and then the next | `missing` if none shows it        |
| missing, of a part      | by its id, where only the lists of other     | `missing` if it is gone           |
|                         | parts have shown it                          |                                   |
| recheck: the last days  | every source                                 | rows that differ are replaced     |
| confirm: stored in      | a source that has seen it, and without any   | `deleted` if it is not shown      |
| these days - shown      | times: services read them in their own ways  |                                   |

Whatever the reason is why a message is missing (a file is lost, a list does not show what the rule of
ownership says, a user was deleted), the proof of an export is that none is.

An id is not shown any more where every source that has seen it was read to the end of its recheck, or is a
user that was deleted, and at least one was read. The app's own list has no recheck, as the confirmation reads
all that is asked of it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..._core.replies.rows import Row
from ..._core.requests.dialects import MAX_PAGE_SIZE
from ..._core.send import AsRows
from ..._resources.messages import Messages
from ..._threads import for_each, in_thread
from ...errors import AuthenticationError, ChatRestError, NotFoundError
from ..folder.journal import SourceState
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, Gap
from ..plan.ownership import OF_PARTS
from .app_list import runs_by_app_list
from .jobs import ListJob, unfinished_rechecks
from .source_list import SourceList, is_app_list
from .worker_pool import WorkerPool

_AT_ONCE: Final = 16
_BATCH: Final = 100
"""Messages that were asked for one by one, and are written at once."""


class Rereads:
    """The messages that a run reads again; `now` is its time in epoch seconds."""

    def __init__(self, pool: WorkerPool, sources: SourceList, now: int) -> None:
        self._pool = pool
        self._export = pool.export
        self._journal = pool.export.journal
        self._sources = sources
        self._now = now
        self._unanswered = IdSet()
        """Ids that were asked for one by one, and that the service has said nothing of."""

    def _by_source(self, ids: IdSet, sources: Iterable[SourceState]) -> Iterator[tuple[SourceState, IdSet]]:
        """Yield each id once, with the first of the sources that has seen it."""
        left = ids | IdSet()
        for state in sources:
            if not left:
                return
            if own := left & self._journal.seen(state.number):
                left.discard(own)
                yield state, own

    async def read_missing(self) -> bool:
        """Read what is missing; return True if all is on disk then, or not shown by any source.

        What no source shows is taken from damaged files, where they hold it.
        """
        if not await in_thread(lambda: self._export.at_rest(self._export.store.missing)):
            return True
        asked: dict[int, IdSet] = {}
        while jobs := await in_thread(lambda: list(self._missing(asked))):
            await self._pool.read_again(jobs)
        await self._ask_one_by_one()
        await self._pool.salvage()
        return await in_thread(self._note_missing)

    def _missing(self, asked: dict[int, IdSet]) -> Iterator[ListJob]:
        """Yield what is to be read, each id from one source that was not asked for it yet.

        `asked` are the ids that each source was asked for, and is added to: a list that is read from its
        start to its end is asked for all that it has shown.
        """
        missing, failed = self._export.missing(), self._pool.findings.errors
        for state in self._journal.sources() if missing else ():
            number = state.number
            if number in failed or state.source == OF_PARTS or self._sources.is_deleted(state):
                continue
            shown = self._journal.seen(number)
            ids = (missing & shown) - asked.setdefault(number, IdSet())
            missing.discard(ids)
            if ids:
                left = [Gap(0, LAST)] if state.order == "other" else self._gaps_around(state, ids)
                asked[number].update(shown if left == [Gap(0, LAST)] else ids)
                yield ListJob(state, left, "missing")

    async def _ask_one_by_one(self) -> None:
        """Ask for the messages that no list of this part has shown, and those of other parts have."""
        if not (missing := await in_thread(self._export.missing)):
            return
        number = self._journal.source_number(OF_PARTS.key)
        ids = missing & await in_thread(lambda: self._journal.seen(number))
        if not ids:
            return
        job = ListJob(SourceState(number, OF_PARTS), purpose="missing")
        messages, rows = Messages(AsRows(self._pool.session.sender, drops_mismatches=True)), list[Row]()
        keys = await in_thread(lambda: dict(zip(ids, self._journal.texts(ids), strict=True)))

        async def commit() -> None:
            batch, rows[:] = rows[:], []
            await self._pool.commit([self._pool.check.page(job, batch)])

        async def ask(item: tuple[int, str]) -> None:
            numbered, key = item
            try:
                reply: Any = await messages.get(key)
            except AuthenticationError:
                raise
            except ChatRestError as error:
                if not isinstance(error, NotFoundError) or error.is_unserved:
                    self._unanswered.update(IdSet([numbered]))
                return
            if not (matches := [row for row in reply.items if row.id == key]):
                self._unanswered.update(IdSet([numbered]))
            rows.extend(matches)
            if len(rows) >= _BATCH:
                await commit()

        await for_each(list(keys.items()), ask, _AT_ONCE)
        await commit()

    def _note_missing(self) -> bool:
        """Note what no source shows any more; return False if one could not be asked."""
        missing, is_whole = self._export.missing(), not self._unanswered
        missing.discard(self._unanswered)
        sources = self._journal.sources() if missing else []
        refused = [state for state in sources if self._sources.is_refused(state)]
        for _, ids in self._by_source(missing, refused):
            missing.discard(ids)
            is_whole = False
        for state in sources:
            unshown = missing & self._journal.seen(state.number)
            if unshown and self._sources.is_deleted(state):
                is_whole = False  # no one else can be asked: this run says so, and the report from now on
            self._export.note_deleted(state.number, unshown, self._now, missing=True)
        return is_whole

    def begin_recheck(self, since: int) -> None:
        """Note that what was sent since a time is to be read again, up to what is covered by now."""
        # Where earlier runs have trusted the app's own list, messages are not covered, but proven; where the
        # window has become wider, nothing is covered, although ids have been seen.
        is_proven = runs_by_app_list(self._journal) > 0
        with self._journal.transaction():
            for state in self._sources.run_sources:
                last = max((each.last for each in self._journal.intervals(state.number)), default=0)
                last = max(last, state.proven if is_proven else 0, self._journal.seen(state.number).last)
                if until := min(LAST, last):
                    self._journal.rechecks.begin(state.number, since, until)

    def left(self) -> list[ListJob]:
        """Return what is left of rechecks that `recheck` has begun, or continued."""
        return list(unfinished_rechecks(self._journal, self._sources.run_sources))

    async def recheck(self) -> int:
        """Read again what is noted, by earlier runs, too; return how many messages it newly found deleted."""
        if not (rechecks := self._journal.rechecks.all()):
            return 0
        times = [recheck.since for recheck in rechecks.values()]
        await in_thread(lambda: self._export.prepare_recheck(min(times)))
        await self._pool.read_again(self.left())
        if unshown := await in_thread(lambda: self._unshown(max(times))):
            confirming = [*self._sources.run_sources, *filter(is_app_list, self._journal.sources())]
            await self._pool.read_again(
                ListJob(state, self._gaps_around(state, ids), "confirm")
                for state, ids in self._by_source(unshown, confirming)
                if state.order != "other"  # all of it was read
            )
        return await in_thread(lambda: self._note_deleted(max(times)))

    def _gaps_around(self, state: SourceState, ids: IdSet) -> list[Gap]:
        if ids.names:  # which may stand anywhere in a list
            return [Gap(0, LAST)]
        return clusters(ids, self._journal.seen(state.number), MAX_PAGE_SIZE)

    def _unshown(self, since: int) -> IdSet:
        rechecks, asked = self._journal.rechecks.all(), IdSet()
        unshown = self._export.changes.stored_since(since) - self._journal.rechecks.shown()
        for state in self._journal.sources():
            shown, recheck = self._journal.seen(state.number), rechecks.get(state.number)
            if is_app_list(state) and state.number not in self._pool.findings.errors:
                asked.update(shown)
            elif not state.asked or self._sources.is_deleted(state):
                continue
            else:
                if recheck is not None and recheck.is_done:
                    again = shown if recheck.until == LAST else shown.between(1, recheck.until)
                    asked.update(again)
                    shown.discard(again)
                unshown.discard(shown)
        return unshown & asked

    def _note_deleted(self, since: int) -> int:
        new = self._unshown(since)
        new.discard(self._export.changes.deleted)
        count = sum(
            self._export.note_deleted(state.number, ids, self._now)
            for state, ids in self._by_source(new, self._journal.sources())
        )
        left = unfinished_rechecks(self._journal, self._sources.plan_sources)
        if all(self._sources.is_deleted(job.state) for job in left):
            with self._journal.transaction():
                self._journal.rechecks.end()
        return count


def clusters(ids: IdSet, shown: IdSet, apart: int) -> list[Gap]:
    """Group ids into gaps that have `apart` ids of `shown` or more between them."""
    grouped: list[Gap] = []
    for low, high in ids.ranges():
        if grouped and shown.count(grouped[-1].until + 1, low - 1) < apart:
            grouped[-1] = Gap(grouped[-1].after, high)
        else:
            grouped.append(Gap(low - 1, high))
    return grouped
