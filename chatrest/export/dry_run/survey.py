"""The requests of an estimate: the users, and the first page of a few lists, with a look behind it.

A task is what is left of a source (`work_left`), or what is to be read of it again. Tasks of one kind are
alike, and so a few of them, spread evenly, speak for all. A list that ends with its first page is counted.
For a longer one there is the service's own total, which is a hint: some services say 0, or the size of the
page, or any number. It is believed where what was seen of the list does not contradict it.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, final

import msgspec
from msgspec import Struct, structs

from ...core.paging.intervals import LAST, Gap
from ...core.paging.paging import LARGEST_PAGE
from ...core.replies.rows import AsRows, Row
from ...errors import AuthenticationError, ChatRestError
from ...resources.messages import Messages
from ...session import AsyncSession
from ...walk.walk import Page, Walk
from ..id_set import IdSet
from ..journal import NAME as JOURNAL, Journal, SourceState
from ..message_ids import number
from ..news import LEAST_SOURCES, candidates, runs_by_app_list
from ..opening import agreed, check_folder, check_place, first_meta
from ..ownership import Source
from ..page_check import Window
from ..plan import Plan
from ..source_list import GOES_BACKWARDS, users
from ..work_left import Work, rechecks_left, rechecks_since, work_left

T = TypeVar("T")
Knowledge: TypeAlias = Literal["counted", "reported", "at least"]
"""How a number of messages is known: the list was read to its end; the service says so, and nothing that was
seen of the list contradicts it; there are more than were seen, and nothing says how many."""
COUNTED: Final[Knowledge] = "counted"
REPORTED: Final[Knowledge] = "reported"
AT_LEAST: Final[Knowledge] = "at least"

SAMPLES: Final = 20
"""Tasks that are sampled; a few more where there are several kinds of them."""
_AT_ONCE: Final = 4
_DENSER: Final = 20
"""How many times denser a list may become than it was at its beginning, for its total to be believed."""


class Range(NamedTuple):
    """A figure between two bounds."""

    least: int
    likely: float
    most: int | None
    """None where nothing bounds it."""

    @classmethod
    def of(cls, least: int, likely: float, most: int | None) -> "Range":
        """Return a range whose figures do not contradict one another; the likely one is a whole number."""
        if most is not None:
            most = max(least, most)
            likely = min(likely, most)
        return cls(least, max(least, round(likely)), most)


# ── what the folder holds ──


@final
class StoredCoverage(Struct, kw_only=True):
    """The export that is there already, as the next run goes on from it; nothing where there is none."""

    plan: Plan | None = None
    known: set[Source] = set()
    """The sources that the next run reads, too."""
    work: list[Work] = []
    """What is left of them."""
    rechecks: list[Work] = []
    """What is to be read of them again."""
    seen: IdSet = msgspec.field(default_factory=IdSet)
    """The ids that any of them has shown."""
    goes_backwards: bool = False
    """True where the app's own list is known to heed the direction, and the next run does not check that."""
    has_news: bool = False
    """True where the next run asks the app's own list for what is new, and few of the sources (`news`)."""

    def tasks(self, sources: Iterable[Source], until: int) -> list[Work]:
        """Return what is left of the sources up to an id: all of those that are new."""
        new = (source for source in sources if source not in self.known)
        return [*self.work, *(Work(SourceState(0, source), [Gap(0, until)]) for source in new)]


def read_coverage(
    folder: Path, plan: Plan | None, app_id: str, until: int, since: int | None = None
) -> StoredCoverage:
    """Return the coverage of `folder` up to the id `until`; changes nothing, and may be allowed to read only.

    With `since` a recheck of what was sent from then on is begun. Raises `RequestInvalidError` where an
    export with this plan cannot go there.
    """
    check_place(folder)
    path = folder / JOURNAL
    if not path.exists() or not path.stat().st_size:  # where it was lost, each list is read again
        begun = first_meta(folder, app_id, (plan or Plan()).encoded().decode())
        return StoredCoverage(plan=agreed(folder, begun, plan, app_id)[1])
    with Journal(path) as journal:
        journal.check_integrity()
        check_folder(folder, journal)
        stored, plan = agreed(folder, {name: journal[name] for name in ("app", "plan")}, plan, app_id)
        named = {*plan.sources}
        known = [
            each
            for each in journal.sources()
            if each.source in named or (plan.all_users and each.source.kind == "user")
            if each.state != "deleted_user"
        ]
        is_wider = plan.window != stored.window  # then all lists are read again
        if since is None:
            rechecks = rechecks_left(journal, known)
        else:
            rechecks = rechecks_since(journal, known, since, is_behind=runs_by_app_list(journal) > 0)
        work = (
            [Work(each, [Gap(0, until)]) for each in known] if is_wider else work_left(journal, known, until)
        )
        return StoredCoverage(
            plan=plan,
            known={each.source for each in known},
            work=list(work),
            rechecks=list(rechecks),
            seen=journal.seen(),
            goes_backwards=journal[GOES_BACKWARDS] is not None,
            has_news=not is_wider and len(candidates(plan, journal, known, until)) >= LEAST_SOURCES,
        )


# ── samples ──


def kind_of(task: Work) -> tuple[str, str]:
    return task.source.kind, task.purpose


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((index + 0.5) * len(items) / count)] for index in range(count)]


class Sample(NamedTuple):
    """The first page of a task's list, and how much there is in all."""

    task: Work
    left: Range = Range(0, 0, 0)
    """Messages to be read."""
    known: Knowledge = COUNTED
    rows: Sequence[Row] = ()
    """Those of the page that are to be read."""
    page_rows: int = 0
    """All rows of the page, also those outside of the plan's window and those that are stored."""
    bytes: int = 0
    """Of the page."""
    seconds: float = 0.0
    """How long the page took, and …"""
    look_seconds: float = 0.0
    """… how long a request for the one message behind it; 0 where there was none."""
    before: int = 0
    """An id up to which nothing is left: a list ascends from its first page on."""
    last: int = 0
    """The highest id of the page."""
    error: ChatRestError | None = None


@final
class Survey:
    """The requests for one plan."""

    def __init__(self, session: AsyncSession, plan: Plan, until: int) -> None:
        self._session = session.with_options(priority="bulk")
        self._plan = plan
        self._until = until

    async def sources(self, known: Iterable[Source]) -> list[Source]:
        """Return the sources that are known, and those of the plan."""
        sources = dict.fromkeys([*known, *self._plan.sources])
        if self._plan.all_users:
            async for source in users(self._session):
                sources[source] = None
        return list(sources)

    async def samples(self, tasks: Sequence[Work]) -> list[Sample]:
        kinds: dict[tuple[str, str], list[Work]] = {}
        for task in tasks:
            kinds.setdefault(kind_of(task), []).append(task)
        chosen = [task for alike in kinds.values() for task in evenly(alike, ceil(SAMPLES / len(kinds)))]
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._sample(task, free)) for task in chosen]
        return [each.result() for each in running]

    async def of_app(self) -> Sample | None:
        """Return a sample of the app's own list of messages; None where the service does not serve it.

        Two requests.
        """
        task = Work(SourceState(0, Source("everything")), [Gap(0, self._until)])
        sample = await self._sample(task, asyncio.Semaphore())
        return None if sample.error else sample

    async def _sample(self, task: Work, free: asyncio.Semaphore) -> Sample:
        async with free:
            try:
                return await self._first_page(task)
            except AuthenticationError:
                raise  # no other source would fare better
            except ChatRestError as error:
                return Sample(task, error=error)

    async def _first_page(self, task: Work) -> Sample:
        """Read a page, and look whether anything comes behind it, whatever the page says."""
        walk, began = self._walk(task), time.perf_counter()
        async with aclosing(walk.pages()) as pages:
            page: Page[Row] | None = await anext(pages, None)
        taken = time.perf_counter() - began
        if page is None:
            return Sample(task, seconds=taken)
        is_longer = bool(await walk.at(page.cursor).limit(1).collect())
        look = time.perf_counter() - began - taken
        return self._sample_of(task, page, is_longer)._replace(seconds=taken, look_seconds=look)

    def _sample_of(self, task: Work, page: Page[Row], is_longer: bool) -> Sample:
        """Return what the first page of a list tells; `is_longer`: something comes behind it."""
        within = Window(task.since or None).within(Window(*self._plan.window).within(page.items))
        rows = [row for row in within if task.holds(row)]
        ids = [numbered for row in page.items if (numbered := number(row.id)) is not None] or [0]
        known, left = COUNTED, Range(len(rows), len(rows), len(rows))
        total = _total(page)
        if is_longer and len(within) == len(page.items) and is_plausible(total, within, self._until):
            count = _part(total or 0, task)
            known, left = REPORTED, Range(count, count, count)
        elif is_longer:
            known, left = AT_LEAST, _range(len(rows), len(page.items), ids, task.ids_behind(max(ids)))
        before = max(task.gaps[0].after, min(ids) - 1)
        return Sample(task, left, known, rows, len(page.items), len(page.raw), before=before, last=max(ids))

    def _walk(self, task: Work) -> Walk[Any]:
        since, until = Window(*self._plan.window).asked(task.since or None)
        query = structs.replace(self._plan.query, from_timestamp=since, to_timestamp=until, affix="append")
        walk, gap = task.source.list(Messages(AsRows(self._session.sender)), query).thorough(), task.gaps[0]
        if not gap.after:
            return walk
        position = gap.position or (("affix", "append"), ("id", str(gap.after)))
        last = str(gap.after)
        start = structs.replace(walk.cursor, position=position, direction="append", last=last, inside=True)
        return walk.at(start)


def _range(seen: int, page_rows: int, ids: list[int], ids_behind: int | None) -> Range:
    """Return how many messages are left of a list of which a page was seen, if it goes on as densely."""
    if ids_behind is None:
        return Range(seen, seen, None)
    density = page_rows / max(page_rows, max(ids) - min(ids) + 1)
    return Range(seen, seen + density * ids_behind, seen + ids_behind)


def _part(total: int, task: Work) -> int:
    """Return the part of a list's total, from its first gap on, that lies in the gaps."""
    if task.ids is None:
        return total
    return round(total * task.ids / (task.gaps[-1].until - task.gaps[0].after))


def _total(page: Page[Row]) -> int | None:
    """Return the service's total; None where it is made of the page's size, which services that do not count
    write.
    """
    pagination = page.meta.pagination
    if pagination is None:
        return None
    sizes = (len(page.items), pagination.per_page, LARGEST_PAGE)
    total = pagination.total
    return None if total in sizes or any(size is not None and total == size + 1 for size in sizes) else total


def is_plausible(total: object, page: Sequence[Row], until: int) -> bool:
    """Return True where a list may hold `total` messages: more follow this first page, up to the id `until`.

    There are more than were seen, no more than there are ids, and not many times more than there would be if
    the list went on as densely as it begins.
    """
    if not isinstance(total, int) or total <= len(page):
        return False
    numbers = [numbered for row in page if (numbered := number(row.id)) is not None]
    if not numbers or until == LAST:
        return True
    first, last = min(numbers), max(numbers)
    ids_behind = max(0, until - last)
    density = len(page) / (last - first + 1)
    return total - len(page) <= min(ids_behind, _DENSER * density * ids_behind)
