"""The guard against circles: a set that grows by returning another one."""

from hypothesis import given, strategies as st

from chatrest.core.paging.cycle import CycleGuard
from tests.walk.walking import few


@few
@given(st.lists(st.integers(0, 20), max_size=40))
def test_it_holds_what_was_added_and_nothing_else(items: list[int]) -> None:
    guard = CycleGuard()
    for item in items:
        guard = guard.having(item)
    assert [number for number in range(21) if number in guard] == sorted(set(items))


def test_the_one_before_stays_as_it_was() -> None:
    first = CycleGuard().having("a")
    second = first.having("b")
    assert "b" not in first
    assert "a" in second
    assert second.having("a") is second


def test_adding_many_copies_few() -> None:
    """Members are copied as often as a binary counter carries: 10,000 of them 14 times each, not 5,000."""
    guard, copied = CycleGuard(), 0
    for item in range(10_000):
        known = set(map(id, guard.levels))
        guard = guard.having(item)
        copied += sum(len(level) for level in guard.levels if id(level) not in known)
    assert copied <= 10_000 * 15
    assert len(guard.levels) <= 14
