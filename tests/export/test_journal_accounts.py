"""The journal's accounts of ids that are left to others, and its strays."""

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st

from chatrest.export.journal import Balance, Journal
from tests.journals import MEMORY, some

# ── accounts ──

ids = st.lists(st.integers(0, 2**63 - 2), max_size=8)
few = st.lists(st.integers(2**28, 2**29), max_size=2)


@given(st.lists(st.tuples(st.integers(1, 3), ids.filter(bool)), max_size=5))
@some
def test_ids_that_were_left_to_others_come_back_as_they_were_noted(
    noted: list[tuple[int, list[int]]],
) -> None:
    journal = Journal(MEMORY)
    for source, left in noted:
        journal.defer(source, left)
    found = [(source, first, last, list(left)) for source, first, last, left in journal.deferred()]
    assert found == [(source, min(left), max(left), left) for source, left in noted]
    journal.close()


@some
@given(ids, ids, st.randoms())
def test_a_balance_is_even_whatever_the_order_in_which_ids_were_left_and_written(
    one: list[int], other: list[int], dice: Any
) -> None:
    mixed = dice.sample([*one, *other], len(one) + len(other))
    assert Balance().plus(one).plus(other).plus(mixed, -1) == Balance()
    assert Balance().plus(one, -1).plus(one) == Balance()


@some
@given(ids, few, few, st.integers(0, 2**28))
def test_an_id_that_is_missing_and_two_that_are_others_are_noticed(
    shared: list[int], left: list[int], written: list[int], by: int
) -> None:
    balance = Balance().plus(shared).plus(left)
    assert (balance == Balance().plus([*shared, *written])) == (Counter(left) == Counter(written))
    if len(left) == 2:
        moved = [left[0] + by, left[1] - by]
        assert (balance == Balance().plus([*shared, *moved])) == (Counter(left) == Counter(moved))


def test_balances_are_kept_by_name_and_fit_whatever_the_ids(path: Path) -> None:
    journal = Journal(path)
    assert journal.balance("open") == journal.balance("settled") == Balance()
    balance = Balance().plus([2**63 - 2] * 1000).plus([5], -1)
    journal.keep_balance("open", balance)
    below = Balance().plus([1, 2**63 - 2], -1)
    journal.keep_balance("settled", below)
    journal.close()
    journal = Journal(path)
    assert (journal.balance("open"), journal.balance("settled")) == (balance, below)
    journal.close()


# ── strays ──


def test_a_stray_is_noted_once_and_found_among_others(journal: Journal) -> None:
    assert not journal.has_strays()
    assert journal.stray("7")
    assert not journal.stray("7")
    assert journal.stray("é'\"\\")
    assert journal.has_strays()
    assert journal.strays(["7", "8", "é'\"\\", "07"]) == {"7", "é'\"\\"}
    assert journal.strays([]) == set()


NUMBERLESS = ["m-1", "12ab", "7 ", "1.5", "-7", "#0af", "9" * 30, str(2**63 - 1), "٣"]


def test_the_strays_of_a_span_are_those_and_all_that_have_no_number(journal: Journal) -> None:
    """They may have been in a lost file: one that is wrongly remembered would never be written again."""
    numbered = ["4", "5", "7", "9", "10", str(2**63 - 2)]
    for each in [*numbered, *NUMBERLESS]:
        journal.stray(each)
    assert journal.strays_of(5, 9) == {"5", "7", "9", *NUMBERLESS}
    assert journal.strays_of(0, 0) == {*NUMBERLESS}
    journal.drop_strays(journal.strays_of(5, 9))
    assert journal.strays([*numbered, *NUMBERLESS]) == {"4", "10", str(2**63 - 2)}
    journal.drop_strays(journal.strays_of(1, 2**63 - 1))
    assert not journal.has_strays()
