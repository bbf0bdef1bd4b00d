"""The fan-out: the items that run at once, the order of their outcomes, and its end."""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings, strategies as st

from chatrest import (
    App,
    AsyncSession,
    DeadlineExceededError,
    FanOutCounts,
    FanOutError,
    Outcome,
    RequestInvalidError,
)
from chatrest.emulator import Emulator
from tests.support.cases import loop_over
from tests.support.virtual_time import run, virtual

few = settings(max_examples=40, deadline=None, database=None)

T = TypeVar("T")

SESSION_APP = App("app-1", "k3y-0f-th3-app", "eu", service_domain="chat.example.com")


def session() -> AsyncSession:
    """Return a session with the clock of the running loop; workers of these tests send nothing."""
    return AsyncSession(SESSION_APP, clock=asyncio.get_running_loop().time)


async def numbers(until: int) -> AsyncIterator[int]:
    for number in range(until):
        yield number


@dataclass
class Log:
    """A worker that sleeps as long as its item says, and the items that it has begun, ended and lost."""

    seconds: Callable[[Any], float] = lambda _: 1.0
    fails: Callable[[Any], bool] = lambda _: False
    begun: list[Any] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)
    cancelled: list[Any] = field(default_factory=list)
    running: int = 0
    most: int = 0
    """The largest number of workers at once."""

    async def work(self, item: Any) -> Any:
        self.begun.append(item)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.seconds(item))
        except asyncio.CancelledError:
            self.cancelled.append(item)
            raise
        finally:
            self.running -= 1
        self.ended.append(item)
        if self.fails(item):
            raise ValueError(f"item {item}")
        return item


def tasks_left() -> set["asyncio.Task[Any]"]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


async def read_into(items: AsyncIterator[T], into: list[T]) -> None:
    """Read all items; those before an error are in the list."""
    async for item in items:
        into.append(item)


async def outcomes_of(items: Any, log: Log, **options: Any) -> list[Outcome[Any, Any]]:
    async with session().fan_out(items, log.work, **options) as outcomes:
        return [outcome async for outcome in outcomes]


# ── outcomes ──


@loop_over("make", [range, numbers, lambda until: iter(range(until)), lambda n: set(range(n))])
def test_every_item_has_one_outcome(make: Any) -> None:
    log = Log(seconds=lambda item: (item * 7) % 5, fails=lambda item: item % 10 == 3)
    outcomes = run(outcomes_of(make(50), log, concurrency=4))
    assert sorted(outcome.item for outcome in outcomes) == list(range(50))
    for outcome in outcomes:
        assert outcome.ok == (outcome.item % 10 != 3)
        assert outcome.value == (outcome.item if outcome.ok else None)
        assert str(outcome.error) == ("None" if outcome.ok else f"item {outcome.item}")
        assert outcome.seconds == (outcome.item * 7) % 5


def test_the_result_of_an_outcome_is_its_value_or_its_error() -> None:
    good, bad = run(outcomes_of([1, 2], Log(fails=lambda item: item == 2), ordered=True))
    assert good.result() == 1
    with pytest.raises(ValueError, match="item 2"):
        bad.result()


@given(
    seconds=st.lists(st.integers(0, 6), max_size=30), concurrency=st.integers(1, 8), is_async=st.booleans()
)
@few
def test_ordered_outcomes_are_in_the_order_of_the_input(
    seconds: list[int], concurrency: int, is_async: bool
) -> None:
    log = Log(seconds=lambda item: seconds[item])
    items = numbers(len(seconds)) if is_async else range(len(seconds))
    outcomes = run(outcomes_of(items, log, concurrency=concurrency, ordered=True))
    assert [outcome.item for outcome in outcomes] == list(range(len(seconds)))
    assert log.most <= concurrency


@given(seconds=st.lists(st.integers(0, 6), max_size=30), concurrency=st.integers(1, 8))
@few
def test_outcomes_come_as_workers_end_and_a_place_is_refilled_at_once(
    seconds: list[int], concurrency: int
) -> None:
    log = Log(seconds=lambda item: seconds[item])
    took = run(timed(log, len(seconds), concurrency))
    assert took.items == log.ended
    # The same as a list schedule: each item goes to the place that is free first.
    places = [0] * concurrency
    for length in seconds:
        places.sort()
        places[0] += length
    assert took.seconds == (max(places) if seconds else 0)
    assert log.most == min(concurrency, len(seconds))


class Timed:
    def __init__(self, items: list[int], seconds: float) -> None:
        self.items, self.seconds = items, seconds


async def timed(log: Log, items: int, concurrency: int) -> Timed:
    clock = asyncio.get_running_loop().time
    outcomes = await outcomes_of(range(items), log, concurrency=concurrency)
    return Timed([outcome.item for outcome in outcomes], clock())


@virtual
async def test_each_worker_has_a_separate_context() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def work(item: int) -> int:
        before = variable.get()
        variable.set(item)
        await asyncio.sleep(1)
        return before

    variable.set(-1)
    async with session().fan_out(range(1, 20), work, concurrency=3) as outcomes:
        variable.set(-2)
        assert {outcome.value async for outcome in outcomes} == {-1}


@virtual
async def test_an_unrequested_cancelled_error_is_an_outcome() -> None:
    async def work(item: int) -> int:
        if item == 1:
            raise asyncio.CancelledError
        if item == 2:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
        return item

    async with session().fan_out(range(4), work, concurrency=2, ordered=True) as outcomes:
        kinds = [type(outcome.error) async for outcome in outcomes]
    nothing = type(None)
    assert kinds == [nothing, asyncio.CancelledError, asyncio.CancelledError, nothing]


@virtual
async def test_a_task_cancelled_before_the_first_step_is_an_outcome() -> None:
    log = Log()
    async with session().fan_out([1, 2], log.work) as outcomes:
        await asyncio.sleep(0)  # the items have begun, their workers have not
        for task in tasks_left():
            task.cancel()
        errors = [type(outcome.error) async for outcome in outcomes]
    assert errors == [asyncio.CancelledError] * 2
    assert not log.begun


@loop_over("kind", [KeyboardInterrupt, SystemExit])
@loop_over("where", ["worker", "input"])
def test_an_exception_that_ends_the_program_is_raised(kind: type[BaseException], where: str) -> None:
    begun: list[int] = []
    ended: list[int] = []

    async def work(item: int) -> None:
        if where == "worker" and item == 3:
            raise kind
        begun.append(item)
        try:
            await asyncio.sleep(9)
        finally:
            ended.append(item)

    def items() -> Iterator[int]:
        yield from range(5)
        if where == "input":
            raise kind

    async def main() -> None:
        async with session().fan_out(items(), work) as outcomes:
            async for _ in outcomes:
                pass

    with pytest.raises(kind):
        run(main())
    assert sorted(begun) == sorted(ended)
    assert len(begun) == (3 if where == "worker" else 0)


# ── bounds ──


@pytest.mark.parametrize("ordered", [False, True])
@virtual
async def test_a_slow_consumer_stops_the_intake(ordered: bool) -> None:
    log = Log()
    taken: list[int] = []
    source = (taken.append(number) or number for number in count())  # type: ignore[func-returns-value]
    async with session().fan_out(source, log.work, concurrency=5, ordered=ordered) as outcomes:
        await asyncio.sleep(1000)
        assert len(taken) == len(log.ended) == 5
        for given_out in range(1, 30):
            await anext(outcomes)
            await asyncio.sleep(100)
            assert len(taken) <= given_out + 10
            assert log.running == 0
    assert log.most == 5


@virtual
async def test_ordered_workers_do_not_run_away_from_the_oldest() -> None:
    log = Log(seconds=lambda item: 1000 if item == 0 else 1)
    async with session().fan_out(count(), log.work, concurrency=10, ordered=True) as outcomes:
        first = await anext(outcomes)
        assert first.item == 0
        assert max(log.begun) < 20
        await asyncio.sleep(0)
        assert log.most == 10
        assert [(await anext(outcomes)).item for _ in range(50)] == list(range(1, 51))


# ── the end ──


@virtual
async def test_an_error_of_the_input_is_raised_after_earlier_outcomes() -> None:
    async def items() -> AsyncIterator[int]:
        for number in range(7):
            yield number
        raise LookupError("no more")

    got: list[Outcome[int, Any]] = []
    async with session().fan_out(items(), Log().work, concurrency=3) as outcomes:
        with pytest.raises(LookupError, match="no more"):
            await read_into(outcomes, got)
    assert [outcome.item for outcome in got] == list(range(7))


@virtual
async def test_stop_after_returns_running_outcomes_and_then_raises() -> None:
    log = Log(seconds=lambda item: 1 + item % 3, fails=lambda item: item in (4, 5))
    got: list[Outcome[int, Any]] = []
    async with session().fan_out(count(), log.work, concurrency=4, stop_after=2) as outcomes:
        with pytest.raises(FanOutError) as caught:
            await read_into(outcomes, got)
    assert sorted(outcome.item for outcome in got) == sorted(log.begun) == sorted(log.ended)
    assert str(caught.value.__cause__) in ("item 4", "item 5")
    assert caught.value.failed == 2
    assert caught.value.succeeded == len(got) - 2
    assert f"2 of {len(got)} items failed (stop_after=2)" in str(caught.value)
    assert len(got) < 12


@virtual
async def test_stop_after_does_not_wait_for_an_input_that_gives_no_more() -> None:
    async def items() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    async with session().fan_out(items(), Log(fails=bool).work, stop_after=1) as outcomes:
        assert [(await anext(outcomes)).ok] == [False]
        with pytest.raises(FanOutError):
            await anext(outcomes)
        assert not tasks_left()


# ── wrong use ──


@loop_over(
    ("wrong", "match"),
    [
        ({"items": 5}, r"items = 5: expected an iterable"),
        ({"items": "alice"}, r"items = \[str\]"),
        ({"worker": 5}, r"worker = 5: expected a function"),
        ({"concurrency": 0}, r"concurrency = 0: expected a whole number from 1"),
        ({"stop_after": 0}, r"stop_after = 0"),
        *(({"deadline": wrong}, "deadline = ") for wrong in (0, -1, True, "5", float("nan"))),
        ({"ordered": 1}, r"ordered = 1: expected True or False"),
    ],
)
@virtual
async def test_wrong_arguments_are_named(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(RequestInvalidError, match=match):
        session().fan_out(**{"items": [], "worker": Log().work, **wrong})


@virtual
async def test_two_readers_and_a_closed_one_are_errors() -> None:
    fan = session().fan_out(range(2), Log().work)
    with pytest.raises(RuntimeError, match="is not open"):
        await anext(fan)
    async with fan as outcomes:
        other = asyncio.create_task(anext(outcomes))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="being read by another task"):
            await anext(outcomes)
        await other
        assert "1 running" not in repr(outcomes)
    with pytest.raises(RuntimeError, match="is not open"):
        await anext(fan)
    with pytest.raises(RuntimeError, match="entered before"):
        await fan.__aenter__()


# ── with a service ──


async def test_a_walk_is_an_input_and_workers_use_any_view(tidy: None) -> None:
    async with Emulator(users=12, messages=60, seed=3) as emulator, AsyncSession(emulator.app) as chat:

        async def count_messages(user: Any) -> int:
            return len(await chat.messages.list_user(user.uid).collect())

        async with chat.fan_out(chat.users.list(), count_messages, concurrency=5) as outcomes:
            by_uid = {outcome.item.uid: outcome.result() async for outcome in outcomes}
        async with chat.fan_out(islice(count(), 3), chat.users.get) as outcomes:
            refused = [outcome.error async for outcome in outcomes]
    assert len(by_uid) == 12
    assert sum(by_uid.values()) > 0
    assert all(isinstance(error, RequestInvalidError) for error in refused)


# ── the deadline ──


class Bounded:
    """A fan-out with a deadline: what it gave before its error, and the state after it."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.counts: FanOutCounts | None = None
        self.seconds = 0.0

    async def read(self, items: Any, log: Log, *, pause: float = 0.0, **options: Any) -> None:
        clock = asyncio.get_running_loop().time
        async with session().fan_out(items, log.work, **options) as outcomes:
            try:
                async for outcome in outcomes:
                    assert outcome.ok
                    self.items.append(outcome.item)
                    await asyncio.sleep(pause)
            finally:
                self.counts, self.seconds = outcomes.counts, clock()
        assert tasks_left() == set()


@pytest.mark.parametrize("is_async", [True, False])
def test_after_the_deadline_finished_outcomes_precede_the_error(is_async: bool) -> None:
    log, bounded = Log(seconds=lambda item: item), Bounded()
    items = numbers(1000) if is_async else range(1000)
    with pytest.raises(
        DeadlineExceededError, match=r"deadline of 3\.5 s passed: 3 items were finished, 2 were"
    ):
        run(bounded.read(items, log, concurrency=2, deadline=3.5))
    assert (bounded.items, bounded.seconds) == ([0, 1, 2], 3.5)
    assert bounded.counts is not None
    assert bounded.counts.finished == 3
    assert log.cancelled == [3, 4]


def test_an_ordered_fan_out_returns_outcomes_after_a_gap() -> None:
    log, bounded = Log(seconds=lambda item: 100 if item == 1 else 1), Bounded()
    with pytest.raises(DeadlineExceededError):
        run(bounded.read(range(5), log, concurrency=5, ordered=True, deadline=10))
    assert bounded.items == [0, 2, 3, 4]
    assert log.cancelled == [1]


def test_a_slow_consumer_gets_all_that_was_finished_in_time() -> None:
    log, bounded = Log(), Bounded()
    run(bounded.read(range(5), log, concurrency=5, deadline=2, pause=60))
    assert sorted(bounded.items) == [0, 1, 2, 3, 4]


def test_a_worker_that_resists_cancellation_delays_only_the_block() -> None:
    times = {}

    async def stubborn(item: int) -> int:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(7)
        return item

    async def work() -> None:
        clock = asyncio.get_running_loop().time
        async with session().fan_out([1], stubborn, deadline=5) as outcomes:
            with pytest.raises(DeadlineExceededError):
                await anext(outcomes)
            times["error"] = clock()
        times["end"] = clock()
        assert outcomes.counts.finished == 0

    run(work())
    assert times == {"error": 5, "end": 12}


# ── leaving: by the end, a break, an error, a timeout or a cancel, at any step ──


class ConsumerError(Exception):
    pass


class Job:
    """A fan-out over endless items, whose input takes a second to be closed, and ways to leave it."""

    def __init__(self, *, ordered: bool) -> None:
        self.log = Log(seconds=lambda item: 1 + item % 4)
        self.ordered = ordered
        self.is_closed = False

    async def items(self) -> AsyncIterator[int]:
        try:
            for number in count():
                yield number
        finally:
            await asyncio.sleep(1)
            self.is_closed = True

    async def read(self) -> AsyncIterator[int]:
        options: Any = {"concurrency": 5, "ordered": self.ordered}
        async with session().fan_out(self.items(), self.log.work, **options) as outcomes:
            async for outcome in outcomes:
                yield outcome.item

    async def consume(self, error: type[Exception] | None = None) -> None:
        options: Any = {"concurrency": 5, "ordered": self.ordered}
        async with session().fan_out(self.items(), self.log.work, **options) as outcomes:
            async for outcome in outcomes:
                if error is not None and outcome.item >= 7:
                    raise error
                if error is None and outcome.item >= 7:
                    break

    async def leave_by_break(self) -> None:
        await self.consume()

    async def leave_by_error(self) -> None:
        with pytest.raises(ConsumerError):
            await self.consume(ConsumerError)

    async def leave_by_cancel(self) -> None:
        task = asyncio.create_task(self.consume())
        await asyncio.sleep(2.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def leave_a_generator(self) -> None:
        reading = self.read()
        for _ in range(7):
            await anext(reading)
        await reading.aclose()  # type: ignore[attr-defined]


@loop_over(
    "leave",
    [
        Job.leave_by_break, Job.leave_by_error, Job.leave_by_cancel, Job.leave_a_generator,
    ],
)  # fmt: skip
@loop_over("ordered", [False, True])
@virtual
async def test_no_task_remains(leave: Any, ordered: bool) -> None:
    job = Job(ordered=ordered)
    await leave(job)
    assert not tasks_left()
    assert sorted(job.log.ended + job.log.cancelled) == sorted(job.log.begun)
    assert job.log.cancelled
    assert job.is_closed


@given(
    steps=st.integers(0, 80),
    seconds=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    concurrency=st.integers(1, 5),
    ordered=st.booleans(),
    twice=st.booleans(),
)
@few
@virtual
async def test_cancellation_at_every_step(
    steps: int, seconds: list[int], concurrency: int, ordered: bool, twice: bool
) -> None:
    log = Log(seconds=lambda item: seconds[item])
    got: list[int] = []

    async def consume() -> None:
        items = numbers(len(seconds))
        async with session().fan_out(items, log.work, concurrency=concurrency, ordered=ordered) as outs:
            async for outcome in outs:
                got.append(outcome.item)

    task = asyncio.create_task(consume())
    for _ in range(steps):
        await asyncio.sleep(0 if steps % 2 else 0.1)
    task.cancel()
    if twice:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() or len(got) == len(seconds)
    assert not tasks_left()
    assert log.running == 0
    assert sorted(log.ended + log.cancelled) == sorted(log.begun)


@virtual
async def test_a_reader_that_gives_up_waiting_loses_nothing() -> None:
    async with session().fan_out(range(3), Log(seconds=lambda item: 10).work, concurrency=1) as outcomes:
        got = []
        while len(got) < 3:
            try:
                got.append((await asyncio.wait_for(anext(outcomes), 3)).item)
            except TimeoutError:
                continue
    assert got == [0, 1, 2]
