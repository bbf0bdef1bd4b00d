"""The dry run: an estimate from few requests of what an export would read. Writes nothing.

The users are listed, for they are the sources. Of the lists that have anything left up to 20 are asked for a
page. What it shows is counted, and nothing is extrapolated: the figures are lower bounds. The app's newest id
is an upper bound if ids are consecutive. A service that a run would refuse, as it has other data than the
folder, is refused here, too.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from functools import partial
from math import ceil
from os import PathLike
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct, structs

from ..._core.replies.rows import Row
from ..._core.requests.arguments import check, check_count
from ..._core.requests.dialects import LARGEST_PAGE
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._resources.messages import LIST, Messages
from ..._storage import InUseError
from ..._threads import for_each, in_thread
from ..._walk.walk import Page
from ...errors import AuthenticationError, ChatRestError, ExportIncompleteError
from ...session import AsyncSession
from ..fetch.news import LEAST_SOURCES, candidates, runs_by_app_list
from ..fetch.page_check import Window
from ..fetch.source_list import ago, newest, sent_by, users
from ..fetch.work_left import Work, rechecks_left, rechecks_since, work_left
from ..fetch.worker_pool import WORKERS
from ..folder.id_continuity import IdContinuity
from ..folder.journal import NAME as JOURNAL, Journal, SourceState
from ..folder.opening import agreed, check_folder, check_place, first_meta, is_new, is_unused, run_under_way
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, Gap, key_of, number
from ..plan.ownership import Source
from ..plan.plan import Plan
from ..plan.report import ExportFailure
from ..read.exports import ExportAddress
from .run_end import NEWEST

T = TypeVar("T")
SAMPLES: Final = 20
"""Lists that are asked for a page."""
_AT_ONCE: Final = 4
_NEWS: Final = 4
"""Requests for the two sources that are asked although the app's own list shows what is new."""
_SHOWN: Final = 5


class Estimate(Struct, frozen=True, kw_only=True):
    """The least that a run would read."""

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
    """That the run would send at least."""
    seconds: float
    """For `requests`."""
    asked: int
    """Requests that the estimate has cost."""
    rate: float | None
    """Requests a minute that the service allows; None if no limit was met, nor stated."""

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
    recheck: int | None = None,
    workers: int = WORKERS,
) -> Estimate:
    """Return the least that `export` with the same arguments would read. Changes no file in `out`.

    Costs one request for each 1,000 users, and one for each of up to 20 lists. Where `out` holds an export,
    what that covers is not counted. Raises what `export` raises before it writes: `RequestInvalidError` for a
    folder that holds something else, or an export of another plan or app; and `IdsBeginAnewError`, a
    `ChatRestError`, where the service has other data than the folder.
    """
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    check_count("workers", workers)
    sent, stored = sent_by(session), _StoredExport(plan=plan or Plan())
    read = partial(read_stored, plan=plan, app_id=session.app.app_id, only=only, change_plan=change_plan)
    with ExitStack() as stack:
        if out is not None:
            view = stack.enter_context(await in_thread(lambda: ExportAddress.of(out).open(may_be_new=True)))
        rows = await newest(session, NEWEST)
        last = next(iter(rows), Row())
        until = number(last.id) or LAST
        if out is not None:
            end = last.sent_at if last.sent_at > 0 else session.sender.now()
            since = None if recheck is None else ago(end, recheck)
            stored = await in_thread(lambda: read(view.folder, until=until, since=since))
            if _has_journal(view.folder):
                with Journal(view.folder / JOURNAL) as journal:
                    await IdContinuity(Messages(AsRows(session.sender)), journal).check(rows)
    plan, reads = stored.plan, stored.only or stored.plan
    sources = dict.fromkeys([*stored.known, *reads.sources])
    if reads.all_users:
        sources |= {source: None async for source in users(session)}
    new = (source for source in sources if source not in stored.known)
    works = [*stored.work, *(Work(SourceState(0, source), [Gap(0, until)]) for source in new)]
    whole = len(sources) - len(works)
    works += stored.rechecks
    samples = await _samples(session.with_options(priority="bulk"), reads, works)
    shown, new_keys = stored.seen or IdSet(), set[str]()
    for each in samples:
        if each.work.purpose == "walk":
            new_keys.update(key_of(row) for row in each.rows if (number(row.id) or 0) not in shown)
    listing = ceil(len(sources) / LARGEST_PAGE) + 1 if reads.all_users else 0
    # A page of each list, and the proof of its end if the page has items.
    requests = 1 + listing + len(works) + sum(bool(each.rows) for each in samples)
    if stored.has_news:  # if the app's own list is right, few of the sources are requested
        requests = min(requests, 1 + listing + ceil(len(new_keys) / LARGEST_PAGE) + _NEWS)
    rate, taken = _rate(session), [each.seconds for each in samples if each.error is None]
    seconds = requests * median(taken or [0.0]) / max(1, min(workers, len(works)))
    return Estimate(
        plan=plan,
        sources=len(sources),
        sampled=len({each.work.source for each in samples}),
        whole=whole,
        refused=[ExportFailure.of(each.work.source, each.error) for each in samples if each.error],
        messages=len(new_keys),
        newest=None if until == LAST else until,
        requests=requests,
        seconds=max(seconds, 60 * requests / rate if rate else 0.0),
        asked=sent_by(session) - sent,
        rate=rate,
    )


def _rate(session: AsyncSession) -> float | None:
    app = session.app
    for state in session.pools[app.region].limits:
        if (state.app_id, state.rate_class) == (app.app_id, LIST.rate_class) and state.limit is not None:
            return 60 * state.limit
    return None


# ── the folder ──


class _StoredExport(Struct, kw_only=True):
    """The existing export from which the next run continues; empty if there is none."""

    plan: Plan
    only: Plan | None = None
    """Those of its sources that are to be read, where it is not all of them."""
    known: set[Source] = set()
    """The sources that the next run reads, too."""
    work: list[Work] = []
    rechecks: list[Work] = []
    seen: IdSet | None = None
    """The ids that any of them has shown."""
    has_news: bool = False
    """True if the next run asks the app's own list for what is new, and few of the sources (`news`)."""


def read_stored(
    folder: Path, plan: Plan | None, app_id: str, until: int, since: int | None,
    *, only: bool = False, change_plan: bool = False,
) -> _StoredExport:  # fmt: skip
    """Return the work left up to the id `until`, and the recheck from `since` on; changes nothing."""
    check_place(folder)
    path, given = folder / JOURNAL, plan or Plan()
    if folder.exists():
        with run_under_way(folder) as is_in_use:
            if is_in_use:
                raise InUseError(f"{path}: another export is writing here")
    asked = None if only else plan
    if not _has_journal(folder):  # if it was lost, each list is read again
        begun = first_meta(folder, app_id, given.encoded().decode())
        plan = agreed(folder, begun, asked, app_id, may_change=change_plan)[1]
        return _StoredExport(plan=plan, only=given.part_of(plan) if only else None)
    with Journal(path) as journal:
        journal.check_integrity()
        manifest, stored = check_folder(folder, journal), {name: journal[name] for name in ("app", "plan")}
        if asked is not None and is_new(journal, manifest):
            stored["plan"] = asked.encoded().decode()
        former, plan = agreed(
            folder, stored, asked, app_id, may_change=change_plan, is_unused=is_unused(journal, manifest)
        )
        part = given.part_of(plan) if only else None
        reads = part or plan
        known = [
            each for each in journal.sources() if reads.holds(each.source) and each.state != "deleted_user"
        ]
        is_wider = reads.window != former.window  # then all lists are read again
        if since is None:
            rechecks = rechecks_left(journal, known)
        else:
            rechecks = rechecks_since(journal, known, since, is_behind=runs_by_app_list(journal) > 0)
        whole = (Work(each, [Gap(0, until)]) for each in known)
        return _StoredExport(
            plan=plan,
            only=part,
            known={each.source for each in known},
            work=list(whole if is_wider else work_left(journal, known, until)),
            rechecks=list(rechecks),
            seen=journal.seen(),
            has_news=not is_wider
            and part is None
            and len(candidates(plan, journal, known, until)) >= LEAST_SOURCES,
        )


def _has_journal(folder: Path) -> bool:
    path = folder / JOURNAL
    return path.is_file() and path.stat().st_size > 0


# ── samples ──


class _Sample(NamedTuple):
    """The first page of the unread rest of a list."""

    work: Work
    rows: Sequence[Row] = ()
    """Those of the page that are to be read."""
    seconds: float = 0.0
    """How long the page took."""
    error: ChatRestError | None = None


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((index + 0.5) * len(items) / count)] for index in range(count)]


async def _samples(session: AsyncSession, plan: Plan, works: Sequence[Work]) -> list[_Sample]:
    samples = list[_Sample]()

    async def take(work: Work) -> None:
        began = time.perf_counter()
        try:
            rows = await _first_rows(session, plan, work)
        except AuthenticationError:
            raise  # no other source would fare better
        except ChatRestError as error:
            samples.append(_Sample(work, error=error))
        else:
            samples.append(_Sample(work, rows, time.perf_counter() - began))

    await for_each(evenly(works, SAMPLES), take, _AT_ONCE)
    return samples


async def _first_rows(session: AsyncSession, plan: Plan, work: Work) -> list[Row]:
    since, end = Window(*plan.window).asked(work.since or None)
    query = MessageQuery(from_timestamp=since, to_timestamp=end, affix="append")
    walk, gap = work.source.list(Messages(AsRows(session.sender, leaves_out=True)), query), work.gaps[0]
    if gap.after:
        last = str(gap.after)
        position = gap.position or (("affix", "append"), ("id", last))
        walk = walk.at(
            structs.replace(walk.cursor, position=position, direction="append", last=last, inside=True)
        )
    async with aclosing(walk.pages()) as pages:
        page: Page[Row] | None = await anext(pages, None)
    within = Window(work.since or None).within(Window(*plan.window).within(page.items if page else []))
    return [row for row in within if work.holds(row)]
