"""What somebody has done to the Parquet sink's files is noticed, and what is not its own is left alone."""

import sqlite3
from pathlib import Path

import pytest

from chatrest import ChatRestError
from chatrest.export.journal import NAME
from chatrest.export.workspace import MissingIds
from tests.dying import ProcessDeath
from tests.parquets import ALICE, BOB, OCTOBER, Export, crashed, files, ids, page, record


def test_a_part_that_is_gone_or_of_another_size_is_lost_and_dropped(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.commit([*page(11, 5), *page(16, 5, OCTOBER)], BOB)
        out.done()
        alice, bob = out.number(ALICE), out.number(BOB)
    (tmp_path / "2020-09.parquet").unlink()
    with (tmp_path / "2020-10.parquet").open("ab") as file:
        file.write(b"!")
    with Export(tmp_path) as out:
        assert sorted(out.lost) == [
            MissingIds(alice, 1, 5), MissingIds(alice, 6, 10),
            MissingIds(bob, 11, 15), MissingIds(bob, 16, 20),
        ]  # fmt: skip
        assert files(tmp_path) == []
        assert out.scan() == []
        out.commit(page(1, 20))
        out.done()
    assert files(tmp_path) == ["2020-09.parquet"]
    assert ids(tmp_path) == [str(number) for number in range(1, 21)]


def test_a_spool_that_is_gone_is_lost(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
    for path in tmp_path.glob("spool/*"):
        path.unlink()
    (tmp_path / "spool").rmdir()
    with Export(tmp_path) as out:
        assert out.lost == [MissingIds(out.number(ALICE), 1, 10)]
        out.done()
        assert files(tmp_path) == []
        out.commit(page(1))
        out.done()
    assert ids(tmp_path) == [str(number) for number in range(1, 11)]


def test_a_damaged_spool_is_not_made_a_sound_part(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        [path] = tmp_path.glob("spool/*")
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(ChatRestError, match=r"2020-09\.spool\.zst: its bytes 0 to \d+ are not"):
            out.done()
    path.unlink()
    with Export(tmp_path) as out:
        assert out.lost == [MissingIds(out.number(ALICE), 1, 10)]
        out.commit(page(1))
        out.done()
    assert files(tmp_path) == ["2020-09.parquet"]


def test_a_damaged_part_is_told_of(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.done()
        path = tmp_path / "2020-09.parquet"
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises(ChatRestError, match=r"2020-09\.parquet cannot be read"):
            out.scan()


@pytest.mark.parametrize("cut", ["start = 0", "start = 10", "start = 20", "1"])
def test_frames_cut_out_of_the_journal_tell_of_themselves(tmp_path: Path, cut: str) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11, 21):
            out.commit(page(first))
        out.done()
    db = sqlite3.connect(tmp_path / NAME)
    with db:
        db.execute(f"DELETE FROM blocks WHERE {cut}")
    db.close()
    with Export(tmp_path) as out:
        assert out.lost == []
        assert sorted(out.scan()) == sorted(record(number) for number in range(1, 31))
        assert {row.id for row, _ in out.sink.scan(15, 15)} >= {str(number) for number in range(11, 21)}
        assert sum(out.sink.counts().values()) == 30
        out.change(page(15, 1, edited="yes"))
        assert out.done() == 1
    assert ids(tmp_path) == [str(number) for number in range(1, 31)]


def test_a_half_made_part_goes_with_its_spool(tmp_path: Path) -> None:
    for calls in range(4):
        folder = tmp_path / str(calls)
        with Export(folder) as out:
            out.commit(page(1))
        assert not crashed(folder, Export.done, calls, ProcessDeath, True)
        for path in folder.glob("spool/*"):
            path.unlink()
        with Export(folder) as out:
            assert out.lost == [MissingIds(out.number(ALICE), 1, 10)]
            out.done()
        assert files(folder) == []


def test_nothing_stays_open(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11):
            out.commit(page(first))
            out.change(page(first, 1, edited="yes"))
            out.done()
        open_files = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        held = {path.name for path in open_files if path.is_relative_to(tmp_path)}
    assert held <= {"journal.sqlite", "journal.sqlite-wal", "history.jsonl.zst"}


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.done()
    (tmp_path / "mine.parquet").write_bytes(b"mine")
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "mine").write_bytes(b"mine")
    with Export(tmp_path) as out:
        out.commit(page(11))
        out.done()
    assert files(tmp_path) == ["2020-09.2.parquet", "2020-09.parquet", "mine.parquet", "spool/mine"]
