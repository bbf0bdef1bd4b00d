"""What all readers and writers of the database have in common: short ways to rows, and to a change."""

import sqlite3
from typing import Any


class Tables:
    """Some tables of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def _value(self, sql: str, *values: Any) -> Any:
        """Return the one value of the first row; None where there is no row."""
        row = self._db.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def _column(self, sql: str, *values: Any) -> list[Any]:
        return [value for (value,) in self._db.execute(sql, values)]

    def _change(self, sql: str, *values: Any) -> bool:
        """Say if any row has changed."""
        with self._db:
            return self._db.execute(sql, values).rowcount > 0
