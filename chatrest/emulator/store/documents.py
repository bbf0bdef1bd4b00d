"""Documents: JSON objects under a kind, a parent and a key, for settings and for small collections.

- The kind is what an operation's collection calls them, such as `moderation.rules`.
- The parent separates the documents of one user, provider or rule from those of others; "" where there is
  none.
- The key is the document's id; "" for a document that is the only one of its kind and parent.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, final

from msgspec.json import decode, encode

Document: TypeAlias = dict[str, Any]

_PUT: Final = """
INSERT INTO documents VALUES(NULL,?,?,?,?)
ON CONFLICT(kind, parent, key) DO UPDATE SET record = excluded.record
"""
_LIST: Final = "SELECT record FROM documents WHERE kind = ? AND parent = ? ORDER BY number"


@final
class DocumentSet:
    """The documents of one kind and one parent, in the order in which their keys were first put.

    Every method is one SQL statement, each change a transaction.
    """

    def __init__(self, db: sqlite3.Connection, kind: str, parent: str) -> None:
        self._db = db
        self._name = (kind, parent)

    def get(self, key: str = "") -> Document | None:
        """Return the document of that key; None where there is none."""
        sql = "SELECT record FROM documents WHERE kind = ? AND parent = ? AND key = ?"
        row = self._db.execute(sql, (*self._name, key)).fetchone()
        return None if row is None else decode(row[0], type=Document)

    def list(self) -> list[Document]:
        """Return all documents."""
        return [decode(record, type=Document) for (record,) in self._db.execute(_LIST, self._name)]

    def put(self, document: Mapping[str, Any], key: str = "") -> None:
        """Store a document; one that has the key already is replaced, and keeps its place in the list."""
        with self._db:
            self._db.execute(_PUT, (*self._name, key, encode(document)))

    def delete(self, key: str = "") -> bool:
        """Remove a document; False where there is none."""
        sql = "DELETE FROM documents WHERE kind = ? AND parent = ? AND key = ?"
        with self._db:
            return self._db.execute(sql, (*self._name, key)).rowcount > 0

    def clear(self) -> None:
        """Remove all documents."""
        with self._db:
            self._db.execute("DELETE FROM documents WHERE kind = ? AND parent = ?", self._name)


@final
class Documents:
    """All documents of one store."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def of(self, kind: str, parent: str = "") -> DocumentSet:
        """Return the documents of one kind and one parent."""
        return DocumentSet(self._db, kind, parent)

    def next_number(self) -> int:
        """Return a number above those of all documents that ever were, for the ids that the service makes."""
        sql = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'documents'"
        number: int = self._db.execute(sql).fetchone()[0]
        return number
