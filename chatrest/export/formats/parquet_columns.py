"""Messages as columns: what a Parquet file of an export holds.

| column                       | type               | holds                                                  |
|------------------------------|--------------------|--------------------------------------------------------|
| id                           | string             | the id; `#` and its SHA-256 for a record without one   |
| number                       | int64              | the id as a number, to sort by                         |
| conversation_id … type, muid | string             | members of the record; `edited_by`, `deleted_by`, too  |
| action, text                 | string             | members of its `data`                                  |
| tags                         | list of strings    | its tags                                               |
| sent_at … read_at            | timestamp[ms, UTC] | times, whichever unit the service tells them in        |
| source                       | string             | the list that it was read from, such as `user alice`   |
| raw                          | string             | the record, as it was served                           |
| raw_bytes                    | binary             | the same, but null where the record is valid UTF-8     |

A member that is absent, or not of its documented type, is null; a record of any shape has a row. `raw` is
text, which is what the JSON functions of databases take. Text is UTF-8: in a record that is not, `raw` has
U+FFFD for each wrong byte, and `raw_bytes`, null in all others, has it exactly.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from msgspec import Meta, Struct

from ...core.decode import REFUSED
from ...core.rows import Row, row_of
from ..file_names import MILLISECONDS
from ..message_ids import key_of, number
from .record_members import fitted, read

Table: TypeAlias = Any
Batch: TypeAlias = Any

_LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: Python and most databases know no later one."""
_FEW_ROWS, _FEW_BYTES = 10_000, 1 << 23
"""What is held as Python's objects at once."""
_MANY_ROWS, _MANY_BYTES = 100_000, 1 << 25
"""What is held at once: a row group."""
_TEXTS: Final = (
    "conversation_id", "parent_id", "sender", "receiver", "receiver_type", "category", "type",
)  # fmt: skip
_TIMES: Final = ("sent_at", "updated_at", "edited_at", "deleted_at", "delivered_at", "read_at")
_NAMES: Final = ("edited_by", "deleted_by", "muid")

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("number", pa.int64()),
        *((name, pa.string()) for name in (*_TEXTS, "action", "text")),
        ("tags", pa.list_(pa.string())),
        *((name, pa.timestamp("ms", "UTC")) for name in _TIMES),
        *((name, pa.string()) for name in _NAMES),
        ("source", pa.string()),
        pa.field("raw", pa.string(), nullable=False),
        ("raw_bytes", pa.binary()),
    ]
)
REPEATING: Final = [
    "conversation_id", "parent_id", "sender", "receiver", "receiver_type", "category", "type", "action",
    "edited_by", "deleted_by", "source",
]  # fmt: skip
"""Columns that hold the same few values again and again."""
ORDERED: Final = ["number", *_TIMES]
"""Columns by whose least and greatest values a reader can pass row groups by."""

Instant: TypeAlias = Annotated[int, Meta(ge=0, le=_LATEST)] | None


class _Data(Struct, gc=False):
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
    """Some records of one source."""

    source: str | None
    raws: list[bytes]


_NOTHING: Final = _Data()
_DECODER: Final = msgspec.json.Decoder(_Members)
_PLAIN: Final = (*_TEXTS, "tags", *_TIMES, *_NAMES)


def tables(pieces: Iterable[Piece]) -> Iterator[Table]:
    """The records as tables, each good for a row group; memory for one."""
    batches: list[Batch] = []
    for batch in map(_batch, _chunks(pieces)):
        batches.append(batch)
        rows, size = sum(each.num_rows for each in batches), sum(each.nbytes for each in batches)
        if rows >= _MANY_ROWS or size >= _MANY_BYTES:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


def raws_of(batch: Table | Batch) -> list[bytes]:
    """The exact records of the columns `raw` and `raw_bytes`."""
    texts: list[bytes] = batch["raw"].cast(pa.binary()).to_pylist()
    odd = batch["raw_bytes"]
    if odd.null_count == len(odd):
        return texts
    return [text if exact is None else exact for text, exact in zip(texts, odd.to_pylist(), strict=True)]


def _chunks(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    chunk: list[Piece] = []
    rows = size = 0
    for piece in pieces:
        chunk.append(piece)
        rows, size = rows + len(piece.raws), size + sum(map(len, piece.raws))
        if rows >= _FEW_ROWS or size >= _FEW_BYTES:
            yield chunk
            chunk, rows, size = [], 0, 0
    if chunk:
        yield chunk


def _batch(chunk: list[Piece]) -> Batch:
    raws = [raw for piece in chunk for raw in piece.raws]
    records = [_members(raw) for raw in raws]
    ids = [_key(record, raw) for record, raw in zip(records, raws, strict=True)]
    datas = [record.data or _NOTHING for record in records]
    values: dict[str, Sequence[Any]] = {name: list(map(attrgetter(name), records)) for name in _PLAIN}
    values |= {
        "id": ids,
        "number": list(map(number, ids)),
        "action": [data.action for data in datas],
        "text": [data.text for data in datas],
        "source": [piece.source for piece in chunk for _ in piece.raws],
    }
    values["raw"], values["raw_bytes"] = _exact(raws)
    return pa.record_batch([_column(values[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _column(values: Sequence[Any], type: Any) -> Any:
    if not pa.types.is_timestamp(type):
        return pa.array(values, type)
    found = pa.array(values, pa.int64())
    milliseconds = pc.if_else(pc.less(found, MILLISECONDS), pc.multiply(found, 1000), found)
    return milliseconds.cast(type)


def _exact(raws: list[bytes]) -> tuple[Any, Any]:
    """`raw` and `raw_bytes`."""
    try:
        return pa.array(raws, pa.binary()).cast(pa.string()), [None] * len(raws)
    except pa.ArrowInvalid:  # some are not UTF-8
        texts = [raw.decode(errors="replace") for raw in raws]
        odd = [None if text.encode() == raw else raw for text, raw in zip(texts, raws, strict=True)]
        return texts, odd


def _key(record: _Members, raw: bytes) -> str:
    return str(record.id) or key_of(Row(raw=raw))


# ── one record ──


def _members(raw: bytes) -> _Members:
    try:
        record: _Members = _DECODER.decode(raw)
        return record
    except REFUSED:
        return _patiently(raw)


def _patiently(raw: bytes) -> _Members:
    """What can be read of a record that does not have its documented types, or is no JSON by the letter."""
    record = read(raw)
    found: _Members = fitted(_Members, record)
    found.id = row_of(raw, record).id
    found.data = fitted(_Data, record.get("data"))
    return found
