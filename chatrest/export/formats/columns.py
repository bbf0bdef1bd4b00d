"""The columns of an export's records, in one table: those of Parquet files, and those of databases.

A member that is absent, or not of its column's kind, is null; a record of any shape has a row.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..._models.raw_json import write_value
from ..plan.file_names import MILLISECONDS
from .record_members import clean, read

ColumnKind: TypeAlias = Literal["text", "integer", "time", "list", "json"]
_HIGHEST: Final = (1 << 63) - 1
LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: Python and most databases know no later one."""


class Column(NamedTuple):
    """A column: its name, its kind, and the path to its member in the record."""

    name: str
    kind: ColumnKind
    path: tuple[str, ...]


def _columns(kinds: str) -> tuple[Column, ...]:
    """Return columns of lines with a kind and wire names; `a.b=name` is the member `b` of `a`, renamed."""
    made = list[Column]()
    for kind, *texts in map(str.split, kinds.strip().splitlines()):
        for path, _, name in (text.partition("=") for text in texts):
            column = Column(name or _snake_case(path), kind, tuple(path.split(".")))  # type: ignore[arg-type]
            made.append(column)
    return tuple(made)


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


MESSAGE_COLUMNS: Final = _columns("""
text id
integer id=number
text conversationId parentId sender receiver receiverType category type data.action=action data.text=text
list tags
time sentAt updatedAt editedAt deletedAt deliveredAt readAt
text editedBy deletedBy muid
json data.attachments=attachments data.reactions=reactions data.mentions=mentions data.entities=call
""")
"""A message: those of the kinds list and json are nested in Parquet, and in a database they are in `raw`."""
_PERSON: Final = """
text uid name status role avatar link statusMessage
time createdAt updatedAt lastActiveAt deactivatedAt
list tags
json metadata
"""
TABLE_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "users": _columns(_PERSON),
    "groups": _columns("""
text guid name type owner icon description conversationId updatedBy
integer membersCount
time createdAt updatedAt
list tags
json metadata
"""),
    "members": (*_columns("text guid scope\ntime joinedAt"), *_columns(_PERSON)),
    "bans": (*_columns("text guid\ntime bannedAt"), *_columns(_PERSON)),
    "friends": (*_columns("text friendOf"), *_columns(_PERSON)),
    "blocks": (*_columns("text blockedBy\ntime blockedByMeAt blockedAt"), *_columns(_PERSON)),
    "reactions": _columns("text id messageId reaction uid\ntime reactedAt\njson reactedBy"),
    "conversations": _columns("""
text onBehalfOf conversationId conversationType conversationWith.uid=with_uid conversationWith.guid=with_guid
text lastMessage.id=last_message_id pinnedBy
integer unreadMessageCount
time createdAt updatedAt pinnedAt
list tags
"""),
    "attachments": _columns("""
text messageId state file url name mimeType extension sha256 error
integer position bytes
time checkedAt
"""),
}


def row_values(columns: Sequence[Column], raw: bytes) -> list[Any]:
    """Return the values of a record's columns; times are epoch milliseconds."""
    record = read(raw)
    return [_value(column, record) for column in columns]


def milliseconds_or_none(time: int | None) -> int | None:
    """Return a time in either unit as milliseconds; None for 0, which stands for "never"."""
    return (time if time >= MILLISECONDS else time * 1000) if time else None


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
            time = milliseconds_or_none(value if type(value) is int and value > 0 else None)
            return time if (time or 0) <= LATEST else None
        case "list":
            return [_text(each) for each in value] if isinstance(value, list) else None
    return None if value is None else clean(write_value(value).decode(errors="replace"))


def _text(value: Any) -> str | None:
    if type(value) is int:  # services differ in whether an id is a number
        return str(value)
    return clean(value) if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)  # counts are texts of digits in some records
    return value if type(value) is int and abs(value) <= _HIGHEST else None
