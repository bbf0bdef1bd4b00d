"""Arrow arrays of Python values, made of buffers.

`pyarrow.array` imports pandas where it is installed, which takes 60 MB of memory and half a second.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]

Array: TypeAlias = Any
"""A `pyarrow.Array`."""


def array_of(values: Sequence[Any], type: Any) -> Array:
    """Return the values, of which any may be None, as an array of a type of `parquet_schema`.

    Values are texts, bytes, numbers of 64 bits (times as well), lists, and dicts with all fields of a struct.
    """
    validity, nulls = _validity(values)
    if nulls == len(values):
        return pa.nulls(len(values), type)
    if pa.types.is_list(type):
        items = list(chain.from_iterable(value for value in values if value is not None))
        offsets = _offsets([0 if value is None else len(value) for value in values])
        children = [array_of(items, type.value_type)]
        return pa.ListArray.from_buffers(type, len(values), [validity, offsets], nulls, 0, children)
    if pa.types.is_struct(type):
        children = [
            array_of([None if value is None else value[field.name] for value in values], field.type)
            for field in type
        ]
        return pa.StructArray.from_buffers(type, len(values), [validity], nulls, 0, children)
    if pa.types.is_string(type):
        values = [None if value is None else value.encode(errors="replace") for value in values]
    if pa.types.is_string(type) or pa.types.is_binary(type):
        data = [b"" if value is None else value for value in values] if nulls else values
        buffers = [validity, _offsets(list(map(len, data))), pa.py_buffer(b"".join(data))]
        return pa.Array.from_buffers(type, len(values), buffers, nulls)
    numbers = array("q", [value or 0 for value in values] if nulls else values)
    return pa.Array.from_buffers(type, len(values), [validity, pa.py_buffer(numbers)], nulls)


def _validity(values: Sequence[Any]) -> tuple[Any, int]:
    """Return the buffer of bits that tells values from nulls, and the number of nulls."""
    mask = bytes([value is not None for value in values])
    nulls = mask.count(0)
    if not nulls:
        return None, 0
    bits = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(mask)]).cast(pa.bool_())
    return bits.buffers()[1], nulls


def _offsets(lengths: list[int]) -> Any:
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)))
