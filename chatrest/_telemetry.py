"""Telemetry: immutable values that describe each attempt and each call, for listeners.

A listener is a function of one such value: `AsyncSession(app, telemetry=print)`. It is called in the task of
the call, must be fast, and must not block. One that sets something for the time of each call, such as a
current span, is a `CallListener`. Exceptions of both are logged and do not affect the call. No key, uid,
query or body is in it: the path is a template.

The order for each call: `start_call` of all listeners, one `Attempt` for each attempt, one `Outcome`, which
the last listener gets first. Errors and cancellation do not change this order.

Without listeners no telemetry is created, and decoding is not measured. `chatrest guide telemetry` has what
the loggers `chatrest` and `chatrest.requests` log; they have no handler.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from ._texts import plural

LOGGER = logging.getLogger("chatrest")
LOGGER.addHandler(logging.NullHandler())
REQUESTS: Final = logging.getLogger("chatrest.requests")
"""Logs the address of each call at DEBUG, with its ids, for a program that sets its level."""
REQUESTS.setLevel(logging.WARNING)

LISTENER_FAILED: Final = "a telemetry listener failed"
"""The log message for an exception of a listener."""


class CallStart(Struct, frozen=True, gc=False):
    """The facts of one call, before its first attempt; they are in all of its telemetry."""

    call: int
    """The number of the call in its process, the same in all of its telemetry."""
    operation: str
    """The endpoint's name, such as `messages.list_user`."""
    method: str
    template: str
    """The path as a template, such as `/users/{uid}/messages`."""
    app_id: str
    region: str
    server_address: str = ""
    """The host of the request; it may contain the app's id."""
    server_port: int = 0


class Attempt(CallStart, frozen=True, kw_only=True, gc=False):
    """One attempt, whether or not its request was sent. All durations are in seconds.

    It is sent when the attempt has ended and the pause after it is planned, before that pause.
    """

    number: int
    """The number of the attempt, from 1."""
    status: int | None
    """The HTTP status; None without a reply."""
    reply_bytes: int
    paced: float
    """The wait for the rate limit."""
    queued: float
    """The wait for a place in the region's pool."""
    network: float
    """From the place in the pool to the last byte of the reply, with the time to connect."""
    decoded: float
    """The time to decode the reply."""
    pause: float | None = None
    """The planned pause before the next attempt; None if no attempt is to follow."""
    request_id: str | None = None
    """The id that the service gave the request, from the header `X-Request-Id` or one like it."""
    limit: float | None = None
    """The rate limit that the reply states, in requests of a window that it does not name."""
    remaining: float | None = None
    """The remaining requests of that limit, as the reply states them."""
    error: str | None
    """The class name of the attempt's error; None for a success."""
    cause: str | None
    """The class name of the previous attempt's error; None for a first attempt."""


class Outcome(CallStart, frozen=True, kw_only=True, gc=False):
    """One call, after its last attempt.

    Durations are in seconds. `paced`, `queued`, `network` and `decoded` are the sums of all attempts.
    Together with `waited` they make up `seconds`, but for the time of the library's own code and of the loop.
    """

    attempts: int
    seconds: float
    paced: float = 0.0
    queued: float = 0.0
    network: float = 0.0
    decoded: float = 0.0
    waited: float = 0.0
    """The real wait between attempts, also if a pause was cut short."""
    status: int | None
    """The HTTP status of the last attempt; None without a reply."""
    error: str | None
    """The class name of the raised error; None for a success."""


Telemetry: TypeAlias = Attempt | Outcome
Listener: TypeAlias = Callable[[Telemetry], None]


class CallListener(Protocol):
    """A listener that gets each call before its first attempt, too; it is passed like any other."""

    def __call__(self, telemetry: Telemetry, /) -> None:
        """Take an `Attempt` or an `Outcome`, as every listener does."""

    def start_call(self, start: CallStart, /) -> Mapping[str, str] | None:
        """Return headers for the requests of a call, or None.

        It is called in the task that awaits the call, as for the `Outcome`: context variables that it sets
        are seen by the whole call, and the `Outcome` is the time to reset them. If the garbage collector ends
        a call that was never finished, the `Outcome` is sent in another context.

        The headers are checked like those of `AsyncSession(headers=…)`. A header that the request already has
        is not replaced. Their values are not treated as secrets: an error text that repeats them shows them.
        """
        ...


def notify(listeners: Iterable[Listener], telemetry: Telemetry) -> None:
    """Call every listener with `telemetry`; log their exceptions."""
    for listener in listeners:
        try:
            listener(telemetry)
        except Exception:
            LOGGER.exception(LISTENER_FAILED)


def log_attempt(telemetry: Telemetry) -> None:
    """Log an attempt at INFO, and the outcome of a call at DEBUG."""
    if isinstance(telemetry, Outcome):
        LOGGER.debug(
            "%s: %s in %.3f s: %.3f s held back by the rate limit, %.3f s waiting for a place, "
            "%.3f s on the network, %.3f s decoding, %.3f s waiting between attempts",
            telemetry.operation, plural(telemetry.attempts, "attempt"), telemetry.seconds, telemetry.paced,
            telemetry.queued, telemetry.network, telemetry.decoded, telemetry.waited,
        )  # fmt: skip
        return
    notes = (
        ("request id ", telemetry.request_id),
        ("rate limit ", telemetry.limit and f"{telemetry.limit:g}"),
        ("remaining ", None if telemetry.remaining is None else f"{telemetry.remaining:g}"),
        ("again in ", None if telemetry.pause is None else f"{telemetry.pause:.1f} s"),
    )
    LOGGER.info(
        "%s %s to %s: attempt %d: %s, %d bytes in %.3f s%s",
        telemetry.method, telemetry.template, telemetry.server_address, telemetry.number,
        f"{telemetry.status or ''} {telemetry.error or ''}".strip(), telemetry.reply_bytes, telemetry.network,
        "".join(f", {words}{value}" for words, value in notes if value is not None),
    )  # fmt: skip
