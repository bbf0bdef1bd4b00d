"""The ground of every collection: the call of an endpoint, and the walk over a list.

A method is `async def` and returns `await self._call(…)`, or gives a walk and is a plain `def`. There are two
exceptions, both a plain `def` that returns `self._call(…)`, an awaitable:

- a method with an argument that is a credential (an API key, an auth token, a provider's password): the frame
  of a coroutine keeps its arguments, and a traceback with locals would show them;
- a method of a deprecated operation: the call is made in the caller's own line, which the warning names.
"""

import sys
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cache, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, get_args, get_type_hints

from msgspec import Struct

from .._core.paging.cursor import Cursor
from .._core.replies.decode import Listing
from .._core.requests.endpoint import Call, Endpoint
from .._core.send import Send
from .._names import missing_attribute, nearest
from .._parameters.checked import Checked
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

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, hinting(method))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name)

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
        if endpoint.deprecated is not None:
            warn_deprecated(endpoint.name, endpoint.deprecated)
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
    raise RequestInvalidError(f"{name} = {words}: expected {', or '.join(allowed)}")


@cache
def _is_optional(kind: type[Struct]) -> bool:
    """Return True for a body that may have nothing in it."""
    try:
        kind()
    except (TypeError, RequestInvalidError):
        return False
    return True


# ── the warning of a deprecated operation ──

_PACKAGE: Final = __name__.partition(".")[0] + "."


def warn_deprecated(name: str, replacement: str) -> None:
    """Warn that the operation `name` is deprecated, in the line of the caller that is outside of chatrest.

    `replacement` is the operation to use in its place, "" where none is known. The filters of `warnings`
    decide what is shown; by default a line warns once.
    """
    hint = f": use {replacement}" if replacement else ", and no replacement is known"
    warnings.warn(f"{name} is deprecated{hint}", DeprecationWarning, stacklevel=_caller_level())


def _caller_level() -> int:
    """Return the stack level of the first frame outside of chatrest, as `warn_deprecated` counts it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


# ── the error of a wrong argument ──
#
# `users.create(uid="bob")` is meant as `users.create(NewUser(uid="bob"))`: the error names the struct that
# has the argument. A right call pays one function call more; all else is done where it has failed.

_COROUTINE: Final = 0x80
"""`inspect.CO_COROUTINE`; importing `inspect` takes 10 ms, and only an error needs it."""


def hinting(method: FunctionType) -> Callable[..., Any]:
    """Decorate a method of a collection, so that its `TypeError` for a wrong argument says what to give."""
    # A plain method may have a credential for an argument, and no frame of an error may hold it.
    if method.__code__.co_flags & _COROUTINE:

        @wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            try:
                coroutine = method(*args, **kwargs)
            except TypeError as error:
                failure = TypeError(argument_fault(method, kwargs.keys()) or str(error))
            else:
                return await coroutine
            finally:
                del args, kwargs
            raise failure

    else:

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # by the method itself
                failure = TypeError(argument_fault(method, kwargs.keys()) or str(error))
            finally:
                del args, kwargs
            raise failure

    return call


def argument_fault(method: FunctionType, names: Iterable[str]) -> str:
    """Return what is wrong with the names of a call's arguments; empty if they are not the cause."""
    from inspect import signature

    known = [name for name in signature(method).parameters if name != "self"]
    structs = dict(_structs(method))
    unknown = [name for name in names if name not in known]
    faults = [f"no argument {name!r}{_hint(name, known, structs)}" for name in unknown]
    return f"{method.__qualname__}() has {', and '.join(faults)}" if faults else ""


def _structs(method: FunctionType) -> Iterator[tuple[str, type[Checked]]]:
    """Yield the arguments that are a filter or a body, each with its class."""
    for name, hint in get_type_hints(method).items():
        for kind in get_args(hint) or (hint,):
            if name != "return" and isinstance(kind, type) and issubclass(kind, Checked):
                yield name, kind


def _hint(name: str, known: list[str], structs: dict[str, type[Checked]]) -> str:
    for argument, kind in structs.items():
        if name in kind.__struct_fields__:
            return f": it is a field, give {argument}={kind.__name__}({name}=…)"
    if hint := nearest(name, known):
        return hint
    for argument, kind in structs.items():
        if hint := nearest(name, kind.__struct_fields__):
            return f"{hint}: {argument}={kind.__name__}(…) has it"
    if structs:
        return ": " + " and ".join(f"{argument} is a {kind.__name__}" for argument, kind in structs.items())
    return f": it has {', '.join(known)}" if known else ""
