"""Users and groups: uids and guids are given once, and a file keeps members."""

import sqlite3
from pathlib import Path

import pytest

from chatrest.emulator import Store
from chatrest.errors import RequestInvalidError


def test_a_file_keeps_members_and_one_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.add_user("ann")
        store.add_group("den")
        store.members.add("den", "ann")
    with Store(path) as store:
        assert store.members.uids("den") == ["ann"]
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=1")
    db.close()
    with pytest.raises(RequestInvalidError, match="another version"):
        Store(path)
