"""Intervals of a walk that is followed, and the cursor that asks behind its last item."""

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from chatrest.core.paging.cursor import Cursor
from chatrest.walk.polling import Polling, behind_last

IN_PAGE = Cursor("q", (("affix", "append"), ("id", "5")), "append", "9", inside=True, time=70, delivered=9)


@given(st.floats(0.001, 1e6), st.lists(st.booleans(), max_size=30), st.floats(0, 1))
def test_a_wait_is_never_longer_than_the_longest_nor_much_shorter_than_an_eighth(
    longest: float, replies: list[bool], roll: float
) -> None:
    polling = Polling.begin(longest)
    for has_new in replies:
        before, polling = polling, polling.after(has_new=has_new)
        assert (polling.interval <= before.interval) if has_new else (polling.interval >= before.interval)
    assert longest * 0.75 / 8 <= polling.wait(roll) * (1 + 1e-9)
    assert polling.wait(roll) <= longest


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ((), (("affix", "append"), ("id", "9"))),
        ((("affix", "append"),), (("affix", "append"), ("id", "9"))),
        ((("affix", "append"), ("id", "5")), (("affix", "append"), ("id", "9"))),
        (
            (("affix", "append"), ("id", "5"), ("limit", "7")),
            (("affix", "append"), ("id", "9"), ("limit", "7")),
        ),
        (
            (("affix", "append"), ("sentAt", "50"), ("id", "5")),
            (("affix", "append"), ("id", "9"), ("sentAt", "70")),
        ),
    ],
)
def test_a_place_within_a_page_moves_behind_its_last_item(
    position: tuple[tuple[str, str], ...], expected: tuple[tuple[str, str], ...]
) -> None:
    moved = behind_last(structs.replace(IN_PAGE, position=position))
    assert moved == structs.replace(IN_PAGE, position=expected, inside=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"last": None}, {"last": "m-9"}, {"by_id": False}, {"inside": False}, {"skip": 1},
        {"direction": None}, {"position": (("page", "2"),)},
        {"position": (("affix", "append"), ("updatedAt", "50"))},
        {"position": (("sentAt", "50"), ("id", "5")), "time": None},
    ],
    ids=str,
)  # fmt: skip
def test_any_other_place_stays(changes: dict[str, object]) -> None:
    cursor = structs.replace(IN_PAGE, **changes)
    assert behind_last(cursor) == cursor
