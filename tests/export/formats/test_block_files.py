"""Growing files of lines: blocks one after the other, and what is not committed never happened."""

import errno
import hashlib
from pathlib import Path
from random import Random

import pytest

from chatrest.core.rows import Row, row_of
from chatrest.errors import ChatRestError
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.formats.block_files import BlockFiles, block_of, lines_of, rows_of
from chatrest.export.formats.compression import compression
from chatrest.export.formats.recovery import repaired
from chatrest.export.journal import NAME, Journal
from chatrest.export.ownership import Source
from chatrest.export.plan import Compress
from chatrest.export.workspace import LAST, MissingIds, Workspace
from tests.exporting import START

ANN = Source("user", ("ann",))


def rows(*ids: int, text: str = "x") -> list[Row]:
    made = (b'{"id":"%d","sentAt":%d,"t":"%b"}' % (each, START + each, text.encode()) for each in ids)
    return [row_of(raw) for raw in made]


class Folder:
    """An open folder with the files of one role, as an archive has it."""

    def __init__(
        self, path: Path, compress: Compress = "none", disk: Disk | None = None, largest: int = 1 << 30
    ) -> None:
        self.path = path
        self.journal = Journal(path / NAME)
        self.files = OpenFiles(disk or Disk())
        self.workspace = Workspace(path, self.journal, disk or Disk(), self.files)
        self.lines = BlockFiles(self.workspace, compression(compress), role="part", largest=largest)
        with self.journal.transaction():
            self.journal.add_sources([ANN])
            self.lost = repaired(self.workspace, self.lines)

    def commit(self, *pages: list[Row]) -> None:
        with self.journal.transaction():
            for page in pages:
                self.lines.add(1, ANN, page)
            self.lines.flush()
            self.files.sync()

    def close(self) -> None:
        self.files.close()
        self.journal.close()

    def ids(self) -> list[str]:
        return [
            row.id
            for part in self.journal.parts("part")
            for _, packed in self.lines.packed(part, self.journal.blocks(part.number))
            for row in self.lines.rows(packed)
        ]


def test_rows_come_back_as_they_were() -> None:
    some = [*rows(1, 2), row_of(b"[odd]"), row_of("{\u2028\x85\x0c}".encode())]
    assert [row.raw for row in rows_of(lines_of(some))] == [row.raw for row in some]
    assert rows_of(b"") == []
    block = block_of(3, 7, b"packed", 1, rows(5, 9))
    assert block[:9] == (3, 7, 6, 1, 2, 5, 9, START + 5, START + 9)
    assert block.digest == hashlib.sha256(b"packed").digest()


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
def test_a_file_that_is_cut_anywhere_keeps_its_whole_frames(compress: Compress, tmp_path: Path) -> None:
    folder = Folder(tmp_path, compress)
    for first in range(1, 60, 5):
        folder.commit(rows(*range(first, first + 5)))
    [part] = folder.journal.parts("part")
    blocks = folder.journal.blocks(part.number)
    folder.close()
    path, dice = tmp_path / part.name, Random(2)
    for _ in range(12):
        data = path.read_bytes()
        end = dice.randrange(len(data) * 9 // 10, len(data) + 1)
        path.write_bytes(data[:end])
        folder = Folder(tmp_path, compress)
        left = [block for block in blocks if block.start + block.size <= end]
        assert folder.lost == [
            MissingIds(block.source, block.first, block.last) for block in blocks[len(left) :]
        ]
        assert len(folder.ids()) == 5 * len(left)
        assert path.stat().st_size == sum(block.size for block in left)
        blocks = left
        folder.close()


def test_a_batch_that_fails_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    class Full(Disk):
        room = 10**6

        def write(self, file: int, at: int, data: bytes) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, "full")
            done = super().write(file, at, data[: self.room])
            self.room -= done
            return done

    disk = Full()
    folder = Folder(tmp_path, disk=disk)
    bob = Source("user", ("bob",))
    with folder.journal.transaction():
        folder.journal.add_sources([bob])
    folder.commit(rows(1, 2))
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.ndjson")}
    for disk.room in range(0, 200, 7):
        with pytest.raises(OSError, match="full"), folder.journal.transaction():  # noqa: PT012
            folder.lines.add(1, ANN, rows(3, 4))
            folder.lines.add(2, bob, rows(5, 6, text="y" * 150))
            folder.lines.flush()
        folder.lines.rollback()
        after = {path.name: path.read_bytes() for path in tmp_path.glob("*.ndjson")}
        assert {name: data for name, data in after.items() if data} == before
    disk.room = 10**6
    folder.commit(rows(3, 4))
    assert folder.ids() == ["1", "2", "3", "4"]
    folder.close()


def test_a_file_that_was_never_committed_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "user-ann.ndjson").write_bytes(b"torn " * 100)
    folder = Folder(tmp_path)
    folder.commit(rows(1, 2))
    folder.close()
    assert (tmp_path / "user-ann.ndjson").read_bytes() == lines_of(rows(1, 2))


def test_a_full_file_is_followed_by_another(tmp_path: Path) -> None:
    folder = Folder(tmp_path, largest=150)
    for first in range(1, 20, 2):
        folder.commit(rows(first, first + 1))
    assert folder.ids() == [str(n) for n in range(1, 21)]
    names = [part.name for part in folder.journal.parts("part")]
    assert names[:3] == ["user-ann.ndjson", "user-ann.2.ndjson", "user-ann.3.ndjson"]
    assert {part.state for part in folder.journal.parts("part")[:-1]} == {"whole"}
    folder.close()


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("cut", ["start = 0", "start > 0", "1"])
def test_what_the_journal_does_not_tell_of_is_told_anew_whatever_its_order(
    cut: str, compress: Compress, tmp_path: Path
) -> None:
    folder = Folder(tmp_path, compress)
    for first in (50, 1, 90, 20):
        folder.commit(rows(*range(first, first + 5)))
    before = folder.ids()
    folder.journal._db.execute(f"DELETE FROM blocks WHERE {cut}")
    folder.close()
    folder = Folder(tmp_path, compress)
    assert folder.lost == []
    assert folder.ids() == before
    for each in before:
        assert folder.journal.has_rows(1, int(each), int(each))
    folder.close()


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
def test_what_nobody_told_of_and_is_shortened_is_all_lost(compress: Compress, tmp_path: Path) -> None:
    """Which messages they were cannot be known: all of the source is read again."""
    folder = Folder(tmp_path, compress)
    for first in (1, 20, 50):
        folder.commit(rows(*range(first, first + 5)))
    [part] = folder.journal.parts("part")
    folder.journal._db.execute("DELETE FROM blocks WHERE start > 0")
    folder.close()
    (tmp_path / part.name).write_bytes((tmp_path / part.name).read_bytes()[:-1])
    folder = Folder(tmp_path, compress)
    assert folder.lost == [MissingIds(1, 1, LAST)]
    assert folder.ids() == ["1", "2", "3", "4", "5"]
    folder.close()


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
def test_what_cannot_be_told_of_is_said(compress: Compress, tmp_path: Path) -> None:
    folder = Folder(tmp_path, compress)
    folder.commit(rows(1, 2, 3))
    [part] = folder.journal.parts("part")
    folder.journal._db.execute("DELETE FROM blocks")
    folder.close()
    path = tmp_path / part.name
    path.write_bytes(b"?" * path.stat().st_size)
    with pytest.raises(ChatRestError, match=r"user-ann.*cannot be read.*remove the file"):
        Folder(tmp_path, compress)
