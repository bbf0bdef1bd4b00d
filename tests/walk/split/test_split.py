"""A list that is split: the items of the walk, each once, wherever it is left, cancelled or resumed."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.intervals import rank_of
from chatrest.core.replies.decode import Listing
from chatrest.errors import RequestInvalidError, ServerError
from chatrest.walk.walk import Walk
from tests.cases import loop_over
from tests.walk.split.splitting import Pairs, ids, in_any_order, plain, read, read_split
from tests.walk.walking import Item, Service, few, many, services, sizes

parts = st.integers(2, 7)
seeds = st.integers(0, 1000)
directions = st.sampled_from(["append", "prepend"])
by_id = services(dialect="cursor", text=False)


@st.composite
def uneven(draw: st.DrawFn) -> Service:
    """A list whose ids lie close in one stretch, and far apart in the next."""
    number, numbers = 0, []
    for _ in range(draw(st.integers(1, 8))):
        gap = draw(st.sampled_from([1, 2, 7, 100, 10_000]))
        for _ in range(draw(st.integers(1, 25))):
            number += gap if gap < 3 else draw(st.integers(1, gap))
            numbers.append(number)
    return Service(
        tuple(numbers),
        inside=draw(st.sampled_from(["ascending", "descending", "shuffled"])),
        inclusive=draw(st.booleans()),
        pagination=draw(st.booleans()),
        ending=draw(st.sampled_from(["stays", "null", "zero", "absent"])),
    )


lists = uneven() | by_id


def walk_of(service: Service, size: int, seed: int, direction: str | None = "append") -> Walk[Any]:
    fresh = replace(service, asked=[], faults=dict(service.faults))
    fresh.fetch = in_any_order(fresh.fetch, seed)  # type: ignore[method-assign]
    return fresh.walk(size, affix=direction)


# ── the same items ──


@many
@given(lists, sizes, parts, st.none() | directions, seeds, st.booleans())
def test_the_items_are_those_of_the_walk_each_once(
    service: Service, size: int, count: int, direction: str | None, seed: int, ordered: bool
) -> None:
    assume(not (service.foreign and direction is None))
    expected = plain(walk_of(service, size, seed, direction))
    pairs, items = asyncio.run(read_split(walk_of(service, size, seed, direction), count, ordered=ordered))
    assert (ids(pairs) if ordered else sorted(ids(pairs), key=expected.index)) == expected
    assert items.cursor.done == ()
    assert items.cursor.delivered == len(expected)


@few
@given(lists, sizes, parts, directions, seeds, st.booleans())
def test_pages_hold_the_same_items_and_lead_on(
    service: Service, size: int, count: int, direction: str, seed: int, ordered: bool
) -> None:
    async def read_pages() -> tuple[list[str], list[str]]:
        got, tokens = list[str](), list[str]()
        async with walk_of(service, size, seed, direction).split(count, ordered) as items:
            async for page in items.pages():
                assert page.items
                assert page.raw == b"{}"
                got += [item.id for item in page.items]
                tokens.append(str(page.cursor))
        return got, tokens

    got, tokens = asyncio.run(read_pages())
    expected = plain(walk_of(service, size, seed, direction))
    assert sorted(got) == sorted(expected)
    if tokens:
        assert plain(walk_of(service, size, seed, direction), tokens[-1]) == []


# ── tokens ──


@many
@given(lists, sizes, parts, directions, seeds, st.booleans(), st.data())
def test_a_token_after_any_item_leads_to_the_rest(
    service: Service, size: int, count: int, direction: str, seed: int, ordered: bool, data: st.DataObject
) -> None:
    expected = plain(walk_of(service, size, seed, direction))
    assume(expected)
    number = data.draw(st.integers(1, len(expected)))
    walk = walk_of(service, size, seed, direction)
    pairs, _ = asyncio.run(read_split(walk, count, ordered=ordered, count=number))
    token, delivered = pairs[-1][1], set(ids(pairs))
    assert len(pairs) == len(delivered) == number
    rest = [text for text in expected if text not in delivered]
    assert plain(walk_of(service, size, seed, direction), token) == rest
    for way in (True, False):
        again = walk_of(service, size, seed + 1, direction).at(Cursor.parse(token))
        pairs, items = asyncio.run(read_split(again, count, ordered=way))
        assert (ids(pairs) if way else sorted(ids(pairs), key=rest.index)) == rest
        assert items.cursor.delivered == len(expected)


# ── leaving ──


@many
@given(lists, sizes, parts, directions, seeds, st.booleans(), st.lists(st.integers(0, 40), max_size=4))
def test_a_cancel_at_any_step_loses_nothing(
    service: Service, size: int, count: int, direction: str, seed: int, ordered: bool, steps: list[int]
) -> None:
    expected = plain(walk_of(service, size, seed, direction))

    async def read_with_cancels() -> list[str]:
        pairs: list[tuple[str, str]] = []
        async with walk_of(service, size, seed, direction).split(count, ordered) as items:
            for number in steps:
                task = asyncio.create_task(read(items, pairs))
                for _ in range(number):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            token, delivered = str(items.cursor), set(ids(pairs))
            await read(items, pairs)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        rest: list[tuple[str, str]] = []
        await read(walk_of(service, size, seed, direction).at(Cursor.parse(token)), rest)
        assert ids(rest) == [text for text in expected if text not in delivered]
        return ids(pairs)

    got = asyncio.run(read_with_cancels())
    assert (got if ordered else sorted(got, key=expected.index)) == expected


@few
@given(lists, sizes, parts, seeds, st.integers(0, 60))
def test_a_block_that_is_cancelled_at_any_step_leaves_no_task(
    service: Service, size: int, count: int, seed: int, steps: int
) -> None:
    async def leave() -> None:
        task = asyncio.create_task(read_split(walk_of(service, size, seed), count))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(leave())


@many
@given(lists, sizes, parts, directions, seeds, st.booleans(), st.sets(st.integers(0, 12), max_size=5))
def test_errors_are_raised_and_another_loop_goes_on(
    service: Service, size: int, count: int, direction: str, seed: int, ordered: bool, faults: set[int]
) -> None:
    expected = plain(walk_of(service, size, seed, direction))
    broken = replace(service, faults={each: ServerError(f"fault {each}") for each in faults})

    async def read_on() -> list[str]:
        pairs: list[tuple[str, str]] = []
        async with walk_of(broken, size, seed, direction).split(count, ordered) as items:
            for _ in range(len(faults) + 1):
                try:
                    await read(items, pairs)
                except ServerError:
                    continue
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return ids(pairs)

    got = asyncio.run(read_on())
    assert (got if ordered else sorted(got, key=expected.index)) == expected


# ── limits ──


@few
@given(lists, sizes, parts, directions, seeds, st.integers(0, 30))
def test_with_a_limit_the_first_items_come(
    service: Service, size: int, count: int, direction: str, seed: int, limit: int
) -> None:
    expected = plain(walk_of(service, size, seed, direction))[:limit]
    pairs, _ = asyncio.run(read_split(walk_of(service, size, seed, direction).limit(limit), count))
    assert ids(pairs) == expected


def test_with_a_limit_not_much_more_is_asked_for() -> None:
    service = Service(tuple(range(1, 5001)))
    asyncio.run(read_split(service.walk(10, affix="append").limit(200), 16))
    assert len(service.asked) <= 26


def test_a_limit_and_no_order_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match="ordered = False"):
        Service().walk().limit(3).split(ordered=False)


@loop_over(
    "arguments",
    [{"parts": 0}, {"parts": True}, {"parts": 1.5}, {"ordered": 1}, {"max_bytes": 0}, {"parts": "16"}],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match=next(iter(arguments))):
        Service().walk().split(**arguments)


# ── use ──


async def test_it_is_read_inside_its_block_and_by_one_task() -> None:
    walk = Service(tuple(range(1, 100))).walk(5)
    items = walk.split(4)
    with pytest.raises(RuntimeError, match="not open"):
        await anext(aiter(items))
    async with items:
        await anext(aiter(items))
    with pytest.raises(RuntimeError, match="not open"):
        await anext(aiter(items))
    with pytest.raises(RuntimeError, match="opened before"):
        await items.__aenter__()
    assert items.cursor.last == "1"
    assert str(walk.cursor) == str(Service().walk(5).cursor)


async def test_two_readers_at_a_time_are_refused() -> None:
    service = Service(tuple(range(1, 100)))
    service.fetch = in_any_order(service.fetch, 1)  # type: ignore[method-assign]
    async with service.walk(5, affix="append").split(4) as items:
        first = asyncio.create_task(read(items, []))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one reader at a time"):
            await read(items, [])
        await first


async def test_after_the_end_another_loop_asks_for_what_is_new() -> None:
    service = Service(tuple(range(1, 60)))
    async with service.walk(5, affix="append").split(4) as items:
        pairs: list[tuple[str, str]] = []
        await read(items, pairs)
        service.ids = (*service.ids, 60, 61)
        await read(items, pairs)
    assert ids(pairs) == [str(number) for number in range(1, 62)]


# ── bounds ──


class Gauge:
    """A service that counts what is on its way, and what has come."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.running = self.most_running = self.served = 0

    async def fetch(self, position: Pairs) -> Listing[Item]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
        finally:
            self.running -= 1
        listing = await self.service.fetch(position)
        self.served += len(listing.items)
        return listing


def gauged(numbers: Any) -> tuple[Gauge, Service]:
    service = Service(tuple(numbers))
    gauge = Gauge(replace(service, asked=[]))
    service.fetch = gauge.fetch  # type: ignore[method-assign]
    return gauge, service


async def test_a_consumer_that_stops_stops_the_readers() -> None:
    gauge, service = gauged(range(1, 3000))
    gauge.service.asked = _Endless()
    async with service.walk(10, affix="append").split(8) as items:
        await read(items, [], 15)
        for _ in range(500):
            await asyncio.sleep(0)
        assert gauge.running == 0
        assert gauge.served <= 10 * (4 * 8 + 8 + 2)
        assert gauge.most_running <= 8 + 1


async def test_waiting_bytes_are_bounded_too() -> None:
    gauge, service = gauged(range(1, 3000))
    gauge.service.asked = _Endless()
    async with service.walk(10, affix="append").split(8, max_bytes=5) as items:
        await read(items, [], 15)
        for _ in range(500):
            await asyncio.sleep(0)
        assert gauge.served <= 10 * (2 + 3 + 8 + 2)  # bodies are 2 bytes


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("step", [1, 7])
async def test_a_list_costs_little_more_than_the_requests_of_the_walk(step: int, ordered: bool) -> None:
    gauge, service = gauged(range(step, 4000 * step, step))
    gauge.service.asked = _Endless()
    pairs, _ = await read_split(service.walk(20, affix="append"), 16, ordered=ordered)
    assert len(pairs) == 3999
    assert gauge.most_running >= 16
    assert gauge.served <= 1.1 * 3999


class _Endless(list[Any]):
    """A list that keeps nothing: the service's guard against endless walks is not meant for these lists."""

    def append(self, value: Any) -> None:
        pass


def test_a_dense_stretch_is_cut_again() -> None:
    numbers = [*range(1, 400), *range(1_000_000, 1_004_000), *range(9_000_000, 9_000_400)]
    gauge, service = gauged(numbers)
    gauge.service.asked = _Endless()

    async def count_rounds() -> int:
        rounds = 0

        async def tick() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        ticker = asyncio.create_task(tick())
        async with service.walk(20, affix="append").split(16) as items:
            pairs: list[tuple[str, str]] = []
            await read(items, pairs)
        ticker.cancel()
        assert [rank_of(text, "append") for text in ids(pairs)] == numbers
        return rounds

    serial = len(numbers) / 20 * 2  # a fetch takes two turns of the loop
    assert asyncio.run(count_rounds()) < serial
    assert gauge.served <= 1.5 * len(numbers)
