import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.message_index import ALL, participant_list
from chatrest.emulator.store.message_lists import Condition
from chatrest.errors import RequestInvalidError


def filled(store: Store, pattern: str) -> None:
    """A message per letter: t a text, i an image from ann to bob; c a text from ann to cat."""
    for letter in pattern:
        store.add_message("ann", "cat" if letter == "c" else "bob", type="image" if letter == "i" else "text")


def test_old_filters_are_dropped_from_the_cache_and_computed_again(store: Store) -> None:
    filled(store, "tt")
    for value in range(300):
        assert list(store.matching(ALL, Condition("m.id > ?", (value,)))) == [1, 2][value:]
    assert list(store.matching(ALL, Condition("m.id > ?", (0,)))) == [1, 2]


def test_ids_by_kind_of_list(store: Store) -> None:
    store.add_message("ann", "bob", "1")
    store.add_message("bob", "cat", "2", parentId="1")
    store.add_message("cat", "den", "3", receiver_type="group")
    assert store.ids() == [1, 2, 3]
    assert store.ids(participant="bob") == [1, 2]
    assert store.ids(participant="cat") == [2, 3]
    assert store.ids(conversation="ann_user_bob") == [1]
    assert store.ids(group="den") == [3]
    assert store.ids(thread=1) == store.ids(thread="1") == [2]
    assert store.ids(conversation="nothing") == []
    assert store.conversations() == ["ann_user_bob", "bob_user_cat", "group_den"]
    with pytest.raises(RequestInvalidError, match="one of"):
        store.ids(group="den", thread=1)


def test_an_error_while_adding_leaves_nothing(store: Store) -> None:
    filled(store, "t")

    def records() -> Iterator[bytes]:
        yield b'{"id":"7","sender":"ann","sentAt":9}'
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.add_records(records())
    assert (store.ids(), store.last_id, store.last_sent_at, store.size(ALL)) == ([1], 1, 0, 1)
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


def test_tags_are_served_only_where_they_are_asked_for(store: Store) -> None:
    store.add_records(['{"id":"1","tags":["a","ü"],"data":{"text":"é\\u00e9 🎉"}}'.encode()])
    assert store.records([1]) == ['{"id":"1","data":{"text":"éé 🎉"}}'.encode()]
    assert store.message(1) == '{"id":"1","data":{"text":"éé 🎉"},"tags":["a","ü"]}'.encode()


def test_messages_are_hidden_from_lists_and_shown_again(store: Store) -> None:
    filled(store, "ttttt")
    store.hide([2, 3], participant_list("ann"))
    assert (store.ids(participant="ann"), store.ids()) == ([1, 4, 5], [1, 2, 3, 4, 5])
    assert store.after(participant_list("ann"), 1, 1) == ([4], 2)
    store.hide([5])
    store.show([3, 4], participant_list("ann"))
    assert (store.ids(participant="ann"), store.ids(participant="bob")) == ([1, 3, 4], [1, 2, 3, 4])


def test_a_replaced_record_is_served(store: Store) -> None:
    filled(store, "t")
    store.replace_record(1, b"?")
    assert store.records([1]) == [b"?"]


def test_sent_at_never_goes_back(store: Store) -> None:
    assert store.add_message("ann", "bob", sent_at=9)["sentAt"] == 9
    assert store.add_message("ann", "bob", sent_at=5)["sentAt"] == 9
    assert (store.sent_at(2), store.sent_at(3)) == (9, None)


def test_files_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database " * 100)
    foreign = sqlite3.connect(tmp_path / "foreign")
    foreign.execute("CREATE TABLE x(y)")
    foreign.close()
    for name, reason in (("text", "not a database"), ("foreign", "not a store"), ("no/where", "unable")):
        with pytest.raises(RequestInvalidError, match=reason):
            Store(tmp_path / name)
    with Store(tmp_path / "used"), pytest.raises(RequestInvalidError, match="locked"):
        Store(tmp_path / "used")
