"""Decoded JSON into a struct, where a value does not have its documented type.

| served                                | wanted             | becomes                        |
|---------------------------------------|--------------------|--------------------------------|
| a whole number                        | text               | its digits                     |
| digits, or a float without a fraction | whole number       | the number                     |
| 0, 1, "true", "false"                 | boolean            | the boolean                    |
| `[]`                                  | object             | `{}`                           |
| `{}`                                  | array              | `[]`                           |
| null in an array                      | text, whole number | "" or 0                        |
| anything else that does not fit       | optional           | absent                         |
| anything else that does not fit       | required           | a `CoercionError`, up to the   |
|                                       |                    | next optional field, or record |

A text or number whose default is "" or 0 is required, but for null, which is as absent.

Each coercion is noted with its path and the types, never with a value: a value may be a credential.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, TypeVar

from msgspec import UNSET, inspect

from .record import NO_NUMBER, NO_TEXT

N = TypeVar("N", dict[str, Any], list[Any])

_NAMES: Final = {
    dict: "object", list: "array", str: "text", bool: "boolean", int: "whole number", float: "number"
}  # fmt: skip
_INDEX: Final = re.compile(r"\[\d+\]")
_MAX_NOTES: Final = 1000
"""Coercions of one record; one with more of them is an attack on the decoder."""
_MAX_FIELDS: Final = 1000
"""Fields of a page, each with its indexes in arrays; of further ones the indexes become `[*]`."""
_MAX_KEY: Final = 50
_MAX_FLOAT: Final = 10**308
_BOOLEANS: Final[dict[Any, bool]] = {0: False, 1: True, "true": True, "false": False}
_DISPENSABLE: Final = frozenset(("name", "entity_type", "text"))
"""Texts that say who or what a record is in words: one of another type counts as absent."""
_SCALARS: Final[dict[type, type]] = {
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
}


class CoercionError(Exception):
    """A value of a wrong type; the text names its path and the expected type."""


class Coercions:
    """The values of a reply that did not have their documented type, one line per field.

    A record is known by its index in the list, an outcome by its key.
    """

    def __init__(self) -> None:
        self._records: dict[str, list[int | str]] = {}
        self._others: list[str] = []

    def __bool__(self) -> bool:
        return any(self._records.values()) or bool(self._others)

    def records(self, text: str) -> list[int | str]:
        """Return the list of records with the coercion `text` (`field: expected …`), to append to."""
        return self._records.setdefault(text, [])

    def add(self, record: int | str, texts: Iterable[str]) -> None:
        """Add the coercions of one record."""
        for text in texts:
            if len(self._records) >= _MAX_FIELDS:
                text = _INDEX.sub("[*]", text)
            self.records(text).append(record)

    def add_other(self, texts: Iterable[str]) -> None:
        """Add coercions outside of the records."""
        self._others.extend(texts)

    def lines(self) -> tuple[str, ...]:
        """Return the coercions: `data[3].sentAt: expected …`, or `data[*].id: expected … (1000 records)`.

        Those of outcomes are `data.bob.data.uid: expected …`, or `data.*.data.uid: expected … (3 outcomes)`.
        """
        if not (self._records or self._others):  # nearly every page
            return ()
        fields: dict[str, list[tuple[int | str, str]]] = {}
        for text, records in self._records.items():
            field = _INDEX.sub("[*]", text)
            fields.setdefault(field, []).extend((record, text) for record in records)
        return (*(_line(field, pairs) for field, pairs in fields.items() if pairs), *self._others)


def _line(field: str, pairs: list[tuple[int | str, str]]) -> str:
    record, text = pairs[0]
    count = len({record for record, _ in pairs})
    path = text if len(pairs) == 1 else field
    separator = "" if path.startswith(":") else "."
    if isinstance(record, str):
        key, noun = f".{record[:_MAX_KEY] if count == 1 else '*'}", "outcomes"
    else:
        key, noun = f"[{record if count == 1 else '*'}]", "records"
    return f"data{key}{separator}{path}{'' if count == 1 else f' ({count} {noun})'}"


@cache
def shape(kind: Any) -> inspect.Type:
    """Return what msgspec knows of a type, looked up once."""
    return inspect.type_info(kind)


def coerced(value: Any, target: inspect.Type, path: str, notes: list[str]) -> Any:
    """Return `value` as the type `target`, else a `CoercionError`; append to `notes` what was coerced."""
    if isinstance(target, inspect.UnionType):
        return _coerced_union(value, target, path, notes)
    if isinstance(target, inspect.StructType):
        return _coerced_struct(_nested(value, dict, path, notes), target, path, notes)
    if isinstance(target, inspect.DictType):
        members = _nested(value, dict, path, notes)
        if isinstance(target.value_type, inspect.AnyType):
            return members
        values = _coerced_items(members.values(), target.value_type, path, ".*", notes)
        return dict(zip(members, values, strict=True))
    if isinstance(target, inspect.VarTupleType):
        return tuple(_coerced_items(_nested(value, list, path, notes), target.item_type, path, "[{}]", notes))
    if isinstance(target, inspect.AnyType):
        return value
    return _coerced_scalar(value, target, path, notes)


def _coerced_items(
    values: Iterable[Any], target: inspect.Type, path: str, suffix: str, notes: list[str]
) -> list[Any]:
    """Return the values of an array or object; too many coercions in one record are a `CoercionError`."""
    items: list[Any] = []
    for index, value in enumerate(values):
        items.append(coerced(value, target, path + suffix.format(index), notes))
        if len(notes) > _MAX_NOTES:
            raise CoercionError(f"{path}: more than {_MAX_NOTES} values are not of their type")
    return items


def _coerced_struct(served: dict[str, Any], target: inspect.StructType, path: str, notes: list[str]) -> Any:
    members: dict[str, Any] = {}
    for field in target.fields:
        field_path = f"{path}.{field.encode_name}" if path else field.encode_name
        value = served.get(field.encode_name, UNSET)
        if value is UNSET and not field.required:
            continue
        try:
            if value is UNSET or (value is None and not _takes_null(field.type)):
                expected = _kind_name(field.type)
                raise CoercionError(f"{field_path}: expected {expected}, got {type_name(value)}")
            members[field.name] = coerced(value, field.type, field_path, notes)
        except CoercionError as error:
            is_filled = field.default is NO_TEXT or field.default is NO_NUMBER
            is_needed = is_filled and value is not None and field.name not in _DISPENSABLE
            if field.required or is_needed:
                raise
            notes.append(str(error))
    return target.cls(**members)


def _takes_null(target: inspect.Type) -> bool:
    return isinstance(target, inspect.AnyType) or (
        isinstance(target, inspect.UnionType) and target.includes_none
    )


def _coerced_union(value: Any, target: inspect.UnionType, path: str, notes: list[str]) -> Any:
    if value is None and target.includes_none:
        return None
    kinds = [kind for kind in target.types if not isinstance(kind, inspect.NoneType)]
    first: tuple[Any, list[str]] | None = None
    fault = f"{path}: got {type_name(value)}"
    for kind in kinds:  # the first that takes the value as it is, else kinds[0], which coerces it
        fresh: list[str] = []
        try:
            result = (coerced(value, kind, path, fresh), fresh)
        except CoercionError as error:
            if kind is kinds[0]:
                fault = str(error)
            continue
        if not fresh:
            return result[0]
        if kind is kinds[0]:
            first = result
    if first is None:
        raise CoercionError(fault)
    notes += first[1]
    return first[0]


def _coerced_scalar(value: Any, target: inspect.Type, path: str, notes: list[str]) -> Any:
    kind = _SCALARS.get(type(target))
    if kind is None:
        raise CoercionError(f"{path}: got {type_name(value)}")
    if type(value) is kind:
        return value
    scalar = _scalar(value, kind)
    note = f"{path}: expected {_NAMES[kind]}, got {type_name(value)}"
    if scalar is None:
        raise CoercionError(note)
    notes.append(note)
    return scalar


def _kind_name(target: inspect.Type) -> str:
    kind = _SCALARS.get(type(target))
    return _NAMES[kind] if kind else "array" if isinstance(target, inspect.VarTupleType) else "object"


def _scalar(value: Any, kind: type) -> Any:
    if value is None:
        return {str: "", int: 0}.get(kind)
    if kind is bool:
        return _BOOLEANS.get(value) if isinstance(value, int | str) else None
    if kind is str:
        return str(value) if type(value) is int else None
    number = whole_number(value)
    if number is None or kind is int:
        return number
    return float(number) if abs(number) < _MAX_FLOAT else None


def whole_number(value: Any) -> int | None:
    """Return the number of a whole number, of digits, or of a float without a fraction; else None."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is int:
        return value
    if type(value) is str and len(value) < 40 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None


def _nested(value: Any, kind: type[N], path: str, notes: list[str]) -> N:
    """Return `value`, an object or array, or an empty one of the other kind as an empty `kind`."""
    if isinstance(value, kind):
        return value
    if isinstance(value, dict | list) and not value:
        notes.append(f"{path}: expected {_NAMES[kind]}, got an empty {type_name(value)}")
        return kind()
    raise CoercionError(f"{path}: expected {_NAMES[kind]}, got {type_name(value)}")


def type_name(value: Any) -> str:
    """Return the type of a decoded JSON value in words: text, whole number, array …"""
    if value is UNSET:
        return "nothing"
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)
