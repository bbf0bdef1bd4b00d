"""The backlog: bounded, in order, and at its end empty."""

import asyncio
import random

import pytest

from chatrest.export.fetch import backlog as backlogs
from chatrest.export.fetch.backlog import Backlog
from chatrest.export.folder.fetched_page import Coverage, FetchedPage
from chatrest.export.plan.message_ids import ids_of
from chatrest.export.plan.ownership import Source
from tests.cases import loop_over
from tests.scripted_session import turns

pytestmark = pytest.mark.usefixtures("tidy")


def page(number: int, size: int = 10) -> FetchedPage:
    return FetchedPage(
        number=number, source=Source("user", ("a",)), covered=Coverage(0, 1), bytes=size, seen=ids_of([])
    )


async def test_a_batch_is_bounded_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlogs, "MOST", 2)
    backlog = Backlog()
    for i in range(5):
        await backlog.put(page(i))
    await backlog.close()
    sizes = [len(await backlog.batch()) for _ in range(4)]
    assert sizes == [2, 2, 1, 0]


@loop_over("seed", range(5))
async def test_no_page_is_lost_or_repeated_and_the_room_is_kept(seed: int) -> None:
    dice = random.Random(seed)
    room, largest = 50, 40
    backlog = Backlog(room)
    put: list[int] = []
    got: list[int] = []
    held = most = 0

    async def walk(first: int) -> None:
        nonlocal held, most
        for i in range(first, first + 40):
            each = page(i, dice.randrange(largest))
            await backlog.put(each)
            put.append(i)
            held += each.bytes
            most = max(most, held)
            if dice.random() < 0.5:
                await asyncio.sleep(0)

    async def write() -> None:
        nonlocal held
        while batch := await backlog.batch():
            got.extend(each.number for each in batch)
            held -= sum(each.bytes for each in batch)
            if dice.random() < 0.5:
                await turns(3)

    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(write())
        async with asyncio.TaskGroup() as walks:
            for i in range(4):
                walks.create_task(walk(i * 100))
        await backlog.close()
    assert sorted(got) == sorted(put)
    assert len(got) == 160
    for i in range(4):
        assert [each for each in got if each // 100 == i] == list(range(i * 100, i * 100 + 40))
    assert most < room + largest


async def test_a_cancelled_walk_has_put_nothing_and_holds_nobody_up() -> None:
    backlog = Backlog(10)
    await backlog.put(page(0))
    first, second = asyncio.create_task(backlog.put(page(1))), asyncio.create_task(backlog.put(page(2)))
    await turns()
    first.cancel()
    await turns()
    assert [each.number for each in await backlog.batch()] == [0]
    await second
    assert [each.number for each in backlog.rest()] == [2]


async def test_large_pages_are_fetched_by_fewer_readers_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backlogs, "FETCH_ROOM", 100)
    backlog, most, now = Backlog(10**6), 0, 0

    async def read(pages: int) -> None:
        nonlocal most, now
        async with backlog.fetching() as next_page:
            for number in range(pages):
                now += 1
                most = max(most, now)
                try:
                    await turns()
                finally:
                    now -= 1
                await backlog.put(page(number, 40))
                await next_page()

    await read(1)  # the size of a page is known from now on
    readers = [asyncio.create_task(read(5)) for _ in range(8)]
    await turns()
    readers[0].cancel()
    readers[7].cancel()
    results = await asyncio.gather(*readers, return_exceptions=True)
    assert most == 3
    assert [type(result) for result in results].count(asyncio.CancelledError) == 2
    assert len(backlog.rest()) >= 30
    async with asyncio.timeout(60), backlog.fetching():  # no room was lost by a cancel
        pass
