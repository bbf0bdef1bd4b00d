"""The dry run: an estimate of what an export would cost, from few requests. Writes nothing.

The users are listed, for they are the sources. Of the sources that have anything left, up to 20 are sampled
(`survey`), and the rest is computed from them (`computation`). Where that cannot give a figure, the estimate
is a range: what was seen is the least, and the number of ids, or of messages in the app, is the most.
"""

import asyncio
import time
from os import PathLike
from typing import final

from msgspec import Struct

from ...core.arguments import check, check_count
from ...resources.messages import LIST
from ...session import AsyncSession
from ..folder_view import open_view
from ..id_set import IdSet
from ..plan import Plan
from ..report import Failure
from ..worker_pool import WORKERS
from .computation import Computation
from .stored_coverage import StoredCoverage, read_coverage
from .survey import AT_LEAST, COUNTED, REPORTED, Knowledge, Survey, newest_message, rechecks_of, tasks_of


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
    sent = _sent(session)
    if out is not None:
        view = await asyncio.to_thread(open_view, out, may_be_new=True)
    newest, until = await newest_message(session)
    before = StoredCoverage()
    if out is not None:
        with view:
            before = await asyncio.to_thread(read_coverage, view.folder, plan, session.app.app_id, until)
    plan = before.plan or plan or Plan()
    survey = Survey(session, plan, until)
    sources = await survey.sources(before.sources)
    tasks = list(tasks_of(before, sources, until))
    whole = len(sources) - len(tasks)
    if recheck is not None:
        tasks += rechecks_of(before, sources, newest.sent_at if newest else int(time.time()), recheck)
    samples = await survey.samples(tasks)
    of_app = await survey.of_app() if plan.all_users and len(samples) < len(tasks) else None
    seen, has_news = before.seen or IdSet(), before.has_news
    has_checked_end = before.goes_backwards or newest is None
    figures = Computation(
        tasks, samples, sources, seen, until, of_app, has_news=has_news, has_checked_end=has_checked_end
    )
    return _estimate(figures, plan, whole, workers, session, _sent(session) - sent)


def _estimate(
    figures: Computation, plan: Plan, whole: int, workers: int, session: AsyncSession, asked: int
) -> Estimate:
    rate, messages, written = _rate(session), figures.messages, figures.written
    requests = figures.requests(plan)
    least, likely, most = (
        None if count is None else figures.seconds(count, workers, rate) for count in requests
    )
    assert least is not None
    assert likely is not None
    return Estimate(
        plan=plan,
        sources=figures.sources,
        sampled=len({sample.task.source for sample in figures.samples}),
        whole=whole,
        refused=[Failure(str(each.task.source), str(each.error)) for each in figures.samples if each.error],
        counted=figures.known[COUNTED],
        reported=figures.known[REPORTED],
        bounded=figures.known[AT_LEAST],
        messages=messages.likely,
        messages_least=messages.least,
        messages_most=messages.most,
        written=written.likely,
        written_least=written.least,
        written_most=written.most,
        bytes=figures.bytes,
        requests=requests.likely,
        requests_least=requests.least,
        requests_most=requests.most,
        seconds=likely,
        seconds_least=least,
        seconds_most=most,
        latency=figures.latency,
        page_latency=figures.page_latency,
        asked=asked,
        rate=rate,
    )


def _rate(session: AsyncSession) -> float | None:
    """Return the requests a minute that the service allows, as far as the session knows by now."""
    app = session.app
    for state in session.pools[app.region].limits:
        if (state.app_id, state.rate_class) == (app.app_id, LIST.rate_class) and state.limit is not None:
            return 60 * state.limit
    return None


def _sent(session: AsyncSession) -> int:
    return sum(pool.sent for pool in session.pools.values())
