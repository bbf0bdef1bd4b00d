"""The Basic credentials of a delivery, compared in constant time, and the headers that hold them.

A request is authorized by one `Authorization` header. The digests of credentials are compared, and not the
credentials: texts of different lengths cannot be compared in constant time. Both charsets that a sender may
use are accepted.
"""

import binascii
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from typing import Final, TypeAlias, cast

from ..errors import RequestInvalidError

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""The headers of a request: a mapping with names in any case, or pairs of texts or bytes."""

_MAX_HEADER: Final = 4096
"""Characters of an `Authorization` header that is decoded."""


def authorized(headers: Headers, username: str, password: str) -> bool:
    """Return True if a delivery's `headers` have these Basic credentials; compared in constant time.

    False for no or several `Authorization` headers, and for one that cannot be read. Raises
    `RequestInvalidError` for a `username` or `password` that Basic credentials cannot express.
    """
    return has_credentials(headers, credential_digests(username, password))


def credential_digests(username: str, password: str) -> list[bytes]:
    """Return the digests of credentials as UTF-8 and as Latin-1 (RFC 7617, section 2.1).

    Raises `RequestInvalidError` for credentials that Basic authentication cannot express.
    """
    arguments: dict[str, object] = {"username": username, "password": password}
    for name, text in arguments.items():
        if not isinstance(text, str) or not text or not text.isprintable():
            raise RequestInvalidError(f"{name}: expected a non-empty text of printable characters")
    if ":" in username:
        raise RequestInvalidError("username: expected a text without a colon")
    credentials = f"{username}:{password}"
    encoded = {credentials.encode()}
    with suppress(UnicodeEncodeError):
        encoded.add(credentials.encode("latin-1"))
    return [sha256(each).digest() for each in encoded]


def has_credentials(headers: Headers, digests: list[bytes]) -> bool:
    """Return True if the headers have credentials with one of these digests, always in the same time."""
    digest = sha256(_decoded_credentials(headers) or b"").digest()
    # A list, as `any` over a generator would stop at the first match.
    return True in [compare_digest(digest, expected) for expected in digests]


def header_pairs(headers: Headers) -> Iterator[tuple[str, str]]:
    pairs = cast(
        "Iterable[tuple[str | bytes, str | bytes]]",
        headers.items() if isinstance(headers, Mapping) else headers,
    )
    for pair in pairs:
        name, value = [text if isinstance(text, str) else text.decode("latin-1") for text in pair]
        yield name.lower(), value


def _decoded_credentials(headers: Headers) -> bytes | None:
    """Return the credentials of a request, `username:password`; None if it has none that can be read."""
    values = [value for name, value in header_pairs(headers) if name == "authorization"]
    if len(values) != 1 or len(values[0]) > _MAX_HEADER:
        return None
    scheme, _, encoded = values[0].strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return binascii.a2b_base64(encoded.strip(), strict_mode=True)
    except ValueError:
        return None
