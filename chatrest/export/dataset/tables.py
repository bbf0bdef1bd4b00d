"""The tables of an export: their columns, and their files.

| table         | its rows                                        | a row is identified by               |
|---------------|-------------------------------------------------|--------------------------------------|
| users         | GET /users, deactivated users included          | `uid`                                |
| groups        | GET /groups                                     | `guid`                               |
| members       | GET /groups/{guid}/members of every group       | `guid` and `uid`                     |
| conversations | GET /conversations on behalf of every user      | `onBehalfOf` and `conversationId`    |
| bans          | GET /groups/{guid}/bannedusers of every group   | `guid` and `uid`                     |
| friends       | GET /users/{uid}/friends of every user          | `friendOf` and `uid`                 |
| blocks        | GET /users/{uid}/blockedusers of every user     | `blockedBy` and `uid`                |
| reactions     | GET /messages/{id}/reactions, if it has any     | `id`                                 |
| attachments   | the files that messages link to                 | `messageId` and `position`           |

A record that does not say whose list it is from, as that of a member has no guid, is stored with this one
member put in front of its own. All other bytes are as the service sent them.

| format  | file                          | holds                                                     |
|---------|-------------------------------|-----------------------------------------------------------|
| ndjson  | users/users.ndjson[.gz, .zst] | a record a line                                           |
| parquet | users/users.parquet           | the columns, `raw`, and `raw_bytes` for what is not UTF-8 |
| sqlite  | users/users.sqlite            | a table `users` with the columns and `raw`                |

A table is one file under one name, so that programs find it, and the store replaces it as a whole: therefore
each has a database of its own, which `ATTACH` joins with the messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from ...core.requests.arguments import check
from ...errors import RequestInvalidError
from ...models.raw_json import write_value
from ..formats.record_members import read
from ..formats.table_rows import Column, ColumnKind
from ..plan import Compress, Format as FormatName
from ..store.converters import Lines, Parquet, TableDatabase
from ..store.formats import Format
from ..stored_records import compress_of

Table: TypeAlias = Literal[
    "users", "groups", "members", "conversations", "bans", "friends", "blocks", "reactions"
]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
"""In the order in which they are read: a list of groups comes before that of their members."""
ATTACHMENTS: Final = "attachments"


def _columns(kinds: Mapping[ColumnKind, str]) -> tuple[Column, ...]:
    """Return columns of wire names; `a.b=name` is the member `b` of the object `a` under another name."""
    texts = [(kind, text) for kind, names in kinds.items() for text in names.split()]
    parts = [(kind, *text.partition("=")) for kind, text in texts]
    return tuple(
        Column(name or _snake_case(path), kind, tuple(path.split("."))) for kind, path, _, name in parts
    )


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
    "bans": (*_columns({"text": "guid", "time": "bannedAt"}), *_columns(_PERSON)),
    "friends": (*_columns({"text": "friendOf"}), *_columns(_PERSON)),
    "blocks": (*_columns({"text": "blockedBy", "time": "blockedByMeAt blockedAt"}), *_columns(_PERSON)),
    "reactions": _columns({"text": "id messageId reaction uid", "time": "reactedAt", "json": "reactedBy"}),
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


def with_member(raw: bytes, name: str, value: str) -> bytes:
    """Return a record with one more member in front of its own; as it is where it has the member already."""
    record = read(raw)
    if not raw.startswith(b"{") or name in record:
        return raw
    separator = b"," if record else b""
    return b"{" + msgspec.json.encode(name) + b":" + write_value(value) + separator + raw[1:]


# ── files ──


def table_stem(table: str) -> str:
    """Return the name of a table's file in the folder of the export, without its suffix."""
    return f"{table}/{table}"


def table_format(table: str, format: FormatName, compress: Compress | None = None) -> Format:
    """Return the format of a table in an export of a format."""
    match format:
        case "ndjson":
            return Lines(compress or "none")
        case "parquet":
            return Parquet(compress or "zstd", COLUMNS[table])
        case "sqlite":
            return TableDatabase(table, COLUMNS[table])


def read_table(path: Path, table: str) -> Iterator[bytes]:
    """Yield the records of a table's file in its order, as they were served: some thousand in memory.

    Raises `RequestInvalidError` where an extra is not installed, and `ChatRestError` for a damaged file.
    """
    suffixes: dict[str, FormatName] = {".sqlite": "sqlite", ".parquet": "parquet"}
    own = table_format(table, suffixes.get(path.suffix, "ndjson"), compress_of(path.name))
    for piece in own.read(path, path.stat().st_size):
        yield from piece.raws
