"""From a list endpoint to a walk over it."""

from collections.abc import Awaitable
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import structs

from ..core.cursor import Cursor, fingerprint, resumed
from ..core.decode import Listing
from ..core.encode import given, query_pairs
from ..core.endpoint import Call, Pairs, Send
from ..core.step import Rules, start_of
from ..errors import RequestInvalidError
from ..queries.checked import Filter
from ..walk import Walk

T = TypeVar("T")

LARGEST_PAGE: Final = 1000
"""Specification, Limits: what a page may hold at most, and what a walk asks for where nobody says less."""
_SIZES: Final = ("limit", "perPage")


def walk(
    send: Send,
    call: Call[Listing[T]],
    *,
    key: str,
    size_name: str,
    cursor: Cursor | str | None,
    marks: bool = True,
    pages: bool = False,
) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    acting_user = call.on_behalf_of or send.acting_user
    call = structs.replace(call, query=given(call.query))
    pairs = list(query_pairs(call.query, "repeat"))
    sizes = [int(value) for name, value in pairs if name in _SIZES]
    asked = [pair for pair in pairs if pair[0] not in _SIZES]
    query = fingerprint(call.endpoint.name, call.path, acting_user, send.app_id, asked)
    start = resumed(cursor, query) or start_of(query, asked)
    rules = Rules(
        key=attrgetter(key),
        size=min(sizes, default=LARGEST_PAGE),
        size_name=size_name,
        size_asked=bool(sizes),
        marks=marks,
        pages=pages,
    )
    return Walk(partial(_fetch, send, call), start, rules, call.endpoint.name)


def _fetch(send: Send, call: Call[Listing[Any]], place: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, place=place))


def check_query(query: object, kind: type[Filter]) -> None:
    """Refuses what is not a filter of this list."""
    if query is not None and not isinstance(query, kind):
        raise RequestInvalidError(f"query = {query!r}: allowed is a {kind.__name__}, or None")
