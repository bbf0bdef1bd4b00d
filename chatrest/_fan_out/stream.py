"""Fan-out: one worker for each of many items, with outcomes as they arrive.

| rule          |                                                                                      |
|---------------|--------------------------------------------------------------------------------------|
| window        | at most `concurrency` workers run                                                     |
| back-pressure | no worker begins while `concurrency` outcomes wait for the consumer                   |
| refill        | the next item begins as soon as a worker ends, whether or not the consumer asks       |
| order         | as workers end, or with `ordered` that of the input: at most `concurrency` outcomes   |
|               | wait for the oldest one, so at most twice `concurrency` items are under way           |
| an error      | of a worker is an outcome, also a `CancelledError` that nobody of this block asked for |
| end of input  | also by an error of the input: workers that run end first, then it is raised          |
| `stop_after`  | no item begins after that many errors; workers that run end, then `FanOutError`       |
| `deadline`    | after it, workers that run are cancelled; what is finished is given, then the error   |
| leaving       | cancels the workers that run and waits for their end; closes the input's generator    |

An input is read only when its item may begin, in its own task.
A synchronous iterator that blocks holds up the event loop: such an input is better an asynchronous one.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar, final

from msgspec import Struct

from .._core.requests.arguments import check_count, check_seconds, check_unquoted
from .._telemetry import LOGGER
from ..errors import DeadlineExceededError, FanOutError
from .worker_tasks import ItemInput, Outcome, Results, Wakeup, WorkerTasks, WorkItem

T = TypeVar("T")
R = TypeVar("R")


class _Client(Protocol):
    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def sleep(self) -> Callable[[float], Awaitable[None]]: ...


class _Session(Protocol):
    """The part that a fan-out needs of the view of a client, which imports this file."""

    @property
    def _client(self) -> _Client: ...


class FanOutCounts(Struct, frozen=True):
    """The numbers of items of a fan-out at one moment."""

    succeeded: int
    failed: int
    running: int

    @property
    def finished(self) -> int:
        """The items whose worker ended in this run."""
        return self.succeeded + self.failed


class _Options(Struct, Generic[T, R], frozen=True, kw_only=True):
    worker: Callable[[T], Awaitable[R]]
    concurrency: int
    ordered: bool
    stop_after: int | None
    deadline: float | None
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


class _State(Struct):
    """The progress of a fan-out, and what ends it."""

    is_read: bool = False
    """True after the end of the input."""
    is_stopped: bool = False
    """True if no item is to begin any more."""
    is_late: bool = False
    """True after the deadline: no further worker's end is an outcome."""
    error: BaseException | None = None
    """To be raised where the item after the last outcome would be due."""
    last_error: BaseException | None = None
    """The last error of a worker."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0


@final
class FanOut(Generic[T, R]):
    """The outcomes of a worker for each of many items: `session.fan_out(…)`.

    Used with `async with`, whose block reads it with `async for`; one task reads at a time. `counts` has the
    numbers so far.
    """

    def __init__(self, items: Iterable[T] | AsyncIterable[T], options: _Options[T, R]) -> None:
        self._options = options
        self._input = ItemInput(items)
        self._results: Results[T] = Results(ordered=options.ordered)
        self._state = _State()
        self._tasks: WorkerTasks[T, R] | None = None
        self._wakeups = (Wakeup(), Wakeup())  # for the reader of the input, and for the consumer

    def __repr__(self) -> str:
        counts = self.counts
        return f"<FanOut: {counts.running} running, {counts.succeeded} succeeded, {counts.failed} failed>"

    @property
    def counts(self) -> FanOutCounts:
        """The numbers of items so far."""
        return FanOutCounts(self._state.succeeded, self._state.failed, self._state.running)

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError(f"{self!r} was entered before: make another one")
        self._tasks = WorkerTasks(self._options.worker, self._options.clock, self._end)
        self._tasks.read(self._read())
        if self._options.deadline is not None:
            self._tasks.watch(self._expire(self._options.deadline))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        self._state.is_stopped = True
        await self._tasks.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Outcome[T, R]:
        if self._tasks is None or self._tasks.is_cancelled:
            raise RuntimeError(f"{self!r} is not open: read it inside its `async with`")
        if self._wakeups[1].is_awaited:
            raise RuntimeError(f"{self!r} is being read by another task: it has one reader at a time")
        while (entry := self._results.take()) is None:
            if self._is_over:
                raise self._take_error()
            await self._wakeups[1].wait()
        self._wake_reader()
        outcome: Outcome[T, R] = entry.outcome
        return outcome

    # ── the reader of the input ──

    async def _read(self) -> None:
        """Begin items as there is room for them, until the input ends."""
        state = self._state
        try:
            while await self._may_begin():
                entry = await self._input.next()
                if entry is None or not await self._may_begin():  # outcomes may have come meanwhile
                    break
                self._begin(entry)
        except (Exception, asyncio.CancelledError) as error:
            if not state.is_stopped:
                state.error = error
        except BaseException as error:
            state.error = error
            raise
        finally:
            state.is_read = True
            await self._close_input()
            self._wakeups[1].set()

    async def _close_input(self) -> None:
        try:
            await self._input.close()
        except Exception as error:
            if self._state.is_stopped:
                LOGGER.warning("the input of a fan-out failed as it was closed", exc_info=error)
            elif self._state.error is None:
                self._state.error = error

    async def _may_begin(self) -> bool:
        """Wait until there is room for an item; return False if none is to begin any more."""
        while not (self._has_room or self._state.is_stopped):
            await self._wakeups[0].wait()
        return not self._state.is_stopped

    @property
    def _has_room(self) -> bool:
        return max(self._state.running, self._results.count) < self._options.concurrency

    def _wake_reader(self) -> None:
        if self._has_room or self._state.is_stopped:
            self._wakeups[0].set()

    # ── the workers ──

    def _begin(self, entry: WorkItem[T]) -> None:
        assert self._tasks is not None
        self._state.running += 1
        self._tasks.begin(entry)

    def _end(self, entry: WorkItem[T], fault: BaseException | None) -> None:
        """Note the end of a worker; `fault` is what ends the program, such as `KeyboardInterrupt`."""
        state = self._state
        state.running -= 1
        if state.is_late:
            return
        if fault is not None:
            state.error = fault
            self._stop()
        else:
            self._count(entry.outcome)
            self._results.add(entry)
        self._wake_reader()
        self._wakeups[1].set()

    def _count(self, outcome: Outcome[T, R]) -> None:
        state, options = self._state, self._options
        if outcome.error is None:
            state.succeeded += 1
        else:
            state.failed += 1
            state.last_error = outcome.error
            if options.stop_after is not None and state.failed >= options.stop_after:
                self._stop()

    def _stop(self) -> None:
        self._state.is_stopped = True
        if self._tasks is not None and not self._state.is_read:
            self._tasks.stop_reading()

    async def _expire(self, seconds: float) -> None:
        """Wait for the deadline, and end what is not finished then."""
        await self._options.sleep(seconds)
        state, tasks = self._state, self._tasks
        assert tasks is not None
        tasks.settle()
        if self._is_over:
            return
        finished = state.succeeded + state.failed
        self._stop()
        state.is_late = True
        tasks.cut_off()
        self._results.release()
        if state.error is None:
            more = "" if state.is_read else ", and the input has not come to its end"
            state.error = DeadlineExceededError(
                f"the fan-out's deadline of {seconds:g} s passed: {finished} items were finished, "
                f"{self._input.begun - finished} were not{more}"
            )
        self._wakeups[1].set()

    # ── the consumer ──

    @property
    def _is_over(self) -> bool:
        """True after the last outcome."""
        return self._state.is_late or (self._state.is_read and not self._state.running)

    def _take_error(self) -> BaseException:
        state, stop_after = self._state, self._options.stop_after
        if state.error is not None:
            return state.error
        if stop_after is None or state.failed < stop_after:
            return StopAsyncIteration()
        error = FanOutError(
            f"{state.failed} of {state.succeeded + state.failed} items failed (stop_after={stop_after}); "
            f"the last error: {type(state.last_error).__name__}: {state.last_error}"
        )
        error.failed, error.succeeded = state.failed, state.succeeded
        error.__cause__ = state.last_error
        return error


def fan_out(
    session: _Session,
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
    _check_input(items, worker)
    check_unquoted(isinstance(ordered, bool), "ordered", ordered, "True or False")
    options = _Options(
        worker=worker,
        concurrency=check_count("concurrency", concurrency),
        ordered=ordered,
        stop_after=None if stop_after is None else check_count("stop_after", stop_after),
        deadline=check_seconds("deadline", deadline),
        clock=session._client.clock,
        sleep=session._client.sleep,
    )
    return FanOut(items, options)


def _check_input(items: object, worker: object) -> None:
    is_text = isinstance(items, str | bytes | bytearray)
    allowed = "an iterable or asynchronous iterable of items"
    check_unquoted(isinstance(items, Iterable | AsyncIterable) and not is_text, "items", items, allowed)
    check_unquoted(callable(worker), "worker", worker, "a function of an item, whose result is awaited")
