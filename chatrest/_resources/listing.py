"""From the call of a list to a walk over it."""

from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import structs

from .._core.paging.cursor import Cursor, beginning, resumed
from .._core.paging.walk_state import Rules
from .._core.replies.decode import Listing
from .._core.replies.expectation import Expectation
from .._core.replies.rows import row_identity
from .._core.requests.dialects import LARGEST_PAGE, UNPAGED, Paging
from .._core.requests.encode import WalkQuery, filter_values, query_pairs
from .._core.requests.endpoint import Call, Pairs
from .._core.send import AsRows, Send
from .._walk.filter_check import FilterCheck
from .._walk.walk import Walk, WalkSource

T = TypeVar("T")

_SIZE_NAMES: Final = ("perPage", "limit")


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    endpoint, paging = call.endpoint, call.endpoint.list_paging
    # An operation that never acts as a user is the same list for every one of them.
    acting_user = None if endpoint.acting == "never" else call.acting_user or send.acting_user
    filters: Pairs = ()
    sizes: list[int] = []
    if call.query is not None:
        paging, values = _query_of(call.query, paging, acting_user)
        pairs = query_pairs(values, "repeat")
        sizes = [int(value) for name, value in pairs if name in paging.sizes and value.isdecimal()]
        filters = tuple([pair for pair in pairs if pair[0] not in paging.sizes])
        call = structs.replace(call, query=WalkQuery(values))
    size = min(sizes) if sizes else min(LARGEST_PAGE, paging.largest)
    size_name = paging.size_name(acting_user)
    size_key = (send.app_id, endpoint.name, size_name, size)
    other_size = None
    if len(paging.sizes) > 1 and paging.order == "id":
        other = paging.sizes[size_name == paging.sizes[0]]
        other_size = send.page_sizes.other_size(other, *size_key)
    identify = row_identity(endpoint.reply) if isinstance(send, AsRows) else endpoint.identify
    first = beginning("", filters, paging)
    source = WalkSource(
        fetch=partial(_fetch, send, call),
        rules=Rules(
            paging=paging,
            identify=identify,
            size=size,
            size_name=size_name,
            size_asked=bool(sizes),
            beginning=first.position,
        ),
        name=endpoint.name,
        largest=send.page_sizes.of(*size_key),
        other_size=other_size,
        cursor_key=send.cursor_key,
        filters=filters,
        check=_check(send, call, acting_user),
        timing=lambda: (send.sleep, send.dice),
        identity=(endpoint.name, call.path, acting_user, send.app_id, filters),
    )
    if cursor is None:
        return Walk(source, first)
    start = structs.replace(first, query=source.query)
    return Walk(source, resumed(cursor, start, paging, send.cursor_key))


def _query_of(query: Any, paging: Paging, acting_user: str | None) -> tuple[Paging, Mapping[str, Any]]:
    """Return how a list with this query is paged, and the query's values."""
    values = filter_values(query) or {}
    if values.get("count"):
        # Counts come in the place of messages, in one reply.
        paging = structs.replace(UNPAGED, size=paging.size, acting_size=paging.acting_size)
    paging = paging.filtered_by(values)
    # Lists that share a filter differ in the name of a page's size: `GET /messages` knows `limit` alone,
    # replies to a message `perPage` alone.
    others = [name for name in _SIZE_NAMES if name in values and name not in paging.sizes]
    if not others or not paging.size:
        return paging, values
    own = {name: value for name, value in values.items() if name not in others}
    if own.keys().isdisjoint(paging.sizes):
        own[paging.size_name(acting_user)] = values[others[0]]
    return paging, own


def _check(send: Send, call: Call[Any], acting_user: str | None) -> FilterCheck | None:
    """Return the check of the records; None if nothing was asked for that a record could contradict."""
    if call.query is None and acting_user is None and not call.endpoint.parameters:
        return None
    expectation = Expectation.of(call, acting_user)
    if not expectation:
        return None
    is_quiet = isinstance(send, AsRows) and send.leaves_out
    return FilterCheck(call.endpoint.name, expectation, is_strict=send.check_acting_user, is_quiet=is_quiet)


def _fetch(send: Send, call: Call[Listing[Any]], position: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, position=position))
