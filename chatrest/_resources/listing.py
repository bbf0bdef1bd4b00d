"""From the call of a list to a walk over it."""

from collections.abc import Awaitable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from .._core.paging.cursor import Cursor, beginning, resumed
from .._core.paging.walk_state import Rules
from .._core.replies.decode import Listing
from .._core.replies.expectation import Expectation, QueryChecks
from .._core.replies.rows import row_identity
from .._core.requests.dialects import LARGEST_PAGE, UNPAGED, Paging
from .._core.requests.encode import WalkQuery, filter_values, query_pairs
from .._core.requests.endpoint import Call, Endpoint, Pairs
from .._core.send import AsRows, Send
from .._walk.filter_check import FilterCheck
from .._walk.walk import Walk, WalkSource

T = TypeVar("T")

_SIZE_NAMES: Final = ("perPage", "limit")


class ListPlan(Struct, frozen=True):
    """All that an endpoint and a query decide about a list: the same for every walk that asks so."""

    rules: Rules
    values: WalkQuery | None
    """The query's values; None for no query."""
    filters: Pairs
    """The query's pairs, without the page's size."""
    first: Cursor
    """The start of a walk, without the fingerprint of its list."""
    checks: QueryChecks


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """The walk over the list that `call` asks for; `CursorError` where `cursor` is not one of it."""
    endpoint, query = call.endpoint, call.query
    # An operation that never acts as a user is the same list for every one of them.
    acting_user = None if endpoint.acting == "never" else call.acting_user or send.acting_user
    as_rows = type(send) is AsRows
    make = _plan.__wrapped__ if isinstance(query, dict) else _plan
    plan = make(endpoint, query, acting_user is not None, as_rows, LARGEST_PAGE)
    if query is not None:
        call = structs.replace(call, query=plan.values)
    rules, name = plan.rules, endpoint.name
    source = WalkSource(
        fetch=partial(_fetch, send, call),
        rules=rules,
        name=name,
        largest=send.page_sizes[send.app_id, name, rules.size_name, rules.size],
        cursor_key=send.cursor_key,
        filters=plan.filters,
        check=_check(send, call, acting_user, plan.checks),
        send=send,
        identity=(name, call.path, acting_user, send.app_id, plan.filters),
    )
    if cursor is None:
        return Walk(source, plan.first)
    start = structs.replace(plan.first, query=source.query)
    return Walk(source, resumed(cursor, start, rules.paging, send.cursor_key))


@lru_cache(256)
def _plan(endpoint: Endpoint[Any], query: Any, is_acting: bool, as_rows: bool, largest: int) -> ListPlan:
    """Return the plan of a list; `largest` is the size of a page where the query names none."""
    paging, values = endpoint.list_paging, None
    filters: Pairs = ()
    sizes: list[int] = []
    if query is not None:
        paging, named = _query_of(query, paging, is_acting=is_acting)
        values, pairs = WalkQuery(named), query_pairs(named)
        sizes = [int(value) for name, value in pairs if name in paging.sizes and value.isdecimal()]
        filters = tuple([pair for pair in pairs if pair[0] not in paging.sizes])
    first = beginning("", filters, paging)
    rules = Rules(
        paging=paging,
        identify=row_identity(endpoint.reply) if as_rows else endpoint.identify,
        size=min(sizes) if sizes else min(largest, paging.largest),
        size_name=paging.size_name(is_acting=is_acting),
        size_asked=bool(sizes),
        beginning=first.position,
    )
    return ListPlan(rules, values, filters, first, QueryChecks.of(values))


def _query_of(query: Any, paging: Paging, *, is_acting: bool) -> tuple[Paging, Mapping[str, Any]]:
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
        own[paging.size_name(is_acting=is_acting)] = values[others[0]]
    return paging, own


def _check(send: Send, call: Call[Any], acting_user: str | None, checks: QueryChecks) -> FilterCheck | None:
    """Return the check of the records; None if nothing was asked for that a record could contradict."""
    if call.query is None and acting_user is None and not call.endpoint.parameters:
        return None
    expectation = Expectation.of(call, acting_user, checks)
    if not expectation.checks and not expectation.is_with_oneself:
        return None
    is_quiet = type(send) is AsRows and send.leaves_out
    return FilterCheck(call.endpoint.name, expectation, send.check_acting_user, is_quiet)


def _fetch(send: Send, call: Call[Listing[Any]], position: Pairs) -> Awaitable[Listing[Any]]:
    return send(structs.replace(call, position=position))
