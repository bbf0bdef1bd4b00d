"""From the call of a list to a walk over it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from ..core.paging.cursor import Cursor, beginning, resumed
from ..core.paging.paging import LARGEST_PAGE, ONE_LIMITED_REPLY, ONE_REPLY, UNPAGED, OtherSize, Paging
from ..core.paging.walk_state import Rules
from ..core.replies.decode import Listing
from ..core.replies.expectation import Expectation
from ..core.replies.rows import AsRows, row_identity
from ..core.requests.encode import WalkQuery, filter_values, query_pairs
from ..core.requests.endpoint import Call, Pairs, Send
from ..walk.filter_check import FilterCheck
from ..walk.source import Dice, Sleep
from ..walk.walk import Walk, WalkSource

T = TypeVar("T")

_BEGINNINGS: Final = frozenset({"fromTimestamp", "sentAt[from]"})
_SIZE_NAMES: Final = ("perPage", "limit")


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    endpoint = call.endpoint
    filters: Pairs = ()
    sizes: tuple[int, ...] = ()
    # An operation that never acts as a user is the same list for every one of them.
    acting_user = None if endpoint.acting == "never" else call.acting_user or send.acting_user
    paging = _one_reply(endpoint.query) if endpoint.paging is None else endpoint.paging
    if call.query is not None:
        values = filter_values(call.query) or {}
        if values.get("count"):
            # Counts come in the place of messages, in one reply.
            paging = structs.replace(UNPAGED, size=paging.size, acting_size=paging.acting_size)
        paging = paging.filtered_by(values)
        query = WalkQuery(_with_own_size(values, paging, acting_user))
        call = structs.replace(call, query=query)
        filters, sizes = _parted(query, paging)
    size = min(sizes) if sizes else min(LARGEST_PAGE, paging.largest)
    size_name = paging.size_name(acting_user)
    expectation = Expectation.of(call, acting_user)
    check = FilterCheck(endpoint.name, expectation, is_strict=send.check_acting_user)
    source = WalkSource(
        fetch_without_beginning=_without_beginning(send, call),
        fetch=partial(_fetch, send, call),
        rules=Rules(
            paging=paging,
            identify=_identity(send, endpoint.reply),
            size=size,
            size_name=size_name,
            size_asked=bool(sizes),
        ),
        name=endpoint.name,
        largest=send.page_sizes.of(send.app_id, endpoint.name, size_name, size),
        other_size=_other_size(send, call, paging, size_name, size),
        cursor_key=send.cursor_key,
        filters=filters,
        check=check if expectation else None,
        timing=partial(_timing, send),
        identity=(endpoint.name, call.path, acting_user, send.app_id, filters),
    )
    if cursor is None:
        return Walk(source, beginning("", filters, paging))
    start = beginning(source.query, filters, paging)
    return Walk(source, resumed(cursor, start, paging, send.cursor_key))


def _other_size(send: Send, call: Call[Any], paging: Paging, size_name: str, size: int) -> OtherSize | None:
    """Return the other parameter for a page's size, of a list that has two."""
    others = [name for name in paging.sizes if name != size_name]
    if not others or paging.order != "id":
        return None
    return send.page_sizes.other_size(others[0], send.app_id, call.endpoint.name, size_name, size)


def _without_beginning(send: Send, call: Call[Listing[T]]) -> Callable[[Pairs], Awaitable[Listing[T]]] | None:
    """Return the function that asks for a page without the beginning of the window, if the query has one."""
    query = call.query
    if not isinstance(query, WalkQuery) or query.keys().isdisjoint(_BEGINNINGS):
        return None
    rest = {name: value for name, value in query.items() if name not in _BEGINNINGS}
    return partial(_fetch, send, structs.replace(call, query=WalkQuery(rest)))


def _one_reply(query: type[Struct] | None) -> Paging:
    """Return how a list is paged that is documented as one reply, whose query may have a `limit`."""
    has_limit = query is not None and ONE_LIMITED_REPLY.size in query.__struct_encode_fields__
    return ONE_LIMITED_REPLY if has_limit else ONE_REPLY


def _with_own_size(query: Mapping[str, Any], paging: Paging, acting_user: str | None) -> Mapping[str, Any]:
    """Return a query whose page size has the list's own name for it.

    Lists that share a filter differ in that name: `GET /messages` knows `limit` alone, replies to a message
    `perPage` alone.
    """
    others = [name for name in _SIZE_NAMES if name in query and name not in paging.sizes]
    if not others or not paging.size:
        return query
    own = {name: value for name, value in query.items() if name not in others}
    if not own.keys() & set(paging.sizes):
        own[paging.size_name(acting_user)] = query[others[0]]
    return own


def _parted(query: Mapping[str, Any], paging: Paging) -> tuple[Pairs, tuple[int, ...]]:
    """Return what a query says of the list itself, and the page sizes that it asks for."""
    pairs = tuple(query_pairs(query, "repeat"))
    sizes = tuple([int(value) for name, value in pairs if name in paging.sizes and value.isdecimal()])
    return tuple([pair for pair in pairs if pair[0] not in paging.sizes]), sizes


_identifier = cache(attrgetter)
"""The function that gives the field of this name, by which records are identified."""


def _fetch(send: Send, call: Call[Listing[Any]], position: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, position=position))


def _timing(send: Send) -> tuple[Sleep, Dice]:
    """Return the sleep and the dice of the session that sends."""
    return send.sleep, send.dice


def _identity(send: Send, reply: Any) -> Callable[[Any], str]:
    """Return the function that gives an item's id."""
    if isinstance(send, AsRows):
        return row_identity(reply)
    return _identifier(getattr(reply, "identified_by", "id"))
