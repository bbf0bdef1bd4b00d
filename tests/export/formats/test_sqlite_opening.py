"""A database that is opened again: what has been lost of it is told, and what is not ours is left alone."""

import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from chatrest import RequestInvalidError
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.formats.sqlite import DatabaseSink
from chatrest.export.journal import NAME as JOURNAL, Journal
from chatrest.export.workspace import Workspace
from tests.databases import PLAN, Export, asked, changed, page, record, some


def test_nothing_is_lost_of_a_new_export_and_of_a_whole_one(out: Path) -> None:
    for first in (1, 11):
        with Export(out) as opened:
            assert opened.unknown() == []
            opened.commit(some(first))
            opened.finished()
    with Export(out) as opened:
        assert opened.unknown() == []
        assert len(opened.ids()) == 20


def test_a_file_that_is_missing_is_made_anew(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished().unlink()
    with Export(out) as opened:
        assert opened.written() == []
        assert opened.ids() == []
        assert opened.commit(some(1)) == 10
    with Export(out) as opened:
        assert opened.unknown() == []


def test_a_log_without_its_file_is_not_taken_for_a_new_ones(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        log = opened.path.with_name("messages.sqlite-wal")
        kept = log.read_bytes()
    opened.path.unlink()
    log.write_bytes(kept)
    with Export(out) as opened:
        assert opened.written() == []
        assert opened.ids() == []
        opened.commit(some(1))
    assert asked(opened.path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is no database, and never was one" * 100,
        lambda data: b"\x00" * len(data),
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + b"\xa5" * 4096 + data[8192:],
        lambda data: data[: len(data) // 2] + b"\xa5" * 8192 + data[len(data) // 2 + 8192 :],
        lambda data: b"",
        lambda data: data[:50],
    ],
)
def test_a_damaged_file_is_moved_aside_and_made(out: Path, damage: Any) -> None:
    with Export(out) as opened:
        for first in range(1, 1000, 100):
            opened.commit(some(first, 100))
        path = opened.finished()
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with Export(out) as opened:
        assert opened.written() == []
        assert opened.ids() == []
        assert opened.commit(some(1)) == 10
        opened.finished()
    if damaged:  # an empty file is a database without tables
        assert (out / "damaged" / "messages.sqlite.damaged-1").read_bytes() == damaged
    with Export(out) as opened:
        assert opened.unknown() == []
    assert asked(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_that_holds_less_keeps_what_it_holds(out: Path, tmp_path: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        shutil.copy(opened.finished(), tmp_path / "older")
        opened.commit(page(record(1, "edited")))
        opened.commit(some(11))
        opened.finished()
    shutil.copy(tmp_path / "older", opened.path)
    with Export(out) as opened:
        assert opened.written() == []
        assert len(opened.ids()) == 10
        assert opened.commit([*some(1), *some(11)]) == 10
    with Export(out) as opened:
        assert opened.unknown() == []


def test_rows_that_somebody_has_deleted_are_read_again(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "DELETE FROM messages WHERE number = 3")
    with Export(out) as opened:
        assert opened.written() == []
        assert opened.sink.counts() == {1: 9}
        assert opened.commit(some(1)) == 1


def test_a_crash_after_a_damaged_file_was_moved_aside_moves_no_other(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        path = opened.finished()
    path.write_bytes(b"damaged" * 1000)
    with closing(Journal(out / JOURNAL)) as journal:  # the process dies before the journal's commit
        disk = Disk()
        sink = DatabaseSink(PLAN, Workspace(out, journal, disk, OpenFiles(disk)))
        with suppress(ZeroDivisionError), journal.transaction():
            sink.recover()
            raise ZeroDivisionError
        sink.close()
    with Export(out) as opened:
        assert opened.written() == []
    assert [path.name for path in (out / "damaged").iterdir()] == ["messages.sqlite.damaged-1"]


def test_somebody_elses_database_is_not_touched(out: Path) -> None:
    out.mkdir()
    path = out / "messages.sqlite"
    changed(path, "CREATE TABLE mine(x)")
    before = path.read_bytes()
    with pytest.raises(RequestInvalidError, match=r"messages\.sqlite is no database of this export"):
        Export(out)
    assert path.read_bytes() == before


def test_another_apps_database_is_not_touched(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "UPDATE export SET value = 'another' WHERE name = 'app'")
    with pytest.raises(RequestInvalidError, match="is no database of this export"):
        Export(out)


def test_a_newer_librarys_database_is_not_touched(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    changed(opened.path, "PRAGMA user_version=2")
    with pytest.raises(RequestInvalidError, match="another version"):
        Export(out)


def test_a_disk_that_fails_is_not_taken_for_damage(out: Path) -> None:
    (out / "messages.sqlite").mkdir(parents=True)
    with pytest.raises(OSError, match=r"messages\.sqlite: unable to open"):
        Export(out)
    assert (out / "messages.sqlite").is_dir()
