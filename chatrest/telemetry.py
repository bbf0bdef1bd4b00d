"""Telemetry: a frozen record per attempt, and one per call, for functions that listen.

A listener is a function of one record: `AsyncSession(app, telemetry=print)`. It is called in the task that
made the call, must be quick, and may not wait; what it raises is logged and does the call no harm. No
record holds a key, a uid, a query or a body: an operation is named by its template.

Without listeners no record is made, and decoding is not timed. The logger `chatrest` writes attempts at
DEBUG and repeats at INFO; it has no handler of its own.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias, final

from msgspec import Struct

LOGGER = logging.getLogger("chatrest")
LOGGER.addHandler(logging.NullHandler())


class _CallRecord(Struct, frozen=True, kw_only=True):
    call: int
    """The call's number in its process: its attempts and its `Outcome` share it."""
    operation: str
    """The endpoint's name, such as `messages.list_user`."""
    method: str
    template: str
    """The path as a template, such as `/users/{uid}/messages`."""
    app_id: str
    region: str


@final
class Attempt(_CallRecord, frozen=True, kw_only=True):
    """One request, sent or not. All durations are in seconds."""

    number: int
    """1 for the first."""
    status: int | None
    """The HTTP status; None where no reply came."""
    reply_bytes: int
    paced: float
    """Held back by the rate limit."""
    queued: float
    """Waiting for a place in the region's pool."""
    network: float
    """From the place in the pool to the reply's last byte; making a connection is part of it."""
    decoded: float
    """Making the result of the reply."""
    error: str | None
    """The class of the error that the attempt ended in."""
    cause: str | None
    """The class of the error that the attempt before ended in; None for a first attempt."""


@final
class Outcome(_CallRecord, frozen=True, kw_only=True):
    """One call, after its last attempt."""

    attempts: int
    seconds: float
    status: int | None
    """Of the last attempt's reply; None where it brought none."""
    error: str | None
    """The class of the error that was raised; None for a success."""


Record: TypeAlias = Attempt | Outcome
Listener: TypeAlias = Callable[[Record], None]


def notify(listeners: Sequence[Listener], record: Record) -> None:
    """Hand a record to every listener."""
    for listener in listeners:
        try:
            listener(record)
        except Exception:
            LOGGER.exception("a telemetry listener failed")


def log_attempt(record: Record) -> None:
    """Write attempts to the logger `chatrest`: the listener that is always there."""
    if isinstance(record, Attempt):
        LOGGER.debug(
            "%s %s: attempt %d: %s, %d bytes in %.3f s",
            record.method,
            record.template,
            record.number,
            record.status if record.error is None else f"{record.status or ''} {record.error}".strip(),
            record.reply_bytes,
            record.network,
        )
