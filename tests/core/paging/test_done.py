"""A walk whose cursor holds intervals that are done: the items between them, each once, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from msgspec import structs

from chatrest.core.paging.cursor import Cursor, resumed
from chatrest.core.paging.cursor_key import CursorKey
from chatrest.core.paging.intervals import LAST, Interval, lies_in, merge, rank_of
from chatrest.core.paging.order import Affix
from chatrest.core.paging.paging import BY_ID, BY_PAGE
from chatrest.core.replies.decode import Listing
from chatrest.errors import CursorError
from chatrest.models.meta import Meta, Position
from tests.cases import loop_over
from tests.walk.walking import Item, Service, few, first, run, services, sizes, tokens_of, walk_over

directions = st.sampled_from(["append", "prepend"])


def cursor(direction: Affix, *done: Interval, **more: Any) -> Cursor:
    return Cursor("q", (("affix", direction),), direction, done=done, **more)


@st.composite
def intervals(draw: st.DrawFn, direction: Affix) -> tuple[Interval, ...]:
    """Intervals of ids up to 60, apart, whose positions are known or not."""
    ends = draw(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=4))
    named = draw(st.lists(st.booleans(), min_size=4, max_size=4))
    made = []
    for (low, high), is_named in zip(ends, named, strict=False):
        ranks = sorted(rank_of(str(number), direction) or 0 for number in (low, high))
        position = (("affix", direction), ("id", str(abs(ranks[1])))) if is_named else ()
        made.append(Interval(*ranks, position))
    return tuple(merge(made))


def rest_of(service: Service, direction: Affix, done: tuple[Interval, ...]) -> list[str]:
    return [text for text in service.expected(direction) if not lies_in(done, rank_of(text, direction) or 0)]


@few
@given(services(dialect="cursor", text=False), sizes, directions, st.data())
def test_the_walk_gives_what_is_not_done_and_its_tokens_lead_to_the_rest(
    service: Service, size: int, direction: Affix, data: st.DataObject
) -> None:
    done = data.draw(intervals(direction))
    walk = service.walk(size).at(cursor(direction, *done))
    pairs = run(tokens_of(walk))
    expected = rest_of(service, direction, done)
    assert [text for text, _ in pairs] == expected
    assume(pairs)
    count = data.draw(st.integers(1, len(pairs)))
    again = replace(service, asked=[]).walk(size)
    token = Cursor.parse(pairs[count - 1][1])
    assert run(first(again.at(token), -1)) == expected[count:]


def test_a_walk_goes_on_behind_an_interval_at_its_position() -> None:
    service = Service(tuple(range(1, 101)))
    done = Interval(4, 90, (("affix", "append"), ("id", "90")))
    assert run(first(service.walk(3).at(cursor("append", done)), -1))[:4] == ["1", "2", "3", "91"]
    assert len(service.asked) <= 6


def test_what_was_delivered_is_counted_without_what_is_done() -> None:
    service = Service(tuple(range(1, 21)))
    walk = service.walk(4).at(cursor("append", Interval(3, 9), Interval(15, 16), delivered=9))
    run(first(walk, -1))
    assert walk.cursor.delivered == 20


def test_a_list_that_goes_by_time_cannot_be_gone_on_with() -> None:
    async def fetch(position: Any) -> Listing[Item]:
        items = [Item(text, sent_at) for text, sent_at in (("5", 1), ("9", 2), ("7", 3), ("8", 4))]
        return Listing(items, Meta(cursor=Position("append", 8)), b"{}")

    with pytest.raises(CursorError, match="does not go by id"):
        run(first(walk_over(fetch, Cursor("q")).at(cursor("append", Interval(3, 9))), -1))


# ── tokens ──


DONE = Interval(9, 12, (("affix", "append"), ("id", "12")))
START = Cursor("q", (("affix", "append"),), "append")


def test_a_token_brings_the_intervals_back() -> None:
    made = cursor("append", DONE, Interval(20, 30))
    assert Cursor.parse(str(made)) == made
    assert resumed(str(made), START, BY_ID, None) == made


def test_a_token_without_intervals_is_as_short_as_ever() -> None:
    assert len(str(cursor("append"))) + 10 < len(str(cursor("append", DONE)))


def test_the_intervals_are_signed() -> None:
    key = CursorKey(b"k" * 32)
    signed = cursor("append", DONE).signed(key)
    assert resumed(str(signed), START, BY_ID, key).done == (DONE,)
    with pytest.raises(CursorError, match="not signed"):
        resumed(structs.replace(signed, done=(Interval(9, 13),)), START, BY_ID, key)


@loop_over(
    ("made", "fault"),
    [
        (cursor("append", Interval(5, 9), Interval(8, 12)), "overlap"),
        (cursor("append", Interval(20, 30), Interval(5, 9)), "overlap"),
        (cursor("append", Interval(9, 5)), "overlap"),
        (cursor("append", Interval(0, 5)), "no id"),
        (cursor("append", Interval(5, LAST)), "no id"),
        (cursor("append", *(Interval(n, n) for n in range(1, 30_000, 2))), "more than 10000 intervals"),
        (cursor("append", Interval(5, 9, (("sender", "x"),))), "'sender' is no name"),
        (cursor("append", Interval(5, 9, (("affix", "prepend"), ("id", "9")))), "another direction"),
        (cursor("append", Interval(5, 9, (("id", "9"), ("id", "8")))), "stands twice"),
        (cursor("append", Interval(5, 9, (("perPage", "5000"),))), "page size"),
        (cursor("append", Interval(5, 9), by_id=False), "no direction by id"),
        (Cursor("q", done=(Interval(5, 9),)), "no direction by id"),
    ],
)
def test_intervals_of_no_honest_token_are_refused(made: Cursor, fault: str) -> None:
    with pytest.raises(CursorError, match=fault):
        resumed(str(made), structs.replace(START, position=(), direction=None), BY_ID, None)


def test_the_position_of_an_interval_may_not_lie_before_the_query() -> None:
    start = structs.replace(START, position=(("affix", "append"), ("id", "100")))
    made = cursor("append", Interval(105, 109, (("affix", "append"), ("id", "7"))))
    with pytest.raises(CursorError, match="before the query's own id"):
        resumed(str(made), start, BY_ID, None)


def test_a_list_by_page_numbers_has_no_intervals() -> None:
    start = Cursor("q", by_id=False)
    made = structs.replace(start, done=(Interval(5, 9),))
    with pytest.raises(CursorError, match="no direction by id"):
        resumed(str(made), start, BY_PAGE, None)
