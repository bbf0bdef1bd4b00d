"""The ids that were read so far, and how many problems a result keeps."""

from chatrest.export.verify.records import ReadIds, key_numbers
from chatrest.export.verify.verify_result import MOST_PROBLEMS, shortened
from hypothesis import given, strategies as st

from chatrest.export import VerifyResult
from chatrest.export.id_set import IdSet
from chatrest.export.message_ids import number


def test_ids_that_were_read_before_are_found_with_their_file() -> None:
    ids = ReadIds()
    assert ids.add("a", ["5", "6", "x"]) == []
    assert ids.add("b", ["7", "8", "8", "y", "y"]) == [("b", ["8", "y"])]
    assert ids.add("c", ["5", "9", "x"]) == [("a", ["5", "x"])]
    assert ids.add("c", ["9"]) == [("c", ["9"])]
    assert ids.numbers == IdSet([5, 6, 7, 8, 9])
    assert len(ids.all) == 7
    assert list(ids.of_file("b") - ids.numbers) == key_numbers(["y"])


@given(st.lists(st.text("0123456789٣x-", max_size=25), unique=True))
def test_different_keys_have_different_numbers(keys: list[str]) -> None:
    numbers = key_numbers(keys)
    assert len(set(numbers)) == len(keys)
    assert all(each == number(key) or each >= 1 << 63 for each, key in zip(numbers, keys, strict=True))


def test_a_result_keeps_a_limited_number_of_problems() -> None:
    result = VerifyResult()
    for _ in range(MOST_PROBLEMS + 5):
        result.add("damaged", "x", "y")
    assert (len(result.problems), result.more, result.count) == (MOST_PROBLEMS, 5, MOST_PROBLEMS + 5)
    assert str(result.problems[0]) == "x: y"
    assert shortened(["1", "2", "3", "4"]) == "1, 2, 3 and 1 more"
