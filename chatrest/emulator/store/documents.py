"""Documents: JSON objects by kind, parent and key, for settings and for small collections.

The kind is the path of an operation's collection, such as `/moderation/rules`; the parent is the user,
provider or rule that they belong to, "" for none; the key is "" for the only document of its kind and
parent.
"""

import hashlib
from collections.abc import Mapping
from itertools import count
from typing import Any, Final, TypeAlias

Document: TypeAlias = dict[str, Any]


class DocumentSet(dict[str, Document]):
    """The documents of one kind and one parent by key, in the order in which the keys were first put."""

    def __init__(self, kind: str, parent: str) -> None:
        super().__init__()
        self.kind, self.parent = kind, parent


class Documents:
    def __init__(self) -> None:
        self._sets: dict[tuple[str, str], DocumentSet] = {}
        self._numbers = count(1)

    def of(self, kind: str, parent: str = "") -> DocumentSet:
        return self._sets.setdefault((kind, parent), DocumentSet(kind, parent))

    def next_number(self) -> int:
        """Return a number that was never given before, for the ids that the service makes."""
        return next(self._numbers)

    def clear_below(self, documents: DocumentSet, key: str) -> None:
        """Remove the documents whose parent is the document of that key, at any depth."""
        kind, parent = f"{documents.kind}/{{", f"{documents.parent}/{key}/".removeprefix("/")
        for each in self._sets.values():
            if each.kind.startswith(kind) and f"{each.parent}/".startswith(parent):
                each.clear()


_TOKENS: Final = "/users/{uid}/auth_tokens"
_OWN: Final = frozenset({"uid", "authToken", "createdAt"})


class LoginTokens:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def of(self, uid: str) -> DocumentSet:
        return self._documents.of(_TOKENS, uid)

    def issue(self, uid: str, at: int, *, fresh: bool = False) -> Document:
        """Return the newest token of a user that has no scope; with `fresh`, or without one, a new one."""
        known = self.of(uid)
        matches = [token for token in known.values() if token.keys() <= _OWN]
        if matches and not fresh:
            return matches[-1]
        digest = hashlib.sha256(f"{uid}\0{self._documents.next_number()}".encode()).hexdigest()[:40]
        token = {"uid": uid, "authToken": f"{uid}_{digest}", "createdAt": at}
        known[str(token["authToken"])] = token
        return token


def selected(document: Mapping[str, Any], names: Mapping[str, Any] | tuple[str, ...]) -> Document:
    return {name: document[name] for name in names if name in document}


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
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
