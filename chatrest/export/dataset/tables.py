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

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Struct

from ...cloud.store_errors import ObjectStoreError
from ...core.requests.arguments import check
from ...errors import ChatRestError, RequestInvalidError
from ...models.raw_json import write_value
from ..file_names import path_inside
from ..formats.record_members import read
from ..formats.table_rows import Column, ColumnKind
from ..journal import Journal
from ..manifest import Manifest, TableEntry, table_entries
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
_TABLE_FILE: Final = re.compile(
    rf"({'|'.join((*TABLES, ATTACHMENTS))})/\1\.(ndjson(\.gz|\.zst)?|parquet|sqlite)", re.ASCII
)
_ATTACHMENT_FILE: Final = re.compile(r"files/[0-9a-f]{2}/[0-9a-f]{64}(\.[a-z0-9]{1,10})?", re.ASCII)


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


def tables_of(names: object) -> tuple[Table, ...]:
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


# ── checking ──

FileOpener: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Has a file of the export in its folder within the block."""


class TableFault(NamedTuple):
    """A table or attachment that is not as the manifest says."""

    kind: Literal["manifest", "missing", "size", "damaged"]
    """As `verify` names it."""
    place: str
    text: str


def table_path(folder: Path, name: str) -> Path:
    """Return the path of a table's file in the folder of an export.

    Raises `ChatRestError` for a name that no export writes, and for one that leads out of the folder, which
    may come from somebody else.
    """
    if not _TABLE_FILE.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a table's file")
    return path_inside(folder, name)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_table(folder: Path, entry: TableEntry) -> Path | None:
    """Return the path of a table as the manifest has it; None if no file is so.

    Raises `ChatRestError` for a name that leads out of the folder.
    """
    path = table_path(folder, entry.file)
    return path if _is_as(path, entry.bytes, entry.sha256) else None


def check_tables(
    folder: Path,
    manifest: Manifest,
    present: FileOpener = lambda _: nullcontext(),
    journal: Journal | None = None,
) -> Iterator[TableFault]:
    """Yield what is wrong with tables and attachments: missing files, or others than the manifest says.

    Reads every file once, and changes none. `present` has a file in the folder while it is checked. A run
    that was killed may have replaced a table, and not the manifest: then the `journal` knows it.
    """
    newer = {} if journal is None else {entry.file: entry for entry in table_entries(journal)}
    for entry in manifest.tables:
        with present(entry.file):
            try:
                path = find_table(folder, entry)
                if path is None and (other := newer.get(entry.file)) is not None:
                    path = find_table(folder, other)
                if path is None:
                    yield _fault(folder, entry)
                elif entry.table == ATTACHMENTS:
                    yield from _check_attachments(folder, path, present)
            except ObjectStoreError:
                raise
            except ChatRestError as error:
                yield TableFault("manifest", entry.table, str(error))
            except OSError as error:
                yield TableFault("damaged", entry.file, f"it cannot be read ({error.strerror or error})")


def _is_as(path: Path, size: int, sha256: str) -> bool:
    is_file = path.is_file() and not path.is_symlink()
    return is_file and path.stat().st_size == size and file_hash(path) == sha256


def _fault(folder: Path, entry: TableEntry) -> TableFault:
    path = table_path(folder, entry.file)
    if not path.is_file():
        return TableFault("missing", entry.file, "it is not there")
    if (size := path.stat().st_size) != entry.bytes:
        return TableFault("size", entry.file, f"it has {size:,} bytes, and not {entry.bytes:,}")
    return TableFault("damaged", entry.file, "its checksum is not that of the manifest")


class _Attachment(Struct):
    """The members of a row of `attachments` that say which file it is about."""

    state: str
    file: str = ""
    bytes: int = 0
    sha256: str = ""


def _check_attachments(folder: Path, table: Path, present: FileOpener) -> Iterator[TableFault]:
    """Yield what is wrong with each file of the table `attachments`."""
    checked = set[str]()
    for raw in read_table(table, ATTACHMENTS):
        row = msgspec.json.decode(raw, type=_Attachment)
        if row.state != "stored" or row.file in checked:
            continue
        checked.add(row.file)
        path, name = folder / ATTACHMENTS / row.file, f"{ATTACHMENTS}/{row.file}"
        if not _ATTACHMENT_FILE.fullmatch(row.file) or path.is_symlink() or path.parent.is_symlink():
            yield TableFault("manifest", name, "it is not the file of an attachment, or leads elsewhere")
            continue
        with present(name):
            if not path.is_file():
                yield TableFault("missing", name, "it is not there")
            elif not _is_as(path, row.bytes, row.sha256):
                yield TableFault("damaged", name, "its size or checksum is not that of its row")
