"""The input of a handler: the service's data and settings, and a call that has passed all checks."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from ..._core.requests.endpoint import Endpoint
from ..store import Store
from ..store.documents import Document


class ServiceRequest(NamedTuple):
    """A request as it came, without a socket."""

    method: str
    path: str
    """As sent, percent-encoded, with the base address's own path, without the query."""
    query: str
    """As sent, percent-encoded."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = b""


class OutgoingReply(Struct, frozen=True):
    """A reply before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str] = {}


class Context(Struct, frozen=True):
    store: Store
    app: Mapping[str, object]
    clock: Callable[[], float]
    """Epoch seconds."""

    @property
    def now(self) -> int:
        return int(self.clock())


class ServiceCall(Context, frozen=True):
    """A request that has passed the checks that all operations share, and the data that it is about."""

    endpoint: Endpoint[Any]
    path: Mapping[str, str]
    """The values of the path's parameters, by name."""
    query: Document
    """The parameters that were sent, by name, as the endpoint's filter types them."""
    acting_user: str | None
    """A user that exists; None if no one acts, or where the operation knows no acting user."""
    body: Document
    """The members that the endpoint's struct has, with its defaults."""


Handler: TypeAlias = Callable[[ServiceCall], Any]
"""Serves one operation: gives what the reply has in `data`, or as bytes the whole reply; or refuses it."""
