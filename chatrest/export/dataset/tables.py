"""The tables of an export and their columns: from the record of the service to the values of a row. Pure.

| table         | its rows                                        | a row is identified by               |
|---------------|-------------------------------------------------|--------------------------------------|
| users         | GET /users, deactivated users included          | `uid`                                |
| groups        | GET /groups                                     | `guid`                               |
| members       | GET /groups/{guid}/members of every group       | `guid` and `uid`                     |
| conversations | GET /conversations on behalf of every user      | `onBehalfOf` and `conversationId`    |
| attachments   | the files that messages link to                 | `messageId` and `position`           |

The record of a member has no guid, and that of a conversation does not say whose it is: both are stored with
this one member put in front of their own. All other bytes are as the service sent them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from ...core.arguments import check
from ...core.lenient import read_record
from ...errors import ReplyUnreadableError, RequestInvalidError
from ...models.raw_json import write_value
from ...times import to_datetime

Table: TypeAlias = Literal["users", "groups", "members", "conversations"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
"""In the order in which they are read: a list of groups comes before that of their members."""
ATTACHMENTS: Final = "attachments"
ColumnKind: TypeAlias = Literal["text", "integer", "time", "list", "json"]

_HIGHEST: Final = (1 << 63) - 1


class Column(NamedTuple):
    """A column: its name, its kind, and the path to its member in the record."""

    name: str
    kind: ColumnKind
    path: tuple[str, ...]


def _columns(kinds: Mapping[ColumnKind, str]) -> tuple[Column, ...]:
    """Return columns of wire names; `a.b=name` is the member `b` of the object `a` under another name."""
    return tuple(_column(kind, text) for kind, names in kinds.items() for text in names.split())


def _column(kind: ColumnKind, text: str) -> Column:
    path, _, name = text.partition("=")
    return Column(name or _snake_case(path), kind, tuple(path.split(".")))


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


_PERSON: Final[Mapping[ColumnKind, str]] = {
    "text": "uid name status role avatar link statusMessage",
    "time": "createdAt updatedAt lastActiveAt deactivatedAt",
    "list": "tags",
    "json": "metadata",
}
COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "users": _columns(_PERSON),
    "groups": _columns(
        {
            "text": "guid name type owner icon description conversationId updatedBy",
            "integer": "membersCount",
            "time": "createdAt updatedAt",
            "list": "tags",
            "json": "metadata",
        }
    ),
    "members": (*_columns({"text": "guid scope", "time": "joinedAt"}), *_columns(_PERSON)),
    "conversations": _columns(
        {
            "text": "onBehalfOf conversationId conversationType conversationWith.uid=with_uid "
            "conversationWith.guid=with_guid lastMessage.id=last_message_id pinnedBy",
            "integer": "unreadMessageCount",
            "time": "createdAt updatedAt pinnedAt",
            "list": "tags",
        }
    ),
    ATTACHMENTS: _columns(
        {
            "text": "messageId state file url name mimeType extension sha256 error",
            "integer": "position bytes",
            "time": "checkedAt",
        }
    ),
}


def check_tables(names: object) -> tuple[Table, ...]:
    """Return the tables that are named, in the order of `TABLES`; `RequestInvalidError` for another name."""
    is_list = isinstance(names, Sequence) and not isinstance(names, str | bytes)
    check(is_list, "tables", names, f"a list of {', '.join(TABLES)}")
    assert isinstance(names, Sequence)
    for name in names:
        if name not in TABLES:
            raise RequestInvalidError(f"tables: {name!r}: allowed are {', '.join(TABLES)}")
    return tuple(name for name in TABLES if name in names)


def record_of(raw: bytes) -> dict[str, Any]:
    """Return the members of a record; none where it is no JSON object."""
    try:
        record = read_record(raw)
    except ReplyUnreadableError:
        return {}
    return record if isinstance(record, dict) else {}


def with_member(raw: bytes, name: str, value: str) -> bytes:
    """Return a record with one more member in front of its own; as it is where it has the member already."""
    record = record_of(raw)
    if not raw.startswith(b"{") or name in record:
        return raw
    separator = b"," if record else b""
    return b"{" + msgspec.json.encode(name) + b":" + write_value(value) + separator + raw[1:]


def row_values(table: str, raw: bytes) -> list[Any]:
    """Return the values of a record's columns; None for a member that is absent or not of its type."""
    record = record_of(raw)
    return [_value(column, record) for column in COLUMNS[table]]


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
    return None if value is None else _clean(write_value(value).decode(errors="replace"))


def _text(value: Any) -> str | None:
    if type(value) is int:  # services differ in whether an id is a number
        return str(value)
    return _clean(value) if isinstance(value, str) else None


def _clean(text: str) -> str:
    """Return a text that any file can hold: U+FFFD for each lone surrogate."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)  # counts are texts of digits in some records (operations table, conversation)
    return value if type(value) is int and abs(value) <= _HIGHEST else None


def _time(value: Any) -> datetime | None:
    if type(value) is not int or value <= 0:  # 0 stands for "never" (operations table, user)
        return None
    try:
        return to_datetime(value)
    except RequestInvalidError:
        return None
