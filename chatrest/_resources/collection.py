"""The base of all collections: the call of an endpoint, and the walk over a list.

A method is `async def` and returns `await self._call(…)`, or gives a walk and is a plain `def`. There are two
exceptions, both a plain `def` that returns `self._call(…)`, an awaitable:

- a method with an argument that is a credential (an API key, an auth token, a provider's password): the frame
  of a coroutine keeps its arguments, and a traceback with locals would show them;
- a method of a deprecated operation: the call is made in the caller's own line, which the warning names.
"""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, structs

from .._core.paging.cursor import Cursor, beginning, resumed
from .._core.paging.walk_state import ListFacts
from .._core.replies.decode import ACK, Ack, Listing, many, one
from .._core.replies.expectation import Expectation, QueryChecks
from .._core.replies.rows import row_identity
from .._core.requests.dialects import MAX_PAGE_SIZE, UNPAGED, Paging
from .._core.requests.encode import WalkQuery, filter_values, query_pairs
from .._core.requests.endpoint import Call, Endpoint, Media, Pairs, Reader
from .._core.send import Send
from .._parameters.checked import Body
from .._secrets import description, repr_of
from .._walk.filter_check import FilterCheck
from .._walk.walk import Walk, WalkSource
from ..errors import RequestInvalidError

R = TypeVar("R")
T = TypeVar("T")

WalkStart: TypeAlias = Cursor | str | None
"""The position at which a walk begins: a cursor or its token; None is the beginning of the list."""

_MAX_NAMES: Final = 10
"""Operations in the `repr` of a collection."""
_SIZE_NAMES: Final = ("perPage", "limit")


class Collection:
    """The operations of one collection, through a session that sends them.

    An operation is one request unless its docstring says otherwise. `query=None` selects everything, `cursor`
    continues a list, and `on_behalf_of` is the acting user, by default that of the session's view. A wrong
    argument, or no acting user where one is required, is a `RequestInvalidError` before anything is sent. A
    struct of changes of which no field is given, or each is None, is sent as `{}`: it changes no field (one
    of `MessageChanges` is refused). An operation that is sent once is not repeated if its reply is lost: see
    `chatrest guide errors`.
    """

    __slots__ = ("_send",)

    def __init__(self, send: Send) -> None:
        self._send = send

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        return f"<{type(self).__name__}: {', '.join(names[:_MAX_NAMES])}{more}>"

    def _call(
        self,
        endpoint: Endpoint[R],
        body: Struct | None = None,
        *,
        on_behalf_of: str | None = None,
        query: Struct | None = None,
        headers: Any = None,
        **path: str,
    ) -> Awaitable[R]:
        """Send one call; `RequestInvalidError` before anything is sent if an argument is wrong."""
        return self._send(self._build_call(endpoint, body, query, headers, on_behalf_of, path))

    def _walk(
        self,
        endpoint: Endpoint[Listing[T]],
        query: Struct | None = None,
        cursor: WalkStart = None,
        *,
        on_behalf_of: str | None = None,
        headers: Any = None,
        **path: str,
    ) -> Walk[T]:
        """Return a walk over a list; `CursorError` if `cursor` is not one of it."""
        return walk(self._send, self._build_call(endpoint, None, query, headers, on_behalf_of, path), cursor)

    def _build_call(
        self,
        endpoint: Endpoint[R],
        body: Struct | None,
        query: Struct | None,
        headers: Any,
        on_behalf_of: str | None,
        path: dict[str, str],
    ) -> Call[R]:
        if endpoint.deprecated:
            text = f"{endpoint.name} is deprecated: use {endpoint.deprecated}"
            # In the line of the caller: above it are `_call`, and the method.
            warnings.warn(text, DeprecationWarning, stacklevel=4)
        if query is not None and endpoint.query is not None:
            _check("query", query, endpoint.query, ", or None")
        if endpoint.body is not None and not isinstance(body, endpoint.body):
            name = self._body_argument(endpoint)
            if name is not None:  # without such an argument, None is an optional body that is not sent
                _check(name, body, endpoint.body)
        if endpoint.acting == "required" and on_behalf_of is None and self._send.acting_user is None:
            raise RequestInvalidError(
                f"{endpoint.name} acts as a user: give on_behalf_of, or use session.as_user(uid)"
            )
        return endpoint.call(path, query, body, headers, on_behalf_of)

    def _body_argument(self, endpoint: Endpoint[Any]) -> str | None:
        """Return the name of the operation's argument that is its body, by its type; None if it has none."""
        hints = getattr(type(self), endpoint.name.partition(".")[2]).__annotations__
        return next((name for name, hint in hints.items() if hint is endpoint.body), None)


def _check(name: str, value: object, kind: type[Struct], others: str = "") -> None:
    if not isinstance(value, kind):
        # A text may be a key that was swapped in.
        words = description(value) if isinstance(value, str | bytes) else repr_of(value)
        raise RequestInvalidError(f"{name} = {words}: expected a {kind.__name__}{others}", name=name)


class CrudEndpoints(NamedTuple, Generic[T]):
    """The five operations on documents of one kind."""

    list: Endpoint[Listing[T]]
    get: Endpoint[T]
    create: Endpoint[T]
    update: Endpoint[T]
    delete: Endpoint[Ack]


def crud_endpoints(
    names: str,
    path: str,
    key: str,
    record: type[T],
    new: type[Body],
    changes: type[Body],
    *,
    reply: Callable[[type[T]], Reader[T]] = one,
    replies: Callable[[type[T]], Reader[Listing[T]]] = many,
    update: Literal["PUT", "PATCH"] = "PUT",
    media: Media = "json",
    list_options: Mapping[str, Any] = MappingProxyType({}),
    create_options: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> CrudEndpoints[T]:
    """Return the five operations on the documents below `path`; `key` is the path parameter of one.

    `names` is `agents.{}_api_tool`, or `roles.{}` if the documents are the collection itself. `list_options`
    are options of the list, such as its query and paging, `create_options` those of the creation, and
    `options` those of all five.
    """
    document, is_collection = f"{path}/{{{key}}}", names.endswith("{}")
    every = names.format("list") + ("" if is_collection else "s")
    create, change, delete = (names.format(verb) for verb in ("create", "update", "delete"))
    return CrudEndpoints(
        Endpoint(every, "GET", path, replies(record), **list_options, **options),
        Endpoint(names.format("get"), "GET", document, reply(record), **options),
        Endpoint(
            create, "POST", path, reply(record), "never", body=new, media=media, **create_options, **options
        ),
        Endpoint(change, update, document, reply(record), "idempotent", body=changes, media=media, **options),
        Endpoint(delete, "DELETE", document, ACK, "idempotent", **options),
    )


class ListPlan(Struct, frozen=True):
    """All that an endpoint and a query decide about a list: the same for every walk that asks so."""

    facts: ListFacts
    values: WalkQuery | None
    """The query's values; None for no query."""
    filters: Pairs
    """The query's pairs, without the page's size."""
    first: Cursor
    """The start of a walk, without the fingerprint of its list."""
    checks: QueryChecks


def walk(send: Send, call: Call[Listing[T]], cursor: Cursor | str | None) -> Walk[T]:
    """Return the walk over the list that `call` asks for; `CursorError` if `cursor` is not one of it."""
    endpoint, query = call.endpoint, call.query
    # An operation that never acts as a user is the same list for every one of them.
    acting_user = None if endpoint.acting == "never" else call.acting_user or send.acting_user
    make = _list_plan if isinstance(query, dict) else _cached_list_plan
    plan = make(endpoint, query, acting_user is not None, send.reads_rows, MAX_PAGE_SIZE)
    if query is not None:
        call = structs.replace(call, query=plan.values)
    facts, name = plan.facts, endpoint.name
    source = WalkSource(
        fetch=lambda position: send(structs.replace(call, position=position)),
        facts=facts,
        name=name,
        largest=send.page_sizes[send.app_id, name, facts.size_name, facts.size],
        cursor_key=send.cursor_key,
        check=_filter_check(send, call, acting_user, plan.checks),
        send=send,
        identity=(name, call.path, acting_user, send.app_id, plan.filters),
    )
    if cursor is None:
        return Walk(source, plan.first)
    start = structs.replace(plan.first, query=source.query)
    return Walk(source, resumed(cursor, start, facts.paging, send.cursor_key))


def _list_plan(
    endpoint: Endpoint[Any], query: Any, is_acting: bool, reads_rows: bool, largest: int
) -> ListPlan:
    """Return the plan of a list; `largest` is the page size if the query has none."""
    paging, values = endpoint.list_paging, None
    filters: Pairs = ()
    sizes: list[int] = []
    if query is not None:
        paging, named = _query_of(query, paging, is_acting=is_acting)
        values, pairs = WalkQuery(named), query_pairs(named)
        sizes = [int(value) for name, value in pairs if name in paging.sizes and value.isdecimal()]
        filters = tuple([pair for pair in pairs if pair[0] not in paging.sizes])
    first = beginning("", filters, paging)
    facts = ListFacts(
        paging=paging,
        identify=row_identity(endpoint.reply) if reads_rows else endpoint.identify,
        size=min(sizes) if sizes else min(largest, paging.largest),
        size_name=paging.size_name(is_acting=is_acting),
        size_asked=bool(sizes),
        beginning=first.position,
    )
    return ListPlan(facts, values, filters, first, QueryChecks.of(values))


_cached_list_plan: Final = lru_cache(256)(_list_plan)
"""The same, for a query that can be hashed: those of users are structs."""


def _query_of(query: Any, paging: Paging, *, is_acting: bool) -> tuple[Paging, Mapping[str, Any]]:
    """Return how a list with this query is paged, and the query's values."""
    values = filter_values(query) or {}
    if values.get("count"):
        # One reply holds counts in place of messages.
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


def _filter_check(
    send: Send, call: Call[Any], acting_user: str | None, checks: QueryChecks
) -> FilterCheck | None:
    """Return the check of the records; None if nothing was asked for that a record could contradict."""
    if call.query is None and acting_user is None and not call.endpoint.parameters:
        return None
    expectation = Expectation.of(call, acting_user, checks)
    if not expectation.checks:
        return None
    return FilterCheck(call.endpoint.name, expectation, send.check_acting_user, send.drops_mismatches)
