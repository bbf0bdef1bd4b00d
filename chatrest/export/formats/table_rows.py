"""A record of a table as a row: the members that are columns, by the path to each in the record.

A member that is absent, or not of its column's type, is null; a record of any shape has a row.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ...models.raw_json import write_value
from ..file_names import MILLISECONDS
from .record_members import clean, read

ColumnKind: TypeAlias = Literal["text", "integer", "time", "list", "json"]
_HIGHEST: Final = (1 << 63) - 1
_LAST_TIME: Final = 253_402_300_799_999
"""The end of the year 9999, in epoch milliseconds."""


class Column(NamedTuple):
    """A column: its name, its kind, and the path to its member in the record."""

    name: str
    kind: ColumnKind
    path: tuple[str, ...]


def row_values(columns: Sequence[Column], raw: bytes) -> list[Any]:
    """Return the values of a record's columns; times are epoch milliseconds."""
    record = read(raw)
    return [_value(column, record) for column in columns]


def sqlite_values(columns: Sequence[Column], raw: bytes) -> list[Any]:
    """Return the values of a record's columns, and `raw`, as SQLite takes them: lists are JSON."""
    values = (
        msgspec.json.encode(value).decode() if isinstance(value, list) else value
        for value in row_values(columns, raw)
    )
    try:
        return [*values, raw.decode()]
    except UnicodeDecodeError:
        return [*values, raw]


def _value(column: Column, record: Any) -> Any:
    value = record
    for name in column.path:
        value = value.get(name) if isinstance(value, dict) else None
    match column.kind:
        case "text":
            return _text(value)
        case "integer":
            return _integer(value)
        case "time":
            return _time(value)
        case "list":
            return [_text(each) for each in value] if isinstance(value, list) else None
    return None if value is None else clean(write_value(value).decode(errors="replace"))


def _text(value: Any) -> str | None:
    if type(value) is int:  # services differ in whether an id is a number
        return str(value)
    return clean(value) if isinstance(value, str) else None


def _time(value: Any) -> int | None:
    if type(value) is not int or value <= 0:  # 0 stands for "never"
        return None
    time = value if value >= MILLISECONDS else value * 1000
    return time if time <= _LAST_TIME else None


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)  # counts are texts of digits in some records
    return value if type(value) is int and abs(value) <= _HIGHEST else None
