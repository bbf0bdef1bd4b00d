"""A format is a converter: rows into a new file, and a file into its rows. Segments hold lines.

| format               | a segment becomes a file by |
|----------------------|-----------------------------|
| lines, gzip and zstd | a rename                    |
| Parquet              | its columns                 |
"""

import hashlib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..._core.replies.rows import Row, row_of
from ..._core.replies.scanner import read_record
from ..._texts import missing_extra
from ...errors import ReplyUnreadableError, RequestInvalidError
from ..formats.stored_records import (
    Compression,
    SourceLines,
    compress_of,
    compression,
    line_batches,
    pack_errors,
    parquet_batches,
    piece_of,
)
from ..plan.export_plan import Compress
from .disk import Disk, error_path, write_all

_PIECE: Final = 1 << 20
_LINES: Final = re.compile(r"\.(?:ndjson|jsonl)(?:\.gz|\.zst)?\Z")
_CODECS: Final[dict[Compress, tuple[str, int | None]]] = {
    "none": ("NONE", None),
    "gzip": ("GZIP", 3),  # Arrow's own choice is the slowest level there is
    "zstd": ("ZSTD", 1),  # level 3 takes a sixth more time, for files of the same size
}


class Format(ABC):
    """A converter of rows to files, of which a partition's segments become files."""

    suffix: str
    packing: Compression = compression("none")
    is_lines = False
    """True if a segment is a file of it: it is sealed by a rename."""
    full = 1 << 28

    @abstractmethod
    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        """Make a file that survives a loss of power; return its SHA-256."""

    @abstractmethod
    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        """Yield what is in a file of so many bytes; `ChatRestError` where it is damaged."""


Identity: TypeAlias = Literal["id", "content", "none"]
"""The way to tell rows apart. id: each is written once; content: they are versions of messages, which no list
shows, so that none is ever missing, and one may stand twice; none: a table is one file, which is replaced.
The name of its kind is all of its stem, as `users/users`, and the file's name is that with the suffix."""


class RowKind(NamedTuple):
    """A kind of rows: the first part of its files' stems is its name, as `messages` or `history`."""

    format: Format
    identity: Identity = "id"


class NewFile(io.RawIOBase):
    """A file that is being made and hashed; used with `with`, at whose end it survives a loss of power."""

    def __init__(self, disk: Disk, path: Path) -> None:
        disk.remove(path)
        self._disk, self._path = disk, path
        self._file = open(path, "xb", buffering=0)  # noqa: PTH123, SIM115
        self._waiting = bytearray()
        self._hash = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size + len(self._waiting)

    def write(self, data: Any) -> int:
        if not self._file.closed:  # what an Arrow writer says after an error comes to nothing
            self._waiting += data
            if len(self._waiting) >= _PIECE:
                self._flush()
        return memoryview(data).nbytes

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._flush()
                self._disk.sync(self._file.fileno())
        finally:
            self._file.close()

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()

    def _flush(self) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        self._hash.update(data)
        with error_path(self._path):
            self._size = write_all(self._disk, self._file.fileno(), self._size, data)


def file_sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


# ── the formats of an export ──


class Lines(Format):
    """NDJSON, plain or packed: each commit is a member, so that a segment can end after any of them."""

    is_lines = True
    full = 1 << 27

    def __init__(self, compress: Compress) -> None:
        self.packing = compression(compress)
        self.suffix = f".ndjson{self.packing.suffix}"

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        with NewFile(disk, path) as out:
            for piece in pieces:
                out.write(self.packing.pack(piece.lines))
        return out.sha256

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        return map(piece_of, line_batches(path, f"lines{self.suffix}", size))


class Parquet(Format):
    """Messages as Parquet, which is read by columns; each record is in one of them as it was served."""

    suffix = ".parquet"

    def __init__(self, compress: Compress = "zstd") -> None:
        self._codec = _CODECS[compress]

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        try:
            import pyarrow.parquet as pq  # type: ignore[import-untyped]

            from ..formats.parquet import ORDERED, REPEATING, SCHEMA, tables
        except ImportError:
            raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet")) from None
        codec, level = self._codec
        options = {
            "compression": codec, "compression_level": level, "use_dictionary": REPEATING,
            "write_statistics": ORDERED,
        }  # fmt: skip
        with NewFile(disk, path) as out:
            writer = pq.ParquetWriter(out, SCHEMA, **options)
            try:
                for table in tables(pieces):
                    writer.write_table(table, row_group_size=max(1, table.num_rows))
                    del table  # else it is held while the next one is made
                writer.close()
            finally:
                writer.is_open = False  # one that is left open would write when it is collected
        return out.sha256

    def read(self, path: Path, size: int) -> Iterator[SourceLines]:
        for raws, [names] in parquet_batches(path, ["source_name"]):
            start = 0
            for end in range(1, len(raws) + 1):
                if end == len(raws) or names[end] != names[start]:
                    yield piece_of(raws[start:end], label=names[start])
                    start = end


def format_of(name: str) -> Format | None:
    """Return the format of a file by the end of its name; None if it is of none.

    Raises `RequestInvalidError` where what it needs is not installed.
    """
    if _LINES.search(name):
        return Lines(compress_of(name))
    return Parquet() if name.endswith(".parquet") else None


# ── bytes that the journal does not know ──


class ReadableRecords(NamedTuple):
    """The records in the bytes after a position of a segment."""

    rows: list[Row]
    end: int
    """Up to where each line is one of `rows`."""
    later: list[Row]
    """Records after the first invalid line."""
    is_torn: bool
    """True if behind `end` there is nothing but what a kill or a loss of power leaves: the beginning of a
    record, or zeros."""


def readable_records(path: Path, packing: Compression, start: int = 0) -> ReadableRecords:
    """Return what can be read after a position; memory for all of it."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read()
    if packing.decompressor is not None:
        return _of_members(data, packing.decompressor, start)
    *whole, _ = data.split(b"\n")
    rows = list(map(row_of, whole))
    good = next((at for at, row in enumerate(rows) if not is_record(row)), len(rows))
    later = list(filter(is_record, rows[good:]))
    end = start + sum(len(line) + 1 for line in whole[:good])
    return ReadableRecords(rows[:good], end, later, is_torn=not later)


def _of_members(data: bytes, decompressor: Callable[[], Any], start: int) -> ReadableRecords:
    rows, end, is_torn = list[Row](), 0, True
    while is_torn and data[end:].strip(b"\0"):
        member = decompressor()
        try:
            *whole, rest = member.decompress(data[end:]).split(b"\n")
        except pack_errors(OSError, ValueError):
            is_torn = False
            break
        unpacked = list(map(row_of, whole))
        if not member.eof:
            break
        if is_torn := not rest and all(map(is_record, unpacked)):
            rows += unpacked
            end = len(data) - len(member.unused_data)
    return ReadableRecords(rows, start + end, [], is_torn)


def is_record(row: Row) -> bool:
    """Return True for a JSON object; usually it has an id."""
    if row.id or row.uid:
        return True
    try:
        return isinstance(read_record(row.raw), dict)
    except ReplyUnreadableError:
        return False
