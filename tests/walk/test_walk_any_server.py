"""Any list from a server with any habits and wrong claims about its pages: every item once, or an error.

What no client could notice is left out: a server that leaves items out of a page, or whose position leads
past some, and one that can be asked for its first page alone.
"""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given, strategies as st

from chatrest._core.paging.walk_state import LargestPage
from chatrest._walk.walk import Walk
from chatrest.errors import CursorError
from tests.walk.any_server import Server, asked_direction, by_id, in_service_order, page_sizes
from tests.walk.service_model import directions, many as many_examples, run


async def read(walk: Walk[Any], into: list[str]) -> str | None:
    """Read to the end, and return the error's text, or None."""
    try:
        async for item in walk:
            into.append(item.id)
    except CursorError as error:
        return str(error)
    return None


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.booleans())
def test_a_list_is_complete_or_ends_with_an_error(
    server: Server, direction: Any, size: int, thorough: bool
) -> None:
    direction = asked_direction(server, direction)
    walk = server.walk(direction, size)
    ids: list[str] = []
    error = run(read(walk.thorough() if thorough else walk, ids))
    assert len(set(ids)) == len(ids), "an item was given twice"
    assert set(ids) <= set(server.ids)
    if error is None and server.can_be_walked(direction):
        assert sorted(ids) == sorted(server.ids), "items were lost without an error"
    if server.paging.order == "id":
        numbers = [int(text) for text in ids]
        assert numbers in (sorted(numbers), sorted(numbers, reverse=True)), "two directions"


def reset(server: Server, **habits: Any) -> Server:
    """The server before any request, without its temporary faults."""
    nothing: frozenset[int] = frozenset()
    return replace(
        server, requests=0, largest=LargestPage(), **{"forgets": nothing, "empties": nothing, **habits}
    )


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.data())
def test_a_token_after_any_item_leads_to_the_rest_or_to_an_error(
    server: Server, direction: Any, size: int, data: st.DataObject
) -> None:
    direction = asked_direction(server, direction)
    first = reset(server)
    pairs = run(tokens_until_error(first.walk(direction, size)))
    ids = [each for each, _ in pairs]
    assume(ids)
    count = data.draw(st.integers(1, len(ids)))
    rest: list[str] = []
    error = run(read(reset(server).walk(direction, size, pairs[count - 1][1]), rest))
    assert not set(ids[:count]) & set(rest), "an item was given again"
    if error is None and first.can_be_walked(direction):
        assert sorted([*ids[:count], *rest]) == sorted(server.ids), "items were lost without an error"


async def tokens_until_error(walk: Walk[Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    try:
        async for item in walk:
            pairs.append((item.id, str(walk.cursor)))
    except CursorError:
        pass
    return pairs


@many_examples
@given(by_id | in_service_order, directions, page_sizes, st.booleans())
def test_a_second_loop_after_the_end_returns_nothing(
    server: Server, direction: Any, size: int, thorough: bool
) -> None:
    direction = asked_direction(server, direction)
    walk = reset(server).walk(direction, size)
    walk = walk.thorough() if thorough else walk
    ids: list[str] = []
    assume(run(read(walk, ids)) is None)
    again: list[str] = []
    run(read(walk, again))
    assert again == []


@many_examples
@given(by_id | in_service_order, directions, st.integers(0, 15))
def test_a_limited_walk_gives_the_first_items(server: Server, direction: Any, count: int) -> None:
    assume(server.inside != "shuffled")  # a smaller page may show another direction where none is said
    direction = asked_direction(server, direction)
    # So does a page of one item, if its list runs against the direction, which neither side names.
    is_named = direction is not None or server.position not in ("none", "null")
    assume(count != 1 or server.inside == "along" or is_named)
    ids: list[str] = []
    assume(run(read(reset(server).walk(direction), ids)) is None)
    few: list[str] = []
    limited = reset(server)
    if run(read(limited.walk(direction).limit(count), few)) is None and limited.can_be_walked(direction):
        assert few == ids[:count]
