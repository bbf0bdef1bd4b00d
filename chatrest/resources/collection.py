"""The ground of every collection: the call of an endpoint, and the walk over a list."""

from collections.abc import Awaitable
from functools import cache
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

from msgspec import Struct

from ..core.cursor import Cursor
from ..core.decode import Listing
from ..core.endpoint import Call, Endpoint, Send
from ..errors import RequestInvalidError
from ..secrets import shown
from ..walk import Walk
from .listing import walk

R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C", bound="Collection")

Start: TypeAlias = Cursor | str | None
"""Where a walk begins: a cursor or its token; None for the list's own beginning."""


class Collection:
    """The operations of one collection, through a session that sends them."""

    __slots__ = ("_send",)

    def __init__(self, send: Send) -> None:
        self._send = send

    def _call(
        self,
        endpoint: Endpoint[R],
        body: Struct | None = None,
        *,
        on_behalf_of: str | None = None,
        query: Struct | None = None,
        **path: str,
    ) -> Awaitable[R]:
        """One call; `RequestInvalidError` before anything is sent where an argument is wrong."""
        return self._send(self._build_call(endpoint, body, query, on_behalf_of, path))

    def _walk(
        self,
        endpoint: Endpoint[Listing[T]],
        query: Struct | None = None,
        cursor: Start = None,
        *,
        on_behalf_of: str | None = None,
        **path: str,
    ) -> Walk[T]:
        """A walk over a list; `CursorError` where `cursor` is not one of it."""
        return walk(self._send, self._build_call(endpoint, None, query, on_behalf_of, path), cursor)

    def _build_call(
        self,
        endpoint: Endpoint[R],
        body: Struct | None,
        query: Struct | None,
        on_behalf_of: str | None,
        path: dict[str, str],
    ) -> Call[R]:
        if query is not None:
            _check("query", query, endpoint.query, is_optional=True)
        if body is not None or endpoint.body is not None:
            is_optional = endpoint.body is None or _is_optional(endpoint.body)
            _check("body", body, endpoint.body, is_optional=is_optional)
        if endpoint.acting == "required" and on_behalf_of is None and self._send.acting_user is None:
            raise RequestInvalidError(
                f"{endpoint.name} acts as a user: give on_behalf_of, or use session.as_user(uid)"
            )
        return endpoint(query=query, body=body, on_behalf_of=on_behalf_of, **path)


def _check(name: str, value: object, kind: type[Struct] | None, *, is_optional: bool) -> None:
    """Refuse what is not the struct that the endpoint takes, or None where it is optional."""
    if (value is None and is_optional) or (kind is not None and isinstance(value, kind)):
        return
    allowed = [f"a {kind.__name__}"] if kind is not None else []
    allowed += ["None"] if is_optional else []
    raise RequestInvalidError(f"{name} = {shown(value)}: allowed is {', or '.join(allowed)}")


@cache
def _is_optional(kind: type[Struct]) -> bool:
    """Return True for a body that may have nothing in it."""
    try:
        kind()
    except (TypeError, RequestInvalidError):
        return False
    return True


class _Session(Protocol):
    @property
    def sender(self) -> Send: ...


class collection(Generic[C]):  # noqa: N801, used as a function: `members = collection(Members)`
    """An attribute of a session that is a collection, made when it is first used and kept for the session's
    life.
    """

    def __init__(self, kind: type[C]) -> None:
        self._kind = kind
        self.__doc__ = kind.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, session: None, owner: type[Any]) -> "collection[C]": ...

    @overload
    def __get__(self, session: _Session, owner: type[Any]) -> C: ...

    def __get__(self, session: _Session | None, owner: type[Any]) -> "collection[C] | C":
        if session is None:
            return self
        made = session.__dict__[self._name] = self._kind(session.sender)
        return made
