"""Growing files of lines: blocks one after the other, and what is not committed never happened."""

import errno
import hashlib
from pathlib import Path
from random import Random

import pytest

from chatrest.core.replies.rows import row_of
from chatrest.errors import ChatRestError
from chatrest.export.disk import Disk
from chatrest.export.formats.block_files import block_of, lines_of, rows_of
from chatrest.export.formats.compression import compression
from chatrest.export.message_ids import ids_of
from chatrest.export.plan import Compress
from tests.sinks import BOB, SEPTEMBER, Export, files, ids, page, record, stored

NAME = "messages/source=user-alice/messages.ndjson"


def test_rows_come_back_as_they_were() -> None:
    rows = [*page(1, 2), row_of(b"[odd]"), row_of("{\u2028\x85\x0c}".encode())]
    assert [row.raw for row in rows_of(lines_of(rows))] == [row.raw for row in rows]
    assert rows_of(b"") == []


def test_a_block_has_the_ids_times_and_hash_of_its_rows() -> None:
    rows = [*page(5, 1), *page(9, 1, SEPTEMBER + 7)]
    block = block_of(3, 7, b"packed", 1, rows, ids_of(rows))
    assert block[:9] == (3, 7, 6, 1, 2, 5, 9, SEPTEMBER, SEPTEMBER + 7)
    assert (block.digest, list(block.ids), block.other) == (hashlib.sha256(b"packed").digest(), [5, 9], 0)
    for raw, other in ((b'{"id":"7"}', 1), (b'{"id":"x","sentAt":1}', 2)):
        rows = [*page(5, 1), row_of(raw)]
        assert block_of(3, 7, b"packed", 1, rows, ids_of(rows)).other == other


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
def test_a_file_that_is_cut_anywhere_keeps_its_whole_blocks(compress: Compress, tmp_path: Path) -> None:
    with Export(tmp_path, compress=compress) as out:
        for first in range(1, 200, 5):
            out.commit(page(first, 5))
        [file] = out.journal.files()
        blocks = out.journal.blocks(file.number)
    path, dice = tmp_path / file.name, Random(2)
    for _ in range(8):
        end = dice.randrange(len(path.read_bytes()) * 8 // 10, len(path.read_bytes()) + 1)
        path.write_bytes(path.read_bytes()[:end])
        blocks = [block for block in blocks if block.start + block.size <= end]
        with Export(tmp_path, compress=compress) as out:
            assert out.written() == [number for block in blocks for number in block.ids]
        assert ids(tmp_path) == list(range(1, len(blocks) * 5 + 1))
        assert path.stat().st_size == sum(block.size for block in blocks)


def test_a_batch_that_fails_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    class Full(Disk):
        room = 10**6

        def write(self, file: int, position: int, data: bytes) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, "full")
            size = super().write(file, position, data[: self.room])
            self.room -= size
            return size

    disk = Full()
    with Export(tmp_path, disk) as out:
        out.commit(page(1, 2))
        for disk.room in range(0, 450, 29):
            with pytest.raises(OSError, match="full"), out.journal.transaction():  # noqa: PT012
                out.sink.add(1, out.journal.sources()[0].source, page(3, 2))
                out.sink.add(2, BOB, page(5, 2, text="y" * 350))
                out.sink.flush()
            out.sink.rollback()
            assert files(tmp_path) == [NAME]
            assert ids(tmp_path) == [1, 2]
        disk.room = 10**6
        out.commit(page(3, 2))
        assert ids(tmp_path) == out.written() == [1, 2, 3, 4]


def test_a_full_file_is_followed_by_another(tmp_path: Path) -> None:
    with Export(tmp_path, largest=150) as out:
        for first in range(1, 20, 2):
            out.commit(page(first, 2))
        assert [int(row.id) for row, _ in out.sink.scan()] == list(range(1, 21))
        by_number = out.journal.files()
    folder = "messages/source=user-alice"
    assert [file.name for file in by_number][:3] == [
        f"{folder}/messages{count}.ndjson" for count in ("", "-2", "-3")
    ]
    assert {file.state for file in by_number[:-1]} == {"whole"}


def test_a_file_has_no_name_before_it_is_committed(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        with out.journal.transaction():
            out.sink.add(1, out.journal.sources()[0].source, page(1))
            out.sink.flush()
            assert files(tmp_path) == ["spool/1.new"]
        assert [len(out.scan()), out.written()] == [10, list(range(1, 11))]
        out.sink.maintain()
        assert files(tmp_path) == [NAME]
        out.commit(page(11))
    assert ids(tmp_path) == list(range(1, 21))


def test_pages_may_be_committed_before_the_first_ones_have_their_name(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11):
            with out.journal.transaction():
                out.sink.add(1, out.journal.sources()[0].source, page(first))
                out.sink.flush()
        out.sink.finish()
        assert files(tmp_path) == [NAME]
    assert ids(tmp_path) == list(range(1, 21))


def test_a_file_that_was_never_committed_leaves_nothing(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        with out.journal.transaction():
            out.sink.add(1, out.journal.sources()[0].source, page(1))
            out.sink.flush()
            out.sink.rollback()
        out.commit(page(1, 2))
    assert stored(tmp_path) == [record(1), record(2)]


def test_bytes_that_are_not_those_that_were_written_are_not_rewritten(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        data = (tmp_path / NAME).read_bytes()
        (tmp_path / NAME).write_bytes(data.replace(b"alice", b"mallo", 1))
        out.change(page(9, 1, edited="yes"))
        with pytest.raises(ChatRestError, match=r"its bytes 0 to 5\d\d are not those that were written"):
            out.done()


def test_an_unchanged_file_is_not_rewritten(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.commit(page(11), BOB)
        before = (tmp_path / NAME).stat().st_ino
        out.change(page(12, 1, edited="yes"))
        assert out.done() == 1
        assert (tmp_path / NAME).stat().st_ino == before


def test_small_blocks_of_any_compression_are_read_in_a_row() -> None:
    for name in ("none", "gzip", "zstd"):
        way = compression(name)  # type: ignore[arg-type]
        packed = b"".join(way.pack(lines_of(page(first))) for first in (1, 11))
        assert [int(row.id) for row in rows_of(way.unpack(packed))] == list(range(1, 21))
