"""Parquet files: their row groups, updates, and damage."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from chatrest import ChatRestError, RequestInvalidError
from chatrest.export.formats.parquet import tables
from chatrest.export.formats.stored_records import SourceLines, parquet_batches
from tests.support.exported_files import ALICE, BOB, Export, files, page, record, table


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatrest.export.formats.parquet.GROUP_ROWS", 20)
    monkeypatch.setattr("chatrest.export.store.stored_files._ROWS", 3)


def parquet(folder: Path) -> Export:
    return Export(folder, format="parquet")


@pytest.mark.usefixtures("small_groups")
def test_rows_have_the_right_source_after_an_update_and_a_merge(tmp_path: Path) -> None:
    with parquet(tmp_path) as out:
        for run in range(2):
            for first in range(run * 100 + 1, run * 100 + 101, 4):
                out.add(page(first, 4), BOB if first % 8 == 1 else ALICE)
            out.done()
        assert all(pq.ParquetFile(path).num_row_groups > 3 for path in tmp_path.rglob("*.parquet"))
        names = {row["id"]: row["source_name"] for row in table(tmp_path).to_pylist()}
        out.change(page(20, 3, sender="mallory"))
        assert out.done().changed == 3
        assert out.export.store.compact(2) == 1
        assert len(files(tmp_path)) == 2
        assert {row["id"]: row["source_name"] for row in table(tmp_path).to_pylist()} == names
    rows = table(tmp_path).to_pylist()
    assert [row["id"] for row in rows if row["sender"] == "mallory"] == ["20", "21", "22"]


def test_memory_holds_a_row_group_and_not_a_spool() -> None:
    taken = 0

    def pieces() -> Iterator[SourceLines]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield SourceLines(1, 1, record(number, text="x" * 900_000) + b"\n", "user alice")

    first = next(tables(pieces()))
    assert first.num_rows <= taken < 50


def test_a_damaged_file_is_an_error_and_is_not_rewritten(tmp_path: Path) -> None:
    with parquet(tmp_path) as out:
        out.add(page(1))
        out.done()
        [path] = tmp_path.rglob("*.parquet")
        data = path.read_bytes()
        out.change(page(3, 1, edited="yes"))
        path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        with pytest.raises(ChatRestError, match=r"\.parquet (is not as it was written|cannot be read)"):
            out.done()
        path.write_bytes(bytes(len(data)))
        with pytest.raises(ChatRestError, match=r"\.parquet cannot be read"):
            out.scan()


def test_without_pyarrow_a_reader_is_advised_to_install_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RequestInvalidError, match="reading Parquet files needs the extra 'parquet'"):
        next(parquet_batches(tmp_path / "messages.parquet"))


def test_pyarrow_is_imported_only_for_parquet() -> None:
    program = "import sys, chatrest.export.run.folder_run; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"
