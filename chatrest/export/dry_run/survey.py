"""The requests of an estimate: the users, and the first page of a few lists, with a look behind it.

A task is what is left of a source, or what is to be read of it again. Tasks of one kind are alike, and so a
few of them, spread evenly, speak for all. A list that ends with its first page is counted. For a longer one
there is the service's own total, which is a hint: some services say 0, or the size of the page, or any
number. It is believed where what was seen of the list does not contradict it.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from math import ceil
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, final

from msgspec import structs

from ...core.intervals import LAST, Gap
from ...core.paging import LARGEST_PAGE
from ...core.rows import AsRows, Row
from ...errors import AuthenticationError, ChatRestError
from ...models.message import Message
from ...resources.messages import Messages
from ...session import AsyncSession
from ...walk import Page, Walk
from ..message_ids import number
from ..ownership import Source
from ..page_partition import Window
from ..plan import Plan
from ..source_list import ago, newest, users
from .stored_coverage import StoredCoverage

T = TypeVar("T")

SAMPLES: Final = 20
"""Tasks that are sampled; a few more where there are several kinds of them."""
_AT_ONCE: Final = 4
_DENSER: Final = 20
"""How many times denser a list may become than it was at its beginning, for its total to be believed."""


class Task(NamedTuple):
    """The part of a source that is to be read."""

    source: Source
    gaps: tuple[Gap, ...]
    since: int | None = None
    """Of a recheck: the time from which on it reads again."""

    @property
    def kind(self) -> tuple[str, bool]:
        """The common features of tasks that are alike: the source's kind, and whether it is a recheck."""
        return self.source.kind, self.since is not None

    @property
    def ids(self) -> int | None:
        """The count of ids to read: no more messages can be left. None where no end is known."""
        return None if self.gaps[-1].until == LAST else sum(gap.until - gap.after for gap in self.gaps)

    def holds(self, row: Row) -> bool:
        """Return True for a row that is to be read; one without a number for its id may be anywhere."""
        numbered = number(row.id)
        return numbered is None or any(gap.after < numbered <= gap.until for gap in self.gaps)


Knowledge: TypeAlias = Literal["counted", "reported", "at least"]
"""How a number of messages is known: the list was read to its end; the service says so, and nothing that was
seen of the list contradicts it; there are more than were seen, and nothing says how many."""
COUNTED: Final[Knowledge] = "counted"
REPORTED: Final[Knowledge] = "reported"
AT_LEAST: Final[Knowledge] = "at least"


class Sample(NamedTuple):
    """The first page of a task's list, and how much there is in all."""

    task: Task
    left: int = 0
    """Messages to be read; with `at least` those that were seen."""
    known: Knowledge = "counted"
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
    error: ChatRestError | None = None

    first_id: int = 0
    """The lowest id of the page, and …"""
    last_id: int = 0
    """… the highest: the messages behind it have higher ones."""

    @property
    def before(self) -> int:
        """An id up to which nothing is left: a list ascends from its first page on."""
        return max(self.task.gaps[0].after, self.first_id - 1)

    @property
    def likely(self) -> float:
        """The count of messages that are left if an uncounted list goes on as densely as it begins."""
        if self.known != AT_LEAST or not self.most or not self.page_rows:
            return self.left
        density = self.page_rows / max(self.page_rows, self.last_id - self.first_id + 1)
        return self.left + density * (self.most - self.left)

    @property
    def most(self) -> int | None:
        """The count of messages that may be left at most; None where nothing bounds it."""
        if self.known != AT_LEAST or self.task.ids is None:
            return self.left if self.known != AT_LEAST else None
        return self.left + sum(max(0, gap.until - max(gap.after, self.last_id)) for gap in self.task.gaps)


def tasks_of(before: StoredCoverage, sources: Iterable[Source], until: int) -> Iterator[Task]:
    """Return what is left of the sources up to an id."""
    for source in sources:
        coverage = before.sources.get(source)
        if left := (Gap(0, until),) if coverage is None else coverage.gaps:
            yield Task(source, left)


def rechecks_of(before: StoredCoverage, sources: Iterable[Source], end: int, recheck: int) -> Iterator[Task]:
    """Return what is to be read again of stored sources: so many seconds before the time `end`."""
    since = ago(end, recheck)
    for source in sources:
        if (coverage := before.sources.get(source)) is not None and coverage.last:
            yield Task(source, (Gap(0, coverage.last),), since)


def evenly(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((index + 0.5) * len(items) / count)] for index in range(count)]


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
        try:
            return await self._first_page(Task(Source("everything"), (Gap(0, self._until),)))
        except ChatRestError:
            return None

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
        seconds = time.perf_counter() - began
        if page is None:
            return Sample(task, seconds=seconds)
        behind = await walk.at(page.cursor).limit(1).collect()
        look_seconds = time.perf_counter() - began - seconds
        since, until = self._plan.window
        since = since if task.since is None else max(task.since, since or 0)
        within = Window(since, until).within(page.items)
        rows = [row for row in within if task.holds(row)]
        left, known = len(rows), COUNTED if not behind else AT_LEAST
        total = _total(page)
        if behind and len(within) == len(page.items) and is_plausible(total, within, self._until):
            assert total is not None
            left, known = _part(total, task), REPORTED
        ids = [numbered for row in page.items if (numbered := number(row.id)) is not None] or [0]
        return Sample(
            task=task,
            left=left,
            known=known,
            rows=rows,
            page_rows=len(page.items),
            bytes=len(page.raw),
            seconds=seconds,
            look_seconds=look_seconds,
            first_id=min(ids),
            last_id=max(ids),
        )

    def _walk(self, task: Task) -> Walk[Any]:
        since, until = Window(*self._plan.window).asked(task.since)
        query = structs.replace(self._plan.query, from_timestamp=since, to_timestamp=until)
        query = structs.replace(query, affix="append")
        walk, gap = task.source.list(Messages(AsRows(self._session.sender)), query).thorough(), task.gaps[0]
        if not gap.after:
            return walk
        position = gap.position or (("affix", "append"), ("id", str(gap.after)))
        last = str(gap.after)
        start = structs.replace(walk.cursor, position=position, direction="append", last=last, inside=True)
        return walk.at(start)


async def newest_message(session: AsyncSession) -> tuple[Message | None, int]:
    """Return the newest message of the app, and its id: the frozen end of a run. One request."""
    message = await newest(session)
    return message, (number(message.id) if message else None) or LAST


def _part(total: int, task: Task) -> int:
    """Return the part of a list's total, from its first gap on, that lies in the gaps."""
    if task.ids is None:
        return total
    return round(total * task.ids / (task.gaps[-1].until - task.gaps[0].after))


def _total(page: Page[Row]) -> int | None:
    """Return the service's total; None where it is made of the page's size, which services that do not count
    write (operations table, compatible_servers).
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
