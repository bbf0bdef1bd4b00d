"""What an estimate asks the service: the users, a few first messages, and one whole page.

A task is a hole of a source, or what is to be read of it again. Tasks of one kind are alike, and so a few
of them, spread evenly, speak for all.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any, Final, NamedTuple, TypeVar, final

from msgspec import structs

from ...core.endpoint import Call
from ...core.rows import Row, rows
from ...errors import (
    AuthenticationError,
    ChatRestError,
)
from ...models.message import Message
from ...models.meta import Meta
from ...resources.messages import Messages
from ...session import AsyncSession
from ...walk import Walk
from ..asking import ago, newest, users
from ..plan import Plan
from ..sorting import Window
from ..sources import Source
from ..spans import Hole, holes
from .held import Held

T = TypeVar("T")

SAMPLES: Final = 20
"""Tasks that are sampled; a few more where there are several kinds of them."""
_AT_ONCE: Final = 4


class Task(NamedTuple):
    """What is to be read of a source."""

    source: Source
    hole: Hole
    share: float = 1.0
    """Of the ids behind the hole's beginning, those that are to be read."""
    since: int | None = None
    """Of a recheck."""

    @property
    def kind(self) -> tuple[str, bool]:
        """What tasks that are alike have in common: the source's kind, and whether it is a recheck."""
        return self.source.kind, self.since is not None


class Sample(NamedTuple):
    """What a task's first message came with."""

    task: Task
    left: int | None
    """Messages to be read; None where the service does not tell."""
    seconds: float = 0.0
    error: ChatRestError | None = None


class Sampled(NamedTuple):
    """A page that was read, whole."""

    rows: list[Row]
    bytes: int
    seconds: float


def tasks_of(before: Held, sources: Iterable[Source], until: int) -> Iterator[Task]:
    """What is left of the sources up to an id."""
    for source in sources:
        if missing := holes(before.spans.get(source, ()), until):
            begin, ids = missing[0].after, sum(hole.until - hole.after for hole in missing)
            yield Task(source, missing[0], ids / (until - begin))


def rechecks_of(before: Held, sources: Iterable[Source], end: int, recheck: int) -> Iterator[Task]:
    """What is to be read again, of sources that hold something: so many seconds before the time `end`."""
    since = ago(end, recheck)
    for source in sources:
        if spans := before.spans.get(source):
            yield Task(source, Hole(0, spans[-1].last), since=since)


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

    async def newest(self) -> Message | None:
        """The newest message of the app; None where the service does not tell."""
        return await newest(self._session)

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

    async def page(self, samples: Sequence[Sample]) -> Sampled | None:
        """A whole page of the task that has most left."""
        some = [sample for sample in samples if sample.left != 0 and sample.error is None]
        if not some:
            return None
        heard = _Heard(self._session)
        async for page in self._walk(max(some, key=lambda each: each.left or 1).task, heard).pages():
            return Sampled(page.items, len(page.raw), heard.seconds)
        return None

    async def _sample(self, task: Task, free: asyncio.Semaphore) -> Sample:
        heard = _Heard(self._session)
        async with free:
            try:
                found = await self._walk(task, heard).limit(1).collect()
            except AuthenticationError:
                raise  # no other source would fare better
            except ChatRestError as error:
                return Sample(task, 0, error=error)
        left = _left(found, heard.meta)
        return Sample(task, None if left is None else round(left * task.share), heard.seconds)

    def _walk(self, task: Task, heard: "_Heard") -> Walk[Any]:
        since, until = Window(self._plan.since, self._plan.until).asked(task.since)
        query = structs.replace(self._plan.query, from_timestamp=since, to_timestamp=until)
        return task.source.walk(Messages(heard), query, task.hole)


@final
class _Heard:
    """Sends calls of a list, reads their pages as rows, and keeps what the newest came with."""

    def __init__(self, session: AsyncSession) -> None:
        self._sender = session.sender
        self.app_id = session.sender.app_id
        self.acting_user = session.sender.acting_user
        self.meta = Meta()
        self.seconds = 0.0

    async def __call__(self, call: Call[Any], /) -> Any:
        began = time.perf_counter()
        listing = await self._sender(
            structs.replace(call, endpoint=structs.replace(call.endpoint, reply=rows))
        )
        self.seconds = time.perf_counter() - began
        self.meta = listing.meta
        return listing


def _left(found: list[Row], meta: Meta) -> int | None:
    """How many messages there are from a place on; None where the service does not tell."""
    if not found:
        return 0
    total = meta.pagination.total if meta.pagination is not None else None
    return total or None  # some say 0 whatever there is
