"""The file of a table while it is written: NDJSON, Parquet or SQLite, in one pass, with flat memory.

| format  | file                          | holds                                                     |
|---------|-------------------------------|-----------------------------------------------------------|
| ndjson  | users/users.ndjson[.gz, .zst] | a record a line                                           |
| parquet | users/users.parquet           | the columns, `raw`, and `raw_bytes` for what is not UTF-8 |
| sqlite  | users/users.sqlite            | a table `users` with the columns and `raw`                |

A database of its own for each table lets a table be replaced by renaming one file; `ATTACH` joins it with
the messages.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from ...errors import RequestInvalidError
from ..formats.compression import compression
from ..plan import Compress, Format
from .tables import COLUMNS, row_values

_BLOCK: Final = 1 << 20
"""Bytes of lines that are compressed at once."""
_ROWS: Final = 10_000
"""Rows of a row group of a Parquet file."""
_TYPES: Final = {"integer": "INTEGER", "time": "INTEGER"}


class TableWriter(Protocol):
    """A file that is being written. Its methods block, and are called by one thread at a time."""

    def add(self, records: Iterable[bytes]) -> None:
        """Write records."""

    def close(self) -> None:
        """Write what is left and close the file."""


def file_name(table: str, format: Format, compress: Compress) -> str:
    """Return the path of a table's file in the folder of the export."""
    suffix = compression(compress).suffix if format == "ndjson" else ""
    return f"{table}/{table}.{format}{suffix}"


def table_writer(table: str, path: Path, format: Format, compress: Compress) -> TableWriter:
    """Return a writer for a new file; `RequestInvalidError` where the format needs an extra."""
    match format:
        case "ndjson":
            return _LinesWriter(path, compress)
        case "parquet":
            return _ParquetWriter(table, path, compress)
        case "sqlite":
            return _DatabaseWriter(table, path)


class _LinesWriter:
    """A record a line, in blocks that are compressed each by itself."""

    def __init__(self, path: Path, compress: Compress) -> None:
        self._pack = compression(compress).pack
        self._file = path.open("wb")
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, records: Iterable[bytes]) -> None:
        for record in records:
            self._lines.append(record)
            self._size += len(record)
        if self._size >= _BLOCK:
            self._write()

    def close(self) -> None:
        with self._file:
            self._write()

    def _write(self) -> None:
        if self._lines:
            self._file.write(self._pack(b"".join(line + b"\n" for line in self._lines)))
        self._lines, self._size = [], 0


class _DatabaseWriter:
    """A database with one table. Times are epoch milliseconds, lists and objects are JSON."""

    def __init__(self, table: str, path: Path) -> None:
        columns = [f"{column.name} {_TYPES.get(column.kind, 'TEXT')}" for column in COLUMNS[table]]
        self._table = table
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # The file is of no use until it is whole: no journal, and one transaction.
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("BEGIN")
        self._db.execute(f"CREATE TABLE {table}({', '.join(columns)}, raw TEXT NOT NULL)")
        places = ", ".join("?" * (len(columns) + 1))
        self._insert = f"INSERT INTO {table} VALUES({places})"

    def add(self, records: Iterable[bytes]) -> None:
        rows = ([*map(_stored, row_values(self._table, raw)), _raw(raw)] for raw in records)
        self._db.executemany(self._insert, rows)

    def close(self) -> None:
        with closing(self._db):
            if self._db.in_transaction:
                self._db.execute("COMMIT")


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


def _raw(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


class _ParquetWriter:
    """A Parquet file with the columns of the table, and the records in `raw`."""

    def __init__(self, table: str, path: Path, compress: Compress) -> None:
        pa, pq = _arrow()
        kinds = {
            "text": pa.string(), "integer": pa.int64(), "time": pa.timestamp("ms", "UTC"),
            "list": pa.list_(pa.string()), "json": pa.string(),
        }  # fmt: skip
        fields = [(column.name, kinds[column.kind]) for column in COLUMNS[table]]
        schema = pa.schema([*fields, ("raw", pa.string()), ("raw_bytes", pa.binary())])
        self._table = table
        self._pa, self._schema = pa, schema
        self._rows: list[list[Any]] = []
        self._writer = pq.ParquetWriter(path, schema, compression=compress)

    def add(self, records: Iterable[bytes]) -> None:
        for raw in records:
            text = raw.decode(errors="replace")
            exact = None if text.encode() == raw else raw
            self._rows.append([*row_values(self._table, raw), text, exact])
            if len(self._rows) >= _ROWS:
                self._write()

    def close(self) -> None:
        with self._writer:
            self._write()

    def _write(self) -> None:
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [
            self._pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise RequestInvalidError(
            "format = 'parquet': it needs the extra: pip install 'chatrest[parquet]'"
        ) from None
    return pa, pq
