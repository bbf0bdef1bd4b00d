"""The tables of an export: their columns, and their files while they are written and when they are read.

| table         | its rows                                        | a row is identified by               |
|---------------|-------------------------------------------------|--------------------------------------|
| users         | GET /users, deactivated users included          | `uid`                                |
| groups        | GET /groups                                     | `guid`                               |
| members       | GET /groups/{guid}/members of every group       | `guid` and `uid`                     |
| conversations | GET /conversations on behalf of every user      | `onBehalfOf` and `conversationId`    |
| attachments   | the files that messages link to                 | `messageId` and `position`           |

The record of a member has no guid, and that of a conversation does not say whose it is: both are stored with
this one member put in front of their own. All other bytes are as the service sent them.

| format  | file                          | holds                                                     |
|---------|-------------------------------|-----------------------------------------------------------|
| ndjson  | users/users.ndjson[.gz, .zst] | a record a line                                           |
| parquet | users/users.parquet           | the columns, `raw`, and `raw_bytes` for what is not UTF-8 |
| sqlite  | users/users.sqlite            | a table `users` with the columns and `raw`                |

A file is written in one pass, with flat memory. A database of its own for each table lets a table be replaced
by renaming one file; `ATTACH` joins it with the messages.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, get_args

import msgspec

from ...core.replies.scanner import read_record
from ...core.requests.arguments import check
from ...errors import ReplyUnreadableError, RequestInvalidError
from ...extras import missing_extra
from ...models.raw_json import write_value
from ...times import to_datetime
from ..formats.compression import compression
from ..plan import Compress, Format
from ..stored_records import damaged, lines, parquet_batches

Table: TypeAlias = Literal["users", "groups", "members", "conversations"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
"""In the order in which they are read: a list of groups comes before that of their members."""
ATTACHMENTS: Final = "attachments"
ColumnKind: TypeAlias = Literal["text", "integer", "time", "list", "json"]

_HIGHEST: Final = (1 << 63) - 1
_BLOCK: Final = 1 << 20
"""Bytes of lines that are compressed at once."""
_ROWS: Final = 10_000
"""Rows of a row group of a Parquet file."""


class Column(NamedTuple):
    """A column: its name, its kind, and the path to its member in the record."""

    name: str
    kind: ColumnKind
    path: tuple[str, ...]


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
    return None if value is None else clean_text(write_value(value).decode(errors="replace"))


def _text(value: Any) -> str | None:
    if type(value) is int:  # services differ in whether an id is a number
        return str(value)
    return clean_text(value) if isinstance(value, str) else None


def clean_text(text: str) -> str:
    """Return a text that any file can hold: U+FFFD for each lone surrogate."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)  # counts are texts of digits in some records
    return value if type(value) is int and abs(value) <= _HIGHEST else None


def _time(value: Any) -> datetime | None:
    if type(value) is not int or value <= 0:  # 0 stands for "never"
        return None
    try:
        return to_datetime(value)
    except RequestInvalidError:
        return None


# ── files ──


class TableWriter(Protocol):
    """A file that is being written. Its methods block, and are called by one thread at a time."""

    def add(self, records: Iterable[bytes]) -> None:
        """Write records."""

    def close(self) -> None:
        """Write what is left and close the file."""


def file_name(table: str, format: Format, compress: Compress) -> str:
    """Return the path of a table's file in the folder of the export."""
    suffix = compression(compress).suffix if format == "ndjson" else ""
    return f"{table}/{table}.{format}{suffix}"


def table_writer(table: str, path: Path, format: Format, compress: Compress) -> TableWriter:
    """Return a writer for a new file; `RequestInvalidError` where the format needs an extra."""
    match format:
        case "ndjson":
            return _LinesWriter(path, compress)
        case "parquet":
            return _ParquetWriter(table, path, compress)
        case "sqlite":
            return _DatabaseWriter(table, path)


class _LinesWriter:
    """A record a line, in blocks that are compressed each by itself."""

    def __init__(self, path: Path, compress: Compress) -> None:
        self._pack = compression(compress).pack
        self._file = path.open("wb")
        self._lines = bytearray()

    def add(self, records: Iterable[bytes]) -> None:
        for record in records:
            self._lines += record + b"\n"
        if len(self._lines) >= _BLOCK:
            self._write()

    def close(self) -> None:
        with self._file:
            self._write()

    def _write(self) -> None:
        if self._lines:
            self._file.write(self._pack(bytes(self._lines)))
        self._lines.clear()


class _DatabaseWriter:
    """A database with one table. Times are epoch milliseconds, lists and objects are JSON."""

    def __init__(self, table: str, path: Path) -> None:
        types = {"integer": "INTEGER", "time": "INTEGER"}
        columns = [f"{column.name} {types.get(column.kind, 'TEXT')}" for column in COLUMNS[table]]
        self._table = table
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # The file is of no use until it is whole: no journal, and one transaction.
        for sql in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "BEGIN"):
            self._db.execute(sql)
        self._db.execute(f"CREATE TABLE {table}({', '.join(columns)}, raw TEXT NOT NULL)")
        self._insert = f"INSERT INTO {table} VALUES({', '.join('?' * (len(columns) + 1))})"

    def add(self, records: Iterable[bytes]) -> None:
        rows = ([*map(_stored, row_values(self._table, raw)), _raw(raw)] for raw in records)
        self._db.executemany(self._insert, rows)

    def close(self) -> None:
        with closing(self._db):
            if self._db.in_transaction:
                self._db.execute("COMMIT")


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


def _raw(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


class _ParquetWriter:
    """A Parquet file with the columns of the table, and the records in `raw`."""

    def __init__(self, table: str, path: Path, compress: Compress) -> None:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]
            import pyarrow.parquet as pq  # type: ignore[import-untyped]
        except ImportError:
            raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet")) from None
        kinds = {
            "text": pa.string(), "integer": pa.int64(), "time": pa.timestamp("ms", "UTC"),
            "list": pa.list_(pa.string()), "json": pa.string(),
        }  # fmt: skip
        fields = [(column.name, kinds[column.kind]) for column in COLUMNS[table]]
        self._schema = pa.schema([*fields, ("raw", pa.string()), ("raw_bytes", pa.binary())])
        self._table_of = pa.Table.from_pylist
        self._table = table
        self._rows: list[dict[str, Any]] = []
        self._writer = pq.ParquetWriter(path, self._schema, compression=compress)

    def add(self, records: Iterable[bytes]) -> None:
        for raw in records:
            text = raw.decode(errors="replace")
            values = [*row_values(self._table, raw), text, None if text.encode() == raw else raw]
            self._rows.append(dict(zip(self._schema.names, values, strict=True)))
            if len(self._rows) >= _ROWS:
                self._write()

    def close(self) -> None:
        with self._writer:
            self._write()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(self._table_of(self._rows, schema=self._schema))
        self._rows = []


def read_table(path: Path, table: str) -> Iterator[bytes]:
    """Yield the records of a table's file in its order, as they were served: some thousand in memory.

    Raises `RequestInvalidError` where an extra is not installed, and `ChatRestError` for a damaged file.
    """
    name = path.name.removesuffix(".new")  # of a run that was killed between manifest and rename
    if name.endswith(".sqlite"):
        yield from _database_records(path, table)
    elif name.endswith(".parquet"):
        for raws, _ in parquet_batches(path):
            yield from raws
    else:
        for batch in lines(path, name, path.stat().st_size):
            yield from batch


def _database_records(path: Path, table: str) -> Iterator[bytes]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as db:
            for (raw,) in db.execute(f"SELECT CAST(raw AS BLOB) FROM {table} ORDER BY rowid"):  # noqa: S608
                yield bytes(raw)
    except sqlite3.Error as error:
        raise damaged(path, error) from None
