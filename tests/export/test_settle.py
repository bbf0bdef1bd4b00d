"""Is everything there that one source left to another?"""

from pathlib import Path

from hypothesis import given, settings, strategies as st

from chatrest.core.rows import row_of
from chatrest.export import Plan
from chatrest.export.archive import Archive, FetchedPage
from chatrest.export.deferred_ids import is_settled, orphans, settled
from chatrest.export.journal import Balance
from chatrest.export.ownership import Source

ANN, BOB = Source("user", ("ann",)), Source("user", ("bob",))


def opened(path: Path) -> Archive:
    archive = Archive(path, Plan(users=("ann", "bob")), app_id="app")
    with archive.journal.transaction():
        archive.journal.add_sources([ANN, BOB])
    return archive


def page(
    number: int, after: int, last: int, writes: range, theirs: list[int], shared: list[int]
) -> FetchedPage:
    rows = [row_of(b'{"id":"%d","sentAt":1}' % each) for each in writes]
    return FetchedPage(
        number=number, source=(ANN, BOB)[number - 1], after=after, last=last, rows=rows, theirs=theirs,
        shared=shared,
    )  # fmt: skip


def test_what_is_left_and_written_balances(tmp_path: Path) -> None:
    with opened(tmp_path / "out") as archive:
        assert is_settled(archive)
        archive.commit([page(2, 0, 9, range(0), [1, 4, 9], [])])
        assert not is_settled(archive)
        archive.commit([page(1, 0, 9, range(1, 10), [], [1, 4, 9])])
        assert is_settled(archive)
        assert orphans(archive) == []


def test_what_nobody_wrote_is_found_by_who_saw_it(tmp_path: Path) -> None:
    with opened(tmp_path / "out") as archive:
        archive.commit([page(2, 0, 9, range(0), [1, 4, 9], []), page(2, 9, 19, range(0), [12, 15], [])])
        archive.commit([page(2, 19, 99, range(0), [50, 60], [])])
        archive.commit([page(1, 0, 99, range(1, 51), [], [1, 4, 9, 12, 15, 50])])
        assert not is_settled(archive)
        assert [tuple(each) for each in orphans(archive)] == [(2, 50, 60)]
        settled(archive)
        assert is_settled(archive)
    with opened(tmp_path / "out") as archive:
        assert is_settled(archive)


def test_the_same_number_of_other_ids_does_not_balance(tmp_path: Path) -> None:
    with opened(tmp_path / "out") as archive:
        archive.commit([page(2, 0, 9, range(0), [1, 8], [])])
        archive.commit([page(1, 0, 9, range(3, 7), [], [3, 6])])
        assert not is_settled(archive)
        assert [tuple(each) for each in orphans(archive)] == [(2, 1, 8)]


@given(st.lists(st.integers(1, 10**18 - 1), unique=True), st.lists(st.integers(1, 10**18 - 1), unique=True))
@settings(max_examples=60, deadline=None, database=None)
def test_a_balance_is_empty_for_the_same_ids_in_any_order(some: list[int], others: list[int]) -> None:
    balance = Balance().plus(some).plus(others).plus(sorted(some), -1)
    assert (balance == Balance()) == (not others)
    assert balance.plus(others[::-1], -1) == Balance()
