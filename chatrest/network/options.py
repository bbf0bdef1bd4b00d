"""The options of a session, of a view and of a call, and their checks."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict

from msgspec import Struct

from ..core.pace.pacer import Pace
from ..core.pace.retry import RetryPolicy
from ..core.paging.cursor_key import CursorKey
from ..core.requests.arguments import check_unquoted
from ..core.requests.encode import Arrays
from ..core.requests.endpoint import Interface
from ..core.requests.hosts import App
from ..core.requests.timeouts import Timeouts
from ..core.requests.wire import Headers
from ..errors import RequestInvalidError
from ..telemetry import Listener
from .places import Priority
from .timing import Clock, Sleep, Timing
from .transport import Verify

Dice: TypeAlias = Callable[[], float]

UNCHANGED: Final[Any] = type("Unchanged", (), {"__repr__": lambda _: "UNCHANGED"})()
"""The default of an option of `with_options`: keep its value."""

_LEAST_SECRET: Final = 4
_LEAST_WORD: Final = 8


class ClientOptions(TypedDict, total=False):
    """Arguments of `AsyncSession` and `AsyncManagement`, described at `AsyncSession`."""

    concurrency: int
    timeouts: Timeouts | None
    retry: RetryPolicy | None
    deadline: float | None
    headers: Mapping[str, str] | None
    max_reply_bytes: int
    pace: Pace | None
    priority: Priority
    telemetry: Listener | Sequence[Listener]
    arrays: Arrays
    verify: Verify
    proxy: str | None
    cursor_key: bytes | None
    check_acting_user: bool
    clock: Clock
    sleep: Sleep
    dice: Dice


class Destination(Struct, frozen=True, kw_only=True):
    """The base addresses of calls, and the key headers that they send."""

    app_id: str
    """The app's id, or `management`; names the rate limit and is in telemetry records."""
    region: str
    """The name of the pool."""
    addresses: Mapping[Interface, str]
    """Base addresses; the first one is the default of `request`."""
    keys: Headers
    app: App | None = None

    def __repr__(self) -> str:
        return f"<Destination {self.app_id}>"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Fields for rich, without the keys."""
        return [("app_id", self.app_id), ("region", self.region)]


class CallOptions(Struct, frozen=True, kw_only=True):
    """The options of a view for its calls."""

    destination: Destination
    acting_user: str | None
    headers: Headers
    """The caller's headers, without the keys."""
    deadline: float | None
    """Seconds for all attempts of a call together; None for no limit."""
    retry: RetryPolicy
    timeouts: Timeouts
    priority: Priority
    arrays: Arrays

    def __repr__(self) -> str:
        return f"<CallOptions for {self.destination.app_id}>"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Fields for rich, without keys and headers."""
        return [("destination", self.destination), ("acting_user", self.acting_user)]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts to hide in errors: the keys, and the values of the caller's headers.

        Values of less than 4 characters are left out, so that `X-Flag: 1` does not hide every 1. Of a value
        of several words, such as `Bearer …`, each word of at least 8 characters is hidden, too.
        """
        values = [value for value in self.headers.values() if len(value) >= _LEAST_SECRET]
        words = [word for value in values for word in value.split() if len(word) >= _LEAST_WORD]
        return (*self.destination.keys.values(), *values, *words)


def check_verify(verify: object) -> None:
    """Raise `RequestInvalidError` unless `verify` is True or an SSL context."""
    fits = verify is True or isinstance(verify, ssl.SSLContext)
    check_unquoted(fits, "verify", verify, "True, or an ssl.SSLContext")


def check_timing(clock: Clock, sleep: Sleep, dice: Dice) -> Timing:
    """Return the `Timing` of a session; `RequestInvalidError` if an argument is not a function."""
    for name, value in (("clock", clock), ("sleep", sleep), ("dice", dice)):
        check_unquoted(callable(value), name, value, "a function")
    return Timing(clock, sleep)


def check_listeners(telemetry: object) -> tuple[Listener, ...]:
    """Return one listener or several as a tuple; `RequestInvalidError` for anything else."""
    listeners = (telemetry,) if callable(telemetry) else telemetry
    fits = isinstance(listeners, Sequence) and all(map(callable, listeners))
    check_unquoted(fits, "telemetry", telemetry, "a function of one record, or a list of such")
    assert isinstance(listeners, Sequence)
    return tuple(listeners)


def check_cursor_key(key: object) -> CursorKey | None:
    """Return the key that signs cursor tokens, or None; the `RequestInvalidError` never contains it."""
    if key is None:
        return None
    if not isinstance(key, bytes) or not key:
        raise RequestInvalidError(
            "cursor_key: allowed are bytes, one at least (32 random ones are best), or None"
        )
    return CursorKey(key)
