"""A list that is split, of services that do not take a made-up id as they should: nothing is lost."""

import asyncio
import itertools
import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from chatrest.core.paging.cursor import Cursor
from chatrest.core.paging.intervals import Interval
from chatrest.core.replies.decode import Listing
from chatrest.errors import ChatRestError, CursorError
from chatrest.models.meta import Meta, Pagination, Position
from chatrest.walk.walk import Walk
from tests.walk.split.splitting import Pairs, Strange, ids, in_any_order, plain, read, read_split
from tests.walk.test_walk_any_server import Server, asked_direction, by_id as servers_by_id, in_service_order
from tests.walk.walking import Item, Service, few, many, rules_for, services, walk_over

seeds = st.integers(0, 1000)
parts = st.integers(2, 7)


KINDS = ["refuses", "forbids", "fails", "is empty", "ignores", "begins late", "begins early"]


def strange(kind: str, after: int, numbers: Any = range(3, 400, 3)) -> Strange:
    return Strange(tuple(numbers), kind=kind, after=after)


def walk_of(service: Strange, seed: int, direction: str) -> Walk[Any]:
    fresh = replace(service, asked=[])
    fresh.fetch = in_any_order(fresh.fetch, seed)  # type: ignore[method-assign]
    return fresh.walk(4, affix=direction)


@pytest.mark.parametrize("kind", KINDS)
@settings(many, max_examples=15)
@given(
    after=st.integers(0, 12),
    direction=st.sampled_from(["append", "prepend"]),
    count=parts,
    seed=seeds,
    ordered=st.booleans(),
    stop=st.integers(0, 140),
)
def test_a_list_that_cannot_be_entered_in_its_midst_comes_whole(
    kind: str, after: int, direction: str, count: int, seed: int, ordered: bool, stop: int
) -> None:
    service = strange(kind, after)
    expected = plain(walk_of(service, seed, direction))
    pairs, _ = asyncio.run(read_split(walk_of(service, seed, direction), count, ordered=ordered))
    assert (ids(pairs) if ordered else sorted(ids(pairs), key=expected.index)) == expected
    stop = min(stop, len(pairs) - 1)
    delivered = set(ids(pairs[: stop + 1]))
    rest = plain(walk_of(service, seed, direction), pairs[stop][1])
    assert rest == [text for text in expected if text not in delivered]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("refuses", "refuses an id"),
        ("forbids", "refuses an id"),
        ("fails", "fails at an id"),
        ("is empty", "refuses an id"),
        ("ignores", "refuses an id"),
        ("begins late", "leaves items out"),
    ],
)
async def test_the_reason_is_given_and_logged_once(
    kind: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chatrest")
    _, items = await read_split(walk_of(strange(kind, 0), 3, "append"), 5)
    assert words in str(items.reason)
    assert repr(items) == f"<Split messages.list_user: serial: {items.reason}>"
    [record] = caplog.records
    assert (record.levelname, str(items.reason) in record.message) == ("WARNING", True)


async def test_after_a_refusal_one_reader_goes_on() -> None:
    service = strange("refuses", 0)
    await read_split(service.walk(4, affix="append"), 16)
    assert len(service.asked) <= 133 / 4 + 16 + 6


# ── lists that have no ids to enter them at ──


async def test_a_list_whose_ids_are_no_numbers_is_read_serially() -> None:
    service = Service(tuple(range(1, 50)), text=True)
    pairs, items = await read_split(service.walk(4, affix="append"), 4)
    assert ids(pairs) == service.expected("append")
    assert "no numbers" in str(items.reason)


async def test_a_list_that_the_service_orders_is_read_serially_without_another_request() -> None:
    service = Service(tuple(range(1, 50)), dialect="pages")
    pairs, items = await read_split(service.walk(4), 4)
    assert ids(pairs) == service.expected("append")
    assert "orders it" in str(items.reason)
    assert all("affix" not in asked for asked in service.asked)


async def test_one_part_is_the_walk() -> None:
    service, alone = Service(tuple(range(1, 50))), Service(tuple(range(1, 50)))
    pairs, items = await read_split(service.walk(4, affix="append"), 1)
    expected: list[tuple[str, str]] = []
    await read(alone.walk(4, affix="append"), expected)
    assert pairs == expected
    assert service.asked == alone.asked
    assert items.reason is None


def by_time(seed: int) -> Walk[Any]:
    """A list that goes by time from its fifth page on; ids that it does not hold are its beginning."""
    late = [(number, number + 10, number + 30, number + 20) for number in range(210, 370, 40)]
    order = [*range(10, 210, 10), *itertools.chain(*late), 370, 380, 390]

    async def fetch(position: Pairs) -> Listing[Item]:
        asked = dict(position)
        listed = order if asked.get("affix") != "prepend" else order[::-1]
        begin = listed.index(int(asked["id"])) + 1 if int(asked.get("id", "0")) in listed else 0
        page = listed[begin : begin + int(asked["limit"])]
        items = [Item(str(number), 1000 + order.index(number)) for number in page]
        edge = Position(asked.get("affix", "append"), page[-1] if page else int(asked["id"]))  # type: ignore[arg-type]
        return Listing(items, Meta(cursor=edge), b"{}")

    return walk_over(in_any_order(fetch, seed), Cursor("q", (("affix", "append"),), "append"), rules_for(4))


@few
@given(seeds, parts)
def test_a_list_that_turns_out_to_go_by_time_comes_whole(seed: int, count: int) -> None:
    expected = plain(by_time(seed))
    assume(len(expected) == 39)
    pairs, items = asyncio.run(read_split(by_time(seed), count))
    assert ids(pairs) == expected
    assert items.reason is not None


@few
@given(seeds, parts)
def test_as_pages_come_such_a_list_comes_whole_or_with_an_error(seed: int, count: int) -> None:
    pairs: list[tuple[str, str]] = []

    async def read_pages() -> bool:
        async with by_time(seed).split(count, ordered=False) as items:
            try:
                await read(items, pairs)
            except CursorError:
                return False
        return True

    is_whole = asyncio.run(read_pages())
    assert len(set(ids(pairs))) == len(pairs)
    assert not is_whole or len(pairs) == 39


async def test_an_id_behind_a_named_position_is_not_lost() -> None:
    """The service looks up the place of an id, and its list goes by time: 7 came after 14."""
    order, times = [4, 14, 7], {4: 1002, 14: 1004, 7: 1005}

    async def fetch(position: Pairs) -> Listing[Item]:
        asked = dict(position)
        listed = order if asked["affix"] == "append" else order[::-1]
        begin = listed.index(int(asked["id"])) + 1 if "id" in asked else 0
        page = listed[begin : begin + min(2, int(asked["limit"]))]
        edge = Position(asked["affix"], page[-1], times[page[-1]]) if page else None  # type: ignore[arg-type]
        items = [Item(str(number), times[number]) for number in page]
        return Listing(items, Meta(Pagination(3, len(page), 2, 1, 1 if page == [7] else 2), edge), b"{}")

    walk = walk_over(fetch, Cursor("q", (("affix", "append"),), "append"), rules_for(1000))
    pairs, items = await read_split(walk, 2)
    assert ids(pairs) == ["4", "14", "7"]
    assert items.reason is not None


async def test_a_count_that_misleads_a_piece_is_judged_by_the_walk() -> None:
    """Every page says that it is the first of two; only a whole walk sees by the total that none is left."""

    async def fetch(position: Pairs) -> Listing[Item]:
        asked = dict(position)
        numbers = range(1, 30) if asked["affix"] == "append" else range(29, 0, -1)
        begin = numbers.index(int(asked["id"])) + 1 if "id" in asked else 0
        page = numbers[begin : begin + min(4, int(asked["limit"]))]
        edge = Position(asked["affix"], page[-1]) if page else None  # type: ignore[arg-type]
        items = [Item(str(number)) for number in page]
        return Listing(items, Meta(Pagination(29, len(page), 4, 1, 2), edge), b"{}")

    walk = walk_over(fetch, Cursor("q", (("affix", "append"),), "append"), rules_for(4))
    pairs, _ = await read_split(walk, 4)
    assert ids(pairs) == [str(number) for number in range(1, 30)]


async def test_right_behind_the_first_page_the_walk_remembers_it() -> None:
    """3 and 7 are of one second, and come in another order than their ids: 7 comes again behind 3."""
    order = [3, 7, 2, 1]

    async def fetch(position: Pairs) -> Listing[Item]:
        asked = dict(position)
        listed = order if asked["affix"] == "prepend" else order[::-1]
        begin = listed.index(int(asked["id"])) + 1 if "id" in asked else 0
        page = listed[begin : begin + min(2, int(asked["limit"]))]
        items = [Item(str(number), 1004 if number == 7 else 1001 + number) for number in page]
        edge = Position(asked["affix"], page[-1]) if page and begin else None  # type: ignore[arg-type]
        return Listing(items, Meta(cursor=edge), b"{}")

    pairs, _ = await read_split(
        walk_over(fetch, Cursor("q", (("affix", "prepend"),), "prepend"), rules_for(2)), 2
    )
    assert ids(pairs) == ["7", "3", "2", "1"]


# ── any server ──


def anew(server: Server, seed: int) -> Server:
    fresh = replace(server, requests=0, largest=type(server.largest)())
    fresh.fetch = in_any_order(fresh.fetch, seed)  # type: ignore[method-assign]
    return fresh


@many
@given(
    servers_by_id | in_service_order,
    st.sampled_from(["append", "prepend", None]),
    st.sampled_from([2, 3, 1000]),
    parts,
    seeds,
    st.booleans(),
)
def test_any_server_gives_every_item_once_or_an_error(
    server: Server, direction: Any, size: int, count: int, seed: int, ordered: bool
) -> None:
    direction = asked_direction(server, direction)
    pairs: list[tuple[str, str]] = []

    async def read_to_end() -> ChatRestError | None:
        async with anew(server, seed).walk(direction, size).split(count, ordered) as items:
            try:
                await read(items, pairs)
            except CursorError as error:
                return error
        return None

    error = asyncio.run(read_to_end())
    got = ids(pairs)
    assert len(set(got)) == len(got), "an item came twice"
    assert set(got) <= set(server.ids)
    if error is None and server.can_be_walked(direction):
        assert sorted(got) == sorted(server.ids), "items were lost without an error"


# ── tokens with intervals ──


@few
@given(services(dialect="cursor", text=False), seeds, parts, st.booleans(), st.data())
def test_a_token_with_intervals_is_split_into_what_lies_between(
    service: Service, seed: int, count: int, is_named: bool, data: st.DataObject
) -> None:
    expected = service.expected("append")
    assume(len(expected) > 4)
    first = data.draw(st.integers(0, len(expected) - 3))
    low, high = expected[first + 1 : first + 3]
    position = (("affix", "append"), ("id", high)) if is_named else ()
    start = Cursor("q", (("affix", "append"),), "append", done=(Interval(int(low), int(high), position),))
    service.fetch = in_any_order(service.fetch, seed)  # type: ignore[method-assign]
    pairs, _ = asyncio.run(read_split(service.walk(2, affix="append").at(start), count))
    assert ids(pairs) == [text for text in expected if text not in (low, high)]


async def test_positions_of_intervals_that_are_refused_by_now_are_given_up() -> None:
    service = strange("refuses", 0, range(2, 200, 2))
    position = (("affix", "append"), ("id", "51"))
    start = Cursor("q", (("affix", "append"),), "append", done=(Interval(20, 51, position),))
    pairs, items = await read_split(service.walk(4, affix="append").at(start), 4)
    assert ids(pairs) == [str(number) for number in range(2, 200, 2) if not 20 <= number <= 51]
    assert items.reason is not None
