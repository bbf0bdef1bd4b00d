"""Auth tokens: documents of each user, and the owner of each token."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, final

from .documents import Document, Documents

MOST: Final = 100
"""Tokens of one user; a further one puts the oldest away."""
_OWN: Final = frozenset({"uid", "authToken", "createdAt"})
"""The members of a token that are not its scope."""


@final
class AuthTokens:
    """The auth tokens of one store."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._owners = documents.of("auth_tokens.owners")

    def list(self, uid: str) -> list[Document]:
        """Return the tokens of a user, the oldest first."""
        return self._documents.of("auth_tokens", uid).list()

    def owner(self, key: str) -> str | None:
        """Return the uid of a token's user; None for no such token."""
        owner = self._owners.get(key)
        return None if owner is None else str(owner["uid"])

    def get(self, uid: str, key: str) -> Document | None:
        """Return a token of a user; None where the user has no such token."""
        return self._documents.of("auth_tokens", uid).get(key)

    def put(self, token: Mapping[str, Any]) -> None:
        """Store a token, new or changed."""
        self._documents.of("auth_tokens", token["uid"]).put(token, token["authToken"])
        self._owners.put({"uid": token["uid"]}, token["authToken"])

    def delete(self, token: Mapping[str, Any]) -> None:
        """Remove a token."""
        self._documents.of("auth_tokens", token["uid"]).delete(token["authToken"])
        self._owners.delete(token["authToken"])

    def clear(self, uid: str) -> None:
        """Remove all tokens of a user."""
        for token in self.list(uid):
            self.delete(token)

    def issue(self, uid: str, at: int, scope: Mapping[str, Any], *, fresh: bool) -> Document:
        """Return the newest token of a user and scope; with `fresh`, or without one, a new one."""
        known = self.list(uid)
        matches = [token for token in known if _scope(token) == scope]
        if matches and not fresh:
            return matches[-1]
        number = self._documents.next_number()
        digest = hashlib.sha256(f"{uid}\0{number}".encode()).hexdigest()[:40]
        token = {"uid": uid, "authToken": f"{uid}_{digest}", "createdAt": at, **scope}
        self.put(token)
        for oldest in known[: max(0, len(known) + 1 - MOST)]:
            self.delete(oldest)
        return token


def _scope(token: Document) -> Document:
    return {name: value for name, value in token.items() if name not in _OWN}
