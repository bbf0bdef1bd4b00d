"""The keys of records, and how many problems a result keeps."""

from hypothesis import given, strategies as st

from chatrest.export import VerifyResult
from chatrest.export.message_ids import number
from chatrest.export.verify.files import key_numbers, shortened
from chatrest.export.verify.verify import MOST_PROBLEMS


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
