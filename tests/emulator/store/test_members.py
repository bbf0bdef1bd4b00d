import sqlite3
from pathlib import Path

import pytest

from chatrest.emulator import Store
from chatrest.errors import RequestInvalidError


@pytest.fixture
def den(store: Store) -> Store:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    store.add_group("den")
    store.add_member("den", "bob", "admin", joined_at=3)
    store.add_member("den", "ann")
    return store


def test_members_are_in_the_order_of_joining(den: Store) -> None:
    assert den.members.uids("den") == ["bob", "ann"]
    assert den.members.member("den", "bob") == ("admin", 3)
    assert den.members.member("den", "cat") is den.members.member("other", "bob") is None


def test_a_group_counts_its_members(den: Store) -> None:
    assert b'"membersCount":2' in (den.people.group("den") or b"")
    den.members.remove("den", "ann")
    den.members.remove("den", "ann")
    den.members.ban("den", "bob")
    assert b'"membersCount":0' in (den.people.group("den") or b"")
    assert den.members.is_banned("den", "bob")
    assert not den.members.is_banned("den", "ann")


def test_an_action_is_a_message_of_the_group(den: Store) -> None:
    record = den.add_action("ann", "den", "added", "bob", sent_at=9)
    assert (record["category"], record["receiverType"], record["receiver"]) == ("action", "group", "den")
    assert list(record["data"]["entities"]) == ["by", "on", "for"]
    assert den.ids(group="den") == [1]


def test_a_file_keeps_members_and_one_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.add_user("ann")
        store.add_group("den")
        store.add_member("den", "ann")
    with Store(path) as store:
        assert store.members.uids("den") == ["ann"]
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=1")
    db.close()
    with pytest.raises(RequestInvalidError, match="another version"):
        Store(path)
