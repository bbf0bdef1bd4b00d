"""The options of a session, of a view and of a call, and their checks."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ssl import SSLContext
from typing import Any, Final, TypeAlias, TypedDict

from msgspec import Struct

from .._core.pace.pacer import Pace
from .._core.pace.retry import RetryPolicy
from .._core.paging.cursor import CursorKey
from .._core.requests.arguments import Timeouts, check_count, check_optional_seconds, check_unquoted, instance
from .._core.requests.endpoint import Interface
from .._core.requests.wire import Headers, check_headers
from .._parameters.fields import words_of
from .._struct_help import StructHelp
from .._telemetry import Listener
from .._texts import nearest
from ..app import App, check_proxy
from ..errors import request_id_of
from .places import PRIORITIES, Priority
from .timing import Clock, Sleep
from .transport import Verify

Dice: TypeAlias = Callable[[], float]
_Check: TypeAlias = Callable[[str, Any], Any]

MAX_REPLY_BYTES: Final = 64 * 1024 * 1024

UNCHANGED: Final[Any] = type("Unchanged", (), {"__repr__": lambda _: "UNCHANGED"})()
"""The default of an option of `with_options`: keep its value."""

MIN_SECRET: Final = 4
_MIN_WORD: Final = 8
"""Characters of a value, and of a word of it, from which on errors hide it."""


class RawReply(Struct, metaclass=StructHelp, frozen=True, kw_only=True):
    """A reply of the service, byte for byte: `with_options(on_reply=…)`."""

    operation: str
    """The endpoint's name, such as `messages.list_user`."""
    attempt: int
    """The number of the attempt, from 1: a call whose first attempt failed has several replies."""
    status: int
    headers: Mapping[str, str]
    """Its headers, case-insensitive and without secrets, as errors have them."""
    body: bytes
    """As served, decompressed. It may hold credentials, and is not in the repr."""

    def __repr__(self) -> str:
        return (
            f"<RawReply to {self.operation}: {self.status}, {len(self.body)} bytes"
            f"{f', request id {self.request_id}' if self.request_id else ''}>"
        )

    @property
    def request_id(self) -> str | None:
        """The id that the service gave the request, for its support; None if the reply names none."""
        return request_id_of(self.headers)


OnReply: TypeAlias = Callable[[RawReply], object]
"""A function that is called with each reply, in the task of its call, and must be fast; errors are logged."""


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
    """The app's id, or `management`: the name of its rate limits, also in telemetry."""
    region: str
    """The name of the pool."""
    addresses: Mapping[Interface, str]
    """Base addresses; the first one is the default of `request`."""
    keys: Headers
    app: App | None = None


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
    ends_at: float | None = None
    """When the time of all calls of the view ends, by the session's clock; None for no such time."""
    on_reply: OnReply | None = None
    """Called with each reply; None for no such function."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts to hide in errors: the keys, and the values of the caller's headers.

        Values of less than 4 characters are left out, so that `X-Flag: 1` does not hide every 1. Of a value
        of several words, such as `Bearer …`, each word of at least 8 characters is hidden, too.
        """
        values = [value for value in self.headers.values() if len(value) >= MIN_SECRET]
        words = [word for value in values for word in value.split() if len(word) >= _MIN_WORD]
        return (*self.destination.keys.values(), *values, *words)


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return these options, checked, and the defaults of the others.

    Raises `TypeError` for an option that does not exist, and `RequestInvalidError` for a wrong value.
    """
    for name in options:
        if name not in _OPTIONS:
            hint = nearest(name, _OPTIONS) or f": expected {words_of(sorted(_OPTIONS))}"
            raise TypeError(f"no option is called {name!r}{hint}")
    return {name: check(name, options.get(name, default)) for name, (default, check) in _OPTIONS.items()}


def check_option(name: str, value: object) -> Any:
    return _OPTIONS[name][1](name, value)


def _check_by(fits: Callable[[Any], bool], allowed: str) -> _Check:
    def check(name: str, value: Any) -> Any:
        check_unquoted(fits(value), name, value, allowed)
        return value

    return check


def _listeners(name: str, telemetry: Any) -> tuple[Listener, ...]:
    listeners = (telemetry,) if callable(telemetry) else telemetry
    fits = isinstance(listeners, Sequence) and all(map(callable, listeners))
    check_unquoted(fits, name, telemetry, "a function of one record, or a list of such")
    return tuple(listeners)


def _cursor_key(name: str, key: Any) -> CursorKey | None:
    fits = key is None or (isinstance(key, bytes) and len(key) > 0)
    check_unquoted(fits, name, key, "at least 1 byte (32 random ones are best), or None")
    return None if key is None else CursorKey(key)


_OPTIONS: Final[Mapping[str, tuple[Any, _Check]]] = {
    "deadline": (None, check_optional_seconds),
    "headers": (None, lambda _, headers: check_headers(headers)),
    "priority": ("interactive", _check_by(PRIORITIES.__contains__, words_of(PRIORITIES))),
    "retry": (None, partial(instance, kind=RetryPolicy)),
    "timeouts": (None, partial(instance, kind=Timeouts)),
    "max_reply_bytes": (MAX_REPLY_BYTES, check_count),
    "proxy": (None, lambda _, url: None if url is None else check_proxy(url)),
    "verify": (
        True,
        _check_by(lambda value: value is True or isinstance(value, SSLContext), "True, or an ssl.SSLContext"),
    ),
    "cursor_key": (None, _cursor_key),
    "check_acting_user": (True, _check_by(lambda value: isinstance(value, bool), "True or False")),
    "clock": (time.monotonic, _check_by(callable, "a function")),
    "sleep": (asyncio.sleep, _check_by(callable, "a function")),
    "dice": (random.random, _check_by(callable, "a function")),
    "telemetry": ((), _listeners),
    "concurrency": (100, check_count),
    "pace": (None, partial(instance, kind=Pace)),
}
"""The default of each option, and the function that checks a value."""
OPTIONS_OF_VIEWS: Final = ("deadline", "headers", "priority", "retry", "timeouts")
"""A view's own options; all views of a session share the others."""
