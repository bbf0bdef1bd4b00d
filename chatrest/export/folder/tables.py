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
| attachments   | files of messages                               | `messageId` and `position`           |

A record that does not say whose list it is from, as that of a member has no guid, is stored with this one
member put first. All other bytes are as the service sent them.

A table is one file of lines, `users/users.ndjson` (`.gz` or `.zst` where messages are lines that are
compressed), whatever the format of messages. The store replaces all of it.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from ..._core.requests.arguments import check
from ..._models.raw_json import write_value
from ...errors import ChatRestError, RequestInvalidError
from ..formats.stored_records import compress_of, record_members
from ..plan.file_names import path_inside
from ..store.formats import Lines, file_sha256

Table: TypeAlias = Literal[
    "users", "groups", "members", "conversations", "bans", "friends", "blocks", "reactions"
]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
"""In the order in which they are read: a list of groups comes before that of their members."""
ATTACHMENTS: Final = "attachments"
ASKED_TABLES: Final = "tables"
ASKED_ATTACHMENTS: Final = "attachments"
LOST_LIMITS: Final = "{}"
"""The limits of attachments where the journal was lost, and they with it: the default ones."""
_TABLE_FILE: Final = re.compile(rf"({'|'.join((*TABLES, ATTACHMENTS))})/\1\.ndjson(\.gz|\.zst)?", re.ASCII)
_ATTACHMENT_FILE: Final = re.compile(r"files/[0-9a-f]{2}/[0-9a-f]{64}(\.[a-z0-9]{1,10})?", re.ASCII)


def tables_of(names: object) -> tuple[Table, ...]:
    """Return the tables that are named, in the order of `TABLES`; `RequestInvalidError` for another name."""
    is_list = isinstance(names, Sequence) and not isinstance(names, str | bytes)
    check(is_list, "tables", names, f"a list of {', '.join(TABLES)}")
    assert isinstance(names, Sequence)
    for name in names:
        if name not in TABLES:
            raise RequestInvalidError(f"tables: {name!r}: expected {', '.join(TABLES)}")
    return tuple(name for name in TABLES if name in names)


def with_member(raw: bytes, name: str, value: str) -> bytes:
    """Return a record with one more member put first; as it is where it has the member already."""
    record = record_members(raw)
    if not raw.startswith(b"{") or name in record:
        return raw
    separator = b"," if record else b""
    return b"{" + msgspec.json.encode(name) + b":" + write_value(value) + separator + raw[1:]


def table_stem(table: str) -> str:
    return f"{table}/{table}"


def read_table(path: Path, table: str) -> Iterator[bytes]:
    """Yield the records of a table's file in its order, as they were served: some thousand in memory.

    Raises `RequestInvalidError` where an extra is not installed, and `ChatRestError` for a damaged file.
    """
    for piece in Lines(compress_of(path.name)).read(path, path.stat().st_size):
        yield from piece.raws


def table_path(folder: Path, name: str) -> Path:
    """Return the path of a table's file in the folder of an export.

    Raises `ChatRestError` for a name that no export writes, and for one that leads out of the folder, which
    may come from somebody else.
    """
    if not _TABLE_FILE.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a table's file")
    return path_inside(folder, name)


def has_content(path: Path, size: int, sha256: str) -> bool:
    """Return True if there is a file of this size and SHA-256, and no link to one."""
    is_file = path.is_file() and not path.is_symlink()
    return is_file and path.stat().st_size == size and file_sha256(path).hex() == sha256


class AttachmentRow(Struct):
    """The members of a row of `attachments` that say which file it is about."""

    state: str
    file: str = ""
    bytes: int = 0
    sha256: str = ""


def attachment_rows(table: Path) -> Iterator[AttachmentRow]:
    """Yield the rows of the table `attachments` that name a file, one of each file.

    Raises `ChatRestError` where the table is damaged.
    """
    names = set[str]()
    for raw in read_table(table, ATTACHMENTS):
        try:
            row = msgspec.json.decode(raw, type=AttachmentRow)
        except msgspec.DecodeError as error:
            raise ChatRestError(f"{table} has a row that is not an attachment's: {error}") from None
        if row.state == "stored" and row.file not in names:
            names.add(row.file)
            yield row


def check_attachment(folder: Path, row: AttachmentRow) -> Literal["missing", "damaged", "unsafe"] | None:
    """Return how the file of an attachment is not as its row says; None where it is."""
    path = folder / ATTACHMENTS / row.file
    if not _ATTACHMENT_FILE.fullmatch(row.file) or path.is_symlink() or path.parent.is_symlink():
        return "unsafe"
    if not path.is_file():
        return "missing"
    return None if has_content(path, row.bytes, row.sha256) else "damaged"
