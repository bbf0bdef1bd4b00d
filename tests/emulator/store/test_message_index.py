from collections.abc import Iterator

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.message_index import ALL, Condition, conversation_list, participant_list
from chatrest.errors import RequestInvalidError


def filled(store: Store, pattern: str) -> None:
    """A message per letter: t a text, i an image from ann to bob; c a text from ann to cat."""
    for letter in pattern:
        store.add_message("ann", "cat" if letter == "c" else "bob", type="image" if letter == "i" else "text")


def above(id: int) -> Condition:
    return Condition((lambda message: message.number > id,), id)


def test_old_filters_are_dropped_from_the_cache_and_computed_again(store: Store) -> None:
    filled(store, "tt")
    for value in range(300):
        assert list(store.matching(ALL, above(value))) == [1, 2][value:]
    assert list(store.matching(ALL, above(0))) == [1, 2]


def test_a_filter_goes_by_the_new_version_of_a_message(store: Store) -> None:
    filled(store, "tt")
    texts = Condition((lambda message: message.type == "text",), "texts")
    assert store.matching(ALL, texts) == [1, 2]
    store.rewrite({1: store.record(1) | {"type": "image"}})
    assert store.matching(ALL, texts) == [2]


def test_an_error_while_adding_leaves_nothing(store: Store) -> None:
    filled(store, "t")

    def records() -> Iterator[bytes]:
        yield b'{"id":"7","sender":"ann","sentAt":9}'
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.add_records(records())
    assert (store.ids(), store.last_id, store.last_sent_at) == ([1], 1, 0)
    assert store.add_message("ann", "bob")["id"] == "2"


def test_odd_records_are_served_as_they_are(store: Store) -> None:
    odd = [
        b'{"id":3,"data":[]}', b"[]", b'{"id":"5" , "sender":"\\ud800"}', b'{"id":"2"}', b'{"id":"x"}',
        b'{"id":"%b"}' % (b"9" * 40), '{"id":"\u0669"}'.encode(),
        b'{"sentAt":"soon","data":{"text":1,"mentions":[],"attachments":{},"reactions":0}}',
    ]  # fmt: skip
    store.add_records(odd)
    assert store.records(store.ids()) == odd
    assert store.ids() == [3, 4, 5, 6, 7, 8, 9, 10]
    assert store.message(4) == b"[]"
    with pytest.raises(RequestInvalidError, match="JSON"):
        store.add_records([b"nope"])


def test_a_user_and_a_group_exist_once(store: Store) -> None:
    store.add_user("ann")
    with pytest.raises(RequestInvalidError, match="uid = 'ann': this user exists already"):
        store.add_user("ann", "Another")
    assert store.people.users["ann"]["name"] == "ann"
    store.add_group("den")
    with pytest.raises(RequestInvalidError, match="guid = 'den': this group exists already"):
        store.add_group("den")


def test_messages_are_hidden_from_lists_and_shown_again(store: Store) -> None:
    filled(store, "ttttt")
    store.hide([2, 3], participant_list("ann"))
    assert (store.ids(participant="ann"), store.ids()) == ([1, 4, 5], [1, 2, 3, 4, 5])
    assert store.span(participant_list("ann"), 1, 1, ascending=True) == ([4], 2)
    store.hide([5])
    store.show([3, 4], participant_list("ann"))
    assert (store.ids(participant="ann"), store.ids(participant="bob")) == ([1, 3, 4], [1, 2, 3, 4])


@pytest.fixture
def chat(store: Store) -> Store:
    for number in range(1, 6):
        store.add_message("ann", "bob", f"text {number}", sent_at=number)
    return store


def test_a_removed_message_leaves_no_gap_in_its_lists(chat: Store) -> None:
    chat.add_message("bob", "ann", "re", parentId="2")
    chat.remove([2, 4, 99])
    assert chat.ids() == [1, 3, 5, 6]
    assert len(chat.ids(conversation="ann_user_bob")) == 4
    spans = [chat.span(ALL, number, 1, ascending=True) for number in (None, 1, 3, 5, 6)]
    assert [span.left for span in spans] == [4, 3, 2, 1, 0]
    assert chat.span(conversation_list("ann_user_bob"), 6, 9, ascending=False) == ([1, 3, 5], 3)
    assert chat.message(4) is None
    assert chat.add_message("ann", "bob", "next")["id"] == "7"
    assert chat.span(ALL, 6, 1, ascending=True).left == 1


def test_an_attachment_is_removed_with_the_message(chat: Store) -> None:
    chat.marks.add("reaction", 3, "bob", 1, "+")
    chat.remove([3])
    assert chat.marks.on(3) == []


def test_the_text_of_a_message_is_in_its_data(chat: Store) -> None:
    assert chat.record(1)["data"]["text"] == "text 1"
    assert "text" not in chat.add_message("ann", "bob", type="image")["data"]
