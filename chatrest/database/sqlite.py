"""A SQLite database, in one transaction.

The first load writes a new file, whose indexes are made at the end. Later ones write to a log (WAL), so that
readers and the load do not wait for each other.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ..export.formats.columns import Column
from .schema import SQLITE, STATE, Batch

_LOCK_SECONDS: Final = 10.0
"""To wait for another program that writes; then it is an error."""
_PAGE_BYTES: Final = 16_384
"""With a record in each row, pages of 4,096 bytes take a fifth more time."""
_NULL: Final = float("nan")
"""SQLite stores it as NULL. It takes a fifth of the time of None, as a bytearray does of bytes."""


def with_values(columns: Sequence[Column], batch: Batch) -> list[tuple[Column, Sequence[Any]]]:
    """Return the columns that have a value in any row: most have none, and each one costs."""
    pairs = zip(columns, batch, strict=True)
    return [each for each in pairs if any(each[1]) or each[1].count(None) < len(each[1])]


class SqliteDatabase:
    """The database at `path`, in a transaction; used with `with`, which commits where nothing failed."""

    dialect: Final = SQLITE
    errors: Final = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        self.name: Final = str(path)
        self.path = path
        self._is_new = not path.exists()

    def __enter__(self) -> None:
        self._db = sqlite3.connect(
            self.path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        journal_mode = "DELETE" if self._is_new else "WAL"
        try:
            for setting in (f"page_size={_PAGE_BYTES}", f"journal_mode={journal_mode}", "synchronous=NORMAL"):
                self._db.execute(f"PRAGMA {setting}")
            self._db.execute("PRAGMA cache_size=-16384")
            self._db.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self.__exit__(error)
            raise

    def __exit__(self, error: object, *_: object) -> None:
        """Commit, or leave all as it was; a file that was not there is removed."""
        try:
            if error is None:
                self._db.execute("COMMIT")
                self._is_new = False
        finally:
            self._db.close()
            if self._is_new:
                self.path.unlink(missing_ok=True)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def has_state(self) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [STATE]))

    def erase(self, statements: Iterable[str]) -> None:
        """Execute statements, and overwrite with zeros what they remove."""
        self.execute("PRAGMA secure_delete=ON")
        for sql in statements:
            self.execute(sql)

    def insert(
        self, table: str, columns: Sequence[Column], batches: Iterable[Batch], conflict: str = ""
    ) -> None:
        """Insert rows; the clause `conflict` updates those that exist already."""
        for batch in batches:
            chosen = with_values(columns, batch)  # the others are NULL, also in `excluded` of the conflict
            names = ", ".join(column.name for column, _ in chosen)
            values = ", ".join(["?"] * (len(chosen) - 1) + ["CAST(? AS TEXT)"])  # text, without decoding it
            *others, raws = (column_values for _, column_values in chosen)
            bound = ([_NULL if each is None else each for each in column_values] for column_values in others)
            rows = zip(*bound, map(bytearray, raws), strict=True)
            self._db.executemany(f"INSERT INTO {table}({names}) VALUES({values}) {conflict}", rows)
