"""From the call of a list to a walk over it."""

from collections.abc import Awaitable, Callable
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import structs

from ..core.cursor import Cursor, beginning, fingerprint, resumed
from ..core.decode import Listing
from ..core.encode import filter_values, query_pairs
from ..core.endpoint import Call, Pairs, Send
from ..core.paging import LARGEST_PAGE, ONE_REPLY, UNPAGED
from ..core.rows import AsRows, row_identity
from ..core.walk_state import Rules
from ..walk import Walk, WalkSource

T = TypeVar("T")


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    endpoint = call.endpoint
    # An operation that never acts as a user is the same list for every one of them.
    acting_user = None if endpoint.acting == "never" else call.acting_user or send.acting_user
    pairs: Pairs = ()
    if call.query is not None:
        call = structs.replace(call, query=filter_values(call.query))
        pairs = tuple(query_pairs(call.query, "repeat"))
    # Counts come in the place of messages, in one reply (operations table, messages.list).
    is_counted = bool((call.query or {}).get("count"))
    paging = UNPAGED if is_counted else endpoint.paging or ONE_REPLY
    paging = paging.filtered_by(name for name, _ in pairs)
    sizes = [int(value) for name, value in pairs if name in paging.sizes]
    filters = tuple([pair for pair in pairs if pair[0] not in paging.sizes])
    rules = Rules(
        paging=paging,
        identify=_identity(send, endpoint.reply),
        size=min(sizes) if sizes else min(LARGEST_PAGE, paging.largest),
        size_name=paging.size_name(acting_user),
        # A list that knows no pages knows no size of them.
        size_asked=bool(sizes) or endpoint.paging is None,
    )
    start = beginning(
        fingerprint(endpoint.name, call.path, acting_user, send.app_id, filters), filters, paging
    )
    if cursor is not None:
        start = resumed(cursor, start, paging, send.cursor_key)
    source = WalkSource(
        fetch=partial(_fetch, send, call),
        rules=rules,
        name=endpoint.name,
        largest=send.page_sizes.of(send.app_id, endpoint.name, rules.size_name, rules.size),
        cursor_key=send.cursor_key,
    )
    return Walk(source, start)


def _fetch(send: Send, call: Call[Listing[Any]], position: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, position=position))


def _identity(send: Send, reply: Any) -> Callable[[Any], str]:
    """Return an item's id."""
    return (
        row_identity(reply) if isinstance(send, AsRows) else attrgetter(getattr(reply, "identified_by", "id"))
    )
