"""The dry run: what an export would cost, asked of the service with few requests. Writes nothing.

The users are listed, for they are the sources. Of the sources that have anything left, a page is read of up
to 20, and a look taken behind it: a list that ends there is counted, for a longer one there is the service's
own total, where it is plausible. All else is computed from that, kind by kind of sources: where a list goes
on and nothing says how far, the numbers are a lower bound. Where few sources hold most of the messages
samples are far off; they are bounded by the number of ids.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from os import PathLike
from pathlib import Path
from statistics import fmean, median
from typing import final

from msgspec import Struct

from ...core.arguments import check, check_count
from ...core.paging import LARGEST_PAGE
from ...core.rows import Row
from ...resources.messages import LIST
from ...session import AsyncSession
from ..message_ids import number
from ..ownership import OwnershipRules, Source
from ..plan import Plan
from ..report import Failure
from ..worker_pool import WORKERS
from ..workspace import LAST
from .stored_coverage import StoredCoverage, held
from .survey import AT_LEAST, COUNTED, REPORTED, Knowledge, Sample, Survey, Task, rechecks_of, tasks_of


@final
class Estimate(Struct, frozen=True, kw_only=True):
    """What a run would do, about."""

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
    """Sources that hold more than was seen of them, and nothing says how much: where there are any, the
    numbers below are what there is at least."""
    messages: int
    """To be read: one that two sources hold is read from both."""
    written: int
    """Of these, those that would be new in the export, where each stands once."""
    bytes: int
    """Of the pages with all these messages."""
    requests: int
    seconds: float
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
        """How `messages` is known of the sources that were asked, by the least certain of them."""
        return AT_LEAST if self.bounded else REPORTED if self.reported else COUNTED


async def estimate(
    session: AsyncSession,
    plan: Plan | None = None,
    out: str | PathLike[str] | None = None,
    *,
    recheck: int | None = None,
    workers: int = WORKERS,
) -> Estimate:
    """What `export` with the same arguments would do, about. Makes and changes no file in `out`.

    Where `out` holds an export, what that covers is not counted. Raises what `export` raises before it
    writes: `RequestInvalidError` for a folder that holds something else, or an export of another plan or app.
    """
    check(plan is None or isinstance(plan, Plan), "plan", plan, "a Plan, or None")
    check_count("workers", workers)
    before, sent = StoredCoverage(), _sent(session)
    if out is not None:
        before = await asyncio.to_thread(held, Path(out), plan, session.app.app_id)
    plan = before.plan or plan or Plan()
    survey = Survey(session, plan)
    newest = await survey.newest()
    sources = await survey.sources(before.sources)
    until = (number(newest.id) if newest else None) or LAST
    tasks = list(tasks_of(before, sources, until))
    whole = len(sources) - len(tasks)
    if recheck is not None:
        tasks += rechecks_of(before, sources, newest.sent_at if newest else int(time.time()), recheck)
    samples = await survey.samples(tasks)
    computation = _Computation(tasks, samples, sources, until)
    return computation.estimate(session, plan, whole=whole, workers=workers, asked=_sent(session) - sent)


@final
class _Computation:
    """From samples to all."""

    def __init__(
        self,
        tasks: Sequence[Task],
        samples: Sequence[Sample],
        sources: Sequence[Source],
        until: int,
    ) -> None:
        self._tasks, self._samples, self._sources = tasks, samples, sources
        self._largest = max(samples, key=lambda sample: len(sample.rows), default=None)
        self._messages = self._new = self._pages = 0.0
        self._known: Counter[Knowledge] = Counter()
        for kind in dict.fromkeys(task.kind for task in tasks):
            alike = [sample for sample in samples if sample.task.kind == kind]
            self._add(alike, sum(task.kind == kind for task in tasks))
        self._once = _once((row for sample in samples for row in sample.rows), sources)
        self._bound(until)

    def _add(self, samples: Sequence[Sample], count: int) -> None:
        each = count / len(samples)
        messages = sum(sample.left for sample in samples) * each
        self._messages += messages
        self._new += messages if samples[0].task.since is None else 0
        self._pages += sum(map(_pages, samples)) * each
        for known, number_known in Counter(sample.known for sample in samples if not sample.error).items():
            self._known[known] += round(number_known * each)

    def _bound(self, until: int) -> None:
        """There cannot be more messages than ids."""
        ids = until - min((task.hole.after for task in self._tasks), default=until)
        if self._messages * self._once <= ids:
            return
        if len(self._samples) == len(
            self._tasks
        ):  # so much is known: it is held by more sources than it seemed
            self._once = ids / self._messages
            return
        part = ids / (self._messages * self._once)
        self._messages, self._new, self._pages = self._messages * part, self._new * part, self._pages * part

    def estimate(
        self, session: AsyncSession, plan: Plan, *, whole: int, workers: int, asked: int
    ) -> Estimate:
        """All of it in one."""
        rate = _rate(session)
        requests = ceil(self._pages) + len(self._tasks) + self._besides(plan)
        seconds = self._busy(requests) / max(1, min(workers, len(self._tasks)))
        return Estimate(
            plan=plan,
            sources=len(self._sources),
            sampled=len({sample.task.source for sample in self._samples}),
            whole=whole,
            refused=[Failure(str(each.task.source), str(each.error)) for each in self._samples if each.error],
            counted=self._known[COUNTED],
            reported=self._known[REPORTED],
            bounded=self._known[AT_LEAST],
            messages=round(self._messages),
            written=round(self._new * self._once),
            bytes=self._bytes(),
            requests=requests,
            seconds=max(seconds, 60 * requests / rate if rate else 0.0),
            latency=self._latency,
            page_latency=self._page_latency,
            asked=asked,
            rate=rate,
        )

    @property
    def _latency(self) -> float:
        times = [sample.look_seconds or sample.seconds for sample in self._samples if sample.error is None]
        return median(times) if times else 0.0

    @property
    def _page_latency(self) -> float:
        return self._largest.seconds if self._largest is not None and self._largest.rows else self._latency

    def _busy(self, requests: int) -> float:
        """Seconds that the requests take, one after the other."""
        return requests * self._latency + self._pages * max(0.0, self._page_latency - self._latency)

    def _besides(self, plan: Plan) -> int:
        """Besides the walks: the newest message, and the users, who are listed after them once more."""
        listing = ceil(len(self._sources) / LARGEST_PAGE) + 1 if plan.all_users else 0
        return 1 + listing * (2 if self._tasks else 1)

    def _bytes(self) -> int:
        size, count = (sum(sample.bytes for sample in self._samples), self._rows)
        return round(self._messages * size / count) if count else 0

    @property
    def _rows(self) -> int:
        return sum(len(sample.rows) for sample in self._samples)


def _pages(sample: Sample) -> int:
    """Requests that bring messages, in pages of the first one's size; one more shows the end."""
    return ceil(sample.left / len(sample.rows)) if sample.rows else 0


def _once(rows: Iterable[Row], sources: Iterable[Source]) -> float:
    """Which share of the messages is left where each stands once, as far as the samples can tell."""
    claims = OwnershipRules(sources)
    lists = [claims.claimants(row.sender, row.receiver, row.receiver_type) for row in rows]
    return fmean(1 / max(1, len(each)) for each in lists) if lists else 1.0


def _rate(session: AsyncSession) -> float | None:
    """Return the requests a minute that the service allows, as far as the session knows by now."""
    app = session.app
    for state in session.pools[app.region].limits:
        if (state.app_id, state.rate_class) == (app.app_id, LIST.rate_class) and state.limit is not None:
            return 60 * state.limit
    return None


def _sent(session: AsyncSession) -> int:
    return sum(pool.sent for pool in session.pools.values())
