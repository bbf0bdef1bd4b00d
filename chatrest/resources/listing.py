"""From the call of a list to a walk over it."""

from collections.abc import Awaitable
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import structs

from ..core.cursor import Cursor, fingerprint, resumed
from ..core.decode import Listing
from ..core.encode import given, query_pairs
from ..core.endpoint import Call, Pairs, Send
from ..core.paging import LARGEST_PAGE
from ..core.step import Rules, start_of
from ..walk import Walk

T = TypeVar("T")

_SIZES: Final = ("limit", "perPage")


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    paging = call.endpoint.paging
    assert paging is not None
    acting_user = call.acting_user or send.acting_user
    call = structs.replace(call, query=given(call.query))
    pairs = list(query_pairs(call.query, "repeat"))
    sizes = [int(value) for name, value in pairs if name in _SIZES]
    asked = [pair for pair in pairs if pair[0] not in _SIZES]
    query = fingerprint(call.endpoint.name, call.path, acting_user, send.app_id, asked)
    start = resumed(cursor, query) or start_of(query, asked)
    rules = Rules(
        key=attrgetter(getattr(call.endpoint.reply, "identified_by", "id")),
        size=min(sizes, default=min(paging.largest, LARGEST_PAGE)),
        size_name=paging.size_name(acting_user),
        size_asked=bool(sizes),
        marks=paging.positions,
        pages=paging.numbered,
    )
    return Walk(partial(_fetch, send, call), start, rules, call.endpoint.name)


def _fetch(send: Send, call: Call[Listing[Any]], position: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, position=position))
