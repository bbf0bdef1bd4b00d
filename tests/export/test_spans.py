"""Intervals of ids, against what they stand for: sets of numbers."""

from itertools import pairwise

from hypothesis import given, settings, strategies as st

from chatrest.core.endpoint import Pairs
from chatrest.export.spans import Hole, Span, holes, merged, without

some = settings(max_examples=250, deadline=None, database=None)
ids = st.integers(-2, 14)
places: st.SearchStrategy[Pairs] = st.sampled_from([(), (("id", "a"),), (("id", "b"),)])
spans = st.lists(st.builds(Span, ids, ids, places), max_size=6)
"""As a hand might edit them: overlapping, touching, reversed, twice, in no order."""


def covered(some: list[Span]) -> set[int]:
    return {each for span in some for each in range(span.first, span.last + 1)}


def is_apart(some: list[Span]) -> bool:
    """Whether the intervals ascend, hold something, and leave a gap between any two."""
    gaps = all(one.last + 1 < other.first for one, other in pairwise(some))
    return gaps and all(span.first <= span.last for span in some)


def places_at(some: list[Span], last: int) -> set[Pairs]:
    """The places that the service gave after an id."""
    return {span.at for span in some if span.last == last and span.first <= last}


@some
@given(spans)
def test_merged_intervals_hold_the_same_ids_and_lie_apart(found: list[Span]) -> None:
    assert covered(merged(found)) == covered(found)
    assert is_apart(merged(found))
    assert merged(merged(found)) == merged(found) == merged(reversed(found))


@some
@given(spans)
def test_a_place_belongs_to_the_end_of_its_interval_alone(found: list[Span]) -> None:
    for span in merged(found):
        assert span.at in places_at(found, span.last)


@some
@given(spans)
def test_a_place_that_is_known_is_not_lost_to_one_that_is_not(found: list[Span]) -> None:
    for span in merged(found):
        assert bool(span.at) == any(places_at(found, span.last))


@some
@given(spans, ids, st.integers(0, 20))
def test_without_some_ids_all_others_stay(found: list[Span], first: int, more: int) -> None:
    last = first + more
    left = without(found, first, last)
    assert covered(left) == covered(found) - set(range(first, last + 1))
    assert is_apart(left)
    for span in left:
        assert span.at in places_at(found, span.last) | {()}
        assert span.at == () or span.last != first - 1 or places_at(found, first - 1)


def test_what_is_cut_off_takes_its_place_with_it() -> None:
    span = Span(1, 9, (("id", "9"),))
    assert without([span], 5, 6) == [Span(1, 4), Span(7, 9, span.at)]
    assert without([span], 9, 20) == [Span(1, 8)]
    assert without([span], 1, 4) == [Span(5, 9, span.at)]
    assert without([span], 10, 20) == without([span], -5, 0) == [span]
    assert without([span], -5, 20) == []


@some
@given(spans, ids)
def test_no_ids_taken_away_leave_everything(found: list[Span], first: int) -> None:
    for last in (first - 1, first - 9):
        left = without(found, first, last)
        assert [span[:2] for span in left] == [span[:2] for span in merged(found)]


@some
@given(spans, ids)
def test_holes_are_what_is_missing_up_to_the_end(found: list[Span], until: int) -> None:
    missing = holes(found, until)
    assert covered([Span(hole.after + 1, hole.until) for hole in missing]) == (
        set(range(1, until + 1)) - covered(found)
    )
    assert is_apart([Span(hole.after + 1, hole.until) for hole in missing])


@some
@given(spans, st.integers(1, 35))
def test_a_hole_begins_at_the_place_that_the_service_gave_after_the_ids_before_it(
    found: list[Span], until: int
) -> None:
    for hole in holes(found, until):
        assert hole.at in (places_at(found, hole.after) or {()})


def test_the_last_hole_begins_behind_the_last_interval() -> None:
    spans = [Span(1, 4, (("id", "4"),)), Span(8, 9)]
    assert holes(spans, 20) == [Hole(4, 7, (("id", "4"),)), Hole(9, 20)]
    assert holes(spans, 6) == [Hole(4, 6, (("id", "4"),))]
    assert holes([], 5) == [Hole(0, 5)]
    assert holes([], 0) == holes(spans, 4) == holes([Span(1, 2**63 - 1)], 2**62) == []
