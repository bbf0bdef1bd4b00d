"""Load an export into Postgres or SQLite; after each later run, load what is new, changed or deleted.

    python -m chatrest.examples.warehouse                                # an emulated app, SQLite, two nights
    python -m chatrest.examples.warehouse OUT sqlite:///chat.sqlite
    python -m chatrest.examples.warehouse OUT postgresql://user@host/chat

OUT is a folder, or the address of an object store. Postgres needs `pip install 'psycopg[binary]'`.

A load is one transaction: messages, tables, and the position, which is the number of the export's newest run.
So readers see all of a load or nothing, and a load that was killed has changed nothing. It is not divided:
changes are the difference between the position and the export as it is now, and a part of them is the state
of no run, from which no later load could continue. Rows are streamed; memory does not grow with their number.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, TypeAlias

from msgspec import json

from chatrest.examples.loads import LoadError, command, newest_mark, run
from chatrest.export import ExportChange, Plan, changes, read_table
from chatrest.times import MILLISECONDS_FROM

ERRORS: tuple[type[Exception], ...] = (sqlite3.Error,)
try:
    import psycopg  # type: ignore[import-not-found,unused-ignore]

    ERRORS += (psycopg.Error,)
except ModuleNotFoundError:
    psycopg = None  # type: ignore[assignment,unused-ignore]

MEMBERS: Final = """
messages id text conversationId parentId sender receiverType receiver category type sentAt editedAt deletedAt
users uid name role status createdAt
groups guid name type owner createdAt
members guid uid scope joinedAt
conversations onBehalfOf conversationId updatedAt
bans guid uid bannedAt
friends friendOf uid
blocks blockedBy uid blockedAt
reactions messageId uid reaction reactedAt
attachments messageId position name file
"""
"""The members of records that become columns, `…At` as times; the column `record` holds the whole record."""
TABLES: Final = {
    table: {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", member): member for member in members}
    for table, *members in map(str.split, MEMBERS.split("\n")[1:-1])
}
"""For each table the members by the names of their columns."""
REFUSED: Final = re.compile(
    r"(\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u0000|\\u[dD][89a-fA-F]..|[\0\ud800-\udfff]"
)
"""Zero bytes and halves of characters, which databases refuse; the group is what only looks like them."""
Row: TypeAlias = Sequence[str | None]


# ── rows ──


def clean(text: str) -> str:
    """Return a text, or a record's JSON, with U+FFFD for each character that databases refuse."""
    return REFUSED.sub(lambda found: found[1] or "\ufffd", text)


def row_of(table: str, raw: bytes, message_id: str = "") -> Row:
    """Return the values of a record's columns."""
    text = raw.decode("utf-8", "replace")
    if "\\u0000" in text or "\\ud" in text or "\\uD" in text:
        text = clean(text)
    record = json.decode(text)
    members: dict[str, Any] = record if isinstance(record, dict) else {}
    if message_id:
        content = members.get("data")
        members["id"] = clean(message_id)
        texts = content if isinstance(content, dict) else {}
        members["text"] = texts.get("text") or texts.get("caption")
    return [*(value(name, members.get(name)) for name in TABLES[table].values()), text]


def value(name: str, member: object) -> str | None:
    """Return a member as text, `…At` as a time in UTC; None if it has no such value."""
    if not isinstance(member, str | int):
        return None
    if not name.endswith("At"):
        return str(member)
    try:
        seconds = int(member) / 1000 if int(member) >= MILLISECONDS_FROM else int(member)
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


# ── databases ──


class Sqlite:
    """A SQLite file. Times are texts in ISO 8601, records are JSON as text."""

    TIME, JSON, VALUE = "text", "text", "?"

    def __init__(self, url: str) -> None:
        self.db: Any = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a load
        self.db.execute("BEGIN IMMEDIATE")

    def insert(self, table: str, rows: Iterable[Row], conflict: str = "") -> None:
        """Insert rows."""
        names = [*TABLES[table], "record"]
        sql = f"INSERT INTO {table}({', '.join(names)}) VALUES({', '.join('?' * len(names))})"
        self.db.executemany(f"{sql} {conflict}", rows)


class Postgres(Sqlite):
    """A Postgres database: the first schema of the connection's search path."""

    TIME, JSON, VALUE = "timestamptz", "jsonb", "%s"

    def __init__(self, url: str) -> None:
        if psycopg is None:
            raise LoadError("Postgres needs psycopg: pip install 'psycopg[binary]'")
        try:
            self.db = psycopg.connect(url)
        except psycopg.ProgrammingError:  # its text may have a part of the password
            raise LoadError("URL is not an address of Postgres: postgresql://user@host/database") from None
        self.db.execute("SELECT pg_advisory_xact_lock(hashtext('chatrest_load'))")  # one load at a time

    def insert(self, table: str, rows: Iterable[Row], conflict: str = "") -> None:
        """Copy rows into a temporary table, and from there."""
        names = ", ".join([*TABLES[table], "record"])
        with self.db.cursor() as cursor:
            cursor.execute(f"CREATE TEMP TABLE incoming AS SELECT {names} FROM {table} WITH NO DATA")  # noqa: S608
            with cursor.copy("COPY incoming FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(f"INSERT INTO {table}({names}) SELECT * FROM incoming {conflict}")  # noqa: S608
            cursor.execute("DROP TABLE incoming")


# ── a load ──


def load(out: str, url: str, *, replace: bool = False) -> str:
    """Load what is new since the last load, and return a line about it; `replace` loads all again.

    Raises `LoadError`, and `ChatRestError` for an export that cannot be read; nothing is changed then.
    """
    scheme = url.partition("://")[0]
    if scheme not in ("sqlite", "postgresql"):
        raise LoadError("URL: expected sqlite:///FILE or postgresql://user@host/database")
    try:
        database = Sqlite(url) if scheme == "sqlite" else Postgres(url)
        with closing(database.db):
            position = prepare_tables(database, replace=replace)
            line = load_changes(database, out, *position)
            database.db.commit()
    except ERRORS as error:
        raise LoadError(f"{scheme}: {error}") from error
    return line


def prepare_tables(database: Sqlite, *, replace: bool) -> tuple[int, str | None]:
    """Return the position and its mark; make the tables before the first load, which must not be there."""
    database.db.execute("CREATE TABLE IF NOT EXISTS chatrest_load(run bigint, mark text)")
    last: tuple[int, str] | None = database.db.execute("SELECT run, mark FROM chatrest_load").fetchone()
    if last is not None and not replace:
        return last
    for table, names in TABLES.items():
        columns = [f"{name} {database.TIME if name.endswith('_at') else 'text'}" for name in names]
        columns += [f"record {database.JSON} NOT NULL", *(["PRIMARY KEY(id)"] if "id" in names else [])]
        sql = f"CREATE TABLE {table}({', '.join(columns)})"
        database.db.execute(sql if last is None else f"DELETE FROM {table}")  # noqa: S608
    return 0, None


def load_changes(database: Sqlite, out: str, position: int, last: str | None) -> str:
    """Bring the tables from their position to the export as it is now."""
    news = changes(out, after=position)
    mark = newest_mark(out, last)
    counts = Counter[str]()
    update = ", ".join(f"{name} = excluded.{name}" for name in (*TABLES["messages"], "record"))
    for is_deleted, group in groupby(counted(news, counts), lambda change: change.raw_after is None):
        if is_deleted:
            sql = f"DELETE FROM messages WHERE id = {database.VALUE}"  # noqa: S608
            database.db.cursor().executemany(sql, ([clean(change.id)] for change in group))
        else:
            rows = (row_of("messages", change.raw_after or b"", change.id) for change in group)
            database.insert("messages", rows, f"ON CONFLICT(id) DO UPDATE SET {update}")
    for table in list(TABLES)[1:]:
        database.db.execute(f"DELETE FROM {table}")  # noqa: S608
        database.insert(table, (row_of(table, raw) for raw in read_table(out, table)))
    database.db.execute("DELETE FROM chatrest_load")
    values = ", ".join([database.VALUE] * 2)
    database.db.execute(f"INSERT INTO chatrest_load VALUES({values})", (news.run, mark))
    line = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"run {news.run}: {line or 'nothing new'}"


def counted(news: Iterable[ExportChange], counts: Counter[str]) -> Iterator[ExportChange]:
    """Yield the changes, and count them by kind."""
    for change in news:
        counts[change.kind] += 1
        yield change


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    parser = command(__doc__, "sqlite:///FILE or postgresql://user@host/database")
    parser.add_argument("--replace", action="store_true", help="empty the tables, and load all again")
    args = parser.parse_args(argv)
    plan = Plan(all_users=True)
    run(args, lambda out, url: load(out, url, replace=args.replace), "sqlite:///{}/chat.sqlite", plan)


if __name__ == "__main__":
    main()
