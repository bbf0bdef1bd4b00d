"""The check of Basic credentials (the service signs nothing)."""

import binascii
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from typing import Final, TypeAlias, cast

from ..errors import RequestInvalidError

_LONGEST_HEADER: Final = 4096

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""The headers of a request: a mapping with names in any case, or pairs of texts or bytes."""


def authorized(headers: Headers, username: str, password: str) -> bool:
    """Return True if a delivery's `headers` have these Basic credentials; compared in constant time.

    False for no or several `Authorization` headers, and for one that cannot be read. Raises
    `RequestInvalidError` for a `username` or `password` that Basic credentials cannot express.
    """
    return BasicCredentials(username, password).match(headers)


class BasicCredentials:
    """The digests of a username and a password; the texts themselves are not kept."""

    def __init__(self, username: str, password: str) -> None:
        arguments: dict[str, object] = {"username": username, "password": password}
        for name, text in arguments.items():
            if not isinstance(text, str) or not text or not text.isprintable():
                raise RequestInvalidError(f"{name}: expected a non-empty text of printable characters")
        if ":" in username:
            raise RequestInvalidError("username: expected a text without a colon")
        # A sender may encode the credentials as UTF-8 or as Latin-1 (RFC 7617, 2.1).
        joined = f"{username}:{password}"
        self._digests = [_digest(joined.encode())]
        with suppress(UnicodeEncodeError):
            self._digests.append(_digest(joined.encode("latin-1")))

    def match(self, headers: Headers) -> bool:
        """Return True if the headers have these credentials; takes the same time wherever they differ."""
        served = _digest(_served(headers) or b"")
        # A list, as `any` over a generator would stop at the first match.
        equal = [compare_digest(served, digest) for digest in self._digests]
        return True in equal


def _digest(credentials: bytes) -> bytes:
    """Return a digest, as texts of different lengths cannot be compared in constant time."""
    return sha256(credentials).digest()


def _served(headers: Headers) -> bytes | None:
    """Return the decoded credentials of a request; None if it has none that can be read."""
    values = [value for name, value in header_fields(headers) if name == "authorization"]
    if len(values) != 1 or len(values[0]) > _LONGEST_HEADER:
        return None
    scheme, _, encoded = values[0].strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return binascii.a2b_base64(encoded.strip(), strict_mode=True)
    except ValueError:
        return None


def header_fields(headers: Headers) -> Iterator[tuple[str, str]]:
    """Yield the headers of a request as texts, their names in lower case."""
    pairs = cast(
        "Iterable[tuple[str | bytes, str | bytes]]",
        headers.items() if isinstance(headers, Mapping) else headers,
    )
    for name, value in pairs:
        yield _text(name).lower(), _text(value)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
