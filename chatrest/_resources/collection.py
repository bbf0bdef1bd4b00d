"""The ground of every collection: the call of an endpoint, and the walk over a list.

A method is `async def` and returns `await self._call(…)`, or gives a walk and is a plain `def`. There are two
exceptions, both a plain `def` that returns `self._call(…)`, an awaitable:

- a method with an argument that is a credential (an API key, an auth token, a provider's password): the frame
  of a coroutine keeps its arguments, and a traceback with locals would show them;
- a method of a deprecated operation: the call is made in the caller's own line, which the warning names.
"""

import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from .._core.paging.cursor import Cursor
from .._core.replies.decode import ACK, Ack, Listing, many, one
from .._core.requests.endpoint import Call, Endpoint, Media, Reader
from .._core.send import Send
from .._parameters.checked import Body
from .._secrets import description, shown
from .._walk.walk import Walk
from ..errors import RequestInvalidError
from .listing import walk

R = TypeVar("R")
T = TypeVar("T")

Start: TypeAlias = Cursor | str | None
"""Where a walk begins: a cursor or its token; None for the list's own beginning."""

_MOST_NAMES: Final = 10
"""Operations in the `repr` of a collection."""


class Collection:
    """The operations of one collection, through a session that sends them."""

    __slots__ = ("_send",)

    def __init__(self, send: Send) -> None:
        self._send = send

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"<{type(self).__name__}: {', '.join(names[:_MOST_NAMES])}{more}>"

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
        """One call; `RequestInvalidError` before anything is sent where an argument is wrong."""
        return self._send(self._build_call(endpoint, body, query, headers, on_behalf_of, path))

    def _walk(
        self,
        endpoint: Endpoint[Listing[T]],
        query: Struct | None = None,
        cursor: Start = None,
        *,
        on_behalf_of: str | None = None,
        headers: Any = None,
        **path: str,
    ) -> Walk[T]:
        """A walk over a list; `CursorError` where `cursor` is not one of it."""
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
        if query is not None:
            _check("query", query, endpoint.query, is_optional=True)
        if headers is not None:
            _check("headers", headers, endpoint.headers, is_optional=True)
        if body is not None or endpoint.body is not None:
            is_optional = endpoint.body is None or _is_optional(endpoint.body)
            _check("body", body, endpoint.body, is_optional=is_optional)
        if endpoint.acting == "required" and on_behalf_of is None and self._send.acting_user is None:
            raise RequestInvalidError(
                f"{endpoint.name} acts as a user: give on_behalf_of, or use session.as_user(uid)"
            )
        return endpoint.call(path, query, body, headers, on_behalf_of)


def _check(name: str, value: object, kind: type[Struct] | None, *, is_optional: bool) -> None:
    """Refuse what is not the struct that the endpoint takes, or None if it is optional."""
    if (value is None and is_optional) or (kind is not None and isinstance(value, kind)):
        return
    allowed = [f"a {kind.__name__}"] if kind is not None else []
    allowed += ["None"] if is_optional else []
    # A text may be a key that was swapped in.
    words = description(value) if isinstance(value, str | bytes) else shown(value)
    raise RequestInvalidError(f"{name} = {words}: expected {', or '.join(allowed)}", name=name)


@cache
def _is_optional(kind: type[Struct]) -> bool:
    """Return True for a body that may have nothing in it."""
    try:
        kind()
    except (TypeError, RequestInvalidError):
        return False
    return True


class DocumentEndpoints(NamedTuple, Generic[T]):
    list: Endpoint[Listing[T]]
    get: Endpoint[T]
    create: Endpoint[T]
    update: Endpoint[T]
    delete: Endpoint[Ack]


def documents(
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
    listing: Mapping[str, Any] = MappingProxyType({}),
    creation: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> DocumentEndpoints[T]:
    """Return the operations on the documents below `path`, with `key` for the path parameter.

    `names` is `agents.{}_api_tool`, or `roles.{}` where they are the collection itself. `listing` are options
    of the list, such as its query and paging, `creation` those of the creation, and `options` of all five.
    """
    document, is_collection = f"{path}/{{{key}}}", names.endswith("{}")
    every = names.format("list") + ("" if is_collection else "s")
    create, change, delete = (names.format(verb) for verb in ("create", "update", "delete"))
    return DocumentEndpoints(
        Endpoint(every, "GET", path, replies(record), **listing, **options),
        Endpoint(names.format("get"), "GET", document, reply(record), **options),
        Endpoint(create, "POST", path, reply(record), "never", body=new, media=media, **creation, **options),
        Endpoint(change, update, document, reply(record), "idempotent", body=changes, media=media, **options),
        Endpoint(delete, "DELETE", document, ACK, "idempotent", **options),
    )
