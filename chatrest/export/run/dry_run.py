"""The dry run: an estimate from few requests of what an export would read. Writes nothing.

The users are listed, for they are the sources. Of the lists that have anything left up to 20 are asked for a
page, and what these show is counted: the export has at least so many new messages, and needs about so many
requests. A service whose ids begin again is refused here, too, as by a run.
"""

from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from functools import partial
from itertools import chain
from math import ceil
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, structs

from ..._core.replies.rows import Row
from ..._core.requests.arguments import check
from ..._core.requests.dialects import MAX_PAGE_SIZE
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._storage import InUseError
from ..._threads import for_each, in_thread
from ..._walk.walk import Page
from ...errors import AuthenticationError, ChatRestError, ExportIncompleteError
from ...session import AsyncSession
from ..fetch.jobs import ListJob, unfinished_rechecks, unread_jobs
from ..fetch.page_check import Window
from ..fetch.source_list import newest, sent_by, users
from ..folder.folder_access import check_is_export_or_empty, run_under_way
from ..folder.folder_plan import continued_plans, initial_meta, resolve_plans
from ..folder.folder_state import check_journal
from ..folder.id_continuity import IdContinuity
from ..folder.journal import NAME as JOURNAL, Journal, SourceState, has_journal
from ..plan.export_plan import Plan
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, Gap, key_of, number
from ..plan.ownership import Source
from ..plan.report import ExportFailure
from ..read.exports import ExportAddress

SAMPLES: Final = 20
"""Lists that are asked for a page, at most."""
_AT_ONCE: Final = 4
_SHOWN: Final = 5


class Estimate(Struct, frozen=True, kw_only=True):
    """An estimate of what a run would read."""

    plan: Plan
    sources: int
    sampled: int
    """Of them, those that were asked for a page."""
    whole: int
    """Of them, those that the folder holds up to the newest message by now."""
    refused: list[ExportFailure]
    """Of those that were asked, the ones that the service refuses."""
    messages: int
    """New messages that were seen, each counted once: the run would add so many at least."""
    newest: int | None
    """The app's newest message id; None if the service does not show."""
    requests: int
    """About so many the run would send, if no list has more than a page."""
    asked: int
    """Requests that the estimate has cost."""

    def check(self) -> None:
        """Raise `ExportIncompleteError` if the service refuses a source, so that the export would fail."""
        if self.refused:
            refused = "; ".join(f"{each.source}: {each.error}" for each in self.refused[:_SHOWN])
            raise ExportIncompleteError(
                f"{len(self.refused):,} of {self.sampled:,} sampled sources are refused, and so the export "
                f"would not be complete: {refused}"
            )


async def estimate(
    session: AsyncSession,
    plan: Plan | None = None,
    out: str | PathLike[str] | None = None,
    *,
    only: bool = False,
    change_plan: bool = False,
) -> Estimate:
    """Return about what `export` with the same arguments would read. Changes no file in `out`.

    Costs one request for each 1,000 users, and one for each of up to 20 lists. Where `out` holds an export,
    what that covers is not counted. Raises what `export` raises before it writes: `RequestInvalidError` for a
    folder that holds something else, or an export of another plan or app; and `IdsBeginAgainError`, a
    `ChatRestError`, where the ids of the service begin again.
    """
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    sent, stored, written = sent_by(session), _StoredExport(plan or Plan()), IdSet()
    read = partial(read_stored, plan=plan, app_id=session.app.app_id, only=only, change_plan=change_plan)
    with ExitStack() as stack:
        if out is not None:
            view = stack.enter_context(await in_thread(lambda: ExportAddress.of(out).open(may_be_new=True)))
        rows = await newest(session)
        until = number(next(iter(rows), Row()).id) or LAST
        if out is not None:
            stored = await in_thread(lambda: read(view.folder, until=until))
            if has_journal(view.folder):
                with Journal(view.folder / JOURNAL) as journal:
                    written = journal.ids_in(journal.files("open", "sealing", "sealed"))
                    messages = Messages(AsRows(session.sender))
                    await IdContinuity(messages, written.numbers.last, journal).check(rows)
    reads = stored.only or stored.plan
    sources = dict.fromkeys([*stored.sources, *reads.sources])
    if reads.all_users:
        sources |= {source: None async for source in users(session)}
    new = [each for each in sources if each not in stored.sources]
    jobs = [*stored.left, *(ListJob(SourceState(0, each), [Gap(0, until)]) for each in new)]
    sampled = jobs[:: max(1, ceil(len(jobs) / SAMPLES))]
    pages, refused = dict[Source, list[Row]](), list[ExportFailure]()
    bulk = session.with_options(priority="bulk")

    async def take(job: ListJob) -> None:
        try:
            pages[job.source] = await _first_rows(bulk, reads, job)
        except AuthenticationError:
            raise  # no other source would fare better
        except ChatRestError as error:
            refused.append(ExportFailure.of(job.source, error))

    await for_each(sampled, take, _AT_ONCE)
    # A page of each list, and the proof of its end if the page has items.
    listing = ceil(len(sources) / MAX_PAGE_SIZE) + 1 if reads.all_users else 0
    ends = ceil(len(jobs) * sum(map(bool, pages.values())) / max(1, len(sampled)))
    return Estimate(
        plan=stored.plan,
        sources=len(sources),
        sampled=len(sampled),
        whole=len(sources) - len(jobs),
        refused=refused,
        messages=len({key_of(row) for row in chain(*pages.values()) if (number(row.id) or 0) not in written}),
        newest=None if until == LAST else until,
        requests=1 + listing + len(jobs) + stored.rechecks + ends,
        asked=sent_by(session) - sent,
    )


class _StoredExport(NamedTuple):
    """The existing export from which the next run continues."""

    plan: Plan
    only: Plan | None = None
    """Those of its sources that are to be read, where it is not all of them."""
    sources: frozenset[Source] = frozenset()
    """The sources that the next run reads, too."""
    left: Sequence[ListJob] = ()
    rechecks: int = 0
    """Lists whose recheck was interrupted."""


def read_stored(
    folder: Path, plan: Plan | None, app_id: str, until: int, *, only: bool = False, change_plan: bool = False
) -> _StoredExport:
    check_is_export_or_empty(folder)
    path, given = folder / JOURNAL, plan or Plan()
    if folder.exists():
        with run_under_way(folder) as is_in_use:
            if is_in_use:
                raise InUseError(f"{path}: another export is writing here")
    asked = None if only else plan
    if not has_journal(folder):  # if it was lost, each list is read again
        meta = initial_meta(folder, app_id, given)
        plan = continued_plans(folder, meta, asked, app_id, may_change=change_plan).current
        return _StoredExport(plan, given.part_of(plan) if only else None)
    with Journal(path) as journal:
        journal.check_integrity()
        manifest = check_journal(folder, journal)
        former, plan, _ = resolve_plans(folder, journal, manifest, asked, app_id, may_change=change_plan)
        part = given.part_of(plan) if only else None
        reads = part or plan
        states = [
            each for each in journal.sources() if reads.holds(each.source) and each.state != "deleted_user"
        ]
        if reads.window != former.window:  # then all lists are read again
            left = [ListJob(each, [Gap(0, until)]) for each in states]
        else:
            left = list(unread_jobs(journal, states, until))
        rechecks = len(list(unfinished_rechecks(journal, states)))
        return _StoredExport(plan, part, frozenset(each.source for each in states), left, rechecks)


async def _first_rows(session: AsyncSession, plan: Plan, job: ListJob) -> list[Row]:
    """Return the first page of the unread rest of a list, without what is known."""
    since, end = Window(*plan.window).asked()
    query = MessageQuery(from_timestamp=since, to_timestamp=end, affix="append")
    walk, gap = job.source.list(Messages(AsRows(session.sender, drops_mismatches=True)), query), job.gaps[0]
    if gap.after:
        last = str(gap.after)
        position = gap.position or (("affix", "append"), ("id", last))
        walk = walk.at(
            structs.replace(walk.cursor, position=position, direction="append", last=last, is_inside=True)
        )
    async with aclosing(walk.pages()) as pages:
        page: Page[Row] | None = await anext(pages, None)
    return [row for row in Window(*plan.window).within(page.items if page else []) if job.includes(row)]
