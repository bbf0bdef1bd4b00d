"""Checks of arguments: the refused one is named, with what is allowed in its place."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ..._secrets import description
from ...errors import ChatRestError, RequestInvalidError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def check(fits: bool, name: str, value: object, allowed: str) -> None:
    """Refuse `value` where it does not fit: `RequestInvalidError` names it and what is allowed."""
    if not fits:
        raise RequestInvalidError(f"{name} = {value!r}: expected {allowed}")


def check_unquoted(fits: bool, name: str, value: object, allowed: str) -> None:
    """Refuse `value` as `check` does, but name its type in its place: it may be a key that was swapped in."""
    if not fits:
        raise RequestInvalidError(f"{name} = {description(value)}: expected {allowed}")


def instance(name: str, value: object, kind: type[T]) -> T:
    """Return `value` if it is one of `kind`, and the kind's own default for None."""
    if value is None:
        return kind()
    check_unquoted(isinstance(value, kind), name, value, f"a {kind.__name__}, or None")
    assert isinstance(value, kind)
    return value


def check_count(name: str, value: object) -> int:
    """Return `value` if it is a whole number from 1."""
    check_unquoted(type(value) is int and value > 0, name, value, "a whole number from 1")
    assert isinstance(value, int)
    return value


def detach(error: ChatRestError) -> ChatRestError:
    """Return `error` without traceback, cause and context, to be raised again.

    The frames that it has passed hold arguments and headers, and a debugger or an error tracker that shows
    locals would show the keys among them.
    """
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
