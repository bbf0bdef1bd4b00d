"""Checks of arguments, whose errors name argument, value and what is expected; the limits of an attempt."""

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from msgspec import Struct

from ..._secrets import description
from ..._struct_help import NamedFields
from ...errors import ChatRestError, RequestInvalidError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def check(fits: bool, name: str, value: object, expected: str) -> None:
    """Raise `RequestInvalidError` with name, value and what is expected, unless the value `fits`."""
    if not fits:
        raise RequestInvalidError(f"{name} = {value!r}: expected {expected}", name=name)


def check_unquoted(fits: bool, name: str, value: object, expected: str) -> None:
    """Raise as `check` does, with the type of a text instead of the value: it may be a key by mistake."""
    if not fits:
        raise RequestInvalidError(f"{name} = {description(value)}: expected {expected}", name=name)


def instance(name: str, value: object, kind: type[T]) -> T:
    """Return `value` if it is of class `kind`, and `kind()` for None; else `RequestInvalidError`."""
    if value is None:
        return kind()
    check_unquoted(isinstance(value, kind), name, value, f"a {kind.__name__}, or None")
    assert isinstance(value, kind)
    return value


def check_count(name: str, value: object) -> int:
    check_unquoted(type(value) is int and value > 0, name, value, "a whole number from 1")
    assert isinstance(value, int)
    return value


def detach(error: ChatRestError) -> ChatRestError:
    """Return `error` without the frames that it has passed: they hold keys, and debuggers show locals."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def hides_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that takes keys, so that no frame of the errors that it raises holds them."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ChatRestError as error:
            failure = detach(error)
        del args, kwargs
        raise failure

    return call


_MAX: Final = 1_000_000_000


class Timeouts(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """The time limits of one attempt in seconds; None for no limit.

    They do not include the wait for a place in the pool. A call with all its attempts and waits is bounded by
    `deadline`. Raises `RequestInvalidError` for a value that is not above 0.
    """

    connect: float | None = 10.0
    """Until there is a connection: name, socket, TLS."""
    read: float | None = None
    """Between two pieces of the reply. The default is None: `total` ends a silence, too, without a timer."""
    total: float | None = 60.0
    """For the attempt, from the connection to the reply's last byte."""

    @hides_arguments
    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_optional_seconds(f"timeouts.{name}", getattr(self, name))


def check_seconds(name: str, value: object, *, or_none: str = "") -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _MAX
    check_unquoted(fits, name, value, f"a number above 0, up to a billion{or_none}")
    assert isinstance(value, int | float)
    return float(value)


def check_optional_seconds(name: str, value: object) -> float | None:
    return None if value is None else check_seconds(name, value, or_none=", or None")
