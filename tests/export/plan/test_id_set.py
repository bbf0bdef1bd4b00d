"""The ids of rows, as numbers and as keys, and their times."""

from hypothesis import given, strategies as st

from chatrest._core.replies.rows import UNKNOWN, Row
from chatrest.export.plan.message_ids import ids_of, key_of, number, times


@given(st.lists(st.integers(1, 2**63 - 2)), st.lists(st.sampled_from(["", "m-1", "07", "0", "9" * 20])))
def test_the_ids_of_rows_are_a_set_of_numbers_and_the_others_by_their_keys(
    numbers: list[int], names: list[str]
) -> None:
    rows = [Row(name) for name in names] + [Row(str(each)) for each in sorted(numbers)]
    ids = ids_of(rows)
    assert list(ids.numbers) == sorted(set(numbers))
    assert ids.others == {key_of(row): row for row in rows if number(row.id) is None}


@given(st.lists(st.integers(-9, 99)))
def test_the_times_are_those_of_the_rows_that_tell_one(sent: list[int]) -> None:
    known = [each for each in sent if each != UNKNOWN]
    expected = (*((min(known), max(known)) if known else (UNKNOWN, UNKNOWN)), UNKNOWN not in sent)
    assert times([Row(sent_at=each) for each in sent]) == expected
