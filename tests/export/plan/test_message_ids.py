"""Intervals of ids, against the sets of numbers that they stand for."""

from itertools import pairwise

from hypothesis import given, strategies as st

from chatrest._core.replies.rows import UNKNOWN, Row
from chatrest._core.requests.endpoint import Pairs
from chatrest.export.plan.message_ids import LAST, Gap, Interval, gaps, ids_of, key_of, merge, number, times
from tests.support.cases import loop_over

numbers = st.integers(-4, 14)
positions: st.SearchStrategy[Pairs] = st.sampled_from([(), (("id", "a"),), (("id", "b"),)])
interval_lists = st.lists(st.builds(Interval, numbers, numbers, positions), max_size=6)
"""As a hand might edit them: overlapping, touching, reversed, twice, in no order."""


def covered(intervals: list[Interval]) -> set[int]:
    return {each for interval in intervals for each in range(interval.first, interval.last + 1)}


def are_apart(intervals: list[Interval]) -> bool:
    """True for intervals that ascend, hold something, and leave a gap between any two."""
    apart = all(lower.last + 1 < upper.first for lower, upper in pairwise(intervals))
    return apart and all(interval.first <= interval.last for interval in intervals)


def positions_at(intervals: list[Interval], last: int) -> set[Pairs]:
    """The positions that the service named after an id."""
    return {each.position for each in intervals if each.last == last and each.first <= last}


@given(interval_lists)
def test_merged_intervals_hold_the_same_ids_and_do_not_touch(intervals: list[Interval]) -> None:
    assert covered(merge(intervals)) == covered(intervals)
    assert are_apart(merge(intervals))
    assert merge(merge(intervals)) == merge(intervals) == merge(reversed(intervals))


@given(interval_lists)
def test_a_position_is_stored_for_the_end_of_an_interval(intervals: list[Interval]) -> None:
    for interval in merge(intervals):
        known = positions_at(intervals, interval.last)
        assert interval.position in known
        assert bool(interval.position) == any(known)


@given(interval_lists, numbers, numbers)
def test_gaps_are_the_ids_that_are_missing(intervals: list[Interval], after: int, until: int) -> None:
    missing = gaps(intervals, until, after)
    as_intervals = [Interval(gap.after + 1, gap.until) for gap in missing]
    assert covered(as_intervals) == set(range(after + 1, until + 1)) - covered(intervals)
    assert are_apart(as_intervals)
    for gap in missing:
        assert gap.position in (positions_at(intervals, gap.after) or {()})


def test_the_last_gap_begins_after_the_last_interval() -> None:
    intervals = [Interval(1, 4, (("id", "4"),)), Interval(8, 9)]
    assert gaps(intervals, 20) == [Gap(4, 7, (("id", "4"),)), Gap(9, 20)]
    assert gaps(intervals, 6) == [Gap(4, 6, (("id", "4"),))]
    assert gaps([], 5) == [Gap(0, 5)]
    assert gaps([], 0) == gaps(intervals, 4) == gaps([Interval(1, LAST)], 2**62) == []


@loop_over(
    ("id", "expected"),
    [("7", 7), ("0", None), ("007", None), (str(2**63 - 2), 2**63 - 2), ("", None), ("-1", None),
     ("+1", None), ("1.0", None), (" 1", None), ("1\n", None), ("1_0", None), ("٣", None), ("²", None),
     ("m-1", None), (str(2**63 - 1), None), (str(2**64), None), ("9" * 5000, None)],
)  # fmt: skip
def test_an_id_is_a_number_if_the_next_one_fits_64_bits(id: str, expected: int | None) -> None:
    assert number(id) == expected


@given(st.lists(st.integers(1, 2**63 - 2)), st.lists(st.sampled_from(["", "m-1", "07", "0", "9" * 20])))
def test_the_ids_of_rows_are_a_set_of_numbers_and_the_others_by_their_keys(
    numbers: list[int], names: list[str]
) -> None:
    rows = [Row(name) for name in names] + [Row(str(each)) for each in sorted(numbers)]
    ids = ids_of(rows)
    assert list(ids.numbers) == sorted(set(numbers))
    assert ids.others == {key_of(row): row for row in rows if number(row.id) is None}


@given(st.lists(st.integers(-9, 99)))
def test_times_ignores_rows_without_a_time(sent: list[int]) -> None:
    known = [each for each in sent if each != UNKNOWN]
    expected = (*((min(known), max(known)) if known else (UNKNOWN, UNKNOWN)), UNKNOWN not in sent)
    assert times([Row(sent_at=each) for each in sent]) == expected
