"""Records as Arrow tables: their columns are those of `parquet_schema`, and any record has a row."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from msgspec import Meta, Raw, Struct

from ...core.decode import REFUSED
from ...core.rows import Row, row_of
from ..file_names import MILLISECONDS
from ..message_ids import key_of, number
from .arrow_arrays import array_of
from .nested_columns import attachments, call, mentions, reactions
from .parquet_schema import NAMES, SCHEMA, TEXTS, TIMES
from .record_members import clean, fit, read

Table: TypeAlias = Any
Batch: TypeAlias = Any

_LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: Python and most databases know no later one."""
_CHUNK_ROWS, _CHUNK_BYTES = 500, 1 << 19
"""Rows and bytes that are held as Python's objects at once."""
GROUP_ROWS, GROUP_BYTES = 100_000, 1 << 23
"""Rows and bytes that are held at once: a row group."""

Instant: TypeAlias = Annotated[int, Meta(ge=0, le=_LATEST)] | None


class _Data(Struct, gc=False):
    text: str | None = None
    action: str | None = None
    attachments: Raw = Raw()
    reactions: Raw = Raw()
    mentions: Raw = Raw()
    entities: Raw = Raw()


class _Texts(Struct, gc=False):
    text: str | None = None
    action: str | None = None


@final
class _Members(Struct, gc=False, rename="camel"):
    id: str | int = ""
    conversation_id: str | None = None
    parent_id: str | None = None
    sender: str | None = None
    receiver: str | None = None
    receiver_type: str | None = None
    category: str | None = None
    type: str | None = None
    data: _Data | None = None
    tags: list[str] | None = None
    sent_at: Instant = None
    updated_at: Instant = None
    edited_at: Instant = None
    edited_by: str | None = None
    deleted_at: Instant = None
    deleted_by: str | None = None
    delivered_at: Instant = None
    read_at: Instant = None
    muid: str | None = None


class Piece(NamedTuple):
    """Records of one source."""

    source: str | None
    raws: list[bytes]


_NOTHING: Final = _Data()
_DECODER: Final = msgspec.json.Decoder(_Members)
_PLAIN: Final = (*TEXTS, "tags", *TIMES, *NAMES)
_plain_values: Final = attrgetter(*_PLAIN)


def tables(pieces: Iterable[Piece]) -> Iterator[Table]:
    """Yield the records as tables, each good for a row group; memory for one."""
    return grouped(map(_batch, _chunks(pieces)))


def grouped(parts: Iterable[Table | Batch]) -> Iterator[Table]:
    """Yield tables or batches joined to tables that are each good for a row group; memory for one."""
    group: list[Table] = []
    rows = size = 0
    for part in parts:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        if group and (rows + table.num_rows > GROUP_ROWS or size + table.nbytes > GROUP_BYTES):
            yield pa.concat_tables(group)
            group, rows, size = [], 0, 0
        group.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
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
    for piece in chain.from_iterable(map(_parts, pieces)):
        chunk.append(piece)
        rows, size = rows + len(piece.raws), size + sum(map(len, piece.raws))
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, rows, size = [], 0, 0
    if chunk:
        yield chunk


def _parts(piece: Piece) -> Iterator[Piece]:
    """Yield the records of a piece in pieces of at most the rows of a chunk."""
    for first in range(0, len(piece.raws), _CHUNK_ROWS):
        yield piece._replace(raws=piece.raws[first : first + _CHUNK_ROWS])


def _batch(chunk: list[Piece]) -> Batch:
    raws = [raw for piece in chunk for raw in piece.raws]
    records = [_members(raw) for raw in raws]
    ids = [_key(record, raw) for record, raw in zip(records, raws, strict=True)]
    contents = [record.data or _NOTHING for record in records]
    plain = zip(*map(_plain_values, records), strict=True)
    values: dict[str, Sequence[Any]] = dict(zip(_PLAIN, plain, strict=True))
    values |= {
        "id": ids,
        "number": list(map(number, ids)),
        "action": [content.action for content in contents],
        "text": [content.text for content in contents],
        "attachments": [attachments(content.attachments) for content in contents],
        "reactions": [reactions(content.reactions) for content in contents],
        "mentions": [mentions(content.mentions) for content in contents],
        "call": [
            call(content.entities) if record.category == "call" else None
            for record, content in zip(records, contents, strict=True)
        ],
        "source_name": [piece.source for piece in chunk for _ in piece.raws],
    }
    columns = {
        field.name: _column(values[field.name], field.type) for field in SCHEMA if field.name in values
    }
    columns["raw"], columns["raw_bytes"] = _raw_columns(raws)
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _column(values: Sequence[Any], type: Any) -> Any:
    if pa.types.is_timestamp(type):
        values = [time and (time * 1000 if time < MILLISECONDS else time) for time in values]
    return array_of(values, type)


def _raw_columns(raws: list[bytes]) -> tuple[Any, Any]:
    """Return the arrays of `raw` and `raw_bytes`."""
    try:
        return array_of(raws, pa.binary()).cast(pa.string()), pa.nulls(len(raws), pa.binary())
    except pa.ArrowInvalid:  # not all are UTF-8
        texts = [raw.decode(errors="replace").encode() for raw in raws]
        exact = [None if text == raw else raw for text, raw in zip(texts, raws, strict=True)]
        return array_of(texts, pa.binary()).cast(pa.string()), array_of(exact, pa.binary())


def _key(record: _Members, raw: bytes) -> str:
    return str(record.id) or key_of(Row(line=raw))


# ── one record ──


def _members(raw: bytes) -> _Members:
    try:
        record: _Members = _DECODER.decode(raw)
        return record
    except REFUSED:
        return _lenient_members(raw)


def _lenient_members(raw: bytes) -> _Members:
    """Return what can be read of a record that does not have its documented types, or is not strict JSON."""
    record = read(raw)
    members: _Members = fit(_Members, record)
    members.id = row_of(raw, record).id
    members.data = _lenient_data(record.get("data"))
    return members


def _lenient_data(data: Any) -> _Data:
    texts = fit(_Texts, data)
    nested = {
        name: Raw(msgspec.json.encode(clean(data[name])))
        for name in ("attachments", "reactions", "mentions", "entities")
        if isinstance(data, dict) and name in data
    }
    return _Data(texts.text, texts.action, **nested)
