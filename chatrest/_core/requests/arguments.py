"""Checks of arguments, and the time limits of an attempt: a refused one is named, with what is expected."""

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from msgspec import Struct

from ..._secrets import description
from ..._texts import NamedFields
from ...errors import ChatRestError, RequestInvalidError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def check(fits: bool, name: str, value: object, allowed: str) -> None:
    """Refuse `value` where it does not fit: `RequestInvalidError` names it and what is allowed."""
    if not fits:
        raise RequestInvalidError(f"{name} = {value!r}: expected {allowed}", name=name)


def check_unquoted(fits: bool, name: str, value: object, allowed: str) -> None:
    """Refuse `value` as `check` does, but name its type in its place: it may be a key that was swapped in."""
    if not fits:
        raise RequestInvalidError(f"{name} = {description(value)}: expected {allowed}", name=name)


def instance(name: str, value: object, kind: type[T]) -> T:
    """Return `value` if it is one of `kind`, and the kind's own default for None."""
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


_MOST: Final = 1_000_000_000


class Timeouts(Struct, metaclass=NamedFields, frozen=True, kw_only=True):
    """Seconds, per attempt; None for no bound. Waiting for a place in the pool is not among them.

    A whole call, with its queueing and waits, is bounded by `deadline`.
    """

    connect: float | None = 10.0
    """To a connection: name, socket, TLS."""
    read: float | None = None
    """Between two pieces of the reply; None, for `total` ends a silence too, and costs no timer a piece."""
    total: float | None = 60.0
    """The attempt, from the connection to the reply's last byte."""

    @hides_arguments
    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_seconds(f"timeouts.{name}", getattr(self, name))


def check_seconds(name: str, value: object) -> float | None:
    if value is None:
        return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _MOST
    check_unquoted(fits, name, value, "a number up to a billion and above 0, or None")
    assert isinstance(value, int | float)
    return float(value)
