"""The formats of an export. Each is read and written here, and nowhere else.

| format               | a segment becomes a file by | a file is replaced                        |
|----------------------|-----------------------------|-------------------------------------------|
| lines, gzip and zstd | a rename                    | by a new file                             |
| Parquet              | its columns                 | by a new file                             |
| SQLite               | one transaction             | never: it grows by one transaction a seal |
| SQLite of a table    | one transaction             | by a new file                             |
"""

import errno
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from ...core.replies.rows import row_of
from ...errors import RequestInvalidError
from ...extras import missing_extra
from ..disk import Disk, sync_folder
from ..formats.compression import Compression, compression
from ..formats.sqlite_rows import entry
from ..formats.sqlite_schema import COUNT, UPSERT, VERSION, add_search, is_empty, make, marks_of
from ..formats.table_rows import Column, sqlite_values
from ..plan import Compress
from ..stored_records import compress_of, damaged, database_rows, lines, parquet_batches
from .formats import Format, NewFile, SourceLines, file_sha256, piece_of

DURABLE: Final = "PRAGMA synchronous=EXTRA"
"""FULL, and without a log a commit survives a loss of power all the same."""
WAIT: Final = 10.0
"""Seconds that another program may have the database for itself, before that is an error."""
_ROWS: Final = 1000
"""Rows of a table's database that are read at once."""
_LINES: Final = re.compile(r"\.(?:ndjson|jsonl)(?:\.gz|\.zst)?\Z")
_INDEXES: Final = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
_CODECS: Final[dict[Compress, tuple[str, int | None]]] = {
    "none": ("NONE", None),
    "gzip": ("GZIP", 3),  # Arrow's own choice is the slowest level there is
    "zstd": ("ZSTD", 1),  # level 3 takes a sixth more time, for files of the same size
}


def format_of(name: str) -> Format | None:
    """Return the format of a file by the end of its name; None if it is of none.

    Raises `RequestInvalidError` where what it needs is not installed.
    """
    if _LINES.search(name):
        return Lines(compress_of(name))
    if name.endswith(".parquet"):
        return Parquet()
    return Database() if name.endswith(".sqlite") else None


class _Format:
    """What most formats have in common; see `Format`."""

    is_lines = False
    grows = False
    full = 1 << 28
    packing: Compression = compression("none")

    def is_sound(self, path: Path) -> bool:
        """Return True: whoever reads it finds the damage."""
        return True


@final
class Lines(_Format):
    """NDJSON, plain or packed: each commit is a member, so that a segment can end after any of them."""

    is_lines = True
    full = 1 << 27

    def __init__(self, compress: Compress) -> None:
        self.packing = compression(compress)
        self.suffix: str = f".ndjson{self.packing.suffix}"

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        with NewFile(disk, path) as out:
            for piece in pieces:
                out.write(self.packing.pack(piece.lines))
        return out.sha256

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        return map(piece_of, lines(path, f"lines{self.suffix}", size))


@final
class Parquet(_Format):
    """Parquet, which is read by columns; each record is in one of them as it was served.

    Without the `columns` of a table it is of messages.
    """

    suffix: Final = ".parquet"

    def __init__(self, compress: Compress = "zstd", columns: Sequence[Column] = ()) -> None:
        self._codec = _CODECS[compress]
        self._columns = columns

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]
            import pyarrow.parquet as pq  # type: ignore[import-untyped]

            from ..formats.parquet import Piece, layout_of, tables
        except ImportError:
            raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet")) from None
        codec, level = self._codec
        layout = layout_of(self._columns)
        rows = (Piece(piece.label, piece.rows, piece.lines) for piece in pieces)
        options = {
            "compression": codec, "compression_level": level, "use_dictionary": layout.repeating,
            "write_statistics": layout.ordered,
        }  # fmt: skip
        with NewFile(disk, path) as out, _small_pool(pa):
            writer = pq.ParquetWriter(out, layout.schema, **options)
            try:
                for table in tables(rows, layout.table):
                    writer.write_table(table, row_group_size=max(1, table.num_rows))
                    del table  # else it is held while the next one is made
                writer.close()
            finally:
                writer.is_open = False  # one that is left open would write when it is collected
        return out.sha256

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        if self._columns:
            yield from (piece_of(raws) for raws, _ in parquet_batches(path))
            return
        for raws, [names] in parquet_batches(path, ["source_name"]):
            start = 0
            for end in range(1, len(raws) + 1):
                if end == len(raws) or names[end] != names[start]:
                    yield piece_of(raws[start:end], label=names[start])
                    start = end


@contextmanager
def _small_pool(arrow: Any) -> Iterator[None]:
    """Let Arrow use jemalloc: its default pool keeps some 20 MB more of what a row group needed."""
    before = arrow.default_memory_pool()
    with suppress(NotImplementedError):  # on some platforms
        arrow.set_memory_pool(arrow.jemalloc_memory_pool())
    try:
        yield
    finally:
        arrow.set_memory_pool(before)


@final
class TableDatabase(_Format):
    """A database with one table, which has these columns and `raw`; it is written as a whole.

    Times are epoch milliseconds, lists and objects are JSON.
    """

    suffix: Final = ".sqlite"

    def __init__(self, table: str, columns: Sequence[Column]) -> None:
        self._table, self._columns = table, columns

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        types = {"integer": "INTEGER", "time": "INTEGER"}
        names = [f"{column.name} {types.get(column.kind, 'TEXT')}" for column in self._columns]
        places = ", ".join("?" * (len(names) + 1))
        rows = (sqlite_values(self._columns, raw) for piece in pieces for raw in piece.raws)
        disk.remove(path)
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN")
                db.execute(f"CREATE TABLE {self._table}({', '.join(names)}, raw TEXT NOT NULL)")
                db.executemany(f"INSERT INTO {self._table} VALUES({places})", rows)
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise OSError(f"{path}: {error}") from error
        with path.open("rb") as file:
            disk.sync(file.fileno())
        return file_sha256(path)

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        sql = f"SELECT CAST(raw AS BLOB) FROM {self._table} ORDER BY rowid"  # noqa: S608
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
                rows = db.execute(sql)
                while batch := rows.fetchmany(_ROWS):
                    yield piece_of([bytes(raw) for (raw,) in batch])
        except sqlite3.Error as error:
            raise damaged(path, error) from None


@final
class Database(_Format):
    """A database of messages; `marks` are the app and the plan that it belongs to."""

    suffix: Final = ".sqlite"
    grows = True

    def __init__(self, marks: Mapping[str, str] = MappingProxyType({})) -> None:
        self._marks = marks

    def is_sound(self, path: Path) -> bool:
        """Return False if SQLite finds damage, which may be in an index.

        Raises `RequestInvalidError` for a database of another app, program or version.
        """
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
                marks, [version] = marks_of(db), db.execute("PRAGMA user_version").fetchone()
                is_new, [result] = is_empty(db), db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error:
            return False
        if is_new or result != "ok":
            return False
        if marks is None or marks.get("app") != self._marks.get("app"):
            raise RequestInvalidError(f"{path} is no database of this export: move it elsewhere")
        if version != VERSION:
            raise RequestInvalidError(f"{path} is of another version of this library: move it elsewhere")
        return True

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        is_new = not path.exists()
        try:
            with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as db:
                if is_new:  # of no use until it is complete
                    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
                else:
                    db.execute(DURABLE)
                db.execute("PRAGMA cache_size=-65536")
                db.execute("BEGIN IMMEDIATE")
                self._add(db, pieces)
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _fault(path, error) from None  # what SQLite says is in it
        with path.open("rb") as file:
            disk.sync(file.fileno())
        sync_folder(disk, path.parent)
        return file_sha256(path)

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        return map(piece_of, database_rows(path))

    def _add(self, db: sqlite3.Connection, pieces: Iterable[SourceLines]) -> None:
        indexes = list[tuple[str, str]]()
        if is_empty(db):
            make(db, self._marks)
            indexes = db.execute(_INDEXES).fetchall()  # they are made at once, which takes half of the time
            for name, _ in indexes:
                db.execute(f"DROP INDEX {name}")
        newest = _newest(db)
        for piece in pieces:
            rows = map(row_of, piece.raws)
            db.executemany(UPSERT, map(entry, rows, repeat(piece.source)))
            added, newest = _newest(db) - newest, _newest(db)
            db.execute(COUNT, (piece.source, piece.label or "", added))
        for _, sql in indexes:
            db.execute(sql)
        if indexes:
            add_search(db)


def _newest(db: sqlite3.Connection) -> int:
    [newest] = db.execute("SELECT max(place) FROM messages").fetchone()
    return int(newest or 0)


def _fault(path: Path, error: sqlite3.Error) -> OSError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OSError(f"{path}: another program is writing to it, or has it open")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return OSError(f"{path}: it is damaged ({error}); export again: it is set aside, and read again")
    return OSError(f"{path}: {error}")
