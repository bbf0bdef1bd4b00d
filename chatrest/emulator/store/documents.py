"""Documents: JSON objects under a kind, a parent and a key, for settings and for small collections.

`Tables` is what all parts of the store share: short ways to rows, and to a change.

- The kind is what an operation's collection calls them, such as `moderation.rules`.
- The parent separates the documents of one user, provider or rule from those of others; "" where there is
  none.
- The key is the document's id; "" for a document that is the only one of its kind and parent.
"""

import hashlib
import sqlite3
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec.json import decode, encode

Document: TypeAlias = dict[str, Any]


class Tables:
    """Some tables of one store; each change is a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def _value(self, sql: str, *values: Any) -> Any:
        row = self._db.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def _column(self, sql: str, *values: Any) -> list[Any]:
        return [value for (value,) in self._db.execute(sql, values)]

    def _change(self, sql: str, *values: Any) -> bool:
        """Say if any row has changed."""
        with self._db:
            return self._db.execute(sql, values).rowcount > 0


# ── documents ──


_PUT: Final = """
INSERT INTO documents VALUES(NULL,?,?,?,?)
ON CONFLICT(kind, parent, key) DO UPDATE SET record = excluded.record
"""
_LIST: Final = "SELECT record FROM documents WHERE kind = ? AND parent = ? ORDER BY number"


class DocumentSet(Tables):
    """The documents of one kind and one parent, in the order in which their keys were first put.

    Every method is one SQL statement, each change a transaction.
    """

    def __init__(self, db: sqlite3.Connection, kind: str, parent: str) -> None:
        super().__init__(db)
        self._name = (kind, parent)

    def get(self, key: str = "") -> Document | None:
        """Return the document of that key; None if there is none."""
        sql = "SELECT record FROM documents WHERE kind = ? AND parent = ? AND key = ?"
        record = self._value(sql, *self._name, key)
        return None if record is None else decode(record, type=Document)

    def list(self) -> list[Document]:
        return [decode(record, type=Document) for record in self._column(_LIST, *self._name)]

    def put(self, document: Mapping[str, Any], key: str = "") -> None:
        """Store a document; one that has the key already is replaced, and keeps its place in the list."""
        self._change(_PUT, *self._name, key, encode(document))

    def delete(self, key: str = "") -> bool:
        """Remove a document; False if there is none."""
        sql = "DELETE FROM documents WHERE kind = ? AND parent = ? AND key = ?"
        return self._change(sql, *self._name, key)

    def clear_below(self, key: str) -> None:
        """Remove the documents whose parent is the document of that key, at any depth."""
        kind, parent = f"{self._name[0]}/{{", f"{self._name[1]}/{key}/".removeprefix("/")
        sql = "DELETE FROM documents WHERE substr(kind, 1, ?) = ? AND substr(parent || '/', 1, ?) = ?"
        self._change(sql, len(kind), kind, len(parent), parent)

    def clear(self) -> None:
        self._change("DELETE FROM documents WHERE kind = ? AND parent = ?", *self._name)


class Documents(Tables):
    def of(self, kind: str, parent: str = "") -> DocumentSet:
        return DocumentSet(self._db, kind, parent)

    def next_number(self) -> int:
        """Return a number above those of all documents that ever were, for the ids that the service makes."""
        sql = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'documents'"
        return int(self._value(sql))


MOST: Final = 100
"""Tokens of one user; a further one puts the oldest away."""
_TOKENS: Final = "/users/{uid}/auth_tokens"
_OWN: Final = frozenset({"uid", "authToken", "createdAt"})
"""The members of a token that are not its scope."""


class LoginTokens(Tables):
    def __init__(self, db: sqlite3.Connection, documents: Documents) -> None:
        super().__init__(db)
        self._documents = documents

    def of(self, uid: str) -> DocumentSet:
        """Return the tokens of a user, the oldest first."""
        return self._documents.of(_TOKENS, uid)

    def owner(self, key: str) -> str | None:
        owner: str | None = self._value(
            "SELECT parent FROM documents WHERE kind = ? AND key = ?", _TOKENS, key
        )
        return owner

    def issue(self, uid: str, at: int, *, fresh: bool = False) -> Document:
        """Return the newest token of a user that has no scope; with `fresh`, or without one, a new one."""
        known = self.of(uid).list()
        matches = [token for token in known if token.keys() <= _OWN]
        if matches and not fresh:
            return matches[-1]
        number = self._documents.next_number()
        digest = hashlib.sha256(f"{uid}\0{number}".encode()).hexdigest()[:40]
        token = {"uid": uid, "authToken": f"{uid}_{digest}", "createdAt": at}
        self.of(uid).put(token, str(token["authToken"]))
        for oldest in known[: max(0, len(known) + 1 - MOST)]:
            self.of(uid).delete(str(oldest["authToken"]))
        return token


# ── documents that are made of others ──


def selected(document: Mapping[str, Any], names: Mapping[str, Any] | tuple[str, ...]) -> Document:
    return {name: document[name] for name in names if name in document}


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Return `old` with the members of `new`; objects that both have are merged likewise."""
    both = {
        name: merged(old[name], value)
        for name, value in new.items()
        if isinstance(value, dict) and isinstance(old.get(name), dict)
    }
    return {**old, **new, **both}


def apply_changes(record: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """Return `record` with the members of `changes`, and without those that its member `unset` names."""
    members = {**record, **changes}
    unset = members.pop("unset", ())
    return {name: value for name, value in members.items() if name not in unset}
