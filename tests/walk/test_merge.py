"""The merge of walks: one order, nothing lost, and a place to go on from after every item."""

import asyncio
import heapq
from itertools import chain
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, strategies as st

import chatrest
from benchmarks.virtual_time import run
from chatrest import Cursor, CursorError, RequestInvalidError
from chatrest.core.replies.decode import Listing
from tests.cases import loop_over
from tests.fanning import read_into, tasks_left
from tests.walk.walking import Item, Service, Walk, few, rules_for, walk_over

ids = st.lists(st.integers(1, 40), unique=True, max_size=12).map(sorted)


def number(item: Item) -> int:
    return int(item.id)


async def slow(service: Service, seconds: float, place: Any) -> Listing[Item]:
    await asyncio.sleep(seconds)
    return await service.fetch(place)


def walk_of(numbers: list[int], affix: str = "append", seconds: float = 0, size: int = 3) -> Walk:
    """Return a walk over items with these ids, whose pages come after `seconds`."""
    service = Service(ids=tuple(numbers))
    start = Cursor("q", (("affix", affix),), affix)  # type: ignore[arg-type]
    return walk_over(lambda place: slow(service, seconds, place), start, rules_for(size))


async def merged(walks: list[Walk], **options: Any) -> list[str]:
    async with chatrest.merge(walks, **{"key": number, **options}) as items:
        return [item.id async for item in items]


@few
@given(lists=st.lists(ids, max_size=5), reverse=st.booleans())
def test_the_order_is_that_of_the_key_and_duplicates_are_kept(lists: list[list[int]], reverse: bool) -> None:
    affix = "prepend" if reverse else "append"
    got = run(merged([walk_of(numbers, affix) for numbers in lists], reverse=reverse))
    ordered = [sorted(numbers, reverse=reverse) for numbers in lists]
    assert list(map(int, got)) == list(heapq.merge(*ordered, reverse=reverse))


@pytest.mark.parametrize("reverse", [False, True])
def test_equal_keys_come_in_the_order_of_the_walks(reverse: bool) -> None:
    affix = "prepend" if reverse else "append"

    async def main() -> None:
        walks = [walk_of(numbers, affix) for numbers in ([1, 4], [2, 5], [3, 6])]
        got = await merged(walks, key=attrgetter("sent_at"), reverse=reverse)
        assert list(map(int, got)) == ([4, 1, 5, 2, 6, 3] if reverse else [1, 4, 2, 5, 3, 6])

    run(main())


@few
@given(lists=st.lists(ids, min_size=1, max_size=4), stop=st.integers(0, 30), reverse=st.booleans())
def test_it_goes_on_from_the_cursors_after_any_item(lists: list[list[int]], stop: int, reverse: bool) -> None:
    affix = "prepend" if reverse else "append"

    async def main() -> None:
        whole = await merged([walk_of(numbers, affix) for numbers in lists], reverse=reverse)
        walks = [walk_of(numbers, affix) for numbers in lists]
        got: list[str] = []
        async with chatrest.merge(walks, key=number, reverse=reverse) as items:
            if stop:
                async for item in items:
                    got.append(item.id)
                    if len(got) == stop:
                        break
            tokens = [str(cursor) for cursor in items.cursors]
        rest = [walk.at(Cursor.parse(token)) for walk, token in zip(walks, tokens, strict=True)]
        assert got + await merged(rest, reverse=reverse) == whole

    run(main())


def test_the_heads_are_asked_for_at_the_same_time() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        walks = [walk_of([index, index + 100], seconds=1) for index in range(1, 50)]
        async with chatrest.merge(walks, key=number) as items:
            assert (await anext(items)).id == "1"
            assert clock() == 1
            assert [(await anext(items)).id for _ in range(3)] == ["2", "3", "4"]
            assert clock() == 1  # the rest of a page is there
        assert not tasks_left()

    run(main())


@few
@given(faults=st.dictionaries(st.integers(0, 5), st.just(LookupError("lost")), max_size=3), data=st.data())
def test_an_error_is_raised_where_the_item_is_due_and_nothing_is_lost(
    faults: dict[int, BaseException], data: st.DataObject
) -> None:
    lists = [data.draw(ids) for _ in range(3)]

    async def main() -> None:
        service = Service(ids=tuple(lists[0]), faults=dict(faults))
        start = Cursor("q", (("affix", "append"),), "append")
        failing = walk_over(service.fetch, start, rules_for(3))
        walks = [failing, *(walk_of(numbers, seconds=1) for numbers in lists[1:])]
        got: list[int] = []
        async with chatrest.merge(walks, key=number) as items:
            while True:
                try:
                    got.append(int((await anext(items)).id))
                except LookupError:
                    # What was given comes before anything that the failed walk has left.
                    left = [each for each in lists[0] if each not in got]
                    assert not got or not left or max(got) <= min(left)
                except StopAsyncIteration:
                    break
        assert got == sorted(chain(*lists))

    run(main())


def test_a_walk_in_another_order_is_an_error_that_names_it() -> None:
    async def main() -> None:
        walks = [walk_of([1, 2, 3]), walk_of([5, 7, 9], "prepend")]
        got: list[Item] = []
        async with chatrest.merge(walks, key=number) as items:
            with pytest.raises(CursorError, match=r"walks\[1\] \(<Walk .*7 comes after 9; .*reverse=True"):
                await read_into(items, got)
            with pytest.raises(CursorError, match=r"walks\[1\]"):
                await anext(items)
        assert [item.id for item in got] == ["1", "2", "3", "9"]
        with pytest.raises(CursorError, match=r"walks\[0\] .*2 comes after 1"):
            await merged([walk_of([1, 2])], reverse=True)

    run(main())


def test_an_error_of_the_key_loses_nothing() -> None:
    async def main() -> None:
        faults = [ValueError("no key")]

        def key(item: Item) -> int:
            if item.id == "2" and faults:
                raise faults.pop()
            return int(item.id)

        async with chatrest.merge([walk_of([1, 2, 3])], key=key) as items:
            assert (await anext(items)).id == "1"
            with pytest.raises(ValueError, match="no key"):
                await anext(items)
            assert [item.id async for item in items] == ["2", "3"]

    run(main())


@few
@given(after=st.floats(0, 9), twice=st.booleans())
def test_cancellation_at_any_time_leaves_nothing_behind_and_loses_nothing(after: float, twice: bool) -> None:
    async def main() -> None:
        walks = [walk_of(list(range(first, 40, 3)), seconds=first / 2) for first in (1, 2, 3)]
        got: list[Item] = []
        async with chatrest.merge(walks, key=number) as items:
            task = asyncio.create_task(read_into(items, got))
            await asyncio.sleep(after)
            task.cancel()
            if twice:
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait([task])
            assert not tasks_left()
            await read_into(items, got)
        assert list(map(number, got)) == list(range(1, 40))

    run(main())


@loop_over(
    ("walks", "options", "match"),
    [
        (5, {}, "walks = 5: allowed is an iterable of walks"),
        ([5], {}, r"walks\[0\] = 5: allowed is a walk"),
        ([], {"key": 5}, "key = 5: allowed is a function of an item"),
        ([], {"reverse": 1}, "reverse = 1: allowed is True or False"),
    ],
)
def test_wrong_arguments_are_named(walks: Any, options: dict[str, Any], match: str) -> None:
    with pytest.raises(RequestInvalidError, match=match):
        chatrest.merge(walks, **{"key": number, **options})


def test_one_walk_twice_is_refused() -> None:
    walk = walk_of([1])
    with pytest.raises(RequestInvalidError, match=r"walks\[2\] is the same object as walks\[0\]"):
        chatrest.merge([walk, walk_of([1]), walk], key=number)


def test_it_is_read_inside_its_block_by_one_reader() -> None:
    async def main() -> None:
        merge = chatrest.merge([walk_of([1], seconds=1), walk_of([2], seconds=1)], key=number)
        with pytest.raises(RuntimeError, match="is not open"):
            await anext(merge)
        async with merge as items:
            other = asyncio.create_task(anext(items))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="being read by another task"):
                await anext(items)
            assert (await other).id == "1"
            assert repr(items) == "<Merge of 2 walks, 0 at their end>"

    run(main())
