"""What a handler is given: the service's data and settings, and a call that has passed all checks."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct, structs

from ...core.requests.endpoint import Endpoint
from ..store import Store
from ..store.documents import Document

Dialect: TypeAlias = Literal["cursor", "next"]
PageOrder: TypeAlias = Literal["ascending", "descending"]
ListOrder: TypeAlias = Literal["id", "time"]


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


class Outgoing(Struct, frozen=True):
    """A reply before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str] = {}
    """Without those of the transfer: its length and encoding."""

    def with_headers(self, **headers: str) -> "Outgoing":
        """Return the reply with more headers; `_` in a name stands for `-`."""
        added = {name.replace("_", "-"): value for name, value in headers.items()}
        return structs.replace(self, headers=self.headers | added)


class PageFormat(NamedTuple):
    """The format of the pages of one list."""

    dialect: Dialect
    """`cursor`: meta.pagination and meta.cursor. `next`: meta.current and meta.next."""
    page_order: PageOrder = "ascending"
    """The order inside a page, by what orders the list."""
    list_order: ListOrder = "id"
    """`time`: by `sentAt`, and by id where that is the same; ids may then come in any order."""


class Context(Struct, frozen=True):
    """The data and the settings of one service."""

    store: Store
    app: Mapping[str, object]
    """The record of the one app."""
    user_lists: PageFormat
    """The format of GET /users/{uid}/messages."""
    other_lists: PageFormat
    """The format of the other message lists."""
    clock: Callable[[], float]
    """Epoch seconds."""

    @property
    def now(self) -> int:
        return int(self.clock())

    @property
    def now_ms(self) -> int:
        return int(self.clock() * 1000)

    @property
    def now_text(self) -> str:
        """ISO 8601 with milliseconds."""
        moment = datetime.fromtimestamp(self.clock(), UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


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
    headers: Mapping[str, str] = {}
    """Names in lower case."""


Handler: TypeAlias = Callable[[ServiceCall], Any]
"""Serves one operation: gives what the reply has in `data`, or as bytes the whole reply; or refuses it."""
