"""A SQLite database, in one transaction.

The first load writes a new file, whose indexes are made at last. Later ones write to a log (WAL), so that
readers neither wait nor are waited for.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from ..export.formats.columns import Column
from .schema import SQLITE, STATE

Batch: TypeAlias = Sequence[Sequence[Any]]
"""The values of each column; the last one is `raw`, as bytes."""
_WAIT: Final = 10.0
"""Seconds that another program may have the database for itself, before that is an error."""
_PAGE: Final = 16_384
"""Bytes of a page: with a record in each row, 4,096 take a fifth more time."""


_NULL: Final = float("nan")
"""What SQLite stores as NULL. Python hands it over in a fifth of the time of None, as bytearray for bytes."""


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
        self._path = path
        self._is_new = not path.exists()

    def __enter__(self) -> None:
        self._db = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        journal_mode = "DELETE" if self._is_new else "WAL"
        try:
            for setting in (f"page_size={_PAGE}", f"journal_mode={journal_mode}", "synchronous=NORMAL"):
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
                self._path.unlink(missing_ok=True)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def has_state(self) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [STATE]))

    def erase(self, statements: Iterable[str]) -> None:
        """Execute statements, with zeros in the place of what they remove."""
        self.execute("PRAGMA secure_delete=ON")
        for sql in statements:
            self.execute(sql)

    def insert(self, table: str, columns: Sequence[Column], batches: Iterable[Batch], rest: str = "") -> None:
        """Insert rows; `rest` says what is done with those that are there."""
        for batch in batches:
            chosen = list(zip(columns, batch, strict=True)) if rest else with_values(columns, batch)
            names = ", ".join(column.name for column, _ in chosen)
            marks = ", ".join(["?"] * (len(chosen) - 1) + ["CAST(? AS TEXT)"])  # text, without its decoding
            *others, raws = (values for _, values in chosen)
            bound = ([_NULL if each is None else each for each in values] for values in others)
            rows = zip(*bound, map(bytearray, raws), strict=True)
            self._db.executemany(f"INSERT INTO {table}({names}) VALUES({marks}) {rest}", rows)
