"""Arrow arrays of Python values, made of buffers.

`pyarrow.array` imports pandas where it is installed, which takes 60 MB of memory and half a second.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, compress
from typing import Any, Final, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ..plan.file_names import MILLISECONDS

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
    """Return values, none of which is None, as an array."""
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
