"""The tasks of a fan-out, and what they work on: its input, its outcomes, and a signal between tasks.

Every task ends within the block of its fan-out: `WorkerTasks.cancel` returns only when all have ended.
"""

import asyncio
from collections import deque
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from contextvars import Context, copy_context
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")
R = TypeVar("R")

_END: Final[Any] = object()


class OutcomeBase(Struct, Generic[T, R], frozen=True):
    """The outcome of a worker for one item: its value or its error."""

    item: T
    value: R | None
    """The worker's result; None if it failed."""
    error: BaseException | None
    """The worker's error; None if it succeeded."""
    seconds: float
    """From the worker's begin to its end."""

    @property
    def ok(self) -> bool:
        """True if the worker returned."""
        return self.error is None

    def result(self) -> R:
        """Return the worker's value, or raise its error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None only where the worker returned it


class Success(OutcomeBase[T, R], Generic[T, R], frozen=True):
    """The outcome of a worker that returned: `value` is its result, `error` is None."""

    if TYPE_CHECKING:
        value: R
        error: None

        @property
        def ok(self) -> Literal[True]: ...


class Failure(OutcomeBase[T, R], Generic[T, R], frozen=True):
    """The outcome of a worker that raised: `error` is what it raised, `value` is None."""

    if TYPE_CHECKING:
        value: None
        error: BaseException

        @property
        def ok(self) -> Literal[False]: ...


if TYPE_CHECKING:
    Outcome: TypeAlias = Success[T, R] | Failure[T, R]
    """A `Success` or a `Failure`: `if outcome.ok:`, or a `match` on the class, shows a type checker which."""
else:
    Outcome = OutcomeBase


class WorkItem(Struct, Generic[T]):
    """An item on its way, with its number in the input."""

    number: int
    item: T
    outcome: Any = None


class ItemInput(Generic[T]):
    """The items of the caller, from an iterable of either kind."""

    def __init__(self, items: Iterable[T] | AsyncIterable[T]) -> None:
        self._items = items
        self._sync: Iterator[T] | None = None
        self._async: AsyncIterator[T] | None = None
        self.begun: int = 0
        """The number of items that were given."""

    async def next(self) -> "WorkItem[T] | None":
        """Return the next item; None after the last one."""
        item = await self._next()
        if item is _END:
            return None
        self.begun += 1
        return WorkItem(self.begun, item)

    async def _next(self) -> T:
        if self._sync is not None:
            return next(self._sync, _END)
        if self._async is None:
            if not isinstance(self._items, AsyncIterable):
                self._sync = iter(self._items)
                return next(self._sync, _END)
            self._async = aiter(self._items)
        return await anext(self._async, _END)

    async def close(self) -> None:
        """Close the generator that gives the items, if it is one."""
        if isinstance(self._sync, GeneratorType):
            self._sync.close()
        elif (close := getattr(self._async, "aclose", None)) is not None:
            await close()


class Results(Generic[T]):
    """Items with an outcome that the consumer has not got yet, in the order in which it gets them."""

    def __init__(self, *, ordered: bool) -> None:
        self._ready: deque[WorkItem[T]] = deque()
        self._early: dict[int, WorkItem[T]] | None = {} if ordered else None
        self._next = 1
        self.count: int = 0
        """The number of items that were added and not taken."""

    def add(self, entry: "WorkItem[T]") -> None:
        self.count += 1
        if self._early is None:
            self._ready.append(entry)
            return
        self._early[entry.number] = entry
        while (following := self._early.pop(self._next, None)) is not None:
            self._ready.append(following)
            self._next += 1

    def release(self) -> None:
        """Let the consumer have all items that are finished: those before them will not be."""
        if self._early is not None:
            self._ready.extend(self._early[number] for number in sorted(self._early))
            self._early.clear()

    def take(self) -> "WorkItem[T] | None":
        """Return the next item for the consumer; None if it is not finished."""
        if not self._ready:
            return None
        self.count -= 1
        return self._ready.popleft()


class Wakeup:
    """Wakes the one task that waits for it."""

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    @property
    def is_awaited(self) -> bool:
        """True if a task waits."""
        return self._future is not None

    async def wait(self) -> None:
        self._future = asyncio.get_running_loop().create_future()
        try:
            await self._future
        finally:
            self._future = None

    def set(self) -> None:
        """Wake the task that waits, if there is one."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class WorkerTasks(Generic[T, R]):
    """The tasks of the workers that run, and of the reader of the input."""

    def __init__(
        self,
        worker: Callable[[T], Awaitable[R]],
        clock: Callable[[], float],
        ended: Callable[["WorkItem[T]", BaseException | None], None],
    ) -> None:
        self._worker = worker
        self._clock = clock
        self._ended = ended
        self._context: Context = copy_context()
        self._loop = asyncio.get_running_loop()
        self._running: dict[asyncio.Task[Outcome[T, R]], WorkItem[T]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._is_cut = False
        self.is_cancelled: bool = False

    def read(self, reading: Coroutine[Any, Any, None]) -> None:
        self._reader = self._loop.create_task(reading)

    def watch(self, expiring: Coroutine[Any, Any, None]) -> None:
        self._timer = self._loop.create_task(expiring)

    def begin(self, entry: WorkItem[T]) -> None:
        """Run the worker for an item, in a separate context."""
        task = self._loop.create_task(self._attempt(entry.item), context=self._context.copy())
        self._running[task] = entry
        task.add_done_callback(self._end)

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended, whatever happens meanwhile."""
        self.is_cancelled = True
        waiting: set[asyncio.Task[Any]] = {*self._running}
        self.cut_off()
        for task_of_own in filter(None, (self._reader, self._timer)):
            task_of_own.cancel()
            waiting.add(task_of_own)
        interruption: asyncio.CancelledError | None = None
        while waiting:
            try:
                await asyncio.wait(waiting)
            except asyncio.CancelledError as error:
                interruption = error
            waiting = {future for future in waiting if not future.done()}
        if interruption is not None:
            raise interruption

    def stop_reading(self) -> None:
        """Cancel the reader of the input: its next item may never arrive."""
        if self._reader is not None:
            self._reader.cancel()

    def settle(self) -> None:
        """Note the end of workers that have just ended, whose turn in the loop has not arrived yet."""
        for task in [task for task in self._running if task.done()]:
            task.remove_done_callback(self._end)
            self._end(task)

    def cut_off(self) -> None:
        """Cancel the workers that run, once: a second cancel would interrupt what they do at their end."""
        for task in () if self._is_cut else self._running:
            task.cancel()
        self._is_cut = True

    async def _attempt(self, item: T) -> Outcome[T, R]:
        clock = self._clock
        began = clock()
        try:
            value = await self._worker(item)
        except (Exception, asyncio.CancelledError) as error:
            return Failure(item, None, error, clock() - began)
        return Success(item, value, None, clock() - began)

    def _end(self, task: "asyncio.Task[Outcome[T, R]]") -> None:
        entry = self._running.pop(task)
        fault: BaseException | None = None
        if task.cancelled():  # before its first step
            entry.outcome = Failure(entry.item, None, asyncio.CancelledError(), 0.0)
        elif (fault := task.exception()) is None:
            entry.outcome = task.result()
        if not self.is_cancelled:
            self._ended(entry, fault)
