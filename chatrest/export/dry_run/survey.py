"""The requests of an estimate: the users, and the first page of a few lists, with a look behind it.

A task is what is left of a source, or what is to be read of it again. Tasks of one kind are alike, and so a
few of them, spread evenly, speak for all. A list that ends with its first page is counted. For a longer one
there is the service's own total, which is a hint: some services say 0, or the size of the page, or any
number. It is believed where what was seen of the list does not contradict it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, final

import msgspec
from msgspec import Struct, structs

from ...core.paging.intervals import LAST, Gap, gaps
from ...core.paging.paging import LARGEST_PAGE
from ...core.replies.rows import AsRows, Row
from ...errors import AuthenticationError, ChatRestError
from ...parameters.messages import MessageQuery
from ...resources.messages import Messages
from ...session import AsyncSession
from ...walk.walk import Page, Walk
from ..archive import agreed
from ..id_set import IdSet
from ..journal import NAME as JOURNAL, JournalReader
from ..message_ids import number
from ..news import LEAST_SOURCES
from ..opening import check_folder, check_place
from ..ownership import Source
from ..page_partition import Window
from ..plan import Plan
from ..source_list import GOES_BACKWARDS, ago, users

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
    """The coverage of the export that is there already; nothing where there is none."""

    plan: Plan | None = None
    gaps: dict[Source, list[Gap]] = {}
    """Of each source that the next run reads, too: what is left of it, as `Run` goes on from it."""
    last: dict[Source, int] = {}
    """The highest id that was read of each."""
    seen: IdSet = msgspec.field(default_factory=IdSet)
    """The ids that any of them has shown."""
    goes_backwards: bool = False
    """True where the app's own list is known to heed the direction, and the next run does not check that."""
    has_news: bool = False
    """True where the next run asks the app's own list for what is new, and few of the sources (`news`)."""


def read_coverage(folder: Path, plan: Plan | None, app_id: str, until: int) -> StoredCoverage:
    """Return the coverage of `folder` up to the id `until`; changes nothing, and may be allowed to read only.

    Raises `RequestInvalidError` where an export with this plan cannot go there.
    """
    check_place(folder)
    path = folder / JOURNAL
    if not path.exists() or not path.stat().st_size:
        return StoredCoverage()
    with JournalReader(path) as journal:
        journal.check_integrity()
        check_folder(folder, journal)
        kept = {name: journal[name] for name in ("app", "plan")}
        stored, plan = agreed(folder, kept, plan, app_id)
        is_wider = plan.window != stored.window  # then all lists are read again
        coverage = StoredCoverage(
            plan=plan, seen=journal.all_seen(), goes_backwards=journal[GOES_BACKWARDS] is not None
        )
        ends = Counter[int]()
        for known in journal.sources():
            is_named = known.source in plan.sources or (plan.all_users and known.source.kind == "user")
            if known.state == "deleted_user" or not is_named:
                continue
            intervals = [] if is_wider else journal.intervals(known.number)
            left = [Gap(0, until)] if known.by_time else gaps(intervals, until)
            if not known.by_time and not is_wider and known.proven >= until:
                left = [gap for gap in left if gap.until < until]
            elif not known.by_time and known.state == "open" and len(left) == 1:
                ends[known.proven] += 1
            coverage.gaps[known.source] = left
            coverage.last[known.source] = intervals[-1].last if intervals else 0
    is_plain = plan.query == MessageQuery() and plan.window[1] is None and not plan.everything
    end = max(ends, default=0)
    coverage.has_news = is_plain and not is_wider and end > 0 and ends[end] >= LEAST_SOURCES
    return coverage


# ── tasks ──


class Task(NamedTuple):
    """The part of a source that is to be read."""

    source: Source
    gaps: Sequence[Gap]
    since: int | None = None
    """Of a recheck: the time from which on it reads again."""

    @property
    def kind(self) -> tuple[str, bool]:
        """The common features of tasks that are alike: the source's kind, and whether it is a recheck."""
        return self.source.kind, self.since is not None

    @property
    def ids(self) -> int | None:
        """The count of ids to read: no more messages can be left. None where no end is known."""
        return self.ids_behind(0)

    def ids_behind(self, last: int) -> int | None:
        """Return the count of ids to read that are higher than an id."""
        if self.gaps[-1].until == LAST:
            return None
        return sum(max(0, gap.until - max(gap.after, last)) for gap in self.gaps)

    def holds(self, row: Row) -> bool:
        """Return True for a row that is to be read; one without a number for its id may be anywhere."""
        numbered = number(row.id)
        return numbered is None or any(gap.after < numbered <= gap.until for gap in self.gaps)


def tasks_of(coverage: StoredCoverage, sources: Iterable[Source], until: int) -> Iterator[Task]:
    """Yield what is left of the sources up to an id."""
    for source in sources:
        if left := coverage.gaps.get(source, [Gap(0, until)]):
            yield Task(source, left)


def rechecks_of(
    coverage: StoredCoverage, sources: Iterable[Source], end: int, recheck: int
) -> Iterator[Task]:
    """Yield what is to be read again of stored sources: so many seconds before the time `end`."""
    for source in sources:
        if last := coverage.last.get(source):
            yield Task(source, [Gap(0, last)], ago(end, recheck))


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((index + 0.5) * len(items) / count)] for index in range(count)]


# ── samples ──


class Sample(NamedTuple):
    """The first page of a task's list, and how much there is in all."""

    task: Task
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

    async def samples(self, tasks: Sequence[Task]) -> list[Sample]:
        """Return samples of every kind; one that the service refuses has the error."""
        kinds: dict[tuple[str, bool], list[Task]] = {}
        for task in tasks:
            kinds.setdefault(task.kind, []).append(task)
        chosen = [task for alike in kinds.values() for task in evenly(alike, ceil(SAMPLES / len(kinds)))]
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._sample(task, free)) for task in chosen]
        return [each.result() for each in running]

    async def of_app(self) -> Sample | None:
        """Return a sample of the app's own list of messages; None where the service does not serve it.

        Two requests.
        """
        sample = await self._sample(Task(Source("everything"), [Gap(0, self._until)]), asyncio.Semaphore())
        return None if sample.error else sample

    async def _sample(self, task: Task, free: asyncio.Semaphore) -> Sample:
        async with free:
            try:
                return await self._first_page(task)
            except AuthenticationError:
                raise  # no other source would fare better
            except ChatRestError as error:
                return Sample(task, error=error)

    async def _first_page(self, task: Task) -> Sample:
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

    def _sample_of(self, task: Task, page: Page[Row], is_longer: bool) -> Sample:
        """Return what the first page of a list tells; `is_longer`: something comes behind it."""
        within = Window(task.since).within(Window(*self._plan.window).within(page.items))
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

    def _walk(self, task: Task) -> Walk[Any]:
        since, until = Window(*self._plan.window).asked(task.since)
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


def _part(total: int, task: Task) -> int:
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
