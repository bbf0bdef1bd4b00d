"""Arrow arrays of Python values, made of buffers.

`pyarrow.array` imports pandas where it is installed, which takes 60 MB of memory and half a second.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]

Array: TypeAlias = Any
"""A `pyarrow.Array`."""


def array_of(values: Sequence[Any], type: Any) -> Array:
    """Return the values, of which any may be None, as an array of a type of `parquet_schema`.

    Values are texts without halves of surrogate pairs, bytes, numbers of 64 bits (times as well), lists, and
    dicts with all fields of a struct.
    """
    nulls = values.count(None)
    if nulls == len(values):
        return pa.nulls(nulls, type)
    validity = _validity(values) if nulls else None
    if pa.types.is_list(type):
        return _list_array(values, type, validity, nulls)
    if pa.types.is_struct(type):
        children = [
            array_of([None if value is None else value[field.name] for value in values], field.type)
            for field in type
        ]
        return pa.StructArray.from_buffers(type, len(values), [validity], nulls, 0, children)
    if pa.types.is_string(type) or pa.types.is_binary(type):
        return _bytes_array(values, type, validity, nulls)
    numbers = array("q", [value or 0 for value in values] if nulls else values)
    return pa.Array.from_buffers(type, len(values), [validity, pa.py_buffer(numbers)], nulls)


def _list_array(values: Sequence[Any], type: Any, validity: Any, nulls: int) -> Array:
    items = list(chain.from_iterable(value for value in values if value is not None))
    offsets = _offsets(0 if value is None else len(value) for value in values)
    children = [array_of(items, type.value_type)]
    return pa.ListArray.from_buffers(type, len(values), [validity, offsets], nulls, 0, children)


def _bytes_array(values: Sequence[Any], type: Any, validity: Any, nulls: int) -> Array:
    if pa.types.is_string(type):
        data = list(map(str.encode, [value or "" for value in values] if nulls else values))
    else:
        data = [value or b"" for value in values]
    buffers = [validity, _offsets(map(len, data)), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(type, len(values), buffers, nulls)


def _validity(values: Sequence[Any]) -> Any:
    """Return the buffer of bits that tells values from nulls."""
    mask = bytes([value is not None for value in values])
    bits = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)]).cast(pa.bool_())
    return bits.buffers()[1]


def _offsets(lengths: Iterable[int]) -> Any:
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)))
