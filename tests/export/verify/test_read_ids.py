"""The ids that were read so far, and how many problems a result keeps."""

from hypothesis import given, strategies as st

from chatrest.export import Problem, VerifyResult
from chatrest.export.id_set import IdSet
from chatrest.export.verify.read_ids import ReadIds, Repetition, shortened, split_ids
from chatrest.export.verify.verify_result import MOST_PROBLEMS


def test_ids_that_were_read_before_are_found_with_their_file() -> None:
    ids = ReadIds()
    assert ids.add("a", ["5", "6", "x"]) == (IdSet([5, 6]), [])
    assert ids.add("b", ["7", "8", "8", "y", "y"]) == (IdSet([7, 8]), [Repetition("b", ["8", "y"])])
    assert ids.add("c", ["5", "9", "x"]) == (IdSet([5, 9]), [Repetition("a", ["5", "x"])])
    assert ids.add("c", ["9"])[1] == [Repetition("c", ["9"])]
    assert list(ids.numbers) == [5, 6, 7, 8, 9]
    assert (list(ids.of_file("b")), list(ids.of_file("d")), ids.text_count) == ([7, 8], [], 2)
    assert ids.has_text("x")
    assert ids.has_text("x", "a")
    assert not ids.has_text("y", "a")


@given(st.lists(st.text("0123456789٣x-", max_size=25)))
def test_split_ids_leaves_nothing_out(ids: list[str]) -> None:
    numbers, texts = split_ids(ids)
    assert len(numbers) + len(texts) == len(ids)
    assert not set(texts) & set(map(str, numbers))


def test_a_result_keeps_a_limited_number_of_problems() -> None:
    result = VerifyResult()
    for _ in range(MOST_PROBLEMS + 5):
        result.add(Problem("damaged", "x", "y"))
    assert (len(result.problems), result.more, result.count) == (MOST_PROBLEMS, 5, MOST_PROBLEMS + 5)
    assert str(result.problems[0]) == "x: y"
    assert shortened(["1", "2", "3", "4"]) == "1, 2, 3 and 1 more"
