"""A walk that is read ahead: the same items, cursors and errors, within bounds, and nothing left behind."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from chatrest import AsyncSession, MessageQuery
from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing
from chatrest._models.meta import Meta
from chatrest._walk.walk import Walk
from chatrest.emulator import Emulator, First, Latency
from chatrest.errors import CursorError, RequestInvalidError, ServerError
from tests.support.cases import loop_over
from tests.support.scripted_server import FaultyServer, hang, reply
from tests.walk.any_server import Server, asked_direction, by_id, in_service_order, page_sizes
from tests.walk.service_model import (
    Item,
    Service,
    direction_of,
    directions,
    few,
    many,
    services,
    sizes,
    walk_over,
)

pytestmark = pytest.mark.usefixtures("tidy")

Pairs = tuple[tuple[str, str], ...]
Fetch = Callable[[Pairs], Awaitable[Listing[Item]]]
bounds = st.tuples(st.integers(1, 4), st.sampled_from([1, 5, 1 << 24]))
"""Pages and bytes."""


def suspending(fetch: Fetch, steps: int = 2) -> Fetch:
    """A fetch that gives the loop a few turns first, and one while it is cancelled."""

    async def suspend(position: Pairs) -> Listing[Item]:
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            raise
        return await fetch(position)

    return suspend


async def read(items: Walk[Any], pairs: list[tuple[str, str]], count: int = -1) -> str | None:
    """Add (id, token) of the next `count` items; return the error's text where one came."""
    try:
        async for item in items:
            pairs.append((item.id, str(items.cursor)))
            count -= 1
            if count == 0:
                return None
    except (CursorError, ServerError) as error:
        return f"{type(error).__name__}: {error}"
    return None


async def read_ahead(walk: Walk[Any], bound: tuple[int, int], count: int = -1) -> tuple[Any, str | None]:
    pairs: list[tuple[str, str]] = []
    async with walk.ahead(*bound) as items:
        error = await read(items, pairs, count)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return pairs, error


async def read_without(walk: Walk[Any]) -> tuple[Any, str | None]:
    pairs: list[tuple[str, str]] = []
    return pairs, await read(walk, pairs)


def reset(server: Server) -> Server:
    """The server before any request."""
    fresh = replace(server, requests=0, largest=type(server.largest)())
    fresh.fetch = suspending(fresh.fetch)  # type: ignore[method-assign]
    return fresh


@many
@given(by_id | in_service_order, directions, page_sizes, bounds)
def test_any_server_gives_the_same_items_cursors_and_error(
    server: Server, direction: Any, size: int, bound: tuple[int, int]
) -> None:
    direction = asked_direction(server, direction)
    plain = asyncio.run(read_without(reset(server).walk(direction, size)))
    assert asyncio.run(read_ahead(reset(server).walk(direction, size), bound)) == plain


@few
@given(services(), sizes, directions, bounds, st.sets(st.integers(0, 8), max_size=4), st.integers(1, 6))
def test_errors_follow_the_same_items_and_the_walk_continues(
    service: Service, size: int, affix: str | None, bound: tuple[int, int], faults: set[int], count: int
) -> None:
    direction_of(service, affix)

    async def read_in_parts(bound: tuple[int, int] | None) -> list[Any]:
        broken = replace(service, faults={each: ServerError(f"fault {each}") for each in faults}, asked=[])
        broken.fetch = suspending(broken.fetch)  # type: ignore[method-assign]
        walk, steps = broken.walk(size, affix=affix), []
        for number in range(len(faults) + 4):
            left = count if number < 3 else -1
            pairs: list[tuple[str, str]] = []
            if bound is None:
                error = await read(walk, pairs, left)
            else:
                pairs, error = await read_ahead(walk, bound, left)
            steps.append((pairs, error))
        return steps

    def parts(steps: list[Any]) -> tuple[list[Any], set[str]]:
        return [pair for pairs, _ in steps for pair in pairs], {error for _, error in steps if error}

    plain, ahead = parts(asyncio.run(read_in_parts(None))), parts(asyncio.run(read_in_parts(bound)))
    assert ahead[0] == plain[0]
    assert ahead[1] <= plain[1]  # a page that was read for nothing may have met the fault


async def test_an_error_is_raised_once_and_the_same_block_continues() -> None:
    service = Service(tuple(range(1, 9)), faults={1: ServerError("once"), 3: ServerError("twice")})
    walk = walk_over(suspending(service.fetch), Cursor("q"))
    ids: list[str] = []
    async with walk.ahead() as items:
        for word, place in (("once", "3"), ("twice", "6")):
            with pytest.raises(ServerError, match=word):
                ids.extend([item.id async for item in items])
            assert walk.cursor.last == place
        ids.extend([item.id for item in await items.collect()])
    assert ids == ["7", "8"]


async def settle() -> None:
    """Let all tasks run as far as they can."""
    for _ in range(50):
        await asyncio.sleep(0)


@loop_over(
    ("bound", "requests"), [((1, 99), 2), ((2, 99), 3), ((5, 99), 6), ((9, 1), 2), ((9, 3), 3), ((9, 5), 4)]
)
async def test_no_more_pages_wait_than_the_bounds_say(bound: tuple[int, int], requests: int) -> None:
    """Each page of the model is two bytes long."""
    service = Service(tuple(range(1, 60)))
    async with walk_over(suspending(service.fetch), Cursor("q")).ahead(*bound) as items:
        iterator = aiter(items)
        for number in range(4):
            for _ in range(3):
                await anext(iterator)
            await settle()
            assert len(service.asked) == requests + number


async def test_nothing_is_asked_for_before_the_first_item_is() -> None:
    service = Service((1, 2, 3))
    async with service.walk().ahead():
        await settle()
    assert service.asked == []


async def test_a_walk_within_a_page_reads_ahead_from_there() -> None:
    service = Service(tuple(range(1, 60)))
    walk = walk_over(suspending(service.fetch), Cursor("q"))
    assert (await anext(aiter(walk))).id == "1"
    async with walk.ahead() as items:
        for number in (2, 3):  # a second loop within the block asks for nothing again
            assert (await anext(aiter(items))).id == str(number)
            await settle()
            assert len(service.asked) == 3
        assert [item.id for item in await items.limit(2).collect()] == ["4", "5"]


@loop_over("name", ["pages", "max_bytes"])
@loop_over("value", [0, -1, 1.5, True, "2", None])
def test_a_bound_is_an_integer_from_1(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"{name} = .*: expected a whole number from 1"):
        Service().walk().ahead(**{name: value})


@pytest.mark.parametrize("cancels", [1, 2])
@given(st.integers(0, 60), bounds)
@example(0, (2, 99))
@few
def test_a_cancel_at_any_await_loses_nothing(cancels: int, turn: int, bound: tuple[int, int]) -> None:
    service = Service(tuple(range(1, 16)))
    walk = walk_over(suspending(service.fetch), Cursor("q"))
    ids: list[str] = []

    async def consume() -> None:
        async with walk.ahead(*bound) as items:
            async for item in items:
                ids.append(item.id)
                if item.id in ("2", "3", "11"):
                    await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(consume())
        for _ in range(turn):
            await asyncio.sleep(0)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with suppress(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)  # the loop closes the generator of the cancelled `async for`
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await consume()

    asyncio.run(main())
    assert ids == service.expected("append")


async def test_a_cancel_at_the_exit_of_the_block_is_raised_after_it() -> None:
    service = Service(tuple(range(1, 16)))
    walk, leaving = walk_over(suspending(service.fetch), Cursor("q")), asyncio.Event()

    async def consume() -> None:
        async with walk.ahead() as items:
            async for _ in items:
                leaving.set()
                break

    task = asyncio.create_task(consume())
    await leaving.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_limit_that_a_page_fulfils_hides_the_error_after_it() -> None:
    async def fetch(position: Pairs) -> Listing[Item]:
        return Listing([Item("1"), Item("2")], Meta(), b"{}", position_fault="meta.next: no object")

    walk = walk_over(fetch, Cursor("q"))
    assert len(await walk.limit(2).collect()) == 2
    async with walk.limit(2).ahead() as items:
        assert len(await items.collect()) == 2
    async with walk.ahead() as items:
        with pytest.raises(CursorError, match=r"meta\.next"):
            await items.collect()


@pytest.fixture
def own_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log without errors of other tests' futures (Dask leaves some), logged when these are collected."""
    gc.collect()
    caplog.clear()
    return caplog


async def test_an_error_of_the_consumer_is_raised_unchanged(own_log: pytest.LogCaptureFixture) -> None:
    service = Service(tuple(range(1, 60)), faults={2: ServerError("of a page that was not reached")})
    walk = walk_over(suspending(service.fetch), Cursor("q"))

    async def consume() -> None:
        async with walk.ahead() as items:
            async for _ in items:
                await settle()
                raise KeyError("the consumer's own")

    with pytest.raises(KeyError, match="the consumer's own"):
        await consume()
    gc.collect()
    assert len(service.asked) == 3
    assert own_log.records == []


async def test_an_error_of_a_fetch_that_is_cancelled_is_not_logged(own_log: pytest.LogCaptureFixture) -> None:
    service = Service(tuple(range(1, 60)))

    async def fetch(position: Pairs) -> Listing[Item]:
        if len(service.asked) < 2:
            return await service.fetch(position)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ServerError("while it was cancelled") from None
        raise AssertionError

    async with walk_over(fetch, Cursor("q")).ahead() as items:
        assert (await anext(aiter(items))).id == "1"
        await settle()
    gc.collect()
    assert own_log.records == []


async def test_a_generator_around_the_block_can_be_closed_or_dropped() -> None:
    service = Service(tuple(range(1, 60)))

    async def ids() -> AsyncIterator[str]:
        async with walk_over(suspending(service.fetch), Cursor("q")).ahead() as items:
            async for item in items:
                yield item.id

    closed: Any = ids()
    assert await anext(closed) == "1"
    await closed.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    dropped = ids()
    assert await anext(dropped) == "1"
    del dropped
    gc.collect(1)
    await settle()


async def test_a_second_block_is_refused_and_the_first_continues() -> None:
    service = Service(tuple(range(1, 9)))
    walk = walk_over(suspending(service.fetch), Cursor("q"))
    async with walk.ahead() as items:
        with pytest.raises(RuntimeError, match="is being read ahead already"):
            async with walk.ahead():
                pass
        assert len(await items.collect()) == 8
    async with walk.ahead() as items:
        assert await items.collect() == []


async def test_a_task_that_waits_when_the_block_is_left_gets_an_error() -> None:
    async def fetch(position: Pairs) -> Listing[Item]:
        await asyncio.Event().wait()
        raise AssertionError

    async with walk_over(fetch, Cursor("q")).ahead() as items:
        task = asyncio.create_task(items.collect())
        await settle()
    with pytest.raises(RuntimeError, match="block was left"):
        await task


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=9, messages=0, groups=0) as emulator:
        for number in range(1, 61):
            emulator.store.add_message("user-001", "user-002", str(number), sent_at=number)
        yield emulator


def talk(session: AsyncSession, **query: Any) -> Walk[Any]:
    query = {"affix": "append", "per_page": 7, **query}
    return session.messages.list_user("user-002", query=MessageQuery(**query))


async def ids(walk: Walk[Any], **bounds: int) -> list[int]:
    async with walk.ahead(**bounds) as items:
        return [int(item.id) async for item in items]


async def test_a_break_leaves_no_call_and_no_place(emulator: Emulator) -> None:
    emulator.weather.add(Latency(3600, when=First(1, after=2)))
    async with AsyncSession(emulator.app) as session:
        walk = talk(session)
        async with walk.ahead() as items:
            async for item in items:
                if item.id == "5":
                    break
            assert session.pools["us"].active == 1
        assert session.pools["us"].active == 0
        assert walk.cursor.last == "5"


async def test_a_session_that_is_closed_within_the_block_is_an_error_of_the_walk() -> None:
    page = {
        "data": [{"uid": "u1", "name": "n"}],
        "meta": {"pagination": {"current_page": 1, "total_pages": 9}},
    }
    async with FaultyServer(reply(page), hang) as server, server.session() as session:
        walk = session.users.list()
        async with walk.ahead() as items:
            iterator = aiter(items)
            assert (await anext(iterator)).uid == "u1"
            await session.close()
            with pytest.raises(RequestInvalidError, match="the session was closed"):
                await anext(iterator)
