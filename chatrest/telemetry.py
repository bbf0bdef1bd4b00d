"""Telemetry: an immutable record of each attempt and of each call, for listeners.

A listener is a function of one record: `AsyncSession(app, telemetry=print)`. It is called in the task of the
call, must be fast, and must not block; its exceptions are logged and do not affect the call. Records contain
no key, uid, query or body: the path is a template.

Without listeners no record is created, and decoding is not measured. The logger `chatrest` logs attempts at
DEBUG and repetitions at INFO; it has no handler.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias, final

from msgspec import Struct

LOGGER = logging.getLogger("chatrest")
LOGGER.addHandler(logging.NullHandler())


class _CallRecord(Struct, frozen=True, kw_only=True):
    call: int
    """The number of the call in its process, the same in its attempts and its `Outcome`."""
    operation: str
    """The endpoint's name, such as `messages.list_user`."""
    method: str
    template: str
    """The path as a template, such as `/users/{uid}/messages`."""
    app_id: str
    region: str


@final
class Attempt(_CallRecord, frozen=True, kw_only=True):
    """One attempt, whether or not its request was sent. All durations are in seconds."""

    number: int
    """The number of the attempt, from 1."""
    status: int | None
    """The HTTP status; None without a reply."""
    reply_bytes: int
    paced: float
    """Waiting for the rate limit."""
    queued: float
    """Waiting for a place in the region's pool."""
    network: float
    """From the place in the pool to the last byte of the reply, with the time to connect."""
    decoded: float
    """Decoding the reply."""
    error: str | None
    """The class name of the attempt's error; None for a success."""
    cause: str | None
    """The class name of the previous attempt's error; None for a first attempt."""


@final
class Outcome(_CallRecord, frozen=True, kw_only=True):
    """One call, after its last attempt."""

    attempts: int
    seconds: float
    status: int | None
    """The HTTP status of the last attempt; None without a reply."""
    error: str | None
    """The class name of the raised error; None for a success."""


Record: TypeAlias = Attempt | Outcome
Listener: TypeAlias = Callable[[Record], None]


def notify(listeners: Sequence[Listener], record: Record) -> None:
    """Call every listener with `record`; log their exceptions."""
    for listener in listeners:
        try:
            listener(record)
        except Exception:
            LOGGER.exception("a telemetry listener failed")


def log_attempt(record: Record) -> None:
    """Log an attempt to the logger `chatrest` at DEBUG."""
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
