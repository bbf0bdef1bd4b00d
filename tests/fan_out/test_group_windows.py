"""The windows of a fan-out: which item may begin."""

import pytest
from hypothesis import given, strategies as st

from chatrest import RequestInvalidError
from chatrest._fan_out.group_windows import MOST_GROUPS, MOST_WAITING, GroupWindows


@given(
    size=st.integers(1, 4),
    steps=st.lists(st.one_of(st.sampled_from("abc"), st.just("take"), st.integers(0, 20)), max_size=120),
)
def test_no_group_exceeds_its_window_and_none_waits_for_another(size: int, steps: list[str | int]) -> None:
    windows: GroupWindows[tuple[str, int]] = GroupWindows(size, lambda item: item[0])
    running: list[str] = []
    waiting: dict[str, list[int]] = {name: [] for name in "abc"}
    for number, step in enumerate(steps):
        if isinstance(step, int):
            if running:
                windows.release(running.pop(step % len(running)))
        elif step == "take":
            begun = windows.take()
            if begun is None:
                assert all(running.count(name) == size for name, items in waiting.items() if items)
            else:
                name, first = begun.item
                assert begun.group == name
                assert first == waiting[name].pop(0)
                running.append(name)
        else:
            windows.add((step, number))
            waiting[step].append(number)
        assert all(running.count(name) <= size for name in "abc")
        assert windows.running == len(running)
        assert windows.waiting == sum(map(len, waiting.values()))


def test_groups_take_turns() -> None:
    windows: GroupWindows[str] = GroupWindows(9, lambda item: item[0])
    for item in ("a1", "a2", "a3", "b1", "b2", "c1"):
        windows.add(item)
    order = [begun.item for _ in range(6) if (begun := windows.take()) is not None]
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_items_that_wait_are_bounded_and_can_be_dropped() -> None:
    windows: GroupWindows[int] = GroupWindows(1, lambda _: "app")
    for item in range(MOST_WAITING):
        assert windows.has_room
        windows.add(item)
    assert not windows.has_room
    assert windows.take() is not None
    assert windows.has_room
    windows.clear()
    windows.release("app")
    assert windows.take() is None
    assert (windows.running, windows.waiting) == (0, 0)


def test_groups_are_few_at_the_same_time() -> None:
    windows: GroupWindows[int] = GroupWindows(1, lambda item: item)
    for item in range(MOST_GROUPS * 3):
        windows.add(item)
        assert windows.take() is not None
        windows.release(item)
    for item in range(MOST_GROUPS):
        windows.add(item)
    with pytest.raises(RequestInvalidError, match="more than 100 groups"):
        windows.add(MOST_GROUPS)
