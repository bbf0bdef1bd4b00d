"""Versions and removals of messages in the store: lists, positions, filters, and what was attached."""

from pathlib import Path

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
    assert [chat.after(ALL, number, 1).left for number in (0, 1, 3, 5, 6)] == [4, 3, 2, 1, 0]
    assert chat.before(PAIR, 6, 9) == ([1, 3, 5], 3)
    assert chat.message(4) is None
    assert chat.add_message("ann", "bob", "next")["id"] == "7"
    assert chat.after(ALL, 6, 1).left == 1
    chat.remove([6])
    assert chat.size(thread_list("2")) == 0


def test_what_was_attached_goes_with_the_message(chat: Store) -> None:
    chat.reactions.add(3, "+", "bob", 1)
    chat.marks.pin(3, "ann_user_bob")
    chat.marks.save(3, "bob", 1)
    chat.marks.subscribe(3, "bob")
    chat.marks.interact(3, "bob", ["e"], 1)
    chat.remove([3])
    assert chat.reactions.page(3, None, None, 9, ascending=True) == []
    assert (chat.marks.pinned_count("ann_user_bob"), chat.marks.saved_count("bob")) == (0, 0)
    assert (chat.marks.subscribed("bob", [3]), chat.marks.interactions(3, "bob")) == (set(), {})


def test_a_file_keeps_what_users_did(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.add_message("ann", "bob", "text", sent_at=1)
        store.reactions.add(1, "+", "bob", 1)
        store.marks.save(1, "bob", 7)
        [view] = store.views.all("bob")
        store.views.set(view, reset_id=1, read_id=1)
    with Store(path) as store:
        assert store.reactions.of_user("bob", [1]) == {1: {"+"}}
        assert store.marks.saved("bob", [1]) == {1: 7}
        assert store.views.has_resets("bob")
        [view] = store.views.all("bob")
        assert (view.party, view.reset_id, view.read_id) == ("ann", 1, 1)
