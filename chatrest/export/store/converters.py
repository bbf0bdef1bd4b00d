"""The formats of an export. Each is read and written here, and nowhere else.

| format               | a segment becomes a file by |
|----------------------|-----------------------------|
| lines, gzip and zstd | a rename                    |
| Parquet              | its columns                 |
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, final

from ..._extras import missing_extra
from ...errors import RequestInvalidError
from ..formats.compression import compression
from ..formats.stored_records import compress_of, lines, parquet_batches
from ..plan.plan import Compress
from .disk import Disk
from .formats import Format, NewFile, SourceLines, piece_of

_LINES: Final = re.compile(r"\.(?:ndjson|jsonl)(?:\.gz|\.zst)?\Z")
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
    return Parquet() if name.endswith(".parquet") else None


@final
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
        return map(piece_of, lines(path, f"lines{self.suffix}", size))


@final
class Parquet(Format):
    """Messages as Parquet, which is read by columns; each record is in one of them as it was served."""

    suffix = ".parquet"

    def __init__(self, compress: Compress = "zstd") -> None:
        self._codec = _CODECS[compress]

    def write(self, disk: Disk, path: Path, pieces: Iterable[SourceLines]) -> bytes:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]
            import pyarrow.parquet as pq  # type: ignore[import-untyped]

            from ..formats.parquet import ORDERED, REPEATING, SCHEMA, Piece, tables
        except ImportError:
            raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet")) from None
        codec, level = self._codec
        rows = (Piece(piece.label, piece.rows, piece.lines) for piece in pieces)
        options = {
            "compression": codec, "compression_level": level, "use_dictionary": REPEATING,
            "write_statistics": ORDERED,
        }  # fmt: skip
        with NewFile(disk, path) as out, _small_pool(pa):
            writer = pq.ParquetWriter(out, SCHEMA, **options)
            try:
                for table in tables(rows):
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
