"""Parquet files: written from beginning to end and hashed on the way, read a batch at a time."""

import hashlib
import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ...errors import ChatRestError
from ..journal import Block
from ..plan import Compress
from ..workspace import Workspace
from .compression import Compression, compression
from .parquet_rows import Table, raws_of
from .parquet_schema import ORDERED, REPEATING, SCHEMA

File: TypeAlias = Any
"""A `pyarrow.parquet.ParquetFile`."""
_CODECS: Final[dict[Compress, tuple[str, int | None]]] = {
    "none": ("NONE", None),
    "gzip": ("GZIP", 3),  # Arrow's own choice is the slowest level there is
    "zstd": ("ZSTD", 1),
}
_ROWS: Final = 5_000
"""Rows that are read at once."""
_PIECE: Final = 1 << 20
"""Bytes that are written at once."""


def compression_of(compress: Compress) -> Compression:
    """Return the compression of lines: Arrow has zstd, so that nothing else has to be installed for it."""
    return Compression(".zst", _compress, _decompress) if compress == "zstd" else compression(compress)


def _compress(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


def _decompress(data: bytes) -> bytes:
    stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    return b"".join(iter(lambda: stream.read(_PIECE), b""))


@final
class ParquetWriter:
    """A Parquet file that is being made; used with `with`, at whose end it is on the disk."""

    def __init__(self, workspace: Workspace, path: Path, compress: Compress) -> None:
        workspace.disk.remove(path)
        self._out = _Out(workspace, path)
        codec, level = _CODECS[compress]
        self._writer = pq.ParquetWriter(
            self._out,
            SCHEMA,
            compression=codec,
            compression_level=level,
            use_dictionary=REPEATING,
            write_statistics=ORDERED,
            memory_pool=pa.system_memory_pool(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._writer.close()
                self._out.sync()
        finally:
            self._out.close()
            with suppress(Exception):  # a writer that is left open would write when it is collected
                self._writer.close()
            self._writer.is_open = False

    def add(self, tables: Iterable[Table]) -> None:
        """Write tables, each as a row group."""
        for table in tables:
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self._out.size

    @property
    def digest(self) -> bytes:
        """The SHA-256 of its bytes."""
        return self._out.hash.digest()


@final
class _Out(io.RawIOBase):
    """The file that the writer writes to; once closed, it takes anything and writes nothing."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._workspace = workspace
        self._path = path
        self._is_closed = False
        self._waiting = bytearray()
        self.hash = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size + len(self._waiting)

    def write(self, data: Any) -> int:
        if not self._is_closed:
            self._waiting += data
            if len(self._waiting) >= _PIECE:  # the writer comes with a few bytes at a time
                self._write()
        return memoryview(data).nbytes

    def sync(self) -> None:
        self._write()
        self._workspace.files.sync()

    def _write(self) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        self._workspace.files.write(self._path, self.size, data)
        self.hash.update(data)
        self.size += len(data)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._workspace.files.release(self._path)


# ── reading ──


@contextmanager
def opened(path: Path) -> Iterator[File]:
    """Open a Parquet file to read it; `ChatRestError` where it is damaged."""
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # it is the disk that fails, and not the file
        raise ChatRestError(
            f"{path} cannot be read ({error}); move it elsewhere, and what was in it is read again"
        ) from None


def records(path: Path, blocks: list[Block]) -> Iterator[tuple[Block, list[bytes]]]:
    """Yield the records of blocks of a Parquet file; the blocks ascend."""
    with opened(path) as file:
        for group, start, rows in groups(file):
            if any(True for _ in within(blocks, start, rows)):
                yield from _of_group(file, group, start, blocks)


def _of_group(file: File, group: int, start: int, blocks: list[Block]) -> Iterator[tuple[Block, list[bytes]]]:
    batches = file.iter_batches(
        batch_size=_ROWS, row_groups=[group], columns=["raw", "raw_bytes"], use_threads=False
    )
    for batch in batches:
        raws = raws_of(batch)
        for block, rows in within(blocks, start, len(raws)):
            yield block, raws[rows]
        start += len(raws)


def groups(file: File) -> Iterator[tuple[int, int, int]]:
    """Yield the row groups of a file: (number, number of its first row, number of rows)."""
    start = 0
    for group in range(file.num_row_groups):
        rows: int = file.metadata.row_group(group).num_rows
        yield group, start, rows
        start += rows


def within(blocks: list[Block], start: int, rows: int) -> Iterator[tuple[Block, slice]]:
    """Yield the blocks that have rows among `rows` rows from `start` on, each with the slice of these."""
    for at in range(bisect_right(blocks, start, key=_end), len(blocks)):
        block = blocks[at]
        if block.start >= start + rows:
            return
        yield block, slice(max(block.start - start, 0), min(_end(block) - start, rows))


def _end(block: Block) -> int:
    return block.start + block.rows
