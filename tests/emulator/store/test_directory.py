import json

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.directory import spliced
from chatrest.errors import RequestInvalidError

AWKWARD = ("a/b", "ü nï/../x?", "..", "👩‍👩‍👧‍👦", "%2F", "'; DROP TABLE users", "A", "a" * 500)


def test_any_text_is_a_uid(store: Store) -> None:
    for uid in AWKWARD:
        store.add_user(uid)
        assert json.loads(store.people.user(uid) or b"")["uid"] == uid
    assert store.people.uids() == list(AWKWARD)


def test_a_uid_and_a_guid_are_given_once(store: Store) -> None:
    store.add_user("ann")
    store.add_group("den")
    with pytest.raises(RequestInvalidError, match="uid"):
        store.add_user("ann")
    with pytest.raises(RequestInvalidError, match="guid"):
        store.add_group("den")
    assert (store.people.uids(), store.people.guids()) == (["ann"], ["den"])


def test_a_user_that_is_switched_off_is_not_found_and_its_uid_stays_taken(store: Store) -> None:
    store.add_user("ann", deactivatedAt=5)
    assert store.people.user("ann") is None
    assert store.people.is_taken("ann")
    assert not store.people.is_taken("bob")


def test_tags_are_shown_only_with_tags(store: Store) -> None:
    store.add_user("ann", tags=["x"])
    assert b"tags" not in (store.people.user("ann") or b"")
    assert (store.people.user("ann", with_tags=True) or b"").endswith(b',"tags":["x"]}')
    assert (store.people.tags("ann"), store.people.tags("nobody")) == (["x"], [])


def test_blocks_have_a_direction(store: Store) -> None:
    store.people.block("ann", "bob")
    store.people.block("ann", "bob")
    assert (store.people.blocks("ann", "bob"), store.people.blocks("bob", "ann")) == (True, False)


def test_entities(store: Store) -> None:
    store.add_user("ann", "Ann", avatar="https://a.example/1.png", metadata={"x": 1})
    store.add_group("den", "Den")
    user, group = store.people.entity("user", "ann"), store.people.entity("group", "den")
    assert (user["entityType"], group["entityType"]) == ("user", "group")
    assert set(user["entity"]) == {"uid", "name", "role", "status", "avatar"}
    assert group["entity"]["conversationId"] == "group_den"
    assert store.people.entity("user", "app_system")["entity"]["uid"] == "app_system"


def test_spliced() -> None:
    assert json.loads(spliced(b'{"a":1}', "b", b"[2]")) == {"a": 1, "b": [2]}
