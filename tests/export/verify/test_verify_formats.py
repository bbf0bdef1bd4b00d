"""`verify` reads databases and Parquet files, and finds rows that are not those that were written."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatrest.export import verify
from tests.damaging import only_problem, places_of, rewrite
from tests.exporting import manifest_of

DATABASE = "messages.sqlite"


def test_a_row_with_the_record_of_another_id(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / DATABASE)) as db, db:
        db.execute("UPDATE messages SET raw = (SELECT raw FROM messages WHERE id = '5') WHERE id = '6'")
    rehash(out, DATABASE)
    record, proof = verify(out).problems
    assert record.kind == "content"
    assert "beside the id 6 is the record of 5" in record.text
    assert (proof.kind, proof.text) == ("coverage", "1 messages that it has shown are not in the export: 6")


def test_a_database_without_a_row(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / DATABASE)) as db, db:
        db.execute("DELETE FROM messages WHERE id = '6'")
    rehash(out, DATABASE)
    assert ("content", DATABASE) in places_of(verify(out))


def test_a_log_beside_a_database(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / f"{DATABASE}-wal").write_bytes(b"x")
    (out / "journal.sqlite-shm").write_bytes(b"x")
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("unknown", f"{DATABASE}-wal")
    assert "do not remove the file" in problem.remedy


def test_a_file_that_is_no_database(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / DATABASE).write_bytes(b"x" * 5000)
    rehash(out, DATABASE)
    assert ("content", DATABASE) in places_of(verify(out))


@pytest.mark.parametrize("how", ["swapped", "fewer", "none"])
def test_parquet_files_with_other_rows(copy: Callable[[str], Path], how: str) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = copy("parquet")
    name = next(entry.name for entry in manifest_of(out).files if entry.role == "part")
    table = pq.ParquetFile(out / name).read()
    match how:
        case "swapped":
            rows = table.to_pylist()
            rows[1]["raw"], rows[2]["raw"] = rows[2]["raw"], rows[1]["raw"]
            pq.write_table(table.from_pylist(rows, schema=table.schema), out / name)
        case "fewer":
            pq.write_table(table.slice(1), out / name)
        case "none":
            (out / name).write_bytes(b"PAR1 no file PAR1")
    rehash(out, name)
    assert ("content", name) in places_of(verify(out))


def rehash(out: Path, name: str) -> None:
    """Let manifest and journal vouch for a file as it is."""
    rewrite(out, name, (out / name).read_bytes())
