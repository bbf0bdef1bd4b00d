"""`verify` reads databases and Parquet files, and finds rows that are not right."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatrest.export import verify
from tests.damaging import claim_part, cut_journal, the_problem, told
from tests.exporting import manifest_of


def test_a_row_beside_another_id(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / "messages.sqlite")) as db, db:
        db.execute("UPDATE messages SET raw = (SELECT raw FROM messages WHERE id = '5') WHERE id = '6'")
    _rehash(out, "messages.sqlite")
    problem = the_problem(out)
    assert problem.kind == "content"
    assert "beside the id 6 stands the record of 5" in problem.text


def test_a_database_with_a_row_less_or_more(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / "messages.sqlite")) as db, db:
        db.execute("DELETE FROM messages WHERE id = '6'")
    _rehash(out, "messages.sqlite")
    assert ("content", "messages.sqlite") in told(verify(out))


def test_a_log_beside_a_database(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / "messages.sqlite-wal").write_bytes(b"x")
    (out / "journal.sqlite-shm").write_bytes(b"x")
    assert told(verify(out)) == [("unknown", "messages.sqlite-wal")]


def test_a_database_that_is_none(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / "messages.sqlite").write_bytes(b"x" * 5000)
    _rehash(out, "messages.sqlite")
    assert ("content", "messages.sqlite") in told(verify(out))


@pytest.mark.parametrize("how", ["swapped", "fewer", "none"])
def test_parquet_that_is_not_right(copy: Callable[[str], Path], how: str) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = copy("parquet")
    name = next(entry.name for entry in manifest_of(out).parts if entry.role == "part")
    table = pq.read_table(out / name)
    match how:
        case "swapped":
            rows = table.to_pylist()
            rows[1]["raw"], rows[2]["raw"] = rows[2]["raw"], rows[1]["raw"]
            pq.write_table(table.from_pylist(rows, schema=table.schema), out / name)
        case "fewer":
            pq.write_table(table.slice(1), out / name)
        case "none":
            (out / name).write_bytes(b"PAR1 no file PAR1")
    _rehash(out, name)
    assert ("content", name) in told(verify(out))


def _rehash(out: Path, name: str) -> None:
    data = (out / name).read_bytes()
    digest = hashlib.sha256(data)
    claim_part(out, name, bytes=len(data), sha256=digest.hexdigest())
    sql = "UPDATE parts SET size = ?, digest = ? WHERE name = ?"
    cut_journal(out, sql, len(data), digest.digest(), name)
