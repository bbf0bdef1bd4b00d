"""Parquet: the columns of messages, for queries, and records as Arrow tables.

`chatrest guide reading` has a table of the columns. A member that is absent, or not of its
documented type, is null; a record of any shape has a row, with its bytes as they were served. In a record
that is not valid UTF-8, `raw` has U+FFFD for each wrong byte. The metadata of a file has the version of the
schema under `chatrest.schema_version`.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress
from operator import attrgetter
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from msgspec import Meta, Struct, field
from msgspec.structs import astuple

from ..._core.replies.rows import row_of
from ..._models.raw_json import REFUSED
from ..plan.file_names import MILLISECONDS
from ..plan.message_ids import key_of, number, plain_numbers
from .columns import LATEST, MESSAGE_COLUMNS
from .record_members import fit, read
from .stored_records import SourceLines

# ── arrays, made of buffers: `pyarrow.array` imports pandas, which takes 60 MB and half a second ──

Array: TypeAlias = Any
"""A `pyarrow.Array`."""


def array_of(values: Sequence[Any], type: Any) -> Array:
    """Return the values, of which any may be None, as an array of a type of `parquet.SCHEMA`.

    Values are texts without halves of surrogate pairs, bytes, numbers of 64 bits, times in seconds or
    milliseconds, lists, and tuples with all fields of a struct.
    """
    nulls = values.count(None)
    if nulls == len(values):
        return pa.nulls(nulls, type)
    if not nulls:
        return _array(values, type)
    mask = bytes([value is not None for value in values])
    items = _array(list(compress(values, mask)), type)
    counts = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)])
    positions = pc.multiply(pc.cumulative_sum(counts.cast(pa.int32())), counts)
    return pa.concat_arrays([pa.nulls(1, type), items]).take(positions)


def text_array(data: bytes, separator: str) -> Array:
    """Return the texts between separators in UTF-8 as an array; the bytes are not validated."""
    return pc.split_pattern(_bytes_array([data], pa.string()), pattern=separator).values


def _array(values: Sequence[Any], type: Any) -> Array:
    """Return values, without None, as an array."""
    if pa.types.is_list(type):
        items = array_of(list(chain.from_iterable(values)), type.value_type)
        return pa.ListArray.from_arrays(
            _numbers(accumulate(map(len, values), initial=0), pa.int32()), items, type=type
        )
    if pa.types.is_struct(type):
        columns = zip(zip(*values, strict=True), type, strict=True)
        children = [array_of(column, field.type) for column, field in columns]
        return pa.StructArray.from_arrays(children, fields=list(type))
    if pa.types.is_string(type):
        texts = text_array("\0".join(values).encode(), "\0")
        return texts if len(texts) == len(values) else _bytes_array(list(map(str.encode, values)), type)
    if pa.types.is_binary(type):
        return _bytes_array(values, type)
    numbers = _numbers(values, pa.int64())
    if pa.types.is_timestamp(type):
        factors = pc.if_else(pc.less(numbers, _UNITS[0]), _UNITS[1], _UNITS[2])
        return pc.multiply(numbers, factors).cast(type)
    return numbers


def _bytes_array(values: Sequence[bytes], type: Any) -> Array:
    offsets = array("i", accumulate(map(len, values), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(type, len(values), buffers)


def _numbers(values: Iterable[int], type: Any) -> Array:
    numbers = array("q" if type == pa.int64() else "i", values)
    return pa.Array.from_buffers(type, len(numbers), [None, pa.py_buffer(numbers)])


_UNITS: Final = _numbers([MILLISECONDS, 1000, 1], pa.int64())


VERSION: Final = 2
VERSION_KEY: Final = b"chatrest.schema_version"

CALL_TEXTS: Final = (
    "session_id", "type", "status", "sender", "receiver", "receiver_type", "conversation_id", "by_uid",
    "for_uid",
)  # fmt: skip
CALL_TIMES: Final = ("initiated_at", "joined_at", "started_at")


def _texts(*names: str) -> list[tuple[str, Any]]:
    return [(name, pa.string()) for name in names]


TIME: Final = pa.timestamp("ms", "UTC")
ATTACHMENTS: Final = pa.list_(
    pa.struct([*_texts("url", "name", "mime_type", "extension"), ("size", pa.int64())])
)
REACTIONS: Final = pa.list_(pa.struct([*_texts("reaction"), ("count", pa.int64())]))
MENTIONS: Final = pa.list_(pa.struct(_texts("uid", "name")))
CALL: Final = pa.struct([*_texts(*CALL_TEXTS), *((name, TIME) for name in CALL_TIMES)])

_NESTED: Final = {"attachments": ATTACHMENTS, "reactions": REACTIONS, "mentions": MENTIONS, "call": CALL}
_TYPES: Final = {"text": pa.string(), "integer": pa.int64(), "time": TIME, "list": pa.list_(pa.string())}

SCHEMA: Final = pa.schema(
    [
        *(
            pa.field(each.name, _NESTED.get(each.name) or _TYPES[each.kind], nullable=each.name != "id")
            for each in MESSAGE_COLUMNS
        ),
        ("source_name", pa.string()),
        pa.field("raw", pa.string(), nullable=False),
        ("raw_bytes", pa.binary()),
    ],
    metadata={VERSION_KEY: str(VERSION).encode()},
)
REPEATING: Final = [
    "conversation_id", "parent_id", "sender", "receiver", "receiver_type", "category", "type", "action",
    "edited_by", "deleted_by", "source_name",
]  # fmt: skip
"""Columns that hold the same few values again and again."""
ORDERED: Final = ["number", *(each.name for each in MESSAGE_COLUMNS if each.kind == "time")]
"""Columns by whose least and greatest values a reader can pass row groups by."""


# ── the members of a message that its columns hold: what is not of its documented type is None ──

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
Text: TypeAlias = str | None
Count: TypeAlias = Annotated[int, Meta(ge=_LOW, le=_HIGH)] | None
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST)] | None


class _Attachment(Struct, gc=False, rename="camel"):
    url: Text = None
    name: Text = None
    mime_type: Text = None
    extension: Text = None
    size: Annotated[int, Meta(ge=_LOW, le=_HIGH)] | str | None = None


class _Reaction(Struct, gc=False):
    reaction: Text = None
    count: Count = None


class _User(Struct, gc=False):
    uid: Text = None
    name: Text = None


class _Call(Struct, gc=False, rename="camel"):
    session_id: Text = field(default=None, name="sessionid")
    type: Text = None
    status: Text = None
    sender: Text = None
    receiver: Text = None
    receiver_type: Text = None
    conversation_id: Text = None
    initiated_at: Instant = None
    joined_at: Instant = None
    started_at: Instant = None


class _UserWrapper(Struct, gc=False):
    entity: _User | None = None


class _CallWrapper(Struct, gc=False):
    entity: _Call | None = None


class _Entities(Struct, gc=False):
    by: _UserWrapper | None = None
    on: _CallWrapper | None = None
    for_: _UserWrapper | None = field(default=None, name="for")


class _Data(Struct, gc=False):
    text: Text = None
    action: Text = None
    attachments: list[_Attachment] | None = None
    reactions: list[_Reaction] | None = None
    mentions: dict[str, _User] | None = None
    entities: _Entities | None = None


class _Members(Struct, gc=False, rename="camel"):
    id: str | int = ""
    conversation_id: Text = None
    parent_id: Text = None
    sender: Text = None
    receiver: Text = None
    receiver_type: Text = None
    category: Text = None
    type: Text = None
    data: _Data | None = None
    tags: list[str] | None = None
    sent_at: Instant = None
    updated_at: Instant = None
    edited_at: Instant = None
    edited_by: Text = None
    deleted_at: Instant = None
    deleted_by: Text = None
    delivered_at: Instant = None
    read_at: Instant = None
    muid: Text = None


_TOP: Final = [each.name for each in MESSAGE_COLUMNS if len(each.path) == 1 and each.path != ("id",)]
_NOTHING: Final = _Data()
_DECODER: Final = msgspec.json.Decoder(_Members)


def columns(lines: bytes, rows: int) -> dict[str, Sequence[Any]]:
    """Return the columns of `SCHEMA` for so many records, one per line, without the source and `raw`.

    Records that all have their documented types are read at once, others one by one. Lists hold structs as
    tuples of their fields.
    """
    try:
        records = _DECODER.decode_lines(lines)
    except REFUSED:
        records = []
    if len(records) != rows:
        records = list(map(_members, raws_in(lines)))
    ids = [str(record.id) for record in records]
    if not all(ids):
        ids = [key_of(row_of(raw)) for raw in raws_in(lines)]
    return {
        "id": ids,
        "number": plain_numbers(ids) or list(map(number, ids)),
        **_top_columns(records),
        **_data_columns(records),
    }


def _top_columns(records: list[_Members]) -> dict[str, Sequence[Any]]:
    return {name: list(map(attrgetter(name), records)) for name in _TOP}


def _data_columns(records: list[_Members]) -> dict[str, Sequence[Any]]:
    contents = [record.data or _NOTHING for record in records]
    return {
        "action": [data.action for data in contents],
        "text": [data.text for data in contents],
        "attachments": [
            None if data.attachments is None else list(map(_attachment, data.attachments))
            for data in contents
        ],
        "reactions": [
            None if data.reactions is None else list(map(astuple, data.reactions)) for data in contents
        ],
        "mentions": [
            None if data.mentions is None else [(uid, user.name) for uid, user in data.mentions.items()]
            for data in contents
        ],
        "call": [
            _call(data.entities) if record.category == "call" and data.entities else None
            for record, data in zip(records, contents, strict=True)
        ],
    }


def raws_in(lines: bytes) -> list[bytes]:
    return lines.split(b"\n")[:-1]


def _members(raw: bytes) -> _Members:
    try:
        return _DECODER.decode(raw)
    except REFUSED:
        record = read(raw)
    members: _Members = fit(_Members, record)
    members.id = row_of(raw, record).id
    return members


def _attachment(item: _Attachment) -> tuple[Any, ...]:
    """Return the fields of a file; a size in digits is a number."""
    size = item.size
    if isinstance(size, str):
        size = int(size) if size.isdecimal() and size.isascii() and len(size) < 19 else None
    return item.url, item.name, item.mime_type, item.extension, size


def _call(entities: _Entities) -> tuple[Any, ...] | None:
    """Return the fields of a call, with the uids of who acted and of the other user."""
    if entities.on is None or entities.on.entity is None:
        return None
    *texts, initiated_at, joined_at, started_at = astuple(entities.on.entity)
    return *texts, _uid(entities.by), _uid(entities.for_), initiated_at, joined_at, started_at


def _uid(wrapper: _UserWrapper | None) -> str | None:
    return None if wrapper is None or wrapper.entity is None else wrapper.entity.uid


# ── tables ──

Table: TypeAlias = Any
Batch: TypeAlias = Any
T = TypeVar("T")

_CHUNK_ROWS, _CHUNK_BYTES = 2_000, 1 << 21
"""Rows and bytes that are converted at once, and held as Python's objects."""
GROUP_ROWS, GROUP_BYTES = 100_000, 1 << 23
"""Rows and bytes that are held at once: a row group."""


def grouped(parts: Iterable[Table]) -> Iterator[Table]:
    """Yield tables joined to larger ones that are each good for a row group; memory for one."""
    return map(
        pa.concat_tables, _runs(parts, lambda part: (part.num_rows, part.nbytes), GROUP_ROWS, GROUP_BYTES)
    )


def _runs(
    items: Iterable[T], measure: Callable[[T], tuple[int, int]], max_rows: int, max_bytes: int
) -> Iterator[list[T]]:
    """Yield items in lists of at most so many rows and bytes, or of one item; `measure` returns those of an
    item.
    """
    run: list[T] = []
    rows = size = 0
    for item in items:
        more_rows, more_bytes = measure(item)
        if run and (rows + more_rows > max_rows or size + more_bytes > max_bytes):
            full = [run]
            run, rows, size = [], 0, 0
            yield full.pop()  # so that the caller alone holds it
        run.append(item)
        rows, size = rows + more_rows, size + more_bytes
    if run:
        yield run


def tables(pieces: Iterable[SourceLines]) -> Iterator[Table]:
    """Yield the records as tables, each good for a row group; memory for one."""
    chunks = _runs(pieces, lambda piece: (piece.rows, len(piece.lines)), _CHUNK_ROWS, _CHUNK_BYTES)
    return grouped(map(_message_table, chunks))


def _message_table(chunk: list[SourceLines]) -> Table:
    lines = b"".join([piece.lines for piece in chunk])
    values = columns(lines, sum(piece.rows for piece in chunk))
    values["source_name"] = [piece.label for piece in chunk for _ in range(piece.rows)]
    arrays = {
        field.name: array_of(values[field.name], field.type) for field in SCHEMA if field.name in values
    }
    arrays["raw"], arrays["raw_bytes"] = _raw_arrays(lines)
    return pa.Table.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


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
