"""A Postgres database, in one transaction, by psycopg and COPY: the first schema of the search path."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql as words

from ..errors import RequestInvalidError
from ..export.formats.columns import Column
from .schema import POSTGRES, STATE, Batch
from .sqlite import with_values

_REFUSED: Final = (psycopg.DataError, psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex)
"""A number that is too large, or JSON that is nested too deeply."""
_SENT_AS: Final = {"text": "text", "integer": "int8", "time": "int8", "list": "bytea", "json": "bytea"}
"""The types whose binary form is that of the column's type, and takes less work to make."""
_JSONB: Final = b"\1"
"""The version of JSON's binary form, before its text."""
_YEAR_2000: Final = 946_684_800_000
"""The epoch of Postgres' binary times, in milliseconds since 1970."""


class PostgresDatabase:
    """The database at `url`, in a transaction; used with `with`, which commits where nothing failed."""

    dialect: Final = POSTGRES
    errors: Final = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its text may have a part of the password
            raise RequestInvalidError(
                "database: not an address of Postgres: expected postgresql://user@host/database"
            ) from None
        self.name: Final = f"Postgres {parts.get('host', 'localhost')}/{parts.get('dbname', '')}"

    def __enter__(self) -> None:
        self._db = psycopg.connect(self._url)
        try:
            self._db.execute("SELECT pg_advisory_xact_lock(hashtext('chatrest_load'))")  # one load at a time
        except BaseException:
            self._db.close()
            raise

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                self._db.commit()
        finally:
            self._db.close()

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self._db.execute(sql.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def has_state(self) -> bool:
        return self.execute("SELECT to_regclass(%s)", [STATE]) != [(None,)]

    def erase(self, statements: Iterable[str]) -> None:
        """Execute statements; a later VACUUM frees the room of what they remove."""
        for sql in statements:
            self.execute(sql)

    def insert(
        self, table: str, columns: Sequence[Column], batches: Iterable[Batch], conflict: str = ""
    ) -> None:
        """Copy rows. With a clause `conflict` they are copied into a temporary table, and the last one of
        each id is inserted from there, or updates the one that exists already."""
        names = words.SQL(", ").join(words.Identifier(column.name) for column in columns)
        target = words.Identifier("incoming" if conflict else table)
        if conflict:
            self.execute(f"CREATE TEMP TABLE incoming (LIKE {table} INCLUDING IDENTITY)")
        with self._db.cursor() as cursor:
            for batch in batches:
                chosen = with_values(columns, batch)
                chosen_names = words.SQL(", ").join(words.Identifier(column.name) for column, _ in chosen)
                copy = words.SQL("COPY {}({}) FROM STDIN (FORMAT BINARY)").format(target, chosen_names)
                *values, raws = [_binary(*each) for each in chosen]
                types = [_SENT_AS[column.kind] for column, _ in chosen]
                try:
                    with self._db.transaction():
                        _copy(cursor, copy, types, [*values, raws])
                except _REFUSED:
                    _copy(cursor, copy, types, [*values, list(map(self._accepted_json, raws))])
        if conflict:
            names_sql = names.as_string()
            newest = f"SELECT DISTINCT ON (id, app) {names_sql} FROM incoming ORDER BY id, app, place DESC"  # noqa: S608
            self.execute(f"INSERT INTO {table}({names_sql}) {newest} {conflict}")
            self.execute("DROP TABLE incoming")

    def _accepted_json(self, raw: bytes) -> bytes:
        """Return a record, or if Postgres refuses it as JSON, a JSON string with its text."""
        text = raw.removeprefix(_JSONB).decode()
        try:
            with self._db.transaction():
                self._db.execute("SELECT %s::jsonb", [text])
        except _REFUSED:
            return _JSONB + msgspec.json.encode(text)
        return raw


def _binary(column: Column, values: Sequence[Any]) -> Sequence[Any]:
    if column.name == "raw":
        return [_JSONB + raw for raw in values]
    if column.kind == "time":
        return [None if each is None else (each - _YEAR_2000) * 1000 for each in values]
    if column.kind in ("list", "json"):
        return [None if each is None else _JSONB + each.encode() for each in values]
    return values


def _copy(cursor: Any, statement: Any, types: list[str], values: Sequence[Sequence[Any]]) -> None:
    with cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in zip(*values, strict=True):
            copy.write_row(row)
