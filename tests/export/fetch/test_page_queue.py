"""The queue of pages: bounded, in order, and at its end empty."""

import asyncio
import random

import pytest

from chatrest.export.fetch import page_queue as page_queues
from chatrest.export.fetch.page_check import PageCheck, Window
from chatrest.export.fetch.page_queue import PageQueue
from chatrest.export.folder.fetched_page import Coverage, FetchedPage
from chatrest.export.plan.message_ids import ids_of
from chatrest.export.plan.ownership import OwnershipRules, Source
from chatrest.export.plan.report import Progress
from tests.support.cases import loop_over
from tests.support.scripted_session import turns

pytestmark = pytest.mark.usefixtures("tidy")


def new_queue() -> PageQueue:
    return PageQueue(PageCheck(Window(), OwnershipRules()), Progress())


def page(number: int, size: int = 10) -> FetchedPage:
    return FetchedPage(
        number=number, source=Source("user", ("a",)), covered=Coverage(0, 1), bytes=size, seen=ids_of([])
    )


@loop_over("seed", range(5))
async def test_no_page_is_lost_or_repeated_and_the_byte_limit_is_respected(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice, room, largest = random.Random(seed), 50, 40
    monkeypatch.setattr(page_queues, "WAITING_BYTES", room)
    monkeypatch.setattr(page_queues, "MAX_PAGES", 2)
    queue, got, held, most = new_queue(), list[int](), 0, 0

    async def walk(first: int) -> None:
        nonlocal held, most
        for number in range(first, first + 40):
            each = page(number, dice.randrange(largest))
            await queue.add(each)
            held += each.bytes
            most = max(most, held)
            await turns(dice.randrange(2))

    async def write() -> None:
        nonlocal held
        while batch := await queue.next_batch():
            assert len(batch) <= 2
            got.extend(each.number for each in batch)
            held -= sum(each.bytes for each in batch)
            await turns(dice.randrange(4))

    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(write())
        async with asyncio.TaskGroup() as walks:
            for number in range(4):
                walks.create_task(walk(number * 100))
        queue.close()
    for number in range(4):
        first = number * 100
        assert [each for each in got if each // 100 == number] == list(range(first, first + 40))
    assert len(got) == 160
    assert most < room + largest


async def test_a_cancelled_reader_adds_no_page_and_blocks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_queues, "WAITING_BYTES", 10)
    queue = new_queue()
    await queue.add(page(0))
    first, second = (asyncio.create_task(queue.add(page(number))) for number in (1, 2))
    await turns()
    first.cancel()
    await turns()
    assert [each.number for each in await queue.next_batch()] == [0]
    await second
    assert [each.number for each in queue.take_waiting()] == [2]


async def test_large_pages_are_fetched_by_fewer_readers_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_queues, "FETCHING_BYTES", 100)
    queue, most, now = new_queue(), 0, 0

    async def read(pages: int) -> None:
        nonlocal most, now
        for number in range(pages):
            async with queue.fetching():
                now += 1
                most = max(most, now)
                try:
                    await turns()
                finally:
                    now -= 1
                await queue.add(page(number, 40))

    await read(1)  # the size of a page is known from now on
    readers = [asyncio.create_task(read(5)) for _ in range(8)]
    await turns()
    readers[0].cancel()
    readers[7].cancel()
    results = await asyncio.gather(*readers, return_exceptions=True)
    assert most == 3
    assert [type(result) for result in results].count(asyncio.CancelledError) == 2
    async with asyncio.timeout(60), queue.fetching():  # no room was lost by a cancel
        pass
