"""Leaving a fan-out: by its end, a break, an error, a timeout or a cancel, at any step."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.cases import loop_over
from tests.fan_out.worker_log import Log, numbers, session, tasks_left
from tests.virtual_time import virtual

few = settings(max_examples=40, deadline=None, database=None)


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

    async def leave_by_timeout(self) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2.5):
                await self.consume()

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
        Job.leave_by_break, Job.leave_by_error, Job.leave_by_timeout, Job.leave_by_cancel,
        Job.leave_a_generator,
    ],
)  # fmt: skip
@loop_over("ordered", [False, True])
@virtual
async def test_nothing_is_left_behind(leave: Any, ordered: bool) -> None:
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
