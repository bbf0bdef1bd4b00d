"""The journal's sources, and the covered ids of each."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from chatrest.export.folder.journal import Journal
from chatrest.export.plan.intervals import Interval
from tests.stored_exports import MEMORY, USERS, by_hand

# ── sources ──


def test_a_source_that_was_gone_is_back_and_one_that_failed_is_not_mended_by_being_listed(
    journal: Journal,
) -> None:
    journal.add_sources(USERS)
    journal.set_state(1, "deleted_user", "no such user")
    journal.set_state(2, "failed", "refused")
    assert [known.state for known in journal.sources()] == ["deleted_user", "failed", "open"]
    assert journal.sources()[0].error == "no such user"
    journal.add_sources(USERS)
    assert [known.state for known in journal.sources()] == ["open", "failed", "open"]
    journal.set_state(2, "open")
    assert journal.sources()[1].error is None


# ── what is covered ──

pages = st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 6)), max_size=12)


@given(pages)
@example([(0, 6), (0, 3)])
@example([(0, 2), (2, 2), (2, 1)])
def test_what_was_covered_stays_covered_in_whatever_order_it_came(pages: list[tuple[int, int]]) -> None:
    journal, model, places = Journal(MEMORY, {}), set[int](), dict[int, set[Any]]()
    for count, (after, more) in enumerate(pages):
        last, at = after + more, (("id", str(after + more)), ("n", str(count)))
        journal.cover(1, after, last, at)
        model.update(range(after + 1, last + 1))
        if more > 0:
            places.setdefault(last, set()).add(at)
        spans = journal.intervals(1)
        assert {each for span in spans for each in range(span.first, span.last + 1)} == model
        assert all(span.last + 1 < following.first for span, following in pairwise(spans))
        assert all(span.position in places[span.last] for span in spans)
    assert journal.intervals(2) == []
    journal.close()


def test_a_long_walk_is_one_row_however_many_pages_it_had(path: Path) -> None:
    journal = Journal(path, {})
    for after in [*range(0, 200, 10), *reversed(range(200, 400, 10))]:
        journal.cover(1, after, after + 10, (("id", str(after + 10)),))
        journal.cover(2, after, after + 5, ())
    assert journal.intervals(1) == [Interval(1, 400, (("id", "400"),))]
    assert len(journal.intervals(2)) == 40
    journal.close()
    assert by_hand(path, "SELECT count(*) FROM covered WHERE source = 1") == [(1,)]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), max_size=5), st.integers(0, 9))
def test_rows_that_a_hand_has_edited_are_read_as_the_ids_that_they_name(
    rows: list[tuple[int, int]], after: int
) -> None:
    spans = [Interval(*row) for row in dict(rows).items()]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        Journal(path, {}).close()
        by_hand(
            path, *(f"INSERT INTO covered VALUES(1, {first}, {last}, '[]')" for first, last, _ in spans), ""
        )
        journal = Journal(path, {})
    model = {each for span in spans for each in range(span.first, span.last + 1)}
    for last in (after, after + 3):
        journal.cover(1, after, last, ())
        model.update(range(after + 1, last + 1))
        intervals = journal.intervals(1)
        assert {each for span in intervals for each in range(span.first, span.last + 1)} == model
    journal.close()


@pytest.mark.parametrize("at", ["", "{", "null", "5", '"x"', "[[1,2]]", '[["id"]]', '{"id":"5"}', "[" * 9999])
def test_a_place_that_a_hand_has_broken_is_none(path: Path, at: str) -> None:
    Journal(path, {}).close()
    by_hand(path, f"INSERT INTO covered VALUES(1, 1, 5, '{at}'), (1, 9, 9, '[[\"id\",\"9\"]]')")
    by_hand(path, f"INSERT INTO rechecks VALUES(1, 0, 5, 9, '{at}')")
    journal = Journal(path, {})
    assert journal.intervals(1) == [Interval(1, 5), Interval(9, 9, (("id", "9"),))]
    assert journal.rechecks() == {1: (0, 5, 9, ())}
    journal.cover(1, 5, 8, ())
    assert journal.intervals(1) == [Interval(1, 9, (("id", "9"),))]
    journal.close()
