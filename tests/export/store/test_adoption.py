"""Folders whose journal and files differ in age: nothing is lost or stored twice."""

import shutil
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from chatrest import _storage as storage
from chatrest.export.formats.stored_records import compression
from chatrest.export.plan.message_ids import ids_of
from chatrest.export.store import NewRows, salvage
from chatrest.export.store.disk import Disk
from chatrest.export.store.store_journal import NAME
from tests.support.scripted_store import (
    COUNT,
    FORMATS,
    LATER,
    PARTITIONS,
    check_life,
    damaged_files,
    differences,
    live,
    opened,
    page,
    repaired,
    row,
    stem_of,
    texts_of,
    texts_on_disk,
)
from tests.support.simulated_crashes import DyingDisk, Fate, ProcessDeath

ALL = {*range(1, COUNT + 1), *LATER}


def kinds(folder: Path, format: str) -> list[str]:
    return [finding.kind for finding in repaired(folder, format)]


def forget_journal(folder: Path) -> None:
    for path in folder.glob(f"{NAME}*"):
        path.unlink()


def damaged_member(lines: bytes) -> bytes:
    """A packed block with a wrong checksum."""
    data = compression("gzip").pack(lines)
    return data[:-8] + bytes(4) + data[-4:]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Copies of the journal, as it is after each of its transactions."""
    copies: list[Path] = []
    inner = storage.JournalFile.transaction

    def transaction(self: storage.JournalFile) -> object:
        copies.append(tmp_path / f"copy-{len(copies)}")
        self.write_snapshot(copies[-1])
        return inner(self)

    monkeypatch.setattr(storage.JournalFile, "transaction", transaction)
    return copies


@pytest.mark.parametrize(
    ("format", "partition"),
    [
        ("zstd", "none"),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in product(FORMATS, PARTITIONS)),
    ],
)
def test_an_older_journal_continues_beside_newer_files(
    folder: Path, tmp_path: Path, copies: list[Path], format: str, partition: str
) -> None:
    live(folder, format, partition, [])
    for copy in list(copies):
        out = tmp_path / "again"
        shutil.copytree(folder, out)
        forget_journal(out)
        shutil.copy(copy, out / NAME)
        check_life(out, format, partition, sorted(ALL), sets_aside=True)
        shutil.rmtree(out)


@pytest.mark.parametrize(
    ("format", "partition", "at"),
    [("plain", "source", 4), ("gzip", "none", 8), ("zstd", "source", 14), ("parquet", "month", 11),
     ("parquet", "none", 8)],
)  # fmt: skip
def test_a_lost_journal_is_rebuilt_from_the_files(folder: Path, format: str, partition: str, at: int) -> None:
    fate, safe = Fate(folder, at), list[int]()
    with pytest.raises(ProcessDeath):
        live(folder, format, partition, safe, DyingDisk(fate))
    fate.rise()
    forget_journal(folder)
    check_life(folder, format, partition, safe, is_journal_complete=False)


def test_an_uncommitted_end_is_adopted_as_far_as_readable(folder: Path) -> None:
    with opened(folder, "plain") as store:
        store.commit(page("plain", "none", 1, [1, 2]))
    [segment] = (folder / "spool").iterdir()
    with segment.open("ab") as file:
        file.write(row(2).raw + b"\n" + row(3).raw + b"\n" + row(4).raw[:20])
    assert kinds(folder, "plain") == ["longer"]
    assert [key for key, _ in texts_on_disk(folder)] == ["1", "2", "3"]
    assert damaged_files(folder) == []


OTHER: Final = b"what is this?\n"


@pytest.mark.parametrize(
    ("format", "end"),
    [
        ("plain", OTHER + row(3).raw + b"\n"),
        ("gzip", OTHER + row(3).raw + b"\n"),  # not packed
        ("gzip", compression("gzip").pack(OTHER)),
        ("gzip", compression("gzip").pack(row(3).raw)),  # without the end of its line
        ("gzip", damaged_member(row(3).raw + b"\n")),
    ],
    ids=["line", "not packed", "packed line", "packed half", "damaged member"],
)
def test_an_end_with_other_bytes_is_set_aside(folder: Path, format: str, end: bytes) -> None:
    with opened(folder, format) as store:
        store.commit(page(format, "none", 1, [1, 2]))
    [segment] = (folder / "spool").iterdir()
    with segment.open("ab") as file:
        file.write(end)
    before = segment.read_bytes()
    assert kinds(folder, format) == ["longer"]
    ids = ["1", "2", "3"] if format == "plain" else ["1", "2"]
    assert [key for key, _ in texts_on_disk(folder)] == ids
    [aside] = (folder / "damaged/spool").iterdir()
    assert aside.read_bytes() == before


@pytest.mark.parametrize("format", list(FORMATS))
def test_records_of_an_unknown_file_are_copied_and_the_file_set_aside(
    folder: Path, tmp_path: Path, format: str
) -> None:
    other = tmp_path / "other"
    for out, ids in ((folder, range(1, 50)), (other, range(40, 90))):  # some are known
        with opened(out, format) as store:
            store.commit(page(format, "source", 1, list(ids)))
            store.seal_all()
    [path] = [path for path in other.rglob("messages*") if path.is_file()]
    name = path.relative_to(other)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    path.rename(folder / name)
    assert kinds(folder, format) == ["unknown"]
    with opened(folder, format) as store:
        expected = set(range(1, 90))
        assert set(store.written) == set(map(int, texts_of(store))) == expected
        assert not differences(store)
    assert damaged_files(folder) == [f"{name.name}.damaged-1"]


@pytest.mark.parametrize("format", list(FORMATS))
def test_a_file_that_was_removed_is_missing_and_read_again(folder: Path, format: str) -> None:
    with opened(folder, format) as store:
        store.commit(page(format, "source", 1, list(range(1, 50))))
        store.commit(page(format, "source", 2, list(range(50, 60))))
        store.seal_all()
    lost = next(path for path in sorted(folder.rglob("messages*")) if path.is_file())
    lost.unlink()
    assert kinds(folder, format) == ["missing"]
    with opened(folder, format) as store:
        missing = set(store.missing())
        assert missing == set(range(1, 50))
        assert [finding.kind for finding in store.inspect()] == ["ids"]
        store.commit(page(format, "source", 1, sorted(missing)))
        store.seal_all()
        assert not differences(store)
    assert len(texts_on_disk(folder)) == 59


@pytest.mark.parametrize("format", list(FORMATS))
def test_a_damaged_file_is_set_aside_and_salvaged_at_last(folder: Path, format: str) -> None:
    with opened(folder, format) as store:
        store.commit(page(format, "source", 1, list(range(1, 200))))
        store.seal_all()
    [path] = [path for path in folder.rglob("messages*") if path.is_file()]
    content = path.read_bytes()[:-7]
    path.write_bytes(content)
    assert kinds(folder, format) == ["damaged"]
    [aside] = [path for path in (folder / "damaged").rglob("*") if path.is_file()]
    assert aside.read_bytes() == content
    with opened(folder, format) as store:
        assert set(store.missing()) == set(range(1, 200))
        store.commit(page(format, "source", 1, list(range(1, 100))))  # what the service still shows
        assert salvage(store) == {"plain": 99}.get(format, 0)
        assert salvage(store) == 0
        assert {*store.written, *store.missing()} == set(range(1, 200))


class FullDisk(Disk):
    """A disk without room for the bytes after the first ones."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, file: int, at: int, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(28, "No space left on device")
        written = super().write(file, at, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("format", ["plain", "gzip", "parquet"])
def test_a_full_disk_undoes_the_commit_and_the_store_continues(folder: Path, format: str) -> None:
    disk = FullDisk(1 << 20)
    with opened(folder, format, disk) as store:
        store.commit(page(format, "source", 1, [1, 2, 3]))
        disk.room = 50
        with pytest.raises(OSError, match="No space"):
            store.commit([*page(format, "source", 1, [4, 5]), *page(format, "source", 2, [6, 7])])
        assert set(store.written) == set(map(int, texts_of(store))) == {1, 2, 3}
        if format == "parquet":
            with pytest.raises(OSError, match="No space"):
                store.seal_all()
            assert not set(store.missing())
        disk.room = 1 << 20
        store.commit([*page(format, "source", 1, [4, 5]), *page(format, "source", 2, [6, 7])])
        store.seal_all()
        assert not differences(store)
    assert len(texts_on_disk(folder)) == 7
    assert repaired(folder, format) == []


def test_text_ids_are_stored_once_and_reported_as_missing(folder: Path) -> None:
    stem = stem_of("none", 1, 1)
    with opened(folder, "plain") as store:
        rows = [row("abc"), row(5), row("x-1"), row("abc")]
        ids = ids_of(rows)
        assert store.commit([NewRows(stem, 1, rows, seen=ids), NewRows(stem, 2, rows, seen=ids)]) == 3
        assert store.commit([NewRows(stem, 1, [row("abc"), row("new")])]) == 1
        store.seal_all()
        assert not store.missing()
    [path] = (folder / "messages").iterdir()
    path.unlink()
    with opened(folder, "plain") as store:
        missing = store.missing()
        assert set(missing.numbers) == {5}
        assert set(store.journal.keys_of(missing).values()) == {"abc", "x-1"}, (
            "no list has shown the other one"
        )
