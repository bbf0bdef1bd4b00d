"""Versions and removals of messages in the store: lists, positions, filters, and what was attached."""

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.message_index import ALL, conversation_list, thread_list

PAIR = conversation_list("ann_user_bob")


@pytest.fixture
def chat(store: Store) -> Store:
    for number in range(1, 6):
        store.add_message("ann", "bob", f"text {number}", sent_at=number)
    return store


def test_a_removed_message_leaves_no_gap_in_its_lists(chat: Store) -> None:
    chat.add_message("bob", "ann", "re", parentId="2")
    chat.remove([2, 4, 99])
    assert chat.ids() == [1, 3, 5, 6]
    assert chat.size(ALL) == chat.size(PAIR) == 4
    assert [chat.span(ALL, number, 1, ascending=True).left for number in (None, 1, 3, 5, 6)] == [
        4,
        3,
        2,
        1,
        0,
    ]
    assert chat.span(PAIR, 6, 9, ascending=False) == ([1, 3, 5], 3)
    assert chat.message(4) is None
    assert chat.add_message("ann", "bob", "next")["id"] == "7"
    assert chat.span(ALL, 6, 1, ascending=True).left == 1
    chat.remove([6])
    assert chat.size(thread_list("2")) == 0


def test_what_was_attached_goes_with_the_message(chat: Store) -> None:
    chat.marks.add("reaction", 3, "bob", 1, "+")
    chat.marks.add("pin", 3, "ann_user_bob")
    chat.remove([3])
    assert chat.marks.on(3) == []
