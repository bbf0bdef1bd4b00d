"""The records of a table, as they were served, from any format and in the order of the file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ..stored_records import TimeWindow, damaged, lines, parquet_rows


def read_table(path: Path, table: str) -> Iterator[bytes]:
    """Yield the records of a table's file; memory for some thousand of them.

    Raises `RequestInvalidError` where an extra is not installed, and `ChatRestError` for a damaged file.
    """
    name = path.name.removesuffix(
        ".new"
    )  # the manifest has it already, and a run was killed before the rename
    if name.endswith(".sqlite"):
        yield from _database_records(path, table)
        return
    is_parquet = name.endswith(".parquet")
    batches = parquet_rows(path, TimeWindow(), None) if is_parquet else lines(path, name, path.stat().st_size)
    for batch in batches:
        yield from batch


def _database_records(path: Path, table: str) -> Iterator[bytes]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            for (raw,) in db.execute(f"SELECT CAST(raw AS BLOB) FROM {table} ORDER BY rowid"):  # noqa: S608
                yield bytes(raw)
    except sqlite3.Error as error:
        raise damaged(path, error) from None
