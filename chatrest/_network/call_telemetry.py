"""Telemetry of one call: its durations, and what listeners get."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import astuple

from .._core.pace.retry import Attempts
from .._core.replies.rate_signal import signal
from .._core.requests.endpoint import Call
from .._core.requests.wire import Headers, Request, check_headers
from .._secrets import HIDDEN, is_credential, scrub
from .._telemetry import LISTENER_FAILED, LOGGER, REQUESTS, Attempt, CallStart, Listener, Outcome
from ..errors import DeadlineReason, request_id_of
from .options import CallOptions
from .transport import Reply


class Durations:
    """Durations of one attempt, or of all together, in seconds."""

    # Attributes of the class: a call that needs no waiting and no listener sets few of its own.
    paced: float = 0.0
    queued: float = 0.0
    network: float = 0.0
    decoded: float = 0.0

    def since(self, earlier: "Durations") -> "Durations":
        """Return the durations that were added since a copy was made, `earlier`."""
        added = Durations()
        for name in ("paced", "queued", "network", "decoded"):
            setattr(added, name, getattr(self, name) - getattr(earlier, name))
        return added


class CallProgress(Durations):
    """The state of an active call, and the durations of all its attempts; times by the session's clock."""

    began: float
    replied: float
    """The end of the last exchange."""
    number: int = 0
    """The number of attempts so far."""
    stage: DeadlineReason = "place"
    waited: float = 0.0
    """Seconds really waited between attempts."""
    sent: bool = False
    """True if the last exchange failed and may have sent something."""
    reply: Reply | None = None
    """The reply of the current or last attempt."""


def start_call(listeners: Iterable[Listener], start: CallStart) -> Headers:
    """Report a call that begins, as `telemetry.CallListener` says; return the listeners' headers."""
    headers = Headers()
    for listener in listeners:
        try:
            if (started := getattr(listener, "start_call", None)) is not None:
                for name, value in check_headers(started(start)).items():
                    headers.setdefault(name, value)
        except Exception:
            LOGGER.exception(LISTENER_FAILED)
    return headers


def call_start(number: int, call: Call[Any], request: Request, options: CallOptions) -> CallStart:
    address, port = _server("/".join(request.url.split("/", 3)[:3]))
    return CallStart(
        call=number,
        operation=call.endpoint.name,
        method=call.endpoint.method,
        template=call.endpoint.path,
        app_id=options.destination.app_id,
        region=options.destination.region,
        server_address=address,
        server_port=port,
    )


_PARAMETER: Final = re.compile(r"\{(\w+)\}")


def log_request(call: Call[Any], request: Request, options: CallOptions) -> None:
    """Log at DEBUG the address as it is sent and the headers, without secrets.

    Hidden are the keys, the values of the caller's headers, and whatever has the name of a credential: in
    the path, such as a login token, in the query and among the headers.
    """
    segments = zip(call.endpoint.path.split("/"), call.path.split("/"), strict=True)
    path = "/".join(
        HIDDEN if any(map(is_credential, _PARAMETER.findall(name))) else segment for name, segment in segments
    )
    own = {name.lower() for name in (*options.destination.keys, *options.headers)}
    headers = ", ".join(
        f"{name}: {HIDDEN if name.lower() in own or is_credential(name) else value}"
        for name, value in request.headers.items()
    )
    text = f"{request.method} {request.url.replace(call.path, path, 1)}, headers {headers}"
    REQUESTS.debug("%s", scrub(text, options.secrets))


@lru_cache(1024)
def _server(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def attempt_telemetry(
    start: CallStart,
    progress: CallProgress,
    spent: Durations,
    attempts: Attempts,
    *,
    error_name: str | None,
    cause: BaseException | None,
    secrets: tuple[str, ...],
) -> Attempt:
    """Return the telemetry of the attempt that has just ended, without `secrets` in what the service named.

    `attempts` includes this one if it failed and a repetition was considered; `cause` is the error of the
    attempt before.
    """
    reply, is_planned = progress.reply, attempts.count == progress.number
    headers: Mapping[str, str] = {} if reply is None else reply.headers
    stated, request_id = signal(headers), request_id_of(headers)
    return Attempt(
        *astuple(start),
        number=progress.number,
        status=None if reply is None else reply.status,
        reply_bytes=0 if reply is None else len(reply.body),
        paced=spent.paced,
        queued=spent.queued,
        network=spent.network,
        decoded=spent.decoded,
        pause=attempts.pause if is_planned else None,
        request_id=None if request_id is None else scrub(request_id, secrets),
        limit=stated.limit,
        remaining=stated.remaining,
        error=error_name,
        cause=None if cause is None else type(cause).__name__,
    )


def outcome_telemetry(
    start: CallStart, progress: CallProgress, now: float, error_name: str | None
) -> Outcome:
    reply = progress.reply
    return Outcome(
        *astuple(start),
        attempts=progress.number,
        seconds=now - progress.began,
        paced=progress.paced,
        queued=progress.queued,
        network=progress.network,
        decoded=progress.decoded,
        waited=progress.waited,
        status=None if reply is None else reply.status,
        error=error_name,
    )
