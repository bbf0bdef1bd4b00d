"""The new items of a page in the walk's order, and the direction in which it goes."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from chatrest._core.paging.arrange import OrderedPage, arrange
from chatrest._core.paging.cursor import Cursor
from chatrest._core.paging.order import (
    are_ahead,
    are_ascending,
    is_number,
    last_id,
    numbers_of,
    passed_count,
    runs_by_time,
    split_by_number,
)
from chatrest._core.paging.walk_state import Memory
from chatrest._core.replies.decode import Listing
from chatrest._core.requests.dialects import BY_ID, BY_PAGE
from chatrest._models.meta import Meta, Position
from chatrest.errors import CursorError
from tests.support.cases import loop_over
from tests.walk.service_model import Item, facts_for, few

START = Cursor("q")


def page(*ids: Any, cursor: Position | None = None, **meta: Any) -> Listing[Item]:
    items = [each if isinstance(each, Item) else Item(str(each)) for each in ids]
    return Listing(items, Meta(**meta), b"{}", cursor=cursor)


def arranged(
    listing: Listing[Item], cursor: Cursor = START, before: list[str] | None = None
) -> OrderedPage[Item]:
    facts = facts_for(paging=BY_ID if cursor.by_id else BY_PAGE)
    return arrange(cursor, listing, [item.id for item in listing.items], facts, Memory(ids=before))


def ids_of(result: OrderedPage[Item]) -> list[str]:
    return [item.id for item in result.items]


def at(last: str | None, direction: Any = "append", **more: Any) -> Cursor:
    return Cursor("q", (), direction, last, **more)


@loop_over(
    ("meta", "ids", "direction", "is_stated"),
    [
        ({"cursor": Position("prepend", 1)}, (1, 2), "prepend", True),
        ({"next": Position("append", "1")}, (2, 1), "append", True),
        ({"cursor": Position("odd", 1), "next": Position("prepend", 1)}, (1,), "prepend", True),
        ({"cursor": Position(id=2)}, (1, 2), "append", False),  # at the page's end
        ({"cursor": Position(id=1)}, (1, 2), "prepend", False),
        ({"cursor": Position(id=1)}, (2, 1), "prepend", False),
        ({"cursor": Position(id=1)}, (1,), "append", False),
        ({"cursor": Position(id=9)}, (1, 2), "append", False),  # beyond it
        ({"cursor": Position(id=2)}, (1, 2, 3), "append", False),  # in its middle
        ({}, (3, 2, 1), "prepend", False),
        ({}, (1, 2, 3), "append", False),
        ({}, (3, 1, 2), "append", False),
        ({}, (3,), "append", False),
        ({}, (), "append", False),
        ({}, ("b", "a"), "append", False),
    ],
)
def test_a_walk_that_asked_for_no_direction_takes_that_of_the_page(
    meta: dict[str, Any], ids: tuple[Any, ...], direction: str, is_stated: bool
) -> None:
    result = arranged(page(*ids, **meta))
    assert (result.direction, result.is_stated) == (direction, is_stated)


@pytest.mark.parametrize("direction", ["append", "prepend"])
def test_a_walk_does_not_change_direction(direction: Any) -> None:
    other = "append" if direction == "prepend" else "prepend"
    result = arranged(page(1, 2, cursor=Position(other, 2)), at(None, direction))
    assert (result.direction, result.is_stated) == (direction, True)


@few
@given(st.permutations(range(95, 105)), st.integers(90, 110), st.sampled_from(["append", "prepend"]))
def test_a_page_by_id_returns_the_later_items_in_order(ids: list[int], last: int, direction: Any) -> None:
    """A walk that is resumed inside a page has given all that is behind."""
    result = arranged(page(*ids), at(str(last), direction, is_inside=True))
    ahead = [each for each in ids if (each > last if direction == "append" else each < last)]
    assert ids_of(result) == [str(each) for each in sorted(ahead, reverse=direction == "prepend")]
    assert (result.by_id, result.unordered_count) == (True, 0)


@pytest.mark.parametrize(
    ("direction", "ids", "ahead"), [("append", [3, 5, 6], ["6"]), ("prepend", [7, 5, 4], ["4"])]
)
def test_an_unseen_item_before_the_position_is_an_error(direction: str, ids: list[int], ahead: Any) -> None:
    cursor = at("5", direction)
    with pytest.raises(CursorError, match=f"served id {ids[0]} after id 5"):
        arranged(page(*ids), cursor, before=["5"])
    assert ids_of(arranged(page(*ids), cursor, before=["5", str(ids[0])])) == ahead
    assert ids_of(arranged(page(*ids), structs.replace(cursor, is_inside=True))) == ahead


def test_records_without_a_number_come_first_in_the_services_order() -> None:
    result = arranged(page("b", 2, "", 1, "a", ""))
    assert ids_of(result) == ["b", "", "a", "", "1", "2"]
    assert result.unordered_count == 4
    again = arranged(page("b", 2, "a", 1), at("1", given_here=1, is_inside=True))
    assert ids_of(again) == ["a", "2"]


def test_records_of_one_id_that_differ_both_come() -> None:
    result = arranged(page(Item("5", 1), Item("5", 2), Item("5", 1), Item("05", 1)))
    assert sorted(result.items, key=repr) == [Item("05", 1), Item("5", 1), Item("5", 2)]


def timed(*pairs: tuple[int, int]) -> Listing[Item]:
    return page(*(Item(str(number), time) for number, time in pairs))


@pytest.mark.parametrize(("direction", "ids"), [("append", ["7", "3", "9"]), ("prepend", ["9", "3", "7"])])
def test_a_page_with_ordered_times_and_unordered_ids_is_by_time(direction: Any, ids: list[str]) -> None:
    result = arranged(timed((7, 10), (3, 20), (9, 30)), at(None, direction))
    assert (ids_of(result), result.by_id, result.unordered_count) == (ids, False, 3)


def test_a_page_with_unordered_times_stays_by_id() -> None:
    listing = timed((7, 10), (3, 20), (9, 30))
    assert ids_of(arranged(listing, at("1", last_time=25, is_inside=True))) == ["3", "7", "9"]
    assert arranged(timed((7, 10), (3, 0), (9, 30))).by_id
    assert arranged(timed((7, 10), (3, 10), (9, 10))).by_id


def test_a_list_that_goes_by_time_stays_so() -> None:
    result = arranged(timed((1, 10), (2, 20)), at("9", last_time=5, by_id=False), before=["9"])
    assert (ids_of(result), result.by_id) == (["1", "2"], False)


def resumed(ids: str, *, last: str, skip: int = 0, inside: bool = True) -> str:
    cursor = at(last, given_here=skip, is_inside=inside, by_id=False)
    return "".join(ids_of(arranged(page(*ids), cursor)))


def test_a_page_in_the_services_order_is_unchanged_without_duplicates() -> None:
    cursor = at(None, by_id=False)
    assert ids_of(arranged(page("c", "a", "c", "b"), cursor)) == ["c", "a", "b"]
    assert ids_of(arranged(page("c", "", "a", ""), cursor, before=["a"])) == ["c", "", ""]


@loop_over(
    ("ids", "rest"),
    [
        ("abcd", "cd"),  # as it was
        ("xabcd", "cd"),  # one more in front
        ("xyabcd", "cd"),
        ("bcd", "cd"),  # one less in front
        ("bxcd", "xcd"),
        ("abxcd", "xcd"),
        ("cdab", ""),
    ],
)
def test_a_walk_resumed_in_a_changed_page_continues_after_the_last_item(ids: str, rest: str) -> None:
    assert resumed(ids, last="b", skip=2) == rest


def test_a_walk_resumed_at_a_page_that_overlaps_repeats_nothing() -> None:
    assert resumed("abcd", last="b", inside=False) == "cd"
    assert resumed("cdef", last="b", inside=False) == "cdef"
    assert resumed("aba", last="a", skip=1) == "b"  # its last item is on it twice


def test_where_the_last_item_is_gone_as_many_are_passed_as_were_given() -> None:
    assert resumed("acd", last="b", skip=2) == "d"


directions = st.sampled_from(["append", "prepend"])


@loop_over(
    ("ids", "numbers"),
    [([], []), (["1", "20"], [1, 20]), (["007"], [7]), (["1", ""], None), ([""], None), (["1", "a"], None),
     (["-1"], None), (["1.0"], None), (["٣"], None), (["²"], None), (["1_0"], None), ([" 1"], None),
     (["9" * 5000], None)],
)  # fmt: skip
def test_ids_are_numbers_only_where_all_are_plain_digits(ids: list[str], numbers: list[int] | None) -> None:
    assert numbers_of(ids) == numbers
    if len(ids) == 1:
        assert is_number(ids[0]) is (numbers is not None)


@few
@given(
    st.lists(
        st.integers(0, 120).map(str) | st.sampled_from(["", "a", "٣", "1\n2", "007", "9" * 101]), max_size=4
    )
)
def test_texts_that_ascend_are_numbers_that_do(ids: list[str]) -> None:
    numbers, lengths = numbers_of(ids), {len(text) for text in ids}
    is_plain = len(lengths) == 1 or not any(text.startswith("0") for text in ids)
    ascend = bool(numbers) and is_plain and max(lengths) <= 100 and numbers == sorted({*numbers})
    assert are_ascending(ids) is ascend


@few
@given(st.sets(st.integers(100, 130), min_size=1), st.integers(0, 200), directions)
def test_a_page_without_passed_items_is_ahead(ids: set[int], last: int, direction: Any) -> None:
    ascending = sorted(ids)
    ordered = ascending if direction == "append" else ascending[::-1]
    is_ahead = are_ahead(list(map(str, ascending)), direction, str(last))
    assert is_ahead is (passed_count(ordered, direction, str(last)) == 0)


@loop_over("last", [None, "", "abc", "m-1"])
@loop_over("direction", ["append", "prepend"])
def test_no_item_precedes_a_position_without_a_number(last: str | None, direction: Any) -> None:
    assert passed_count([1], direction, last) == 0
    assert are_ahead(["1"], direction, last)


@few
@given(st.lists(st.sampled_from(["1", "2", "03", "3", "a", "", "b"])), st.data())
def test_a_page_is_split_without_loss(ids: list[str], data: st.DataObject) -> None:
    """Only a record that is equal to another one of the same id, byte for byte, goes."""
    items = [(text, data.draw(st.sampled_from("xy"))) for text in ids]
    others, numbered = split_by_number(items, ids)
    places = [*others, *numbered.values()]
    assert len(places) == len(set(places))
    assert {items[place] for place in places} == set(items)
    assert all(int(ids[place]) == number for number, place in numbered.items())


@loop_over(
    ("times", "previous", "direction", "runs"),
    [
        ([1, 2, 3], None, "append", True),
        ([1, 2, 3], None, "prepend", True),  # turned, it falls
        ([3, 2, 2], 3, "prepend", True),
        ([3, 2, 1], 2, "prepend", False),
        ([1, 3, 2], None, "append", False),
        ([2, 2, 2], None, "append", False),  # shows nothing
        ([0, 1, 2], None, "append", False),  # a record without a time
        ([5, 6], 4, "append", True),
        ([5, 6], 6, "append", False),
    ],
)
def test_a_page_is_by_time_if_times_are_monotonic_and_continue(
    times: list[int], previous: int | None, direction: Any, runs: bool
) -> None:
    assert runs_by_time(times, previous, direction) is runs


@loop_over(
    ("ids", "before", "last"),
    [(["1", "2"], None, "2"), (["2", "a"], "1", "2"), (["a"], "1", "1"), (["a", "b"], "c", "b"),
     ([], "5", "5"), ([], None, None)],
)  # fmt: skip
def test_a_text_never_takes_the_place_of_a_number(
    ids: list[str], before: str | None, last: str | None
) -> None:
    assert last_id(ids, before) == last
