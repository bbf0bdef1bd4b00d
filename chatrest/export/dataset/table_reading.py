"""Files of an export read back as records, in any format: the exact bytes, in the order of the file."""

import gzip
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from ...errors import ChatRestError, RequestInvalidError


def read_records(path: Path, table: str) -> Iterator[bytes]:
    """Yield the records of a file; `table` is the name of its table in a database.

    Memory for a batch of records. Raises `RequestInvalidError` where an extra is not installed, and
    `ChatRestError` for a damaged file.
    """
    try:
        if _suffix(path) == ".parquet":
            yield from _parquet_records(path)
        elif _suffix(path) == ".sqlite":
            yield from _database_records(path, table)
        else:
            with open_lines(path) as file:
                for line in file:
                    yield line.rstrip(b"\n")
    except Exception as error:
        if not is_damage(error):
            raise
        raise ChatRestError(f"{path} cannot be read: {error}") from None


def is_damage(error: Exception) -> bool:
    """Return True for the errors that readers of damaged files raise; by name, as a module may be missing."""
    is_known = isinstance(error, EOFError | zlib.error | gzip.BadGzipFile | sqlite3.DatabaseError)
    name = f"{type(error).__module__}.{type(error).__name__}"
    return is_known or name.startswith("pyarrow.") or name.endswith(".ZstdError")


def open_lines(path: Path) -> IO[bytes]:
    """Open a file of lines for its decompressed bytes: by its ending `.gz`, `.zst` or none of the two."""
    if _suffix(path) == ".gz":
        return gzip.open(path)  # type: ignore[return-value]
    if _suffix(path) == ".zst":
        file: IO[bytes] = _zstd().open(path)
        return file
    return path.open("rb")


def _suffix(path: Path) -> str:
    """Return the ending of a file's name, behind which `.new` may stand."""
    return Path(path.name.removesuffix(".new")).suffix


def _database_records(path: Path, table: str) -> Iterator[bytes]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
        db.text_factory = bytes
        for (raw,) in db.execute(f'SELECT raw FROM "{table}" ORDER BY rowid'):  # noqa: S608, our own names
            yield bytes(raw)


def _parquet_records(path: Path) -> Iterator[bytes]:
    try:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError:
        raise RequestInvalidError(
            "a .parquet file needs the extra: pip install 'chatrest[parquet]'"
        ) from None
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(5_000, columns=["raw", "raw_bytes"], use_threads=False):
            for text, exact in zip(batch["raw"].to_pylist(), batch["raw_bytes"].to_pylist(), strict=True):
                yield text.encode() if exact is None else exact


def _zstd() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise RequestInvalidError("a .zst file needs the extra: pip install 'chatrest[zstd]'") from None
    return zstd
