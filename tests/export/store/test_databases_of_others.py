"""A database that other programs have open or have changed, that is somebody else's, full, or damaged."""

import errno
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from chatrest import RequestInvalidError
from chatrest.export.store import converters
from tests.databases import Export, asked, changed, page, record, some


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converters, "WAIT", 0.05)


@contextmanager
def another_program(path: Path, *statements: str) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement).fetchall()
        yield


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("statements", [["BEGIN IMMEDIATE"], ["BEGIN", "SELECT * FROM messages"]])
def test_another_program_that_has_it_is_named_and_what_it_kept_out_comes_later(
    folder: Path, statements: list[str]
) -> None:
    with Export(folder) as opened:
        opened.commit(some(1))
        with another_program(opened.path, *statements):
            expected = r"messages\.sqlite: another program is writing to it, or has it open"
            with pytest.raises(OSError, match=expected) as caught:
                opened.commit(some(11))
        assert caught.value.__suppress_context__
        assert len(opened.written()) == 20
    with Export(folder) as opened:
        opened.finished()
        assert asked(opened.path, "SELECT count(*) FROM messages") == [(20,)]


def test_a_full_disk_is_named_with_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Export(folder) as opened:
        opened.commit(some(1))
        monkeypatch.setattr(converters, "DURABLE", "PRAGMA max_page_count=1")
        with pytest.raises(OSError, match=r"messages\.sqlite") as caught:
            opened.commit(some(11, 5000))
        assert caught.value.errno == errno.ENOSPC
        monkeypatch.undo()
        opened.finished()
        assert len(opened.ids()) == 5010


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no database, and never was one" * 100,
        lambda data: b"\x00" * len(data),
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + b"\xa5" * 4096 + data[8192:],
        lambda data: data[:50],
    ],
)
def test_a_damaged_file_is_set_aside_and_its_ids_are_missing(
    folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    with Export(folder) as opened:
        opened.commit(some(1, 1000))
        path = opened.finished()
    path.write_bytes(damaged := damage(path.read_bytes()))
    with Export(folder) as opened:
        assert opened.written() == []
        assert opened.commit(some(1)) == 10
        opened.finished()
    assert (folder / "damaged" / "messages.sqlite.damaged-1").read_bytes() == damaged
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_an_older_copy_is_gone_on_with_and_what_it_lacks_is_missing(folder: Path, tmp_path: Path) -> None:
    with Export(folder) as opened:
        opened.commit(some(1))
        shutil.copy(opened.finished(), tmp_path / "older")
        opened.edit(page(record(1, "edited")))
        opened.commit(some(11))
        opened.finished()
    shutil.copy(tmp_path / "older", opened.path)
    with Export(folder) as opened:
        assert opened.written() == list(range(1, 11))
        assert opened.commit([*some(1), *some(11)]) == 10


def test_what_others_delete_is_missing_and_what_they_add_beside_it_stays(folder: Path) -> None:
    with Export(folder) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "DELETE FROM messages WHERE number = 3")
    changed(opened.path, "CREATE TABLE notes(mine)")
    with Export(folder) as opened:
        assert 3 not in opened.written()
        assert opened.commit(some(1)) == 1
        opened.finished()
    assert asked(opened.path, "SELECT count(*) FROM notes") == [(0,)]


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("UPDATE export SET value = 'another' WHERE name = 'app'", "is no database of this export"),
        ("DROP TABLE versions", "is no database of this export"),
        ("PRAGMA user_version=2", "another version"),
    ],
)
def test_somebody_elses_is_refused_and_not_touched(folder: Path, statement: str, match: str) -> None:
    with Export(folder) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, statement)
    before = opened.path.read_bytes()
    with pytest.raises(RequestInvalidError, match=match):
        Export(folder)
    assert opened.path.read_bytes() == before
