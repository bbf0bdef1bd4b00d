"""The Parquet sink's files: which there are, what the journal tells of them, and what is read back."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from chatrest.export.formats.parquet_columns import Piece, tables
from chatrest.export.ownership import Source
from tests.parquets import ALICE, BOB, DAY, OCTOBER, SEPTEMBER, Export, files, ids, page, record, served


def test_a_file_a_month(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit([*page(1, 3), *page(4, 2, OCTOBER), *served(b'{"id":"6"}')])
        out.commit(page(7, 1, OCTOBER * 1000), BOB)
        out.done()
        assert files(tmp_path) == ["2020-09.parquet", "2020-10.parquet", "undated.parquet"]
        assert out.sink.counts() == {out.number(ALICE): 6, out.number(BOB): 1}
    assert pq.read_table(tmp_path / "2020-10.parquet")["source"].to_pylist() == [
        *["user alice"] * 2,
        "user bob",
    ]
    assert ids(tmp_path) == list("1234567")


def test_a_file_a_source(tmp_path: Path) -> None:
    odd = Source("user", ("../a/b.2 ü",))
    with Export(tmp_path, partition="source") as out:
        with out.journal.transaction():
            out.journal.add_sources([odd])
        out.commit([*page(1, 3), *page(4, 2, OCTOBER)])
        out.commit(page(7, 1, OCTOBER), odd)
        out.done()
    assert files(tmp_path) == ["user-..%2Fa%2Fb.2%20%C3%BC.parquet", "user-alice.parquet"]
    assert ids(tmp_path) == list("123457")


def test_large_spools_become_several_parts_and_a_later_run_adds_its_own(tmp_path: Path) -> None:
    with Export(tmp_path, largest=1) as out:
        for first in (1, 11, 21):
            out.commit(page(first))
        out.done()
    with Export(tmp_path) as out:
        assert out.lost == []
        out.commit(page(31))
        assert max(files(tmp_path)) == "spool/2020-09.spool.zst"
        out.done()
        out.done()
    assert files(tmp_path) == [f"2020-09.{number}parquet" for number in ("2.", "3.", "4.", "")]
    assert not (tmp_path / "spool").exists()
    assert ids(tmp_path) == [str(number) for number in range(1, 41)]


def test_the_journal_tells_of_the_parts_what_is_so(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1, 4))
        out.commit(page(5, 2), BOB)
        out.done()
        [part] = out.journal.parts()
        data = (tmp_path / part.name).read_bytes()
        assert (part.role, part.state, part.size) == ("part", "whole", len(data))
        assert part.digest == hashlib.sha256(data).digest()
        blocks = [
            (block.start, block.size, block.rows, block.first, block.last) for block in out.journal.blocks(1)
        ]
        assert blocks in ([], [(0, 0, 4, 1, 4), (4, 0, 2, 5, 6)])
        [blocks] = [out.journal.blocks(part.number)]
        assert [(block.start, block.rows, block.first, block.last) for block in blocks] == [
            (0, 4, 1, 4),
            (4, 2, 5, 6),
        ]
        assert [block.source for block in blocks] == [out.number(ALICE), out.number(BOB)]


def test_stored_reads_what_may_be_asked_for_with_its_source(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.commit(page(11, 10, SEPTEMBER + DAY), BOB)
        out.done()
        out.commit(page(21))
        alice, bob = out.number(ALICE), out.number(BOB)
        found = [(row.id, source) for row, source in out.sink.scan()]
        assert sorted(found) == sorted(
            [(str(number), bob if 10 < number <= 20 else alice) for number in range(1, 31)]
        )
        assert {row.id for row, _ in out.sink.scan(12, 13)} == {str(number) for number in range(11, 21)}
        assert len(out.scan(last=20)) == 20
        assert {source for _, source in out.sink.scan(since=SEPTEMBER + 1)} == {bob}
        assert out.scan(first=31, last=40) == []


def test_a_part_of_many_row_groups_gives_each_row_its_own_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.export.formats.parquet_columns._FEW_ROWS", 7)
    monkeypatch.setattr("chatrest.export.formats.parquet_columns._MANY_ROWS", 20)
    monkeypatch.setattr("chatrest.export.formats.parquet_files._ROWS", 3)
    with Export(tmp_path) as out:
        for first in range(1, 101, 4):
            out.commit(page(first, 4), BOB if first % 8 == 1 else ALICE)
        before = list(out.sink.scan())
        out.done()
        assert [(row.id, source) for row, source in out.sink.scan()] == [
            (row.id, source) for row, source in before
        ]
        assert {row.id for row, _ in out.sink.scan(50, 50)} == {"49", "50", "51", "52"}
    assert pq.ParquetFile(tmp_path / "2020-09.parquet").num_row_groups > 3


def test_memory_holds_a_row_group_and_not_a_spool() -> None:
    taken = 0

    def pieces() -> Iterator[Piece]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield Piece("user alice", [record(number, text="x" * 900_000)])

    first = next(tables(pieces()))
    assert first.num_rows == taken < 100
