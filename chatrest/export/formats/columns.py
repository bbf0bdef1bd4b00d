"""The columns of an export's records, in one table: those of Parquet files, and those of databases.

A member that is absent, or not of its column's kind, is null; a record of any shape has a row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..._core.replies.rows import row_of
from ..._models.raw_json import REFUSED
from ..plan.file_names import MILLISECONDS
from ..plan.message_ids import key_of, number, plain_numbers
from .stored_records import clean, record_members

ColumnKind: TypeAlias = Literal["text", "integer", "time", "list", "json"]
_HIGHEST: Final = (1 << 63) - 1
LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999: Python and most databases know no later one."""


class Column(NamedTuple):
    name: str
    kind: ColumnKind
    path: tuple[str, ...]


def _columns(kinds: str) -> tuple[Column, ...]:
    """Return columns of lines with a kind and wire names; `a.b=name` is the member `b` of `a`, renamed."""
    made = list[Column]()
    for kind, *texts in map(str.split, kinds.strip().splitlines()):
        for path, _, name in (text.partition("=") for text in texts):
            column = Column(name or snake_case(path), kind, tuple(path.split(".")))  # type: ignore[arg-type]
            made.append(column)
    return tuple(made)


def snake_case(name: str) -> str:
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


Time: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LATEST)] | None
_TYPES: Final[dict[ColumnKind, Any]] = {
    "text": str | None,
    "time": Time,
    "list": list[str] | None,
    "json": msgspec.Raw,
}


class MessageReader:
    """Reads columns of messages: times in epoch milliseconds, and what is of the kind json or its bytes."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = [each for each in columns if each.path != ("id",)]
        self._data = [each for each in self._columns if each.path[0] == "data"]
        self._top = [each for each in self._columns if each.path[0] != "data"]
        data: Any = _struct("Data", self._data)
        self._no_data = data()
        members: Any = _struct("Members", self._top, id=str | int, data=data | None)
        self._decoder = msgspec.json.Decoder(members)

    def read(self, lines: bytes, rows: int) -> dict[str, Sequence[Any]]:
        """Return the values of so many records, one on each line, by column; with `id` and `number`.

        Records that all have their documented types are read at once, others one by one.
        """
        try:
            records = self._decoder.decode_lines(lines)
        except REFUSED:
            records = []
        values: dict[str, Sequence[Any]]
        if len(records) == rows:
            datas = [record.data or self._no_data for record in records]
            values = {each.name: list(map(attrgetter(each.name), datas)) for each in self._data}
            values |= {each.name: list(map(attrgetter(each.name), records)) for each in self._top}
            ids = [str(record.id or "") for record in records]
            for column in self._top:
                if column.kind == "time" and values[column.name].count(None) < rows:
                    values[column.name] = list(map(milliseconds_or_none, values[column.name]))
        else:
            raws = lines.split(b"\n")[:rows]
            records = list(map(record_members, raws))
            values = {each.name: [value_of(each, record) for record in records] for each in self._columns}
            ids = [row_of(raw, record).id for raw, record in zip(raws, records, strict=True)]
        if not all(ids):
            ids = [key_of(row_of(raw)) for raw in lines.split(b"\n")[:rows]]
        values["id"], values["number"] = ids, plain_numbers(ids) or list(map(number, ids))
        return values


def _struct(name: str, columns: Iterable[Column], **others: Any) -> type[msgspec.Struct]:
    fields = [
        (each.name, _TYPES[each.kind], msgspec.field(default=None, name=each.path[-1])) for each in columns
    ]
    return msgspec.defstruct(name, [*fields, *((key, kind, None) for key, kind in others.items())], gc=False)


def row_values(columns: Sequence[Column], raw: bytes) -> list[Any]:
    """Return the values of a record's columns; times are epoch milliseconds, and what is nested is JSON."""
    record = record_members(raw)
    values = ((column.kind, value_of(column, record)) for column in columns)
    return [
        msgspec.json.encode(value).decode() if kind in ("json", "list") and value is not None else value
        for kind, value in values
    ]


def milliseconds_or_none(time: int | None) -> int | None:
    """Return a time in either unit as milliseconds; None for 0, which stands for "never"."""
    return (time if time >= MILLISECONDS else time * 1000) if time else None


def value_of(column: Column, record: Any) -> Any:
    """Return the value of a column in a record; None where it is absent, or of another kind."""
    value = record
    for name in column.path:
        value = value.get(name) if isinstance(value, dict) else None
    match column.kind:
        case "list":
            return list(map(text, value)) if isinstance(value, list) else None
        case "json":
            return clean(value)
        case kind:
            return SCALARS[kind](value)


def text(value: Any) -> str | None:
    """Return a text; also an id that a service has as a number."""
    if type(value) is int:
        return str(value)
    return clean(value) if isinstance(value, str) else None


def integer(value: Any) -> int | None:
    """Return a number of 64 bits; also a count that a service has as a text of digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if type(value) is int and abs(value) <= _HIGHEST else None


def time(value: Any) -> int | None:
    at = milliseconds_or_none(value if type(value) is int and value > 0 else None)
    return at if (at or 0) <= LATEST else None


SCALARS: Final[dict[str, Callable[[Any], Any]]] = {"text": text, "integer": integer, "time": time}
