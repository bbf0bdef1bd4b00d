"""Where a walk stands, as data: it serialises to a token that any process can go on from.

A token holds the fingerprint of its query, the parameters that ask for its page, the way the walk goes,
and the id of the last item delivered. It holds no key, and every bit of it is covered by a checksum.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Literal, Self, TypeAlias, final

import msgspec
from msgspec import Struct, structs

from ..errors import CursorError
from .endpoint import Pairs

Way: TypeAlias = Literal["append", "prepend"]

_VERSION = b"\x01"
_SUM = 6
# The standard library's: an id may hold a lone surrogate, which only an escape can carry.
_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)


@final
class Cursor(Struct, frozen=True, array_like=True):
    """A place in a walk. `str(cursor)` is its token, `Cursor.parse(token)` reads it back."""

    query: str
    """The fingerprint of what is listed: operation, path, acting user, app and filters."""
    at: Pairs = ()
    """The parameters that ask for the page, as the service gave them; none at the walk's start."""
    way: Way | None = None
    """`append`: ids ascend; `prepend`: they descend; None until the first page has told."""
    last: str | None = None
    """The id of the last item delivered, on this page or before it."""
    skip: int = 0
    """How many items without a number for an id were delivered from this page."""
    inside: bool = False
    """Whether the last item is on the page that `at` asks for, and not before it."""

    def __str__(self) -> str:
        payload = _VERSION + _json(structs.astuple(self))
        return urlsafe_b64encode(_checksum(payload) + payload).decode().rstrip("=")

    @classmethod
    def parse(cls, token: object) -> Self:
        """The cursor that `token` was made of; `CursorError` where it is damaged or none of ours."""
        if not isinstance(token, str):
            raise CursorError(f"a cursor token is a text, not {type(token).__name__}")
        try:
            packed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
            found, payload = packed[:_SUM], packed[_SUM:]
            if payload[:1] != _VERSION or found != _checksum(payload):
                raise ValueError("checksum")
            cursor = msgspec.convert(json.loads(payload[1:]), cls)
        except (ValueError, RecursionError, msgspec.MsgspecError):
            raise CursorError("the cursor token is damaged: it was not made by str(cursor)") from None
        if str(cursor) != token:  # base64 lets the last character's spare bits vary
            raise CursorError("the cursor token is damaged: it was not made by str(cursor)")
        return cursor


def fingerprint(*parts: Any) -> str:
    """A short stable name of a query: the same parts give the same name in any process."""
    return hashlib.sha256(_json(parts)).hexdigest()[:16]


def resumed(cursor: "Cursor | str | None", query: str) -> Cursor | None:
    """`cursor`, or the one of the token, if it is one of this query; None for none."""
    if cursor is None:
        return None
    found = cursor if isinstance(cursor, Cursor) else Cursor.parse(cursor)
    if found.query != query:
        raise CursorError(
            "the cursor is of another query: a walk goes on with the same operation, user, "
            "acting user, app and filters (page sizes may differ)"
        )
    return found


def _json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode()


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:_SUM]
