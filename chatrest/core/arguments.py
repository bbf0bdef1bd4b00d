"""Checks of the arguments that sessions are made with."""

from typing import TypeVar

from ..errors import RequestInvalidError

T = TypeVar("T")


def check(fits: bool, name: str, value: object, allowed: str) -> None:
    """Refuses a value that does not fit: what is wrong, where, and what is allowed."""
    if not fits:
        raise RequestInvalidError(f"{name} = {value!r}: allowed is {allowed}")


def instance(name: str, value: object, kind: type[T]) -> T:
    """`value` if it is one of `kind`, the kind's own default where it is None."""
    if value is None:
        return kind()
    check(isinstance(value, kind), name, value, f"a {kind.__name__}, or None")
    assert isinstance(value, kind)
    return value


def check_count(name: str, value: object) -> int:
    """`value` if it is a whole number from 1."""
    check(type(value) is int and value > 0, name, value, "a whole number from 1")
    assert isinstance(value, int)
    return value
