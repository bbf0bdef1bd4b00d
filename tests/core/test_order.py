"""One order: the new items of a page, each once."""

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.core.order import ahead, fresh, numbers_of, split
from chatrest.errors import CursorError

some = settings(max_examples=80, deadline=None, database=None)


@pytest.mark.parametrize(
    ("ids", "numbers"),
    [([], []), (["1", "20"], [1, 20]), (["007"], [7]), (["1", ""], None), ([""], None), (["1", "a"], None),
     (["-1"], None), (["1.0"], None), (["٣"], None), (["²"], None), (["1_0"], None), ([" 1"], None)],
)  # fmt: skip
def test_ids_are_numbers_only_where_all_are_plain_digits(ids: list[str], numbers: list[int] | None) -> None:
    assert numbers_of(ids) == numbers


@some
@given(st.lists(st.integers(0, 30)), st.none() | st.integers(0, 30), st.sampled_from(["append", "prepend"]))
def test_what_is_ahead_comes_once_and_in_order(numbers: list[int], last: int | None, way: str) -> None:
    items = [f"item {n}" for n in numbers]
    found = ahead(items, numbers, way, None if last is None else str(last), None)  # type: ignore[arg-type]
    new = {n for n in numbers if last is None or (n > last if way == "append" else n < last)}
    assert found == [f"item {n}" for n in sorted(new, reverse=way == "prepend")]


def test_of_an_item_that_comes_twice_the_first_is_taken() -> None:
    assert ahead(["a", "b", "c"], [5, 3, 5], "append", None, None) == ["b", "a"]


@pytest.mark.parametrize(
    ("way", "last", "numbers"), [("append", "5", [3, 5, 6]), ("prepend", "5", [7, 5, 4])]
)
def test_what_lies_behind_and_was_never_seen_is_an_error(way: str, last: str, numbers: list[int]) -> None:
    items = [str(number) for number in numbers]
    with pytest.raises(CursorError, match=f"served id {numbers[0]} after id 5"):
        ahead(items, numbers, way, last, ["5"])  # type: ignore[arg-type]
    assert ahead(items, numbers, way, last, ["5", str(numbers[0])]) == items[2:]  # type: ignore[arg-type]
    assert ahead(items, numbers, way, last, None) == items[2:]  # type: ignore[arg-type]


@pytest.mark.parametrize("last", ["", "abc", "m-1"])
def test_after_an_item_without_a_number_nothing_is_behind(last: str) -> None:
    assert ahead(["a"], [1], "append", last, ["x"]) == ["a"]


@some
@given(st.lists(st.sampled_from(["1", "2", "03", "a", "", "b"])))
def test_a_mixed_page_is_split_without_loss(ids: list[str]) -> None:
    items = list(enumerate(ids))
    loose, names, numbered = split(items, ids)
    assert [each for _, each in loose] == names == [each for each in ids if not each.isdecimal()]
    assert set(numbered) == {int(each) for each in ids if each.isdecimal()}


def test_fresh_items_keep_the_services_order_without_those_of_the_border() -> None:
    assert fresh(["A", "B", "C"], ["a", "b", "c"], 0, ["c", "a"]) == ["B"]
    assert fresh(["A", "B", "A"], ["a", "b", "a"], 0, []) == ["A", "B"]
    assert fresh(["A", "B", "C"], ["a", "b", "c"], 2, []) == ["C"]
    assert fresh(["X", "Y"], ["", ""], 0, [""]) == ["X", "Y"]
