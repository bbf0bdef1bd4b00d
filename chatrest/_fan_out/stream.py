"""Fan-out: one worker for each of many items, with outcomes as they arrive.

- The next item begins as soon as a worker ends, whether or not the consumer asks, but not while `concurrency`
  outcomes wait for the consumer, or with `ordered` for the oldest one.
- A `CancelledError` of a worker that nobody of this block asked for is an outcome, as any error.
- After an error of the input the workers that run end first.

An item is read from the input only when its worker may begin, in the fan-out's own task. A synchronous
iterator that blocks holds up the event loop: make it an asynchronous one.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, final

from .._core.requests.arguments import check_count, check_optional_seconds, check_unquoted
from .._network.view import client_of
from .._telemetry import LOGGER
from .._threads import wait_for_end
from ..errors import DeadlineExceededError, FanOutError
from .outcomes import Failure, FanOutCounts, Outcome, OutcomeQueue, Success

if TYPE_CHECKING:
    from .._network.client import Client
    from .._network.view import ClientView

T = TypeVar("T")
R = TypeVar("R")

_END: Final[Any] = object()


@final
class FanOut(Generic[T, R]):
    """The outcomes of a worker for each of many items: `session.fan_out(…)`.

    Used with `async with`, whose block reads it with `async for`; `counts` has the numbers so far. Raises
    `RuntimeError` if it is entered twice, read outside of its block, or read by two tasks.
    """

    def __init__(
        self,
        client: "Client",
        items: Iterable[T] | AsyncIterable[T],
        worker: Callable[[T], Awaitable[R]],
        concurrency: int,
        ordered: bool,
        stop_after: int | None,
        deadline: float | None,
    ) -> None:
        self._items: Any = items
        is_text = isinstance(items, str | bytes | bytearray)
        fits = not is_text and isinstance(self._items, Iterable | AsyncIterable)
        check_unquoted(fits, "items", items, "an iterable or asynchronous iterable of items")
        check_unquoted(callable(worker), "worker", worker, "a function of an item, whose result is awaited")
        check_unquoted(isinstance(ordered, bool), "ordered", ordered, "True or False")
        self._worker = worker
        self._outcomes = OutcomeQueue[T, R](is_ordered=ordered)
        self._concurrency = check_count("concurrency", concurrency)
        self._stop_after = None if stop_after is None else check_count("stop_after", stop_after)
        self._deadline = check_optional_seconds("deadline", deadline)
        self._clock, self._sleep = client.clock, client.sleep
        self._begun = self._succeeded = self._failed = 0
        self._running: dict[asyncio.Task[Outcome[T, R]], tuple[int, T]] = {}
        """The items that are being worked on, with their number in the input."""
        self._room_event = asyncio.Event()
        """Set when there may be room for another item: the reader of the input waits for it."""
        self._outcome_event = asyncio.Event()
        """Set when there may be an outcome, or the end: the consumer waits for it."""
        self._tasks: list[asyncio.Task[None]] = []
        """The reader of the input, and the timer of the deadline."""
        self._context: Context | None = None
        self._is_awaited = False
        self._is_read = False
        self._is_stopped = False
        self._is_past_deadline = False
        """True after the deadline: workers that end now have no outcome."""
        self._are_workers_cancelled = self._is_closed = False
        self._error: BaseException | None = None
        """The error to raise after the last outcome."""
        self._last_error: BaseException | None = None

    def __repr__(self) -> str:
        counts = self.counts
        return f"<FanOut: {counts.running} running, {counts.succeeded} succeeded, {counts.failed} failed>"

    @property
    def counts(self) -> FanOutCounts:
        """The numbers of items so far."""
        return FanOutCounts(self._succeeded, self._failed, len(self._running))

    async def __aenter__(self) -> Self:
        if self._context is not None:
            raise RuntimeError(f"{self!r} was entered before: make another one")
        self._context = copy_context()
        self._tasks.append(asyncio.create_task(self._read()))
        if self._deadline is not None:
            self._tasks.append(asyncio.create_task(self._expire(self._deadline)))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel all tasks and wait until they have ended, whatever happens meanwhile."""
        self._is_stopped = self._is_closed = True
        self._cancel_workers()
        for task in self._tasks:
            task.cancel()
        await wait_for_end((*self._running, *self._tasks))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Outcome[T, R]:
        if self._context is None or self._is_closed:
            raise RuntimeError(f"{self!r} is not open: read it inside its `async with`")
        if self._is_awaited:
            raise RuntimeError(f"{self!r} is being read by another task: it has one reader at a time")
        while not self._outcomes.ready:
            if self._is_over:
                raise self._end_error()
            self._outcome_event.clear()
            self._is_awaited = True
            try:
                await self._outcome_event.wait()
            finally:
                self._is_awaited = False
        outcome = self._outcomes.ready.popleft()
        self._room_event.set()
        return outcome

    # ── the reader of the input ──

    async def _read(self) -> None:
        """Read the input and begin a worker for each item, as there is room for it, until the input ends."""
        is_async, source = isinstance(self._items, AsyncIterable), None
        try:
            while await self._may_begin():
                if source is None:
                    source = aiter(self._items) if is_async else iter(self._items)
                item = await anext(source, _END) if is_async else next(source, _END)
                if item is _END or not await self._may_begin():  # outcomes may have come meanwhile
                    break
                self._begin(item)
        except (Exception, asyncio.CancelledError) as error:
            if not self._is_stopped:
                self._error = error
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._is_read = True
            await self._close(source)
            self._outcome_event.set()

    async def _close(self, source: object) -> None:
        try:
            if isinstance(source, GeneratorType):
                source.close()
            elif (close := getattr(source, "aclose", None)) is not None:
                await close()
        except Exception as error:
            if self._is_stopped:
                LOGGER.warning("the input of a fan-out failed as it was closed", exc_info=error)
            elif self._error is None:
                self._error = error

    async def _may_begin(self) -> bool:
        while not (self._has_room or self._is_stopped):
            self._room_event.clear()
            await self._room_event.wait()
        return not self._is_stopped

    @property
    def _has_room(self) -> bool:
        return max(len(self._running), len(self._outcomes)) < self._concurrency

    # ── the workers ──

    def _begin(self, item: T) -> None:
        assert self._context is not None
        task = asyncio.get_running_loop().create_task(self._run_worker(item), context=self._context.copy())
        self._running[task] = self._begun, item
        self._begun += 1
        task.add_done_callback(self._note_end)

    async def _run_worker(self, item: T) -> Outcome[T, R]:
        began = self._clock()
        try:
            value = await self._worker(item)
        except (Exception, asyncio.CancelledError) as error:
            return Failure(item, None, error, self._clock() - began)
        return Success(item, value, None, self._clock() - began)

    def _note_end(self, task: "asyncio.Task[Outcome[T, R]]") -> None:
        """Note the outcome of a worker that has ended, or the exception that ends the program."""
        number, item = self._running.pop(task)
        fault: BaseException | None = None
        if task.cancelled():  # before its first step
            outcome: Outcome[T, R] = Failure(item, None, asyncio.CancelledError(), 0.0)
        elif (fault := task.exception()) is None:
            outcome = task.result()
        if self._is_closed or self._is_past_deadline:
            return
        if fault is None:
            self._add(number, outcome)
        else:
            self._error = fault
            self._stop()
        self._room_event.set()
        self._outcome_event.set()

    def _add(self, number: int, outcome: Outcome[T, R]) -> None:
        if outcome.error is None:
            self._succeeded += 1
        else:
            self._failed += 1
            self._last_error = outcome.error
            if self._stop_after is not None and self._failed >= self._stop_after:
                self._stop()
        self._outcomes.add(number, outcome)

    def _stop(self) -> None:
        self._is_stopped = True
        if not self._is_read:
            self._tasks[0].cancel()  # its next item may never arrive

    def _cancel_workers(self) -> None:
        """Cancel the workers that run, once: a second cancel would interrupt their cleanup."""
        for task in () if self._are_workers_cancelled else self._running:
            task.cancel()
        self._are_workers_cancelled = True

    async def _expire(self, seconds: float) -> None:
        await self._sleep(seconds)
        for task in [task for task in self._running if task.done()]:  # whose callback has not run yet
            task.remove_done_callback(self._note_end)
            self._note_end(task)
        if self._is_over:
            return
        finished = self.counts.finished
        self._stop()
        self._is_past_deadline = True
        self._cancel_workers()
        self._outcomes.close_gaps()
        if self._error is None:
            more = "" if self._is_read else ", and the input has not come to its end"
            self._error = DeadlineExceededError(
                f"the fan-out's deadline of {seconds:g} s passed: {finished} items were finished, "
                f"{self._begun - finished} were not{more}"
            )
        self._outcome_event.set()

    # ── the end ──

    @property
    def _is_over(self) -> bool:
        return self._is_past_deadline or (self._is_read and not self._running)

    def _end_error(self) -> BaseException:
        if self._error is not None:
            return self._error
        if self._stop_after is None or self._failed < self._stop_after:
            return StopAsyncIteration()
        error = FanOutError(
            f"{self._failed} of {self.counts.finished} items failed (stop_after={self._stop_after}); "
            f"the last error: {type(self._last_error).__name__}: {self._last_error}",
            failed=self._failed,
            succeeded=self._succeeded,
        )
        error.__cause__ = self._last_error
        return error


def fan_out(
    session: "ClientView",
    items: Iterable[T] | AsyncIterable[T],
    worker: Callable[[T], Awaitable[R]],
    *,
    concurrency: int = 100,
    ordered: bool = False,
    stop_after: int | None = None,
    deadline: float | None = None,
) -> FanOut[T, R]:
    """Run `await worker(item)` for each item, `concurrency` at once; return the outcomes as they arrive.

        async with session.fan_out(uids, count_unread) as outcomes:
            async for outcome in outcomes:
                print(outcome.item, outcome.value if outcome.ok else outcome.error)

    - `items`: any iterable or asynchronous iterable, also an endless one or a walk. Memory is that of at most
      twice `concurrency` items, however many there are: if the outcomes are not read, no further item begins.
    - `worker`: uses any view of any session. Its error is an outcome, and the others continue.
    - `ordered`: the outcomes in the order of the items, else as the workers end.
    - `stop_after`: a number of errors after which no item begins. Those that run end and are given, and then
      `FanOutError` is raised.
    - `deadline`: seconds for all of it, from the begin of the block. Then the workers that run are cancelled,
      what was finished is given, and `DeadlineExceededError` is raised; `outcomes.counts` has the numbers. As
      after a kill, a call that changes something may have been applied although its item has no outcome.

    Leaving the block in any way cancels the workers that run, waits for their end, and closes the generator
    that gives the items. Raises `RequestInvalidError` for a wrong argument; while it is read, after the
    outcomes, what the input raised.
    """
    return FanOut(client_of(session), items, worker, concurrency, ordered, stop_after, deadline)
