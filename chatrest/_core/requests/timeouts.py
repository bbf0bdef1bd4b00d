"""The time limits of one attempt, by phase."""

from typing import Final

from msgspec import Struct

from ..._names import NamedFields
from ..._secrets import description
from ...errors import RequestInvalidError
from .arguments import hides_arguments

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
    """Return `value` if it is a number above 0, up to a billion, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST:
        allowed = "a number up to a billion and above 0, or None"
        raise RequestInvalidError(f"{name} = {description(value)}: expected {allowed}")
    return float(value)
