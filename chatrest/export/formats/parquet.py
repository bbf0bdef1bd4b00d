"""Parquet: the columns of messages, for queries, and records as Arrow tables.

`chatrest guide dataset` has a table of the columns. A member that is absent, or not of its
documented type, is null; a record of any shape has a row, with its bytes as they were served. In a record
that is not valid UTF-8, `raw` has U+FFFD for each wrong byte. The metadata of a file has the version of the
schema under `chatrest.schema_version`.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ..._core.replies.scanner import read_record
from ..._models.raw_json import REFUSED
from .columns import MESSAGE_COLUMNS, SCALARS, Column, MessageReader, snake_case
from .stored_records import SourceLines, clean

Array: TypeAlias = Any
"""A `pyarrow.Array`."""
Table: TypeAlias = Any
"""A `pyarrow.Table`."""
VERSION: Final = 2
VERSION_KEY: Final = b"chatrest.schema_version"
TIME: Final = pa.timestamp("ms", "UTC")
_TYPES: Final = {"text": pa.string(), "integer": pa.int64(), "time": TIME, "list": pa.list_(pa.string())}


def _members(texts: str, integers: str = "", times: str = "") -> dict[str, str]:
    """Return the wire names of a nested column's members, each with its kind."""
    kinds = {"text": texts, "integer": integers, "time": times}
    return {name: kind for kind, names in kinds.items() for name in names.split()}


_NESTED: Final = {
    "attachments": _members("url name mimeType extension", "size"),
    "reactions": _members("reaction", "count"),
    "mentions": _members("uid name"),
    "call": _members(
        "sessionId type status sender receiver receiverType conversationId byUid forUid",
        times="initiatedAt joinedAt startedAt",
    ),
}
_LISTS: Final = ("attachments", "reactions", "mentions")
"""The nested columns that are lists of structs; the others are structs."""


def _type_of(column: Column) -> Any:
    if column.name not in _NESTED:
        return _TYPES[column.kind]
    struct = pa.struct([(snake_case(name), _TYPES[kind]) for name, kind in _NESTED[column.name].items()])
    return pa.list_(struct) if column.name in _LISTS else struct


SCHEMA: Final = pa.schema(
    [
        *(pa.field(each.name, _type_of(each), nullable=each.name != "id") for each in MESSAGE_COLUMNS),
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
GROUP_ROWS: Final = 20_000
GROUP_BYTES: Final = 4 << 20
"""Bytes of lines in a row group: its rows are converted, and held, at once."""
_READER: Final = MessageReader(MESSAGE_COLUMNS)


def tables(pieces: Iterable[SourceLines]) -> Iterator[Table]:
    """Yield the records as tables, each good for a row group; memory for one."""
    chunk, rows, size = list[SourceLines](), 0, 0
    for piece in pieces:
        if chunk and (rows + piece.rows > GROUP_ROWS or size + len(piece.lines) > GROUP_BYTES):
            yield _message_table(chunk)
            chunk, rows, size = [], 0, 0
        chunk.append(piece)
        rows, size = rows + piece.rows, size + len(piece.lines)
    if chunk:
        yield _message_table(chunk)


def _message_table(chunk: list[SourceLines]) -> Table:
    lines = b"".join([piece.lines for piece in chunk])
    values = column_values(lines, sum(piece.rows for piece in chunk))
    values["source_name"] = [piece.label for piece in chunk for _ in range(piece.rows)]
    arrays = {
        field.name: array_of(values[field.name], field.type) for field in SCHEMA if field.name in values
    }
    arrays["raw"], arrays["raw_bytes"] = _raw_arrays(lines)
    return pa.Table.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def _raw_arrays(lines: bytes) -> tuple[Array, Array]:
    try:
        texts = text_array(lines, "\n")[:-1]
        texts.validate(full=True)
    except pa.ArrowInvalid:  # not all are UTF-8
        raws = lines.split(b"\n")[:-1]
        texts = [raw.decode(errors="replace") for raw in raws]
        exact = [None if text.encode() == raw else raw for text, raw in zip(texts, raws, strict=True)]
        return array_of(texts, pa.string()), array_of(exact, pa.binary())
    return texts, pa.nulls(len(texts), pa.binary())


def column_values(lines: bytes, rows: int) -> dict[str, Sequence[Any]]:
    """Return the columns of `SCHEMA` for so many records, one per line, without the source and `raw`."""
    values = _READER.read(lines, rows)
    for name in _LISTS:
        values[name] = [None if value is None else _decoded(value) for value in values[name]]
    values["mentions"] = list(map(_mentions, values["mentions"]))
    values["call"] = [
        _call(_decoded(entities)) if category == "call" else None
        for category, entities in zip(values["category"], values["call"], strict=True)
    ]
    for name, kinds in _NESTED.items():
        members = [(member, SCALARS[kind]) for member, kind in kinds.items()]
        fit = _list_of_tuples if name in _LISTS else _tuple_of
        values[name] = [None if value is None else fit(value, members) for value in values[name]]
    return values


def _mentions(users: Any) -> Any:
    return [{**_object(user), "uid": uid} for uid, user in users.items()] if isinstance(users, dict) else None


def _call(entities: Any) -> Any:
    """Return the call of a call message, with the uids of who acted and of the other user."""
    call, by, other = (_object(_object(entities).get(name)).get("entity") for name in ("on", "by", "for"))
    if not isinstance(call, dict):
        return None
    uids = {"byUid": _object(by).get("uid"), "forUid": _object(other).get("uid")}
    return {**call, "sessionId": call.get("sessionid"), **uids}


def _decoded(value: Any) -> Any:
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value)
    except REFUSED:  # bytes that are no UTF-8, or a number out of range
        return clean(read_record(bytes(value)))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


Members: TypeAlias = Sequence[tuple[str, Callable[[Any], Any]]]
"""The members of a struct: their wire names, and the functions that check their values."""


def _list_of_tuples(value: Any, members: Members) -> list[tuple[Any, ...]] | None:
    return [_tuple_of(each, members) for each in value] if isinstance(value, list) else None


def _tuple_of(value: Any, members: Members) -> tuple[Any, ...]:
    """Return a struct as `array_of` takes it; a member that is not of its kind is None."""
    served = _object(value)
    return tuple([check(served.get(name)) for name, check in members])


def array_of(values: Sequence[Any], type: Any) -> Array:
    """Return the values, of which any may be None, as an array of a type of `parquet.SCHEMA`.

    Values are texts without halves of surrogate pairs, bytes, numbers of 64 bits, times in milliseconds,
    lists, and tuples with all fields of a struct. Made of buffers: `pyarrow.array` imports pandas, which
    takes 60 MB and half a second.
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
    return _numbers(values, pa.int64()).cast(type)


def _bytes_array(values: Sequence[bytes], type: Any) -> Array:
    offsets = array("i", accumulate(map(len, values), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(type, len(values), buffers)


def _numbers(values: Iterable[int], type: Any) -> Array:
    numbers = array("q" if type == pa.int64() else "i", values)
    return pa.Array.from_buffers(type, len(numbers), [None, pa.py_buffer(numbers)])
