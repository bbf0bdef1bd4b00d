"""The client that sessions and the management interface share, and the sender of one view."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from .._core.paging.cursor import CursorKey
from .._core.paging.walk_state import PageSizes
from .._core.requests.arguments import detach
from .._core.requests.endpoint import Call
from .._core.requests.wire import Headers, Request, check_headers, request
from .._secrets import HIDDEN, is_credential, scrub
from .._telemetry import LISTENER_FAILED, LOGGER, REQUESTS, CallStart, Listener, log_attempt, notify
from ..errors import ChatRestError, DeadlineExceededError, RequestInvalidError
from .call import ActiveCall, CallContext
from .pool import MakePacer, Pool
from .session_options import CallOptions, Dice
from .timing import Clock, Sleep, Timing
from .transport import Transport

R = TypeVar("R")

_CALL_NUMBERS = count(1)  # process-wide, as one listener may serve several sessions
_PARAMETER: Final = re.compile(r"\{(\w+)\}")


class Client:
    """The state that all views of a session share: pools, clock, listeners, and known page sizes."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """`options` are those of `checked_options`, without those of views."""
        self.proxy: str | None = options["proxy"]
        self.dice: Dice = options["dice"]
        self.cursor_key: CursorKey | None = options["cursor_key"]
        self.check_acting_user: bool = options["check_acting_user"]
        self.page_sizes: PageSizes = PageSizes()
        self.make_pacer: MakePacer | None = None
        """Makes the pacers of pools that are made from now on; None for pacers of this session alone."""
        clock = options["clock"]
        timing = Timing(clock, options["sleep"])
        self.clock: Clock = timing.now
        self.wall_clock: Clock = time.time if clock is time.monotonic else clock
        self.sleep: Sleep = timing.sleep
        self._make_context = partial(
            CallContext, timing=timing, dice=self.dice, listeners=options["telemetry"]
        )
        connect = partial(
            Transport, verify=options["verify"], proxy=self.proxy, cap=options["max_reply_bytes"]
        )
        self._make_pool = partial(
            Pool, concurrency=options["concurrency"], timing=timing, connect=connect, pace=options["pace"]
        )
        self.pools: dict[str, Pool] = {}
        self._context: CallContext | None = None

    def open(self) -> None:
        """Accept calls in the running event loop; raise `RequestInvalidError` if another one opened it."""
        if self._context is None:
            self.pools.clear()
            self._context = self._make_context(loop=asyncio.get_running_loop())
        self._context.check_loop()

    async def close(self) -> None:
        """Close every pool, and refuse further calls until the client is opened again.

        Raises `RequestInvalidError` in another event loop or process than that which opened it.
        """
        if self._context is not None:
            self._context.check_loop()
            self._context = None
        await asyncio.gather(*(pool.close() for pool in self.pools.values()))

    @property
    def context(self) -> CallContext:
        """The state that calls share; raises `RequestInvalidError` while the client is not open."""
        if self._context is None:
            raise RequestInvalidError("the session is not open: use it inside `async with`")
        return self._context

    def pool(self, region: str) -> Pool:
        if (pool := self.pools.get(region)) is None:
            pool = self.pools[region] = self._make_pool(region, make_pacer=self.make_pacer)
        return pool


class Sender:
    """The sender of one view, the only part of it that the resources use: `_core.send.Send`."""

    reads_rows: Final = False
    drops_mismatches: Final = False

    def __init__(self, client: Client, options: CallOptions) -> None:
        self.app_id: Final = options.destination.app_id
        self.acting_user: Final = options.acting_user
        self.page_sizes: Final = client.page_sizes
        self.cursor_key: Final = client.cursor_key
        self.check_acting_user: Final = client.check_acting_user
        self._client, self._options = client, options
        self._headers = Headers(options.destination.keys, Accept="application/json")
        if (app := options.destination.app) is not None and app.base_url is not None:
            self._headers["appId"] = app.app_id  # the service's own addresses name the app
        self._headers.update(options.headers)

    @property
    def has_reader_token(self) -> bool:
        """True if a login token is sent beside the app's key: lists may be those of the token's user."""
        return "authtoken" in map(str.lower, self._options.headers)

    def sleep(self, seconds: float, /) -> Awaitable[None]:
        return self._client.context.timing.sleep(seconds)

    def dice(self) -> float:
        return self._client.dice()

    def now(self) -> int:
        """Return the time in epoch seconds: of the machine, or by the clock that the session was given."""
        return int(self._client.wall_clock())

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Return an awaitable that makes the call, as the view's user if the call names none.

        Raises the errors of a call that cannot be sent, such as `RequestInvalidError`, at once.
        """
        if self.acting_user is not None and call.acting_user is None and call.endpoint.acting != "never":
            call = structs.replace(call, acting_user=self.acting_user)
        try:
            options, destination = self._options, self._options.destination
            if options.ends_at is not None:
                options = _with_time_left(options, call.endpoint.name, self._client.clock())
            address = destination.addresses[call.endpoint.interface]
            sent = request(call, address, self._headers)
            context = self._client.context
            return run_call(call, sent, self._client.pool(destination.region), options, context)
        except ChatRestError as error:
            failure = detach(error)
        failure.operation = call.endpoint.name
        del call  # its path and body may hold a key
        raise failure


def _with_time_left(options: CallOptions, operation: str, now: float) -> CallOptions:
    """Return the options with the time that `within` leaves as deadline.

    Raises `DeadlineExceededError` if it leaves none.
    """
    assert options.ends_at is not None
    remaining = options.ends_at - now
    if remaining <= 0:
        text = f"{operation}: the time that all calls of the view have is over, and nothing was sent"
        raise DeadlineExceededError(text, operation=operation, reason="wait")
    deadline = remaining if options.deadline is None else min(remaining, options.deadline)
    return structs.replace(options, deadline=deadline)


def run_call(
    call: Call[R], request: Request, pool: Pool, options: CallOptions, context: CallContext
) -> Awaitable[R]:
    """Return an awaitable that makes the call within its deadline, with telemetry for listeners."""
    if LOGGER.isEnabledFor(logging.INFO):
        context = structs.replace(context, listeners=(log_attempt, *context.listeners))
        if REQUESTS.isEnabledFor(logging.DEBUG):
            _log_request(call, request, options)
    if context.listeners:
        start = _call_start(call, request, options)
        active = ActiveCall(call, request, pool, options, context, start)
        return _run_observed(active, start, options.deadline, context.listeners)
    active = ActiveCall(call, request, pool, options, context)
    # No further coroutine around the call, as each layer costs time.
    return active.result() if options.deadline is None else _run_within(active, options.deadline)


async def _run_within(active: ActiveCall[R], deadline: float) -> R:
    limit = asyncio.timeout(deadline)
    try:
        async with limit:
            return await active.result()
    except TimeoutError:
        if not limit.expired():
            raise  # the timeout of an attempt, or a wait longer than the deadline
    raise active.progress.deadline_error()


async def _run_observed(
    active: ActiveCall[R], start: CallStart, deadline: float | None, listeners: Sequence[Listener]
) -> R:
    error_name: str | None = "CancelledError"
    try:
        active.add_headers(_report_start(listeners, start))
        result = await (active.result() if deadline is None else _run_within(active, deadline))
        error_name = None
        return result
    except Exception as error:
        error_name = type(error).__name__
        raise
    finally:
        notify(reversed(listeners), active.outcome(error_name))


def _report_start(listeners: Iterable[Listener], start: CallStart) -> Headers:
    """Report a call that begins, as `_telemetry.CallListener` says; return the listeners' headers."""
    headers = Headers()
    for listener in listeners:
        try:
            if (started := getattr(listener, "start_call", None)) is not None:
                for name, value in check_headers(started(start)).items():
                    headers.setdefault(name, value)
        except Exception:
            LOGGER.exception(LISTENER_FAILED)
    return headers


def _call_start(call: Call[Any], request: Request, options: CallOptions) -> CallStart:
    address, port = _server("/".join(request.url.split("/", 3)[:3]))
    return CallStart(
        call=next(_CALL_NUMBERS),
        operation=call.endpoint.name,
        method=call.endpoint.method,
        template=call.endpoint.path,
        app_id=options.destination.app_id,
        region=options.destination.region,
        server_address=address,
        server_port=port,
    )


def _log_request(call: Call[Any], request: Request, options: CallOptions) -> None:
    """Log at DEBUG the address as it is sent and the headers, without keys and credentials."""
    segments = zip(call.endpoint.path.split("/"), call.path.split("/"), strict=True)
    path = "/".join(
        HIDDEN if any(map(is_credential, _PARAMETER.findall(name))) else segment for name, segment in segments
    )
    secret_names = {name.lower() for name in (*options.destination.keys, *options.headers)}
    headers = ", ".join(
        f"{name}: {HIDDEN if name.lower() in secret_names or is_credential(name) else value}"
        for name, value in request.headers.items()
    )
    text = f"{request.method} {request.url.replace(call.path, path, 1)}, headers {headers}"
    REQUESTS.debug("%s", scrub(text, options.secrets))


@lru_cache(1024)
def _server(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
