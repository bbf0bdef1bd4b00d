"""What is to be walked, and by whom: a list of jobs that idle workers share, and that can be split.

A source of millions would keep one worker busy for days while the others have nothing to do. So where one
is idle, a busy one gives the upper half of what is left of its job away.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, final

from msgspec import Struct, structs

from ..core.endpoint import Pairs
from .archive import Mode
from .ownership import Source

WORTH: Final = 8
"""Pages that have to be left in a job for it to be split."""


@final
class Job(Struct, kw_only=True):
    """Ids of a source that a worker walks."""

    number: int
    source: Source
    after: int
    until: int
    """Moves down when the job is split."""
    at: Pairs = ()
    mode: Mode = "fresh"
    since: int = 0
    whole: bool = False
    """Whether it may not be split."""
    guessed: bool = False
    """Whether it begins at an id that the service never named."""
    by_time: bool = False
    """Whether the list goes by time: all of it is read, and then its ids are covered at once."""
    from_start: bool = False
    """Whether the service refuses such an id: the list is read from its start, and what is known passed."""


@final
class JobQueue:
    """JobQueue, for as many workers as ask for them."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = deque(jobs)
        self._changed = asyncio.Condition()
        self._busy = 0
        self._idle = 0

    @property
    def wanted(self) -> bool:
        """Whether a worker is idle, and no job waits for it."""
        return self._idle > 0 and not self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    async def take(self) -> Job | None:
        """The next job; None where all are done, and no busy worker may still give any away."""
        async with self._changed:
            while not self._waiting:
                if not self._busy:
                    return None
                self._idle += 1
                try:
                    await self._changed.wait()
                finally:
                    self._idle -= 1
            self._busy += 1
            return self._waiting.popleft()

    async def done(self) -> None:
        """A job that was taken is done, or given up."""
        async with self._changed:
            self._busy -= 1
            self._changed.notify_all()

    async def give(self, job: Job) -> None:
        """One more job."""
        async with self._changed:
            self._waiting.append(job)
            self._changed.notify_all()  # the one who would be woken may be cancelled at that moment


def split(job: Job, last: int, ids_a_page: float) -> Job | None:
    """Takes the upper half of what is left of `job` behind the id `last`; None where that is not worth it."""
    left = job.until - last
    if job.whole or left < WORTH * ids_a_page:
        return None
    middle = last + left // 2
    other = structs.replace(job, after=middle, at=(), guessed=True)
    job.until = middle
    return other
