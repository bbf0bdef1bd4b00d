"""The app's own list (GET /messages): it fixes the end of a run, and shows what is new of all sources.

The end of a run is the app's newest id: newer messages are for the next run. There is none where that list is
not served, cannot be read backwards or is not in the order of its ids: then the end of each list is the one
that it has when its reading begins.

Asking each of hundreds of sources costs a request, and few have anything new in a night. Every source is
asked all the same where the app's own list is refused or goes by time, costs more requests than half of the
sources, ends before the newest message of the app, or disagrees with the own list of a source that is drawn
by lot; where that list does not prove its own end; where a message of a group is of no source, and a member's
list may have it; and after six runs that believed it.

Drawn are a source that it shows something of, one that writes a message to a group, and one of each kind that
it shows nothing of, from those whose own lists had the newest messages: it may lack a group, or a part of the
app. A run that believes it is complete as far as it shows. For the parts of an export it is read once
(`run/night`).

What it shows is noted as seen by the app's own list, which becomes a source of the journal, and not as seen
by the sources that claim it: their lists may lack it, and may have more. So nothing of them is covered by it
either, and a run that asks them reads all that they show since they were asked the last time.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import aclosing
from typing import Final, TypeAlias

from msgspec import Struct

from ..._core.replies.rows import Row, row_of
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._threads import in_thread
from ...errors import ApiError, AuthenticationError, CursorError, ServerError
from ...session import AsyncSession
from ..folder.export_folder import ExportFolder
from ..folder.journal import Journal, SourceState
from ..plan.export_plan import Plan
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, ids_of, number, numbers_in
from ..plan.ownership import Source
from ..plan.parts import NightFindings
from .jobs import ListJob, ListPiece, unread_jobs
from .page_check import PARTIES, Window, falls
from .piece_reader import NotOrderedByIdError, PositionRefusedError, piece_pages
from .source_list import SourceList, goes_backwards, in_order, newest
from .worker_pool import WorkerPool

MIN_SOURCES: Final = 8
"""With fewer sources, each of them is asked where the app has something new."""
_LATELY: Final = 20
"""Sources of a kind that had new messages lately: one of them is drawn by lot."""
MAX_RUNS: Final = 6
"""Runs in a row that believe the app's own list; the next one asks every source: a message that the list
hides, of a source that was not drawn, is found by then."""
RUNS: Final = "runs_by_app_list"
"""In the journal's meta: how many runs have believed it since every source was asked."""
Claimants: TypeAlias = Callable[[str, str, str], Collection[Source]]
"""Gives the sources of the plan that claim a message."""


class RunEnd(Struct, frozen=True):
    until: int = LAST
    """The app's newest id; LAST if that does not show where its lists end."""
    newest: Row | None = None
    """The app's newest message, if it is known."""
    knows_unit: bool = False
    """True if the newest messages show the unit of the service's times."""

    @property
    def names(self) -> set[str]:
        return set() if self.newest is None else {self.newest.sender, self.newest.receiver}


class _DisprovedError(Exception):
    """The app's own list cannot be believed: each source has to be asked."""


class AppListReader:
    """The messages of the app's own list after the id `after`, up to `until`."""

    def __init__(
        self, session: AsyncSession, plan: Plan, window: Window, claimants: Claimants, after: int, until: int
    ) -> None:
        self._messages = Messages(AsRows(session.sender))
        self._dice = session.sender.dice
        self._has_users = bool(plan.all_users or plan.users)
        self._window = window
        self._claimants = claimants
        self._after, self._until = after, until
        self._claims: dict[Source, IdSet] = {}
        """The ids that the own lists of sources should show, by the rule of ownership."""
        self._senders: set[Source] = set()
        """Sources that write a message to a group."""

    async def read(
        self, most: int, take: Callable[[list[Row]], Awaitable[object]], silent: Iterable[Source] | None,
        may_ask: Callable[[Source], object] = bool,
    ) -> bool:  # fmt: skip
        """Hand over the rows that the plan asks for, page by page; return True if the list is to be believed.

        `most` is how many pages are read. `silent` are sources that may have nothing new, first those
        that had new messages lately; None asks no source. `may_ask` gives a true value for sources that can
        be asked.
        Raises `AuthenticationError` and `ServerError`.
        """
        try:
            if self._after < self._until:
                await self._read(most, take)
            if silent is not None:
                await self._check(silent, may_ask)
        except (AuthenticationError, ServerError):
            raise
        except (PositionRefusedError, NotOrderedByIdError, CursorError, ApiError, _DisprovedError):
            return False
        return True

    async def _read(self, most: int, take: Callable[[list[Row]], Awaitable[object]]) -> None:
        job = ListJob(SourceState(0, Source("everything")))
        piece = ListPiece(job=job, after=self._after, until=self._until, is_guess=True)
        async with aclosing(piece_pages(self._messages.list(query=MessageQuery()), piece)) as parts:
            async for part in parts:
                most -= 1
                if most < 0:
                    break
                await take(self._claimed(self._window.within(part.items)))
                if part.items and part.items[-1].id == str(self._until):
                    return
        raise _DisprovedError  # it does not reach the newest message

    def _claimed(self, rows: list[Row]) -> list[Row]:
        by_claimant, claimed = dict[Source, list[Row]](), list[Row]()
        if ids_of(rows).others:
            raise _DisprovedError
        for row in rows:
            claimants = [*self._claimants(*PARTIES(row))]
            if claimants:
                claimed.append(row)
                self._senders.update(claimants[:1] if row.receiver_type != "user" else ())
            elif row.receiver_type != "user" and self._has_users:
                raise _DisprovedError  # a member's list may have it
            for source in claimants:
                by_claimant.setdefault(source, []).append(row)
        for source, own in by_claimant.items():
            self._claims.setdefault(source, IdSet()).update(ids_of(own).numbers)
        return claimed

    async def _check(self, silent: Iterable[Source], may_ask: Callable[[Source], object]) -> None:
        asked = set[Source]()
        for group in ({*self._claims}, self._senders):
            asked |= set() if asked & group else self._drawn(filter(may_ask, group))
        by_kind: dict[str, list[Source]] = {}
        for source in silent:
            if source not in self._claims and len(own := by_kind.setdefault(source.kind, [])) < _LATELY:
                own.append(source)
        for _, own in sorted(by_kind.items()):
            asked |= self._drawn(own)
        for source in sorted(asked, key=str):
            if await self._own_ids(source) != self._claims.get(source, IdSet()):
                raise _DisprovedError

    def _drawn(self, sources: Iterable[Source]) -> set[Source]:
        ordered = sorted(sources, key=str)
        return {ordered[int(self._dice() * len(ordered))]} if ordered else set()

    async def _own_ids(self, source: Source) -> IdSet:
        """Return the new ids of a list, read from its newest one back: it need not have the id `after`.

        It is disproved where it has ids that are no numbers, does not go by id, or shows more up to `until`
        after the newest one: a list that does not heed `affix=prepend` begins with old ones.
        """
        ids, newest = IdSet(), 0
        walk = source.list(self._messages, MessageQuery(affix="prepend"))
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                shown, others = ids_of(page.items)
                if others or not page.cursor.by_id:
                    raise _DisprovedError
                newest = max(newest, shown.last)
                new = ids_of(self._window.within(page.items)).numbers
                ids.update(new.between(self._after + 1, self._until))
                if shown.first <= self._after:
                    break
        if newest:
            # Two, as some services show the message itself, too.
            onward = source.list(self._messages, MessageQuery(affix="append", id=str(newest))).limit(2)
            shown, others = ids_of(await onward.collect())
            if others or shown.between(1, self._until) - IdSet([newest]):
                raise _DisprovedError
        return ids


def runs_by_app_list(journal: Journal) -> int:
    return int(journal[RUNS] or 0)


def skippable_jobs(plan: Plan, journal: Journal, sources: Iterable[SourceState], until: int) -> list[ListJob]:
    """Return the jobs that may be skipped if the app's own list shows nothing new of their sources.

    The last run has proven the ends of these sources, and they have no gaps below.
    """
    if plan.everything or plan.until is not None or until == LAST:
        return []
    sources = list(sources)
    end = max((state.proven for state in sources), default=0)
    proven = (state for state in sources if state.proven == end > 0 and state.state == "open")
    unread = unread_jobs(journal, proven, max(until, end + 1))
    return [job for job in unread if job.state.order != "other" and len(job.gaps) == 1]


async def prove_by_app_list(
    session: AsyncSession, pool: WorkerPool, sources: SourceList, eligible: Iterable[ListJob], until: int
) -> bool:
    """Write what the app's own list shows as new up to the id `until`; return True if the ends of sources are
    proven by it. Where not, nothing is lost: each source has to be asked then, and what was written stays.
    """
    journal, jobs = pool.export.journal, {job.source: job for job in eligible}
    after, check = max(job.state.proven for job in jobs.values()), pool.check
    reader = AppListReader(session, pool.export.plan, check.window, check.rules.claimants, after, until)

    async def take(rows: list[Row]) -> None:
        await pool.commit([check.page(ListJob(sources.add_app_list(), purpose="missing"), rows)])

    # Behind the last message of a list is the gap that is left of it.
    lately = sorted(jobs, key=lambda source: (-jobs[source].gaps[0].after, str(source)))
    if not await reader.read(len(jobs) // 2, take, lately, jobs.__contains__):
        return False
    with journal.transaction():
        journal[RUNS] = str(runs_by_app_list(journal) + 1)
        for job in jobs.values():
            journal.note_proven(job.state.number, until)
    return True


def count_run_by_app_list(journal: Journal) -> bool:
    """Count a run for which the app's own list shows nothing new; False, once every source is to be asked."""
    if (runs := runs_by_app_list(journal)) >= MAX_RUNS:
        return False
    with journal.transaction():
        journal[RUNS] = str(runs + 1)
    return True


async def newest_of_app(session: AsyncSession, *, is_backwards: bool) -> NightFindings:
    """Return the app's newest messages: one request, and one or two if it is not known that its own list
    `is_backwards` where asked for it.
    """
    rows = await newest(session)
    last = next(iter(in_order(rows)), None)
    if last is not None and number(last.id) is not None and not is_backwards:
        is_backwards = await goes_backwards(session, last)
    return NightFindings(newest=[row.raw for row in rows], goes_backwards=is_backwards)


async def find_end(pool: WorkerPool, findings: NightFindings) -> RunEnd:
    rows = [row_of(raw) for raw in findings.newest]
    ordered = in_order(rows)
    last = next(iter(ordered), None)
    if knows_unit := last is not None and last.sent_at > 0:
        pool.ends.use_unit_of(last.sent_at)
    if last is None or number(last.id) is None:
        return RunEnd(newest=last, knows_unit=knows_unit)  # an id that is not a number is not an end
    if not findings.goes_backwards:
        return RunEnd(knows_unit=knows_unit)
    await pool.ids.check(rows)
    ids = numbers_in(ordered)  # all are numbers, as one is
    highest = ordered[ids.index(max(filter(None, ids)))]
    # In another order the end is not known: messages after the last one may have lower ids.
    is_open = not falls(ordered) or await _may_hide_newer(pool, highest, rows)
    until = LAST if is_open else number(highest.id) or LAST
    return RunEnd(until, highest, knows_unit)


async def _may_hide_newer(pool: WorkerPool, highest: Row, rows: list[Row]) -> bool:
    """Return whether the app may have newer messages than that with the highest id of its newest ones.

    So it is if these are not the newest, such as those that were edited last, or if ids that are not
    numbers are new: they do not show their position.
    """
    if pool.ids.may_hide_newer(number(highest.id) or 0):
        return True
    keys = {*ids_of(rows).others}
    return bool(keys) and await in_thread(lambda: _has_new_key(pool.export, keys, number(highest.id) or 0))


def _has_new_key(export: ExportFolder, keys: set[str], until: int) -> bool:
    journal = export.journal
    proven = max((state.proven for state in journal.iter_sources()), default=0)
    named, written = journal.numbers_of_names(keys), export.store.written
    return until <= proven and not all(named.get(key, 0) in written for key in keys)


async def hides_newer(pool: WorkerPool, end: RunEnd) -> bool:
    """Return whether the app's own list lacks what a list has shown after the frozen end.

    Costs a request if one has: newer messages exist by now, and are for the next run.
    """
    shown = pool.findings.highest_id
    if end.until == LAST or shown <= end.until:
        return False
    return all((number(row.id) or 0) < shown for row in await newest(pool.session))
