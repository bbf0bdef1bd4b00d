"""A request and its reply as the service sees them, without a socket."""

from collections.abc import Mapping
from typing import NamedTuple


class Request(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    """As sent, percent-encoded, with the base address's own path, without the query."""
    query: str
    """As sent, percent-encoded."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = b""


class Reply(NamedTuple):
    """A reply, always JSON."""

    status: int
    body: bytes
