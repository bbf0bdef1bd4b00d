"""Reading ahead: one task reads the next pages of a walk while its consumer works.

The task reads the pages that the walk would read, in the same order, each at the state after the page before.
It does not move the walk. If the walk is not at the next page that waits (at its start, after an error, after
an end), the task is started again at the walk's state.
"""

import asyncio
from collections import deque
from typing import Generic, TypeVar, final

from .._core.paging.walk_state import WalkState
from .._threads import wait_for_end
from .source import PageReader, PendingPage

T = TypeVar("T")


@final
class ReadAhead(Generic[T]):
    """The pages that wait for the consumer of a walk, and the task that reads them.

    The task reads a page as soon as the one before it has arrived, as long as fewer than `pages` pages wait
    and their bodies have fewer than `max_bytes` bytes. One page more may always be on its way.
    """

    def __init__(self, source: PageReader[T], pages: int, max_bytes: int) -> None:
        self._source = source
        self._limits = (pages, max_bytes)
        self._waiting: deque[PendingPage[T]] = deque()
        self._bytes = 0
        self._next: WalkState | None = None
        """The state at which the next page to hand over was read; None before a start."""
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False
        # One event for both sides: the task waits only where a page is there, the consumer where none is.
        self._changed = asyncio.Event()

    def start(self, state: WalkState) -> None:
        self._next = state
        self._task = asyncio.create_task(self._run(state), name="chatrest: pages ahead")
        self._task.add_done_callback(lambda _: self._changed.set())

    async def read(self, state: WalkState) -> PendingPage[T]:
        """Return the page at `state`; waits until it has arrived.

        Raises the error of this page; those of later pages are raised when they are asked for. A cancel loses
        nothing: the page stays the next one.
        """
        if state is not self._next:
            await self.close()
            self.start(state)
        self._is_wanted = True
        try:
            while not self._waiting:
                self._raise_failure()
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._is_wanted = False
        page = self._waiting.popleft()
        self._bytes -= len(page.listing.raw)
        self._next = page.after if page.leads_on else None
        self._changed.set()
        return page

    async def close(self) -> None:
        """Drop the pages that wait, and end the task; returns when it has ended, also if cancelled."""
        task, self._task, self._next = self._task, None, None
        self._waiting.clear()
        self._bytes = 0
        self._changed.set()
        if task is not None:
            await _end(task)

    async def _run(self, state: WalkState) -> None:
        while True:
            while self._is_full:
                self._changed.clear()
                await self._changed.wait()
            page = await self._source.read(state)
            self._waiting.append(page)
            self._bytes += len(page.listing.raw)
            self._changed.set()
            if not page.leads_on:
                return
            state = page.after
            del page  # it belongs to the consumer, whose records are freed when it drops them

    @property
    def _is_full(self) -> bool:
        """True if no further page is asked for. A page that the consumer waits for counts as handed over.

        Else the request for the page after it would go out only when the consumer awaits something again.
        """
        pages, max_bytes = self._limits
        wanted_bytes = len(self._waiting[0].listing.raw) if self._is_wanted and self._waiting else 0
        return len(self._waiting) - self._is_wanted >= pages or self._bytes - wanted_bytes >= max_bytes

    def _raise_failure(self) -> None:
        """Raise the error that ended the task, and forget it: the next page is then asked for again."""
        task = self._task
        try:
            if task is None:
                raise RuntimeError("the walk is no longer read ahead: its `async with` block was left")
            if task.done():
                self._task = self._next = None
                task.result()
        finally:
            del task  # or the error, its traceback and the task would hold each other


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task, and return when it has ended, also if cancelled meanwhile.

    Its error is dropped: it was raised to the consumer, or is of no use any more.
    """
    task.cancel()
    try:
        await wait_for_end((task,))
    finally:
        if not task.cancelled():
            task.exception()  # asyncio would log an error that no one has looked at
