"""The order of a walk: ids as numbers, and what a walk has passed."""

from typing import Any

from hypothesis import given, strategies as st

from chatrest._core.paging.order import (
    are_ahead,
    are_ascending,
    is_number,
    last_id,
    numbers_of,
    parted,
    passed_count,
    runs_by_time,
)
from tests.cases import loop_over
from tests.walk.service_model import few

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
def test_a_page_is_ahead_where_nothing_of_it_was_passed(ids: set[int], last: int, direction: Any) -> None:
    ascending = sorted(ids)
    ordered = ascending if direction == "append" else ascending[::-1]
    is_ahead = are_ahead(list(map(str, ascending)), direction, str(last))
    assert is_ahead is (passed_count(ordered, direction, str(last)) == 0)


@loop_over("last", [None, "", "abc", "m-1"])
@loop_over("direction", ["append", "prepend"])
def test_after_an_item_without_a_number_nothing_is_behind(last: str | None, direction: Any) -> None:
    assert passed_count([1], direction, last) == 0
    assert are_ahead(["1"], direction, last)


@few
@given(st.lists(st.sampled_from(["1", "2", "03", "3", "a", "", "b"])), st.data())
def test_a_page_is_split_without_loss(ids: list[str], data: st.DataObject) -> None:
    """Only a record that is equal to another one of the same id, byte for byte, goes."""
    items = [(text, data.draw(st.sampled_from("xy"))) for text in ids]
    others, numbered = parted(items, ids)
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
        ([2, 2, 2], None, "append", False),  # tells nothing
        ([0, 1, 2], None, "append", False),  # a record without a time
        ([5, 6], 4, "append", True),
        ([5, 6], 6, "append", False),
    ],
)
def test_a_page_runs_by_time_where_its_times_go_one_way_and_on(
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
