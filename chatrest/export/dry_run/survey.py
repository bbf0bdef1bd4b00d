"""The requests of an estimate: the users, and the first page of a few lists, with a look behind it.

A task is a hole of a source, or what is to be read of it again. Tasks of one kind are alike, and so a few
of them, spread evenly, speak for all. A list that ends with its first page is counted. For a longer one there
is the service's own total, which is a hint: some services say 0, or the size of the page, or any number. It
is believed where what was seen of the list does not contradict it.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from math import ceil
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, final

from msgspec import structs

from ...core.intervals import Gap, gaps
from ...core.paging import LARGEST_PAGE
from ...core.rows import AsRows, Row
from ...errors import AuthenticationError, ChatRestError
from ...models.message import Message
from ...resources.messages import Messages
from ...session import AsyncSession
from ...walk import Page, Walk
from ..discovery import ago, newest, users
from ..message_ids import number
from ..ownership import Source
from ..page_partition import Window
from ..plan import Plan
from ..workspace import LAST
from .stored_coverage import StoredCoverage

T = TypeVar("T")

SAMPLES: Final = 20
"""Tasks that are sampled; a few more where there are several kinds of them."""
_AT_ONCE: Final = 4
_DENSER: Final = 20
"""How many times denser a list may become than it was at its beginning, for its total to be believed."""


class Task(NamedTuple):
    """What is to be read of a source."""

    source: Source
    hole: Gap
    share: float = 1.0
    """Of the ids behind the hole's beginning, those that are to be read."""
    since: int | None = None
    """Of a recheck."""

    @property
    def kind(self) -> tuple[str, bool]:
        """What tasks that are alike have in common: the source's kind, and whether it is a recheck."""
        return self.source.kind, self.since is not None


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
    """Messages to be read."""
    known: Knowledge = "counted"
    rows: Sequence[Row] = ()
    """Those of the page, inside of the plan's window or not."""
    bytes: int = 0
    seconds: float = 0.0
    """How long the page took, and …"""
    look_seconds: float = 0.0
    """… how long a request for the one message behind it; 0 where there was none."""
    error: ChatRestError | None = None


def tasks_of(before: StoredCoverage, sources: Iterable[Source], until: int) -> Iterator[Task]:
    """What is left of the sources up to an id."""
    for source in sources:
        if missing := gaps(before.spans.get(source, ()), until):
            begin, ids = missing[0].after, sum(hole.until - hole.after for hole in missing)
            yield Task(source, missing[0], ids / (until - begin))


def rechecks_of(before: StoredCoverage, sources: Iterable[Source], end: int, recheck: int) -> Iterator[Task]:
    """What is to be read again, of sources that hold something: so many seconds before the time `end`."""
    since = ago(end, recheck)
    for source in sources:
        if spans := before.spans.get(source):
            yield Task(source, Gap(0, spans[-1].last), since=since)


def evenly(items: Sequence[T], count: int) -> list[T]:
    """So many of them, each from the middle of an equal part."""
    count = min(count, len(items))
    return [items[int((at + 0.5) * len(items) / count)] for at in range(count)]


@final
class Survey:
    """Asks for one plan."""

    def __init__(self, session: AsyncSession, plan: Plan) -> None:
        self._session = session.with_options(priority="bulk")
        self._plan = plan
        self._until = LAST

    async def newest(self) -> Message | None:
        """The newest message of the app; None where the service does not tell."""
        message = await newest(self._session)
        self._until = (number(message.id) if message else None) or LAST
        return message

    async def sources(self, known: Iterable[Source]) -> list[Source]:
        """The sources that are known, and those of the plan."""
        found = dict.fromkeys([*known, *self._plan.sources])
        if self._plan.all_users:
            async for source in users(self._session):
                found[source] = None
        return list(found)

    async def samples(self, tasks: Sequence[Task]) -> list[Sample]:
        """Samples of every kind; one that the service refuses says why."""
        kinds: dict[tuple[str, bool], list[Task]] = {}
        for task in tasks:
            kinds.setdefault(task.kind, []).append(task)
        chosen = [task for alike in kinds.values() for task in evenly(alike, ceil(SAMPLES / len(kinds)))]
        free = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._sample(task, free)) for task in chosen]
        return [each.result() for each in asked]

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
        rows = Window(since, until).within(page.items)
        total = _total(page)
        if not behind:
            left, known = round(len(rows) * task.share), COUNTED
        elif len(rows) == len(page.items) and is_plausible(total, rows, self._until):
            left, known = round((total or 0) * task.share), REPORTED
        else:
            left, known = sum((number(row.id) or 0) <= task.hole.until for row in rows), AT_LEAST
        return Sample(task, left, known, page.items, len(page.raw), seconds, look_seconds)

    def _walk(self, task: Task) -> Walk[Any]:
        since, until = Window(*self._plan.window).asked(task.since)
        query = structs.replace(self._plan.query, from_timestamp=since, to_timestamp=until)
        query = structs.replace(query, affix="append")
        walk, gap = task.source.list(Messages(AsRows(self._session.sender)), query).thorough(), task.hole
        if not gap.after:
            return walk
        position = gap.position or (("affix", "append"), ("id", str(gap.after)))
        last = str(gap.after)
        start = structs.replace(walk.cursor, position=position, direction="append", last=last, inside=True)
        return walk.at(start)


def _total(page: Page[Row]) -> int | None:
    """The service's total; None where it is made of the page's size, which services that do not count write
    (operations table, compatible_servers).
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
