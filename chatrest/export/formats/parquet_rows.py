"""Records as Arrow tables: their columns are those of `parquet_schema`, and any record has a row."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]

from .arrow_arrays import array_of, text_array
from .message_columns import columns, raws_in
from .parquet_schema import SCHEMA

Table: TypeAlias = Any
Batch: TypeAlias = Any
Array: TypeAlias = Any

_CHUNK_ROWS, _CHUNK_BYTES = 2_000, 1 << 21
"""Rows and bytes from which on records are converted at once, held as Python's objects."""
GROUP_ROWS, GROUP_BYTES = 100_000, 1 << 24
"""Rows and bytes that are held at once: a row group."""


class Piece(NamedTuple):
    """Records of one source."""

    source: str | None
    rows: int
    lines: bytes
    """Each record, with a line break behind it."""


def tables(pieces: Iterable[Piece]) -> Iterator[Table]:
    """Yield the records as tables, each good for a row group; memory for one."""
    return grouped(map(_batch, _chunks(pieces)))


def grouped(parts: Iterable[Table | Batch]) -> Iterator[Table]:
    """Yield tables or batches joined to tables that are each good for a row group; memory for one."""
    group: list[Table] = []
    rows = size = 0
    for part in parts:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        added = table.nbytes
        if group and (rows + table.num_rows > GROUP_ROWS or size + added > GROUP_BYTES):
            yield pa.concat_tables(group)
            group, rows, size = [], 0, 0
        group.append(table)
        rows, size = rows + table.num_rows, size + added
    if group:
        yield pa.concat_tables(group)


def raws_of(batch: Table | Batch) -> list[bytes]:
    """Return the exact records of the columns `raw` and `raw_bytes`."""
    texts: list[bytes] = batch["raw"].cast(pa.binary()).to_pylist()
    exact = batch["raw_bytes"]
    if exact.null_count == len(exact):
        return texts
    return [text if raw is None else raw for text, raw in zip(texts, exact.to_pylist(), strict=True)]


def _chunks(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    chunk: list[Piece] = []
    rows = size = 0
    for piece in pieces:
        chunk.append(piece)
        rows, size = rows + piece.rows, size + len(piece.lines)
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, rows, size = [], 0, 0
    if chunk:
        yield chunk


def _batch(chunk: list[Piece]) -> Batch:
    lines = b"".join([piece.lines for piece in chunk])
    values = columns(lines, sum(piece.rows for piece in chunk))
    values["source_name"] = [piece.source for piece in chunk for _ in range(piece.rows)]
    arrays = {
        field.name: array_of(values[field.name], field.type) for field in SCHEMA if field.name in values
    }
    arrays["raw"], arrays["raw_bytes"] = _raw_arrays(lines)
    return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def _raw_arrays(lines: bytes) -> tuple[Array, Array]:
    """Return the arrays of `raw` and `raw_bytes`."""
    try:
        texts = text_array(lines, "\n")[:-1]
        texts.validate(full=True)
    except pa.ArrowInvalid:  # not all are UTF-8
        raws = raws_in(lines)
        texts = [raw.decode(errors="replace") for raw in raws]
        exact = [None if text.encode() == raw else raw for text, raw in zip(texts, raws, strict=True)]
        return array_of(texts, pa.string()), array_of(exact, pa.binary())
    return texts, pa.nulls(len(texts), pa.binary())
