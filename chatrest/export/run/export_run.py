"""One run of an export: from a plan to a folder with all of its messages.

```
newest id → sources → pieces of lists → export.commit → … until no gap is left → missing → finish
```

- The end is fixed when the run begins (`app_list`); the next run's gaps begin there.
- A source that the service refuses is noted, and the rest continues; a key that it refuses ends the run.
- Gaps are searched for repeatedly: users may be created while others are read, and a worker that begins in
  the middle of a list may get the reply that there is no such position.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import structs

from ..._threads import in_thread
from ...session import AsyncSession
from ..fetch.app_list import (
    MAX_RUNS,
    MIN_SOURCES,
    RUNS,
    RunEnd,
    count_run_by_app_list,
    find_end,
    hides_newer,
    newest_of_app,
    prove_by_app_list,
    runs_by_app_list,
    skippable_jobs,
)
from ..fetch.jobs import ListJob, unread_jobs
from ..fetch.page_check import PageCheck, Window
from ..fetch.part_run import PartRun
from ..fetch.rereads import Rereads
from ..fetch.source_list import GOES_BACKWARDS, SourceList, ago, user_with_messages
from ..fetch.worker_pool import WORKERS, WorkerPool
from ..folder.changed_messages import ReplacedMessages
from ..folder.edits import apply_edits
from ..folder.export_folder import ExportFolder
from ..folder.id_continuity import IdsBeginAgainError
from ..folder.journal import State
from ..plan.export_plan import Plan
from ..plan.message_ids import LAST, Gap
from ..plan.ownership import OwnershipRules
from ..plan.report import ExportFailure, NextRun, Phase, Progress, Report

ROUNDS: Final = 4
"""How often gaps are looked for."""


class AppListResult(NamedTuple):
    asks_all: bool = False
    """True if each list is to be asked for its end."""
    shows_all_new: bool = False
    """True if it shows all new messages, so that no list without them is read."""


class Run:
    def __init__(
        self,
        session: AsyncSession,
        export: ExportFolder,
        progress: Progress,
        *,
        workers: int = WORKERS,
        recheck: int | None = None,
        only: Plan | None = None,
        part: PartRun | None = None,
    ) -> None:
        """With `only` its sources are read, and no others of the folder's plan; of a `part` those that it was
        handed.
        """
        self._part = part
        self._only = only
        self._session = session.with_options(priority="bulk")
        self._recheck = recheck
        self._has_own_window = only is not None and only.window != export.plan.window
        check = PageCheck(
            Window(*(only or export.plan).window), OwnershipRules(), takes_all=only is not None,
            owner=None if part is None else part.rule.owner, part=0 if part is None else part.part,
        )  # fmt: skip
        self._pool = WorkerPool(self._session, export, check, progress, workers)
        self._sources = SourceList(self._session, self._pool, only, None if part is None else part.users)
        self._end = RunEnd()
        self._goes_backwards = False
        self._app_list = AppListResult()
        self._adopted = len(export.journal.news.pending()) if export.findings else 0

    @property
    def written(self) -> int:
        """The messages that this run has added by now, those included that an earlier one had not noted."""
        return self._adopted + self._pool.written

    @property
    def is_refused(self) -> bool:
        """True if the service has lost its data, or is another one: nothing of it belongs into the folder."""
        return self._pool.ids.has_fault

    async def read(self, report: Report) -> None:
        """Run to the end, and add to the report. Committed messages stay, however the run ends."""
        export, progress, began = self._pool.export, self._pool.progress, self._session.sender.now()
        rereads = Rereads(self._pool, self._sources, began)
        progress.enter(Phase.LISTING_SOURCES)
        try:
            if (part := self._part) is not None:
                findings = part.findings
            else:
                is_backwards = bool(export.journal[GOES_BACKWARDS])
                findings = await newest_of_app(self._session, is_backwards=is_backwards)
            self._goes_backwards = findings.goes_backwards
            self._end = await find_end(self._pool, findings)
        except IdsBeginAgainError as error:  # its messages would be mixed up with others: nothing is read
            self._sources.refresh()
            self._count(report, await in_thread(export.finish))
            self._note_sources(report)
            report.lacks(str(error), NextRun.FAILS)
            return
        await self._sources.check_new()
        await in_thread(export.commit_plan)
        await self._sources.learn()
        ends = self._pool.ends
        if not self._end.knows_unit and ends.window != (None, None):
            ends.use_unit_of(await self._sources.recent_time())
        if self._recheck is not None:
            last = self._end.newest
            now = last.sent_at if last is not None and last.sent_at >= 0 else began
            rereads.begin_recheck(ago(now, self._recheck))
        progress.enter(Phase.READING_NEWS)
        self._app_list = await self._read_app_list()
        progress.enter(Phase.WALKING)
        await self._walk()
        progress.enter(Phase.RECHECKING)  # after the new messages: a message must not arrive by two ways
        progress.deleted = await rereads.recheck()
        if self._recheck is not None:
            await self._read_left()  # it may have shown that a list is not in the order of its ids
        progress.enter(Phase.READING_MISSING)
        is_all_shown = await self._read_missing(rereads)
        progress.changed += await apply_edits(self._session, export)
        progress.enter(Phase.FINISHING)
        amended = await in_thread(export.finish)
        left = list(self._left())
        self._count(report, amended)
        self._note_sources(report, left)
        unread = [*left, *rereads.left()]
        if any(job.state.number not in self._pool.findings.errors for job in unread):
            report.lacks("some sources are not read to their end")
        if not is_all_shown:
            report.lacks("some messages could not be read from any source that has shown them")
        await self._note_faults(report)
        report.complete = not report.failed and not report.reasons and not report.only

    async def _note_faults(self, report: Report) -> None:
        if self._part is not None:  # the check of an empty app is made once for all parts
            for reason in self._part.reasons:
                report.lacks(reason)
            return
        if self._sources.fault is not None:
            report.lacks(str(self._sources.fault), NextRun.after(self._sources.fault))
        if (doubt := await self._empty_fault(report)) is not None:
            report.lacks(doubt, NextRun.FAILS)

    async def _read_app_list(self) -> AppListResult:
        export, only, until = self._pool.export, self._only, self._end.until
        if (part := self._part) is not None:  # requested once for all parts of the night
            shows_all_new = await part.take_night_messages(self._pool, self._sources, until)
            return AppListResult(part.asks_all or self._recheck is not None, shows_all_new)
        left = list[ListJob]()
        if only is None and self._pool.progress.sources >= MIN_SOURCES:
            left = skippable_jobs(export.plan, export.journal, self._sources.run_sources, until)
        asks_lists = only is not None or export.plan.everything or export.plan.until is not None
        if len(left) >= MIN_SOURCES:
            # A recheck requests each source in any case, and needs the ids of their own lists.
            is_due = self._recheck is not None or runs_by_app_list(export.journal) >= MAX_RUNS
            shows_all_new = not is_due and await prove_by_app_list(
                self._session, self._pool, self._sources, left, until
            )
            self._sources.refresh()
        elif not asks_lists and any(self._sources.run_sources) and not any(self._left()):
            # No list is to be read, as the app's own one shows nothing new.
            shows_all_new = self._recheck is None and count_run_by_app_list(export.journal)
        else:
            return AppListResult()
        return AppListResult(not shows_all_new, shows_all_new)

    async def _read_missing(self, rereads: Rereads) -> bool:
        """Read missing messages; a run of a few sources leaves them to the next run of all sources."""
        export = self._pool.export
        if self._part is not None:
            await self._part.take_in(self._pool)
            is_all_shown = await rereads.read_missing()
            await self._part.leave(export)
            return is_all_shown
        if self._only is None:
            return await rereads.read_missing()
        return await in_thread(lambda: not export.missing())

    # ── what is to be read ──

    async def _walk(self) -> None:
        if self._has_own_window:  # it covers nothing: messages before and after it are not read
            jobs = [ListJob(state, [Gap(0, LAST)], "missing") for state in self._sources.run_sources]
            await self._pool.read_again(jobs)
            await self._sources.update()
            return
        await self._read_left()
        if await hides_newer(self._pool, self._end):
            self._end, self._app_list = structs.replace(self._end, until=LAST), AppListResult(asks_all=True)
            self._pool.findings.proven.clear()
            await self._read_left()

    async def _read_left(self) -> None:
        for count in range(ROUNDS):
            pieces = [
                self._pool.piece(self._job(job), gap, from_start=count == ROUNDS - 1)
                for job in self._left()
                for gap in job.gaps
            ]
            if not pieces:
                break
            # Those between intervals first.
            await self._pool.read(sorted(pieces, key=lambda piece: piece.is_open))
            await self._sources.update()

    def _job(self, job: ListJob) -> ListJob:
        source = job.source
        has_newest = source.kind == "everything" or not self._end.names.isdisjoint(source.names)
        return structs.replace(job, until=self._end.until, has_newest=has_newest)

    def _left(self) -> Iterator[ListJob]:
        if self._has_own_window:
            return iter(())
        journal, findings = self._pool.export.journal, self._pool.findings
        sources = (state for state in self._sources.run_sources if state.number not in findings.errors)
        # A list that is covered up to the frozen end may have more than the app's own one shows.
        asks_all = self._app_list.asks_all
        until = self._end.until + (asks_all and self._end.until != LAST)
        return unread_jobs(journal, sources, until, proven=findings.proven, asks_all=asks_all)

    # ── the report ──

    def _count(self, report: Report, amended: ReplacedMessages) -> None:
        pool, export = self._pool, self._pool.export
        report.until = None if self._end.until == LAST else self._end.until
        report.by_app_list = self._app_list.shows_all_new
        report.written, report.changed = self.written, amended.changed
        report.deleted = pool.progress.deleted + amended.deleted
        report.missing, report.messages = len(export.changes.deleted_missing), sum(export.counts().values())
        report.kept = self._sources.kept
        report.only = [] if self._only is None else self._only.names
        report.warnings += [*pool.check.warnings(), *export.warnings()]
        for state in export.journal.iter_sources():
            if not self._sources.reads(state):
                report.not_read += state.is_read
                continue
            report.sources += state.is_read
            error = pool.findings.errors.get(state.number)
            if error is None:
                continue
            if not self._sources.is_deleted(state):
                report.lacks(ExportFailure.of(state.source, error))
            # Nothing is kept of a name that the service never listed.
            elif export.journal.seen(state.number) or self._sources.lists(state):
                report.deleted_users.append(str(state.source))
        report.sources -= len(report.deleted_users)
        pool.progress.failed = len(report.failed)
        pool.progress.changed, pool.progress.deleted = report.changed, report.deleted

    def _note_sources(self, report: Report, left: Sequence[ListJob] = ()) -> None:
        """Note the states of sources, and the ends that are proven: a transaction, if any of it is new."""
        journal = self._pool.export.journal
        states, proven, meta = list(self._new_states()), list(self._covered(left)), dict[str, str]()
        if self._goes_backwards and report.messages > 1:  # of one, the oldest is the newest
            meta[GOES_BACKWARDS] = "yes"
        if self._app_list.asks_all and not left:
            meta[RUNS] = "0"
        if not (states or proven or any(journal[name] != value for name, value in meta.items())):
            return
        with journal.transaction():
            for number, new_state, error in states:
                journal.set_state(number, new_state, error)
            for number in proven:
                journal.note_proven(number, self._end.until)
            for name, value in meta.items():
                journal[name] = value

    def _new_states(self) -> Iterator[tuple[int, State, str | None]]:
        for state in filter(self._sources.reads, self._pool.export.journal.iter_sources()):
            error = self._pool.findings.errors.get(state.number)
            if error is not None:
                new_state: State = "deleted_user" if self._sources.is_deleted(state) else "failed"
                yield state.number, new_state, str(error)
            elif state.is_read and (state.state != "open" or state.error is not None):
                yield state.number, "open", None

    def _covered(self, left: Sequence[ListJob]) -> Iterator[int]:
        """Yield the numbers of sources that are covered up to the frozen end, which is not noted as proven.

        An earlier run has read them that far, and ended before it could note so: nothing is left to read.
        """
        if self._end.until == LAST or self._has_own_window:
            return
        unread = {job.number for job in left} | self._pool.findings.errors.keys()
        for state in self._sources.run_sources:
            if state.number not in unread and state.order != "other" and state.proven < self._end.until:
                yield state.number

    async def _empty_fault(self, report: Report) -> str | None:
        plan = self._only or self._pool.export.plan
        if plan.all_users and self._end.until != LAST and not any(self._pool.export.journal.iter_sources()):
            return "the service lists no users, although the app has messages"
        is_doubtful = plan.everything or (plan.all_users and self._end.until != LAST)
        if not is_doubtful or report.messages or report.failed:
            return None
        uid = await user_with_messages(self._session, self._pool.ends.window)
        lists = "the app's own list of messages is" if plan.everything else "the lists of all users are"
        return uid and f"{lists} empty, although the list of user {uid} is not"
