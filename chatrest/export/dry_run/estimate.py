"""The dry run: an estimate of what an export would cost, from few requests. Writes nothing.

The users are listed, for they are the sources. Of the sources that have anything left, up to 20 are sampled
(`survey`), and each sample stands for the others of its kind. Figures are ranges, with a best guess in each:

| figure   | least                                     | most                                               |
|----------|-------------------------------------------|----------------------------------------------------|
| messages | what was seen, or counted by the service  | the ids that are left in each list                 |
| written  | the different new ids that were seen      | the ids, or the messages of the app's own list     |
| requests | the pages of the least                    | the pages of the most                              |
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from math import ceil
from os import PathLike
from statistics import fmean, median
from typing import Any, Final, final

from msgspec import Struct

from ...core.paging.intervals import LAST
from ...core.paging.paging import LARGEST_PAGE
from ...core.replies.rows import Row
from ...core.requests.arguments import check, check_count
from ...errors import ExportIncompleteError
from ...resources.messages import LIST
from ...session import AsyncSession
from ..folder_view import open_view
from ..list_reader import LEAST_PAGES
from ..message_ids import key_of, number
from ..ownership import OwnershipRules, Source
from ..plan import Plan
from ..report import Failure
from ..source_list import ago, newest, sent_by
from ..work_left import Work
from ..worker_pool import WORKERS
from .survey import (
    AT_LEAST,
    COUNTED,
    REPORTED,
    Knowledge,
    Range,
    Sample,
    StoredCoverage,
    Survey,
    kind_of,
    read_coverage,
)

_END: Final = 2
"""Requests for the newest message of a list that may be divided: before it is, and at its end."""
_NEWS: Final = 4
"""Requests for the two sources that are asked although the app's own list tells what is new: a page, and
mostly the proof of its end."""
_SHOWN: Final = 5


@final
class Estimate(Struct, frozen=True, kw_only=True):
    """The likely cost of a run.

    `messages`, `written` and `requests` are best guesses, between the fields `…_least` and `…_most`, which
    hold whatever the rest of the lists looks like, as far as the service's totals are right. A `…_most` of
    None: nothing bounds it. Where least and most are equal, the figure is known.
    """

    plan: Plan
    sources: int
    sampled: int
    """Of them, those that the numbers are made of."""
    whole: int
    """Of them, those that the folder holds up to the newest message by now."""
    refused: list[Failure]
    """Of those that were asked, the ones that the service refuses."""
    counted: int
    """Sources whose lists were read to their end; with `reported` and `bounded` all that have anything left,
    as far as the samples speak for them."""
    reported: int
    """Sources for which the number is the service's own total, which nothing that was seen contradicts."""
    bounded: int
    """Sources that hold more than was seen of them, and nothing says how much."""
    messages: int
    """To be read: one that two sources hold is read from both."""
    messages_least: int
    messages_most: int | None
    written: int
    """Of these, those that would be new in the export, where each stands once."""
    written_least: int
    written_most: int | None
    bytes: int
    """Of the pages with `messages`."""
    requests: int
    requests_least: int
    requests_most: int | None
    seconds: float
    """For `requests`."""
    seconds_least: float
    seconds_most: float | None
    latency: float
    """Seconds that a small request took, and …"""
    page_latency: float
    """… a whole page."""
    asked: int
    """Requests that the estimate has cost."""
    rate: float | None
    """Requests a minute that the service allows; None where no limit was met, nor stated."""

    @property
    def known(self) -> Knowledge:
        """The way in which `messages` is known: that of the least certain of the sources that were asked."""
        return AT_LEAST if self.bounded else REPORTED if self.reported else COUNTED

    def check(self) -> None:
        """Raise `ExportIncompleteError` where the service refuses a source, so that the export would fail."""
        if self.refused:
            refused = "; ".join(f"{each.source}: {each.error}" for each in self.refused[:_SHOWN])
            raise ExportIncompleteError(
                f"{len(self.refused):,} of {self.sampled:,} sampled sources are refused, and so the export "
                f"would not be complete: {refused}"
            )

    @property
    def is_range(self) -> bool:
        """True where `messages` or `written` is not known, but lies in a range."""
        return self.messages_least != self.messages_most or self.written_least != self.written_most


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
    sent = sent_by(session)
    if out is not None:
        view = await asyncio.to_thread(open_view, out, may_be_new=True)
    last = next(iter(await newest(session)), Row())
    until = number(last.id) or LAST
    coverage = StoredCoverage()
    if out is not None:
        with view:
            end = last.sent_at if last.sent_at > 0 else int(time.time())
            since = None if recheck is None else ago(end, recheck)
            coverage = await asyncio.to_thread(
                read_coverage, view.folder, plan, session.app.app_id, until, since
            )
    plan = coverage.plan or plan or Plan()
    survey = Survey(session, plan, until)
    sources = await survey.sources(coverage.known)
    tasks = coverage.tasks(sources, until)
    whole = len(sources) - len(tasks)
    tasks += coverage.rechecks
    samples = await survey.samples(tasks)
    of_app = await survey.of_app() if plan.all_users and len(samples) < len(tasks) else None
    figures = _Figures(plan, sources, coverage, tasks, samples, of_app, until)
    requests = figures.requests(1 if coverage.goes_backwards else 3)
    return _estimate(figures, requests, whole, workers, _rate(session), sent_by(session) - sent)


def _estimate(
    figures: "_Figures", requests: Range, whole: int, workers: int, rate: float | None, asked: int
) -> Estimate:
    samples = figures.samples
    times = [None if count is None else figures.seconds(count, workers, rate) for count in requests]
    return Estimate(
        plan=figures.plan,
        sources=len(figures.sources),
        sampled=len({sample.task.source for sample in samples}),
        whole=whole,
        refused=[Failure(str(each.task.source), str(each.error)) for each in samples if each.error],
        counted=figures.known[COUNTED],
        reported=figures.known[REPORTED],
        bounded=figures.known[AT_LEAST],
        **_fields("messages", figures.messages),
        **_fields("written", figures.written),
        **_fields("requests", requests),
        seconds_least=times[0] or 0.0,
        seconds=times[1] or 0.0,
        seconds_most=times[2],
        bytes=figures.bytes,
        latency=figures.latency,
        page_latency=figures.page_latency,
        asked=asked,
        rate=rate,
    )


def _fields(name: str, figure: Range) -> dict[str, Any]:
    return {name: round(figure.likely), f"{name}_least": figure.least, f"{name}_most": figure.most}


def _rate(session: AsyncSession) -> float | None:
    app = session.app
    for state in session.pools[app.region].limits:
        if (state.app_id, state.rate_class) == (app.app_id, LIST.rate_class) and state.limit is not None:
            return 60 * state.limit
    return None


# ── figures, from the samples to the whole ──


@final
class _Figures(Struct, frozen=True, dict=True):
    """The figures of all tasks, from the samples of some."""

    plan: Plan
    sources: Sequence[Source]
    coverage: StoredCoverage
    tasks: Sequence[Work]
    samples: Sequence[Sample]
    of_app: Sample | None
    until: int

    @cached_property
    def _weights(self) -> list[float]:
        """The number of tasks that each sample stands for."""
        kinds = Counter(map(kind_of, self.tasks))
        sampled = Counter(kind_of(each.task) for each in self.samples)
        return [kinds[kind_of(each.task)] / sampled[kind_of(each.task)] for each in self.samples]

    @cached_property
    def _unsampled(self) -> list[Work]:
        sampled = {id(sample.task) for sample in self.samples}
        return [task for task in self.tasks if id(task) not in sampled]

    @property
    def _is_counted(self) -> bool:
        return not self._unsampled and all(each.known == COUNTED for each in self.samples)

    def _sum(self, values: Sequence[float]) -> float:
        """Return the sum over all tasks, of values of the samples."""
        return sum(weight * value for weight, value in zip(self._weights, values, strict=True))

    @cached_property
    def known(self) -> Counter[Knowledge]:
        """The count of tasks by how they are known, those that were not sampled like the others."""
        counts = {
            kind: self._sum([each.known == kind and not each.error for each in self.samples])
            for kind in (COUNTED, REPORTED, AT_LEAST)
        }
        return Counter({kind: round(count) for kind, count in counts.items()})

    # ── messages ──

    @cached_property
    def messages(self) -> Range:
        """The messages to be read, from each source that holds them."""
        likely, new = self._sum([each.left.likely for each in self.samples]), self._new * self._share
        if self._unsampled and new:  # what the new ones are is better known
            likely += self._new * (self.written.likely / new - 1)
        return Range.of(sum(each.left.least for each in self.samples), likely, self._most)

    @cached_property
    def written(self) -> Range:
        """The messages that are new in the export, where each is stored once."""
        seen = self.coverage.seen
        rows = [row for each in self.samples if each.task.purpose == "walk" for row in each.rows]
        count = len({key_of(row) for row in rows if (number(row.id) or 0) not in seen})
        if self._is_counted:
            return Range(count, count, count)
        likely, bounds = self._new * self._share, [self._most]
        if self.of_app is not None:
            likely = self.of_app.left.likely - len(seen)
            bounds.append(self.of_app.left.most)
        if self.until != LAST:
            befores = [each.before for each in self.samples if each.task.purpose == "walk"]
            befores += [task.gaps[0].after for task in self._unsampled if task.purpose == "walk"]
            after = min(befores, default=self.until)
            bounds.append(self.until - after - seen.count(after + 1, self.until))
        return Range.of(count, likely, min((each for each in bounds if each is not None), default=None))

    @property
    def _new(self) -> float:
        """Messages to be read that are not only read again."""
        return self._sum([each.left.likely * (each.task.purpose == "walk") for each in self.samples])

    @property
    def _share(self) -> float:
        """The part of the messages that is left where each is stored once, by the lists of the samples.

        Each message counts for the part of it that falls to one of the lists that hold it.
        """
        rules, total, own = OwnershipRules(self.sources), 0, 0.0
        for sample in self.samples:
            if sample.rows:
                lists = (rules.claimants(row.sender, row.receiver, row.receiver_type) for row in sample.rows)
                own += sample.left.least * fmean(1 / max(1, len(each)) for each in lists)
                total += sample.left.least
        return own / total if total else 1.0

    @property
    def _most(self) -> int | None:
        """The messages that are left at most: in the lists that were not sampled as many as there are ids."""
        most = [each.left.most for each in self.samples] + [task.ids for task in self._unsampled]
        return None if None in most else sum(count for count in most if count is not None)

    # ── requests and time ──

    def requests(self, newest: int) -> Range:
        """Return the requests of a run: pages, the proof of each list's end, the users, and so many for the
        newest message. Requests that are repeated are not among them.
        """
        messages, unsampled = self.messages, len(self._unsampled)
        listing = ceil(len(self.sources) / LARGEST_PAGE) + 1 if self.plan.all_users else 0
        besides = newest + listing
        pages = sum(_pages(each, each.left.least) for each in self.samples)
        ends = sum(map(_most_end, self.samples)) + _END * unsampled
        likely = self._sum([_pages(each, each.left.likely) for each in self.samples])
        if expected := self._sum([each.left.likely for each in self.samples]):
            likely *= messages.likely / expected
        least = pages + sum(map(self._least_end, self.samples)) + besides
        likely, most = likely + ends + besides, None
        if self._is_counted:
            most = least
        elif messages.most is not None:
            page_rows = max((each.page_rows for each in self.samples), default=0) or LARGEST_PAGE
            more_pages = ceil((messages.most - messages.least) / page_rows) + unsampled
            most = pages + more_pages + ends + besides
        if self.coverage.has_news:  # where the app's own list proves right, few of the sources are asked
            once, listed = 1 + listing, ceil(self.written.likely / LARGEST_PAGE)
            least, likely = min(least, once + 1 + _NEWS // 2), min(likely, once + listed + _NEWS)
            most = None if most is None else most + listed + 1  # else all are asked after it
        return Range.of(least, likely, most)

    def _least_end(self, sample: Sample) -> int:
        """Return the requests that prove the end of a list at least: none if it has the newest message."""
        is_certain = sample.known == COUNTED and sample.last < self.until
        return _most_end(sample) if is_certain else int(sample.error is not None)

    def seconds(self, requests: float, workers: int, rate: float | None) -> float:
        """Return the time that so many requests take, of which all but those at the ends bring a page."""
        tasks = len(self.tasks)
        busy = requests * self.latency + max(0, requests - tasks) * max(0.0, self.page_latency - self.latency)
        return max(busy / max(1, min(workers, tasks)), 60 * requests / rate if rate else 0.0)

    @property
    def latency(self) -> float:
        times = [each.look_seconds or each.seconds for each in self.samples if each.error is None]
        return median(times) if times else 0.0

    @property
    def page_latency(self) -> float:
        largest = max(self.samples, key=lambda sample: sample.page_rows, default=None)
        return largest.seconds if largest is not None and largest.page_rows else self.latency

    @property
    def bytes(self) -> int:
        size = sum(each.bytes for each in self.samples)
        count = sum(each.page_rows for each in self.samples)
        return round(self.messages.likely * size / count) if count else 0


def _most_end(sample: Sample) -> int:
    """Return the requests after the pages of a list: the proof of its end, and one before it is divided.

    An empty list needs none.
    """
    if sample.known == COUNTED and not sample.page_rows and sample.task.gaps[0].after == 0:
        return 0
    behind = sample.task.ids_behind(sample.last)
    ids_a_page = sample.last - sample.task.gaps[0].after
    is_divided = bool(sample.page_rows) and behind is not None and behind >= LEAST_PAGES * ids_a_page
    return _END if is_divided else 1


def _pages(sample: Sample, left: float) -> int:
    """Return the pages of so many messages, as large as the first one; an empty list is one page, too."""
    return max(1, ceil(left / sample.page_rows)) if sample.page_rows else 1
