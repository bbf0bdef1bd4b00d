"""The patient way's second half: decoded JSON into a struct, mending what can be mended.

| served                                | wanted             | becomes                        |
|---------------------------------------|--------------------|--------------------------------|
| a whole number                        | text               | its digits                     |
| digits, or a float without a fraction | whole number       | the number                     |
| 0, 1, "true", "false"                 | boolean            | the boolean                    |
| `[]`                                  | object             | `{}`                           |
| `{}`                                  | array              | `[]`                           |
| nothing, or null                      | text, whole number | "" or 0                        |
| anything else that does not fit       | optional           | `UNSET`                        |
| anything else that does not fit       | required           | a `MisfitError`, up to the next     |
|                                       |                    | optional field or the record   |

Each mending is noted with its path and the types, never with a value: a value may be a credential.
"""

from functools import cache
from typing import Any

from msgspec import UNSET, inspect

_NAMES = {dict: "object", list: "array", str: "text", bool: "boolean", int: "whole number", float: "number"}


class MisfitError(Exception):
    """A value that cannot stand where it was served; the text says where, and what was expected."""


def shape(kind: Any) -> inspect.Type:
    """What msgspec knows of a type, looked up once."""
    return _shape(kind)


@cache
def _shape(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def fit(value: Any, want: inspect.Type, path: str, notes: list[str]) -> Any:
    """`value` as the type `want`; appends to `notes` what was mended; raises `MisfitError` where it can't."""
    if isinstance(want, inspect.UnionType):
        return _fit_union(value, want, path, notes)
    if isinstance(want, inspect.StructType):
        return _fit_struct(_object(value, path, notes), want, path, notes)
    if isinstance(want, inspect.DictType):
        return _object(value, path, notes)
    if isinstance(want, inspect.VarTupleType):
        items = _array(value, path, notes)
        return tuple(fit(item, want.item_type, f"{path}[{i}]", notes) for i, item in enumerate(items))
    if isinstance(want, inspect.AnyType):
        return value
    return _fit_scalar(value, want, path, notes)


def _fit_struct(served: dict[str, Any], want: inspect.StructType, path: str, notes: list[str]) -> Any:
    members: dict[str, Any] = {}
    for field in want.fields:
        here = f"{path}.{field.encode_name}" if path else field.encode_name
        value = served.get(field.encode_name, UNSET)
        try:
            if value is not UNSET or field.required:
                _refuse_fill(value, want, here)
                members[field.name] = fit(value, field.type, here, notes)
        except MisfitError as misfit:
            if field.required:
                raise
            notes.append(str(misfit))
    return want.cls(**members)


def _refuse_fill(value: Any, want: inspect.StructType, path: str) -> None:
    if (value is None or value is UNSET) and not getattr(want.cls, "fill_missing", True):
        raise MisfitError(f"{path}: got {_got(value)}")


def _fit_union(value: Any, want: inspect.UnionType, path: str, notes: list[str]) -> Any:
    if value is None and want.includes_none:
        return None
    kinds = [kind for kind in want.types if not isinstance(kind, _ABSENT)]
    for kind in kinds:  # first one that holds the value as it is, then one that holds it mended
        fresh: list[str] = []
        try:
            fitted = fit(value, kind, path, fresh)
        except MisfitError:
            continue
        if not fresh:
            return fitted
    return fit(value, kinds[0], path, notes)


_ABSENT = inspect.NoneType


def _fit_scalar(value: Any, want: inspect.Type, path: str, notes: list[str]) -> Any:
    kind: type = _SCALARS[type(want)]
    if type(value) is kind:
        return value
    mended = _mended(value, kind)
    if mended is None:
        raise MisfitError(f"{path}: expected {_NAMES[kind]}, got {_got(value)}")
    notes.append(f"{path}: expected {_NAMES[kind]}, got {_got(value)}")
    return mended


_SCALARS: dict[type, type] = {
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
}


def _mended(value: Any, kind: type) -> Any:
    if value is None or value is UNSET:
        return {str: "", int: 0}.get(kind)
    if kind is bool:
        return {0: False, 1: True, "true": True, "false": False}.get(value) if _plain(value) else None
    if kind is str:
        return str(value) if type(value) is int else None
    number = _number(value)
    return number if number is None or kind is int else float(number)


def _plain(value: Any) -> bool:
    return isinstance(value, int | str)


def _number(value: Any) -> int | None:
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is int:
        return value
    if type(value) is str and len(value) < 40 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None


def _object(value: Any, path: str, notes: list[str]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value == []:
        notes.append(f"{path}: expected object, got an empty array")
        return {}
    raise MisfitError(f"{path}: expected object, got {_got(value)}")


def _array(value: Any, path: str, notes: list[str]) -> list[Any]:
    if isinstance(value, list):
        return value
    if value == {}:
        notes.append(f"{path}: expected array, got an empty object")
        return []
    raise MisfitError(f"{path}: expected array, got {_got(value)}")


def _got(value: Any) -> str:
    if value is UNSET:
        return "nothing"
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)
