"""The pieces that `verify` is made of: what has been seen, and how many problems are kept."""

from contextlib import closing

from hypothesis import given, strategies as st

from chatrest.export import VerifyResult
from chatrest.export.verify.file_check import shortened
from chatrest.export.verify.id_index import IdIndex, Twice, numbered
from chatrest.export.verify.verify_result import MOST, Problem


def test_seen_finds_what_was_there_before() -> None:
    with closing(IdIndex()) as seen:
        assert seen.add([5, 6], ["a"], 0) == []
        assert seen.add([7, 8, 8], ["b", "b"], 1) == [Twice("8", 1), Twice("b", 1)]
        assert seen.add([5, 9], ["a"], 2) == [Twice("5", 0), Twice("a", 0)]
        assert seen.add([9, 9], [], 3) == [Twice("9", 2)]
        assert seen.missing([5, 9, 10, 11]) == [10, 11]


@given(st.lists(st.text("0123456789٣x-", max_size=25)))
def test_numbered_leaves_nothing_out(ids: list[str]) -> None:
    numbers, texts = numbered(ids)
    assert len(numbers) + len(texts) == len(ids)
    assert all(each not in texts for each in map(str, numbers))


def test_a_verdict_keeps_no_more_problems_than_anybody_reads() -> None:
    verdict = VerifyResult()
    for _ in range(MOST + 5):
        verdict.add(Problem("damaged", "x", "y"))
    assert (len(verdict.problems), verdict.more, verdict.count) == (MOST, 5, MOST + 5)
    assert str(verdict.problems[0]) == "x: y"
    assert shortened(["1", "2", "3", "4"]) == "1, 2, 3 and 1 more"
