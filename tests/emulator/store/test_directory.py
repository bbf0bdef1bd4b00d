import json

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.directory import spliced
from chatrest.errors import RequestInvalidError


def test_a_uid_and_a_guid_are_given_once(store: Store) -> None:
    store.add_user("ann")
    store.add_group("den")
    with pytest.raises(RequestInvalidError, match="uid"):
        store.add_user("ann")
    with pytest.raises(RequestInvalidError, match="guid"):
        store.add_group("den")
    assert (store.people.uids(), store.people.guids()) == (["ann"], ["den"])


def test_spliced() -> None:
    assert json.loads(spliced(b'{"a":1}', "b", b"[2]")) == {"a": 1, "b": [2]}
