import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from chatrest.emulator import Store
from chatrest.emulator.store.message_index import ALL, conversation_list, participant_list
from chatrest.emulator.store.message_lists import BEGIN, END, Condition
from chatrest.errors import RequestInvalidError

TEXTS = Condition("m.type = ?", ("text",))


def filled(store: Store, pattern: str) -> None:
    """A message per letter: t a text, i an image from ann to bob; c a text from ann to cat."""
    for letter in pattern:
        store.add_message("ann", "cat" if letter == "c" else "bob", type="image" if letter == "i" else "text")


@given(
    pattern=st.text("tic", max_size=40),
    size=st.integers(1, 9),
    forwards=st.booleans(),
    name=st.sampled_from([ALL, conversation_list("ann_user_bob"), participant_list("ann"), "c:nothing"]),
    condition=st.sampled_from([Condition(), TEXTS]),
)
def test_a_walk_covers_every_message_once(
    pattern: str, size: int, forwards: bool, name: str, condition: Condition
) -> None:
    with Store() as store:
        filled(store, pattern)
        expected = set(store.matching(name, condition))
        assert expected <= set(range(1, len(pattern) + 1))
        walked: list[int] = []
        position = BEGIN if forwards else END
        while True:
            step = store.after if forwards else store.before
            span = step(name, position, size, condition)
            assert span.left == len(expected) - len(walked)
            assert list(span.ids) == sorted(span.ids)
            if not span.ids:
                break
            assert len(span.ids) == min(size, span.left)
            walked += span.ids if forwards else reversed(span.ids)
            position = span.ids[-1] if forwards else span.ids[0]
        assert walked == sorted(expected, reverse=not forwards)


@given(before=st.text("tic", max_size=9), after=st.text("tic", max_size=9))
def test_a_filter_sees_later_messages(before: str, after: str) -> None:
    with Store() as store:
        filled(store, before)
        store.matching(ALL, TEXTS)
        filled(store, after)
        letters = list(enumerate(before + after, 1))
        assert list(store.matching(ALL, TEXTS)) == [number for number, letter in letters if letter != "i"]


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
    odd = [b'{"id":3,"data":[]}', b"[]", b'{"id":"5" , "sender":"\\ud800"}', b'{"id":"2"}']
    store.add_records(odd)
    assert store.records(store.ids()) == odd
    assert store.ids() == [3, 4, 5, 6]
    assert store.message(4) == b"[]"


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


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        assert store.is_empty()
        store.add_user("ann")
        filled(store, "ttic")
        token = store.auth_tokens.issue("ann", 1, {}, fresh=False)
    with Store(str(path)) as store:
        assert not store.is_empty()
        assert (store.people.uids(), store.ids(), store.last_id) == (["ann"], [1, 2, 3, 4], 4)
        assert store.auth_tokens.issue("ann", 2, {}, fresh=False) == token
        filled(store, "c")
        assert store.after(participant_list("cat"), BEGIN, 9).left == 2


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
