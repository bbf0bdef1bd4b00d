"""The walk against a model of the service: every message once, in one order, also after errors."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given, strategies as st

from chatrest import AsyncSession, MessageQuery
from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing
from chatrest.emulator import Emulator
from chatrest.errors import CursorError, RequestInvalidError, ServerError
from tests.support.cases import loop_over
from tests.walk.service_model import (
    Item,
    Service,
    all_of,
    assume_stable_order,
    direction_of,
    directions,
    facts_for,
    few,
    first,
    items_of,
    many,
    run,
    services,
    sizes,
    tokens_of,
    walk_over,
)

pytestmark = pytest.mark.usefixtures("tidy")


@many
@given(services(), sizes, directions)
def test_every_message_is_returned_once_and_in_one_order(
    service: Service, size: int, affix: str | None
) -> None:
    direction = direction_of(service, affix)
    ids = all_of(service.walk(size, affix=affix))
    wanted = service.expected(direction)
    assert sorted(ids) == sorted(wanted)
    if not service.unordered:
        assert ids == wanted


@few
@given(services(inclusive=True, dialect="cursor", opposite=False, pagination=False), directions)
def test_a_page_with_only_the_item_of_the_position_is_no_end(service: Service, affix: str | None) -> None:
    """With pages of one record, an inclusive service never gets further: a walk must say so."""
    assume(min(service.ids, default=1) > 0)  # an empty page that stays is an end
    wanted = service.expected(direction_of(service, affix))
    ids: list[str] = []
    try:
        run(items_of(service.walk(1, affix=affix), into=ids))
    except CursorError as error:
        assert "does not move" in str(error)  # noqa: PT017
    else:
        assert ids == wanted


@few
@given(services(), sizes, directions)
def test_pages_have_the_same_items_and_each_can_be_resumed(
    service: Service, size: int, affix: str | None
) -> None:
    direction_of(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    ids: list[str] = []

    async def read() -> None:
        async for page in service.walk(size, affix=affix).pages():
            assert page.items
            ids.extend(item.id for item in page.items)
            rest = await service.walk(size, token=str(page.cursor)).collect()
            assert ids + [item.id for item in rest] == whole

    run(read())
    assert ids == whole


@many
@given(services(), sizes, directions)
@example(Service((1, 2, 3, 4), text=True, inclusive=True), 2, "append")
@example(Service((1, 2, 3, 4), text=True, inclusive=True, inside="descending"), 3, "append")
def test_a_token_after_any_item_leads_to_exactly_the_rest(
    service: Service, size: int, affix: str | None
) -> None:
    direction_of(service, affix)
    pairs = run(tokens_of(service.walk(size, affix=affix)))
    whole = [each for each, _ in pairs]
    assert all_of(service.walk(size, token=str(service.walk(size, affix=affix).cursor), affix=affix)) == whole
    for count, (_, token) in enumerate(pairs, 1):
        assert all_of(service.walk(size, token=token)) == whole[count:], f"after {count} of {whole}"


@loop_over("habits", [{"text": True}, {"dialect": "pages"}])
@loop_over(("size", "other"), [(4, 2), (2, 4), (3, 5)])
def test_another_page_size_in_the_middle_of_a_page_repeats_nothing(
    habits: dict[str, Any], size: int, other: int
) -> None:
    service = Service(tuple(range(1, 10)), **habits)
    pairs = run(tokens_of(service.walk(size)))
    whole = [each for each, _ in pairs]
    for count, (_, token) in enumerate(pairs, 1):
        try:
            rest = all_of(service.walk(other, token=token))
        except CursorError:
            continue  # an honest way out
        assert rest == whole[count:], f"after {count}"


@many
@given(
    services(), sizes, directions,
    st.sets(st.integers(0, 8), max_size=5), st.lists(st.integers(0, 4), max_size=6), st.booleans(),
)  # fmt: skip
def test_errors_cancels_and_breaks_lose_nothing_and_repeat_nothing(
    service: Service, size: int, affix: str | None, faults: set[int], breaks: list[int], cancel: bool
) -> None:
    direction_of(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    kind: Callable[[], BaseException] = asyncio.CancelledError if cancel else lambda: ServerError("503")
    broken = replace(service, faults={each: kind() for each in faults}, asked=[])
    walk = broken.walk(size, affix=affix)
    ids: list[str] = []

    async def go_on(count: int) -> None:
        async for item in walk:
            ids.append(item.id)
            count -= 1
            if count == 0:
                return

    plan = [*breaks, *[0] * (len(faults) + 1)]  # 0: as far as it goes
    for count in plan:
        with suppress(ServerError, asyncio.CancelledError):
            run(go_on(count))
    assert ids == whole


@few
@given(services(), sizes, directions, st.integers(0, 6))
def test_collect_does_not_move_the_walk_on_an_error(
    service: Service, size: int, affix: str | None, fault: int
) -> None:
    direction_of(service, affix)
    whole = all_of(service.walk(size, affix=affix))
    for taken in range(len(whole) + 1):
        broken = replace(service, faults={}, asked=[])
        walk = broken.walk(size, affix=affix)
        assert run(first(walk, taken)) == whole[:taken]
        broken.faults[len(broken.asked) + fault] = ServerError("503")
        before = str(walk.cursor)
        try:
            got = all_of(walk)
        except ServerError:
            assert str(walk.cursor) == before
            got = all_of(walk)
        assert got == whole[taken:]


async def test_a_cancelled_task_leaves_the_walk_ready_for_another() -> None:
    service, gate, waits = Service(tuple(range(1, 8))), asyncio.Event(), asyncio.Event()
    hang = True

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        if hang and len(service.asked) == 1:
            waits.set()
            await gate.wait()
        return await service.fetch(place)

    walk = walk_over(fetch, Cursor("q"))
    ids: list[str] = []
    task = asyncio.create_task(items_of(walk, into=ids))
    await waits.wait()
    assert ids == ["1", "2", "3"]
    with pytest.raises(RuntimeError, match="one reader at a time"):
        await walk.collect()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hang = False
    assert ids + [item.id for item in await walk.collect()] == service.expected("append")


@few
@given(services(direction="append"), sizes, st.integers(0, 12))
def test_new_items_after_an_end_are_returned_once(service: Service, size: int, more: int) -> None:
    assume(not service.text or service.inside == "ascending")
    assume(service.dialect != "pages" or service.inside == "ascending")
    affix = None if service.dialect == "pages" else "append"
    walk = service.walk(size, affix=affix)
    before = all_of(walk)
    service.ids += tuple(range(61, 61 + more))
    assert before + all_of(walk) == service.expected("append")


def test_awaiting_or_iterating_a_walk_raises_with_a_hint() -> None:
    walk = Service((1, 2)).walk()

    async def awaited() -> None:
        await walk

    with pytest.raises(TypeError, match=r"await walk\.collect\(\)"):
        run(awaited())
    with pytest.raises(TypeError, match="async for item in walk"):
        list(walk)


@many
@given(services(), st.integers(2, 6), directions, st.integers(0, 12), st.integers(2, 12), st.integers(0, 9))
def test_limit_gives_the_next_few_and_no_more(
    service: Service, size: int, affix: str | None, taken: int, count: int, more: int
) -> None:
    assume(more != 1)  # see above: a page of one record
    assume_stable_order(service, direction_of(service, affix))
    whole = all_of(service.walk(size, affix=affix))
    walk = replace(service, asked=[]).walk(size, affix=affix)
    taken = len(run(first(walk, min(taken, len(whole)))))
    limited = walk.limit(count)
    assert all_of(limited) == whole[taken : taken + count]
    rest = service.walk(size, token=str(limited.cursor)).limit(more)
    assert all_of(rest) == whole[taken + count :][:more]


def test_thorough_of_a_limited_walk_keeps_the_remaining_limit() -> None:
    walk = Service(tuple(range(1, 10))).walk().limit(5)
    assert run(first(walk, 2)) == ["1", "2"]
    assert all_of(walk.thorough()) == ["3", "4", "5"]


@few
@given(services(inclusive=False), st.integers(1, 6), directions, st.integers(0, 12))
def test_limit_sends_no_more_than_its_items_need(
    service: Service, size: int, affix: str | None, count: int
) -> None:
    assume_stable_order(service, direction_of(service, affix))
    whole = all_of(service.walk(size, affix=affix))
    count = min(count, len(whole))
    plain, limited = replace(service, asked=[]), replace(service, asked=[])
    assert all_of(limited.walk(size, affix=affix).limit(count)) == whole[:count]
    if count == 0:
        assert limited.asked == []
        return
    assert all(int(asked[service.name]) <= count for asked in limited.asked)
    same = min(size, count)
    run(first(plain.walk(same, affix=affix), count))
    assert len(limited.asked) == len(plain.asked)


def test_limit_keeps_the_page_size_that_the_caller_named() -> None:
    service = Service(tuple(range(1, 10)))

    async def fetch(place: tuple[tuple[str, str], ...]) -> Listing[Item]:
        assert "limit" not in dict(place)  # the query itself says it
        return await service.fetch((*place, ("limit", "5")))

    facts = facts_for(5, size_asked=True)
    assert all_of(walk_over(fetch, Cursor("q"), facts).limit(2)) == ["1", "2"]


@loop_over("count", [-1, 1.0, True, None, "3"])
def test_limit_refuses_a_wrong_count(count: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"limit = .*: expected a whole number, 0 or more"):
        Service().walk().limit(count)


async def test_two_loops_in_turn_share_the_items() -> None:
    walk = Service(tuple(range(1, 9))).walk()
    first, second = aiter(walk), aiter(walk)
    ids = [(await anext(iterator)).id for iterator in (first, second, second, second, first)]
    assert ids == ["1", "2", "3", "4", "5"]
    assert [item.id async for item in first] + [item.id async for item in second] == ["6", "7", "8"]


@pytest.mark.parametrize("cursor_key", [None, b"0123456789abcdef"])
async def test_a_token_leads_to_the_next_page_in_another_process(cursor_key: bytes | None) -> None:
    async with Emulator(users=3, messages=45, seed=1) as emulator:
        ids: list[str] = []
        token, sizes, query = None, [], MessageQuery(affix="prepend")
        for _ in range(3):
            async with AsyncSession(emulator.app, cursor_key=cursor_key) as session:
                page = await session.messages.list(query, cursor=token).page(20)
                ids += [message.id for message in page.items]
                sizes.append(len(page.items))
                token = page.next
                expected = [message.id for message in await session.messages.list(query).collect()]
    assert ids == expected
    assert sizes == [20, 20, 5]
    assert token is None


@loop_over("dialect", ["cursor", "next", "pages"])
@loop_over("count", [1, 4, 7, 20, 100])
def test_one_walk_gives_one_page_after_another(dialect: str, count: int) -> None:
    service = Service(tuple(range(1, 41)), dialect=dialect)
    walk, tokens, got = service.walk(4), [], []
    while True:
        page = run(walk.page(count))
        assert len(page.items) <= count
        got += [item.id for item in page.items]
        if page.next is None:
            break
        assert page.next == str(walk.cursor)
        tokens.append(page.next)
    assert got == service.expected("append")
    assert len(tokens) in (40 // count, 39 // count)


def test_the_end_needs_no_further_request_where_the_reply_shows_it() -> None:
    service = Service(tuple(range(1, 26)), pagination=True)
    walk = walk_over(service.fetch, service.walk(20).cursor, facts_for(1000))
    first, second = run(walk.page(20)), run(walk.page(20))
    assert [len(first.items), len(second.items)] == [20, 5]
    assert first.next is not None
    assert second.next is None
    assert [asked["limit"] for asked in service.asked] == ["20", "20"]


def test_a_page_with_too_many_items_is_cut_and_resumed_inside() -> None:
    service = Service(tuple(range(1, 10)))
    walk = walk_over(service.fetch, service.walk(5).cursor, facts_for(9, size_asked=True))
    pages = [run(walk.page(4)) for _ in range(3)]
    assert [[item.id for item in page.items] for page in pages] == [list("1234"), list("5678"), ["9"]]
    assert [page.next is None for page in pages] == [False, False, True]


def test_a_limit_is_the_end_and_another_walk() -> None:
    service = Service(tuple(range(1, 41)))
    walk = service.walk(4)
    assert [len(run(walk.limit(5).page(3)).items) for _ in range(2)] == [3, 3]
    assert walk.cursor.last is None
    limited = walk.limit(5)
    pages = [run(limited.page(3)), run(limited.page(3)), run(limited.page(3))]
    assert [len(page.items) for page in pages] == [3, 2, 0]
    assert [page.next is None for page in pages] == [False, True, True]


def test_an_error_does_not_move_the_walk() -> None:
    service = Service(tuple(range(1, 41)), faults={1: ServerError("oops")})
    walk = service.walk(4)
    before = str(walk.cursor)
    with pytest.raises(ServerError):
        run(walk.page(10))
    assert str(walk.cursor) == before
    assert [item.id for item in run(walk.page(3)).items] == ["1", "2", "3"]
