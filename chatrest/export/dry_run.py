"""The dry run: an estimate of what an export would cost, from few requests. Writes nothing.

The users are listed, for they are the sources. Of lists with anything left up to 20 are sampled: a page,
and a look after it. Each sample stands for the others of its kind. One that ends with its page is counted.
Of a longer one the service's own total is a hint, which is believed where the ids leave room for it; else it
is taken to continue as densely as it begins.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from math import ceil
from os import PathLike
from pathlib import Path
from statistics import fmean, median
from typing import Final, NamedTuple, TypeVar, final

from msgspec import Struct, structs

from ..core.paging.intervals import LAST, Gap
from ..core.paging.paging import LARGEST_PAGE
from ..core.replies.rows import AsRows, Row
from ..core.requests.arguments import check, check_count
from ..errors import AuthenticationError, ChatRestError, ExportIncompleteError
from ..resources.messages import LIST, Messages
from ..session import AsyncSession
from ..walk.walk import Page
from .folder_view import open_view
from .id_set import IdSet
from .in_thread import for_each
from .journal import NAME as JOURNAL, Journal, SourceState
from .message_ids import key_of, number
from .news import LEAST_SOURCES, candidates, runs_by_app_list
from .opening import agreed, check_folder, check_place, first_meta
from .ownership import OwnershipRules, Source
from .page_check import Window
from .plan import Plan
from .report import Failure
from .source_list import ago, newest, sent_by, users
from .work_left import Work, rechecks_left, rechecks_since, work_left
from .worker_pool import WORKERS

T = TypeVar("T")
SAMPLES: Final = 20
"""Lists that are sampled; a few more where there are several kinds of them."""
_AT_ONCE: Final = 4
_NEWS: Final = 4
"""Requests for the two sources that are asked although the app's own list shows what is new."""
_SHOWN: Final = 5


@final
class Estimate(Struct, frozen=True, kw_only=True):
    """The likely cost of a run. Where it `is_exact` no list was estimated."""

    plan: Plan
    sources: int
    sampled: int
    """Of them, those that the numbers are made of."""
    whole: int
    """Of them, those that the folder holds up to the newest message by now."""
    refused: list[Failure]
    """Of those that were asked, the ones that the service refuses."""
    is_exact: bool
    """True if all lists were asked, and end with the page that was read of each."""
    messages: int
    """To be read: one that two sources hold is read from both."""
    messages_least: int
    """Of them, those that were seen."""
    written: int
    """Of these, those that would be new in the export, where each stands once."""
    bytes: int
    """Of the pages with `messages`."""
    requests: int
    seconds: float
    """For `requests`."""
    asked: int
    """Requests that the estimate has cost."""
    rate: float | None
    """Requests a minute that the service allows; None if no limit was met, nor stated."""

    def check(self) -> None:
        """Raise `ExportIncompleteError` where the service refuses a source, so that the export would fail."""
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
    recheck: int | None = None,
    workers: int = WORKERS,
) -> Estimate:
    """Return what `export` with the same arguments would do, about. Makes and changes no file in `out`.

    Costs one request for each 1,000 users, and two for each of up to 20 lists. Where `out` holds an export,
    what that covers is not counted. Raises what `export` raises before it writes: `RequestInvalidError` for a
    folder that holds something else, or an export of another plan or app.
    """
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    check_count("workers", workers)
    sent, stored = sent_by(session), _Stored(plan=plan or Plan())
    if out is not None:
        view = await asyncio.to_thread(open_view, out, may_be_new=True)
    last = next(iter(await newest(session)), Row())
    until = number(last.id) or LAST
    if out is not None:
        end = last.sent_at if last.sent_at > 0 else int(time.time())
        since = None if recheck is None else ago(end, recheck)
        with view:
            app_id = session.app.app_id
            stored = await asyncio.to_thread(read_stored, view.folder, plan, app_id, until, since)
    plan = stored.plan
    sources = dict.fromkeys([*stored.known, *plan.sources])
    if plan.all_users:
        sources |= {source: None async for source in users(session)}
    new = (source for source in sources if source not in stored.known)
    works = [*stored.work, *(Work(SourceState(0, source), [Gap(0, until)]) for source in new)]
    whole = len(sources) - len(works)
    works += stored.rechecks
    samples = await _samples(session.with_options(priority="bulk"), plan, works, until)
    figures = _figures(works, samples, sources, stored)
    listing = ceil(len(sources) / LARGEST_PAGE) + 1 if plan.all_users else 0
    requests = round(figures.requests) + listing + 1
    if stored.has_news:  # where the app's own list proves right, few of the sources are asked
        requests = min(requests, 1 + listing + ceil(figures.written / LARGEST_PAGE) + _NEWS)
    rate, taken = _rate(session), [each.seconds for each in samples if each.error is None]
    seconds = requests * median(taken or [0.0]) / max(1, min(workers, len(works)))
    return Estimate(
        plan=plan,
        sources=len(sources),
        sampled=len({each.work.source for each in samples}),
        whole=whole,
        refused=[Failure(str(each.work.source), str(each.error)) for each in samples if each.error],
        is_exact=len(samples) == len(works) and all(each.is_counted for each in samples),
        messages=round(figures.messages),
        messages_least=sum(len(each.rows) for each in samples),
        written=round(figures.written),
        bytes=round(figures.bytes),
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


# ── what the folder holds ──


class _Stored(Struct, kw_only=True):
    """The export that is there already, as the next run continues from it; nothing where there is none."""

    plan: Plan
    known: set[Source] = set()
    """The sources that the next run reads, too."""
    work: list[Work] = []
    rechecks: list[Work] = []
    seen: IdSet | None = None
    """The ids that any of them has shown."""
    has_news: bool = False
    """True if the next run asks the app's own list for what is new, and few of the sources (`news`)."""


def read_stored(folder: Path, plan: Plan | None, app_id: str, until: int, since: int | None) -> _Stored:
    """Return what is left up to the id `until`, and is to be read again from `since` on; changes nothing."""
    check_place(folder)
    path = folder / JOURNAL
    if not path.exists() or not path.stat().st_size:  # where it was lost, each list is read again
        begun = first_meta(folder, app_id, (plan or Plan()).encoded().decode())
        return _Stored(plan=agreed(folder, begun, plan, app_id)[1])
    with Journal(path) as journal:
        journal.check_integrity()
        check_folder(folder, journal)
        former, plan = agreed(folder, {name: journal[name] for name in ("app", "plan")}, plan, app_id)
        known = [
            each
            for each in journal.sources()
            if each.source in plan.sources or (plan.all_users and each.source.kind == "user")
            if each.state != "deleted_user"
        ]
        is_wider = plan.window != former.window  # then all lists are read again
        if since is None:
            rechecks = rechecks_left(journal, known)
        else:
            rechecks = rechecks_since(journal, known, since, is_behind=runs_by_app_list(journal) > 0)
        whole = (Work(each, [Gap(0, until)]) for each in known)
        return _Stored(
            plan=plan,
            known={each.source for each in known},
            work=list(whole if is_wider else work_left(journal, known, until)),
            rechecks=list(rechecks),
            seen=journal.seen(),
            has_news=not is_wider and len(candidates(plan, journal, known, until)) >= LEAST_SOURCES,
        )


# ── samples ──


class _Sample(NamedTuple):
    """The first page of what is left of a list, and how much there is in all."""

    work: Work
    left: float = 0
    """Messages to be read."""
    is_counted: bool = True
    rows: Sequence[Row] = ()
    """Those of the page that are to be read."""
    page_rows: int = 0
    """All rows of the page, also those outside of the plan's window and those that are stored."""
    bytes: int = 0
    seconds: float = 0.0
    """How long the page took."""
    error: ChatRestError | None = None


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((index + 0.5) * len(items) / count)] for index in range(count)]


async def _samples(session: AsyncSession, plan: Plan, works: Iterable[Work], until: int) -> list[_Sample]:
    kinds: dict[tuple[str, str], list[Work]] = {}
    for work in works:
        kinds.setdefault(_kind(work), []).append(work)
    chosen = [work for alike in kinds.values() for work in evenly(alike, ceil(SAMPLES / len(kinds)))]
    samples = list[_Sample]()

    async def take(work: Work) -> None:
        try:
            samples.append(await _sample(session, plan, work, until))
        except AuthenticationError:
            raise  # no other source would fare better
        except ChatRestError as error:
            samples.append(_Sample(work, error=error))

    await for_each(chosen, take, _AT_ONCE)
    return samples


async def _sample(session: AsyncSession, plan: Plan, work: Work, until: int) -> _Sample:
    """Read a page, and look whether anything comes after it, whatever the page says."""
    since, end = Window(*plan.window).asked(work.since or None)
    query = structs.replace(plan.query, from_timestamp=since, to_timestamp=end, affix="append")
    walk, gap = work.source.list(Messages(AsRows(session.sender)), query).thorough(), work.gaps[0]
    if gap.after:
        last = str(gap.after)
        position = gap.position or (("affix", "append"), ("id", last))
        walk = walk.at(
            structs.replace(walk.cursor, position=position, direction="append", last=last, inside=True)
        )
    began = time.perf_counter()
    async with aclosing(walk.pages()) as pages:
        page: Page[Row] | None = await anext(pages, None)
    taken = time.perf_counter() - began
    if page is None:
        return _Sample(work, seconds=taken)
    within = Window(work.since or None).within(Window(*plan.window).within(page.items))
    rows = [row for row in within if work.holds(row)]
    is_longer = bool(await walk.at(page.cursor).limit(1).collect())
    left: float = len(rows)
    if is_longer:
        left = _left(page, work, len(rows), is_whole=len(within) == len(page.items))
    return _Sample(work, left, not is_longer, rows, len(page.items), len(page.raw), taken)


def _left(page: Page[Row], work: Work, seen: int, *, is_whole: bool) -> float:
    """Return how many messages a list has left of which a page was seen, and more come after it."""
    ids = [numbered for row in page.items if (numbered := number(row.id)) is not None] or [0]
    behind, total, rows = work.ids_behind(max(ids)), _total(page), len(page.items)
    if is_whole and total is not None and total > rows and (behind is None or total - rows <= behind):
        ids_in_all = work.gaps[-1].until - work.gaps[0].after
        return total if work.ids is None else max(seen, total * work.ids / ids_in_all)
    return seen + (behind or 0) * rows / max(rows, max(ids) - min(ids) + 1)


def _total(page: Page[Row]) -> int | None:
    """Return the service's total; None if it is made of the page's size, which services that do not count
    write.
    """
    pagination = page.meta.pagination
    sizes = (len(page.items), pagination and pagination.per_page, LARGEST_PAGE)
    total = pagination and pagination.total
    is_size = any(size is not None and total in (size, size + 1) for size in sizes)
    return None if type(total) is not int or is_size else total


# ── from the samples to the whole ──


class _Figures(NamedTuple):
    messages: float
    written: float
    bytes: float
    requests: float


def _kind(work: Work) -> tuple[str, str]:
    return work.source.kind, work.purpose


def _figures(
    works: Sequence[Work], samples: Sequence[_Sample], sources: Iterable[Source], stored: _Stored
) -> _Figures:
    """Return the figures of all lists; each sample stands for so many others of its kind."""
    kinds, sampled = Counter(map(_kind, works)), Counter(_kind(each.work) for each in samples)
    rules, seen, keys = OwnershipRules(sources), stored.seen or IdSet(), set[str]()
    messages = written = size = requests = 0.0
    for each in samples:
        weight = kinds[_kind(each.work)] / sampled[_kind(each.work)]
        pages = ceil(each.left / each.page_rows) if each.page_rows else 1
        # The proof of its end; that of an empty list is its page.
        has_end = bool(each.page_rows or each.work.gaps[0].after) and each.error is None
        messages += weight * each.left
        requests += weight * (max(1, pages) + has_end)
        size += weight * each.left * each.bytes / max(1, each.page_rows)
        new = [row for row in each.rows if (number(row.id) or 0) not in seen]
        if each.work.purpose == "walk" and new:
            keys.update(map(key_of, new))
            # Each message counts for the part of it that falls to one of the lists that hold it.
            lists = (rules.claimants(row.sender, row.receiver, row.receiver_type) for row in new)
            written += weight * each.left * fmean(1 / max(1, len(names)) for names in lists)
    if len(samples) == len(works) and all(each.is_counted for each in samples):
        written = len(keys)
    return _Figures(messages, written, size, requests)
