"""JobQueue: none is lost, none is done twice, and whoever is idle gets a part of what is left."""

import asyncio
import random

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.export.job_queue import WORTH, Job, JobQueue, split
from chatrest.export.ownership import Source

some = settings(max_examples=150, deadline=None, database=None)
USER = Source("user", ("a",))
pytestmark = pytest.mark.usefixtures("tidy")


def job(after: int = 0, until: int = 100, **more: object) -> Job:
    return Job(number=1, source=USER, after=after, until=until, **more)  # type: ignore[arg-type]


async def turns(count: int = 5) -> None:
    """Lets every other task run until it waits."""
    for _ in range(count):
        await asyncio.sleep(0)


# ── sharing ──


async def test_jobs_are_taken_in_their_order_and_then_nothing_is_left() -> None:
    many = [job(i) for i in range(3)]
    jobs = JobQueue(many)
    assert len(jobs) == 3
    assert [await jobs.take() for _ in many] == many
    assert len(jobs) == 0
    for _ in many:
        await jobs.done()
    assert [await jobs.take(), await jobs.take()] == [None, None]


async def test_without_any_job_nobody_waits() -> None:
    assert await JobQueue([]).take() is None


async def test_whoever_finds_nothing_waits_while_somebody_may_still_give_some_away() -> None:
    jobs = JobQueue([job()])
    assert await jobs.take() is not None
    assert not jobs.wanted
    idle = asyncio.create_task(jobs.take())
    await turns()
    assert not idle.done()
    assert jobs.wanted
    other = job(50)
    await jobs.give(other)
    assert not jobs.wanted, "one job is there for the one who is idle"
    assert await idle is other
    await jobs.done()
    last = asyncio.create_task(jobs.take())
    await turns()
    assert not last.done(), "the second job is not done"
    await jobs.done()
    assert await last is None
    assert not jobs.wanted


async def test_all_who_wait_go_home_when_the_last_job_is_done() -> None:
    jobs = JobQueue([job()])
    await jobs.take()
    idle = [asyncio.create_task(jobs.take()) for _ in range(9)]
    await turns()
    await jobs.done()
    assert await asyncio.gather(*idle) == [None] * 9


@pytest.mark.parametrize("before", [True, False])
async def test_a_cancelled_waiter_takes_no_job_with_it(before: bool) -> None:
    jobs, other = JobQueue([job()]), job(50)
    await jobs.take()
    first, second = asyncio.create_task(jobs.take()), asyncio.create_task(jobs.take())
    await turns()
    if before:
        first.cancel()
        await turns()
        await jobs.give(other)
    else:
        await jobs.give(other)
        first.cancel()  # at the very moment in which it is woken
    await turns()
    assert first.cancelled()
    assert second.done()
    assert await second is other
    assert not jobs.wanted


@pytest.mark.parametrize("seed", range(15))
async def test_workers_that_split_and_yield_at_random_cover_every_id_once(seed: int) -> None:
    dice, walked = random.Random(seed), list[int]()
    many = [job(i * 1000, i * 1000 + dice.randrange(1, 1000)) for i in range(4)]
    expected = [each for its in many for each in range(its.after + 1, its.until + 1)]
    jobs = JobQueue(many)

    async def work() -> None:
        while (its := await jobs.take()) is not None:
            after = its.after
            while after < its.until:
                last = min(after + 7, its.until)
                walked.extend(range(after + 1, last + 1))
                after = last
                if jobs.wanted and (other := split(its, after, 7)) is not None:
                    await jobs.give(other)
                if dice.random() < 0.3:
                    await asyncio.sleep(0)
            await jobs.done()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(dice.randrange(1, 9)):
            group.create_task(work())
    assert sorted(walked) == expected


# ── splitting ──


@some
@given(st.integers(0, 99), st.integers(0, 500), st.integers(0, 500), st.floats(1, 100))
def test_two_halves_are_what_was_left(after: int, walked: int, left: int, ids_a_page: float) -> None:
    last = after + walked
    its = job(after, last + left, at=(("id", "9"),))
    other = split(its, last, ids_a_page)
    if other is None:
        assert left < WORTH * ids_a_page
        assert its == job(after, last + left, at=(("id", "9"),))
        return
    assert left >= WORTH * ids_a_page
    assert last < its.until == other.after < other.until == last + left
    assert abs((its.until - last) - (other.until - other.after)) <= 1
    assert (other.number, other.source, other.at, other.guessed) == (its.number, USER, (), True)
    assert (its.after, its.at, its.guessed) == (after, (("id", "9"),), False)


def test_a_job_that_is_to_stay_whole_is_not_split() -> None:
    its = job(0, 10**9, whole=True)
    assert split(its, 5, 1) is None
    assert its.until == 10**9


@pytest.mark.parametrize("mode", ["fresh", "compare", "recheck", "adopt"])
def test_both_halves_are_walked_in_the_same_way(mode: str) -> None:
    other = split(job(0, 1000, mode=mode, since=7), 5, 1)
    assert other is not None
    assert (other.mode, other.since) == (mode, 7)
