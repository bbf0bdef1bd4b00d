"""The arguments of a handler: the service's data and settings, and a call that has passed all checks."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from ...core.requests.endpoint import Endpoint
from ..store import Store
from ..store.documents import Document
from .arguments import Arguments
from .bodies import read_document

Dialect: TypeAlias = Literal["cursor", "next"]
PageOrder: TypeAlias = Literal["ascending", "descending"]
ListOrder: TypeAlias = Literal["id", "time"]
DIALECTS: Final = ("documented", "cursor", "next")
PAGE_ORDERS: Final = ("ascending", "descending")
LIST_ORDERS: Final = ("id", "time")


class PageFormat(NamedTuple):
    """The format of the pages of one list."""

    dialect: Dialect
    """`cursor`: meta.pagination and meta.cursor. `next`: meta.current and meta.next."""
    page_order: PageOrder = "ascending"
    """The order inside a page, by what orders the list."""
    list_order: ListOrder = "id"
    """`time`: by `sentAt`, and by id where that is the same; ids may then come in any order."""


class Context(NamedTuple):
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


class Call(NamedTuple):
    """A request that has passed the checks that all operations share."""

    endpoint: Endpoint[Any]
    path: Mapping[str, str]
    """The values of the path's parameters, by name."""
    query: Arguments
    acting_user: str | None
    """A user that exists; None where nobody acts, or where the operation knows no acting user."""
    body: bytes
    headers: Mapping[str, str] = {}
    """Names in lower case."""
    key: str = ""
    """The API key of the request."""

    def members(self) -> Document:
        """Return the members of the JSON body that the endpoint's struct has, and no others."""
        document, body = self.read(), self.endpoint.body or Struct
        return {name: document[name] for name in body.__struct_encode_fields__ if name in document}

    def read(self) -> Document:
        """Return the JSON body as it was sent; 400 where the endpoint's struct refuses it."""
        return read_document(self.body, self.endpoint.body or Struct)


Handler: TypeAlias = Callable[[Context, Call], bytes]
"""Serves one operation: gives the body of a 200, or raises `Refusal`."""
