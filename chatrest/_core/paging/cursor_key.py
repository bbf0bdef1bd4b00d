"""The key that signs the tokens of a session's cursors."""

import hmac
from typing import Final, final

MAC_BYTES: Final = 32


@final
class CursorKey:
    """A session's key for the tokens of its cursors. No repr shows it, and it cannot be pickled."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "<CursorKey>"

    def __reduce__(self) -> str:
        raise TypeError("a CursorKey is a secret and cannot be pickled: give the key to each session")

    def sign(self, payload: bytes) -> bytes:
        """Return the signature (HMAC-SHA256) of a token's payload, `MAC_BYTES` long."""
        return hmac.digest(self._key, payload, "sha256")
