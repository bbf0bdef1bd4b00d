"""The statement of what is left to read: of one source in each state that the journal may have it in."""

from pathlib import Path

import pytest

from chatrest.core.paging.intervals import LAST, Gap
from chatrest.export.id_set import IdSet
from chatrest.export.journal import Journal, SourceState
from chatrest.export.ownership import Source
from chatrest.export.work_left import Work, rechecks_left, rechecks_since, work_left

ANN = Source("user", ("ann",))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Of one user, the ids 11 to 20 and 31 to 40 were read."""
    kept = Journal(tmp_path / "journal.sqlite", {})
    with kept.transaction():
        kept.add_sources([ANN])
        kept.cover(1, 10, 20, ())
        kept.cover(1, 30, 40, (("id", "40"),))
        kept.see(1, IdSet([11, 45]))
    return kept


def left(journal: Journal, known: SourceState, until: int = 50, *, asks_all: bool = False) -> list[Gap]:
    return [gap for work in work_left(journal, [known], until, asks_all=asks_all) for gap in work.gaps]


def test_what_is_not_covered_is_left_and_the_end_until_it_is_proven(journal: Journal) -> None:
    [known] = journal.sources()
    between, end = [Gap(0, 10), Gap(20, 30)], Gap(40, 50, (("id", "40"),))
    assert left(journal, known) == [*between, end]
    assert left(journal, known._replace(proven=50)) == between
    assert left(journal, known._replace(proven=49)) == [*between, end]
    assert left(journal, known._replace(proven=50), asks_all=True) == [*between, end]
    assert [work.gaps for work in work_left(journal, [known], 50, ended={1})] == [between]


def test_nothing_is_left_of_a_source_that_is_covered(journal: Journal) -> None:
    with journal.transaction():
        journal.cover(1, 0, 50, ())
    assert list(work_left(journal, journal.sources(), 50)) == []


def test_a_list_by_time_is_left_as_a_whole_in_each_run(journal: Journal) -> None:
    known = journal.sources()[0]._replace(by_time=True, proven=50)
    assert left(journal, known) == [Gap(0, 50)]
    assert list(work_left(journal, [known], 50, ended={1})) == []


def test_a_recheck_is_left_up_to_what_was_read_until_it_is_done(journal: Journal) -> None:
    sources = journal.sources()
    assert list(rechecks_left(journal, sources)) == []
    [work] = rechecks_since(journal, sources, 7, is_behind=False)
    assert work == Work(sources[0], [Gap(0, 45)], "recheck", 7), "what was shown is rechecked, too"
    with journal.transaction():
        journal.recheck(1, 7, 45)
        journal.rechecked(1, 20, ())
    assert list(rechecks_left(journal, sources)) == [Work(sources[0], [Gap(20, 45)], "recheck", 7)]
    with journal.transaction():
        journal.rechecked(1, 45, ())
    assert list(rechecks_left(journal, sources)) == []


def test_an_id_that_is_no_number_may_stand_anywhere_in_a_recheck(journal: Journal) -> None:
    with journal.transaction():
        journal.see(1, IdSet(), ["m-1"])
    [work] = rechecks_since(journal, journal.sources(), 7, is_behind=False)
    assert (work.gaps, work.ids) == ([Gap(0, LAST)], None)


def test_it_is_told_in_numbers() -> None:
    work = Work(SourceState(1, ANN), [Gap(4, 9), Gap(20, 30)])
    assert (work.ids, work.ids_behind(25)) == (15, 5)
    job = Work(SourceState(1, ANN), [Gap(20, LAST)], "recheck", 7).job()
    assert (job.purpose, job.since, job.proven, job.until) == ("recheck", 7, 0, LAST)
