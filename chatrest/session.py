"""The session: pools per region, and the collections of one app as one user on one set of terms.

`AsyncSession` is a view over an engine that is shared: `for_app`, `as_user` and `with_options` give other
views for the price of a small object.
"""

import asyncio
import random
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self, TypeVar, final

from msgspec import Struct, structs

from .core.arguments import check, check_count, instance
from .core.decode import read_json
from .core.encode import ARRAYS, Arrays
from .core.endpoint import Call, Endpoint, Interface, Method, Replay, any_path, check_acting_user, is_mapping
from .core.hosts import App, check_url
from .core.pacer import Pace
from .core.retry import RetryPolicy
from .core.timeouts import Timeouts, check_seconds
from .core.wire import check_headers, request
from .errors import RequestInvalidError
from .network.call import Terms
from .network.engine import Dice, Engine
from .network.lanes import PRIORITIES, Priority
from .network.pool import Pool
from .network.timing import Clock, Sleep, Timing
from .network.transport import Transport, Verify
from .resources.auth_tokens import AuthTokens
from .resources.collection import collection
from .resources.members import Members
from .resources.messages import Messages
from .resources.users import Users
from .telemetry import Listener

R = TypeVar("R")

MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_BY_METHOD: Final[Mapping[Method, Replay]] = {"GET": "safe", "PUT": "idempotent", "DELETE": "idempotent"}


class Pools:
    """A pool per region, made when first used, closed together."""

    def __init__(
        self, concurrency: int, timing: Timing, pace: Pace, connect: Callable[[], Transport]
    ) -> None:
        self.made: dict[str, Pool] = {}
        self._concurrency = concurrency
        self._timing = timing
        self._pace = pace
        self._connect = connect
        self._open = False

    def open(self) -> None:
        """Lets calls through, by new connections."""
        if not self._open:
            self.made.clear()
        self._open = True

    def of(self, region: str) -> Pool:
        """The region's pool; `RequestInvalidError` outside of the session's `async with`."""
        if not self._open:
            raise RequestInvalidError("the session is not open: use it inside `async with AsyncSession(…)`")
        pool = self.made.get(region)
        if pool is None:
            pool = self.made[region] = Pool(
                region, self._concurrency, self._timing, self._connect, self._pace
            )
        return pool

    async def close(self) -> None:
        """Closes every pool; no call comes through any more, until the pools are opened again."""
        self._open = False
        await asyncio.gather(*(pool.close() for pool in self.made.values()))


class Scope(Struct, frozen=True, kw_only=True):
    """What a view adds to the engine: for whom, and on which terms."""

    app: App
    acting_user: str | None
    headers: dict[str, str]
    deadline: float | None
    retry: RetryPolicy
    timeouts: Timeouts
    priority: Priority
    arrays: Arrays

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Not the headers: they may hold a credential of the caller's own."""
        return [("app", self.app), ("acting_user", self.acting_user), ("priority", self.priority)]

    def __repr__(self) -> str:
        return f"<Scope of {self.app.app_id}>"


class Sender:
    """What the resources know of a session: `core.endpoint.Send`."""

    def __init__(self, engine: Engine, pools: Pools, scope: Scope) -> None:
        self.app_id = scope.app.app_id
        self.acting_user = scope.acting_user
        self._engine, self._pools, self._scope = engine, pools, scope
        self._bases = {"chat": scope.app.chat_url, "calls": scope.app.calls_url}
        self._headers = {"apikey": scope.app.api_key, "Accept": "application/json", **scope.headers}
        self._terms = Terms(
            app_id=scope.app.app_id,
            timeouts=scope.timeouts,
            retry=scope.retry,
            deadline=scope.deadline,
            lane=scope.priority,
            secrets=(scope.app.api_key,),
        )

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Makes the call, as the view's user where the call names none."""
        scope = self._scope
        if call.acting_user is None and scope.acting_user is not None and call.endpoint.acting != "never":
            call = structs.replace(call, acting_user=scope.acting_user)
        base = self._bases[call.endpoint.interface]
        sent = request(call, base, self._headers, scope.arrays)
        return self._engine.run(call, sent, self._pools.of(scope.app.region), self._terms)


@final
class AsyncSession:
    """Calls to the chat service. Use it with `async with`: leaving it closes every connection.

    - `concurrency`: how many requests run at once, per region.
    - `timeouts` bound one attempt, `deadline` a call as a whole, in seconds.
    - `retry`: how a failed attempt is repeated; `pace`: how fast calls go.
    - `priority="bulk"` lets interactive calls go first.
    - `headers` go with every request; `max_reply_bytes` caps a reply, before and after decompression.
    - `telemetry`: a listener, or several; see `chatrest.telemetry`.
    - `arrays`: how lists travel in a query, `comma`, `repeat` or `brackets`.
    - `verify`: True, or an `ssl.SSLContext`; `proxy`: an address (the environment is not asked).
    - `clock`, `sleep`, `dice`: time.monotonic, asyncio.sleep, random.random, for tests to replace.

    Raises `RequestInvalidError` where an argument is wrong.
    """

    def __init__(
        self,
        app: App,
        *,
        concurrency: int = 100,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
        deadline: float | None = None,
        headers: Mapping[str, str] | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        pace: Pace | None = None,
        priority: Priority = "interactive",
        telemetry: Listener | Sequence[Listener] = (),
        arrays: Arrays = "comma",
        verify: Verify = True,
        proxy: str | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        dice: Dice = random.random,
    ) -> None:
        check(arrays in ARRAYS, "arrays", arrays, ", ".join(ARRAYS))
        check(priority in PRIORITIES, "priority", priority, ", ".join(PRIORITIES))
        self._scope = Scope(
            app=_checked_app(app),
            acting_user=None,
            headers=check_headers(headers),
            deadline=check_seconds("deadline", deadline),
            retry=instance("retry", retry, RetryPolicy),
            timeouts=instance("timeouts", timeouts, Timeouts),
            priority=priority,
            arrays=arrays,
        )
        cap = check_count("max_reply_bytes", max_reply_bytes)
        through = None if proxy is None else check_url("proxy", proxy)
        check_verify(verify)
        timing = check_timing(clock, sleep, dice)
        self._pools = Pools(
            check_count("concurrency", concurrency),
            timing,
            instance("pace", pace, Pace),
            lambda: Transport(verify=verify, proxy=through, cap=cap),
        )
        self._engine = Engine(timing, dice, _listeners(telemetry))

    def __repr__(self) -> str:
        acting_user = f" as {self._scope.acting_user}" if self._scope.acting_user is not None else ""
        return f"<AsyncSession of {self._scope.app.app_id}{acting_user}: {list(self._pools.made.values())}>"

    async def __aenter__(self) -> Self:
        self._pools.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes every connection, of all views."""
        await self._pools.close()

    # ── views ──

    @property
    def app(self) -> App:
        """The app that calls go to."""
        return self._scope.app

    @property
    def pools(self) -> Mapping[str, Pool]:
        """The pools by region; one is made when its region is first used."""
        return MappingProxyType(self._pools.made)

    def for_app(self, app: App) -> "AsyncSession":
        """A view that calls another app, in its own region's pool."""
        return self._view(app=_checked_app(app))

    def as_user(self, uid: str) -> "AsyncSession":
        """A view whose calls act as `uid`: the header `onBehalfOf` (specification, Authentication 8)."""
        if uid is None:
            raise RequestInvalidError("uid = None: allowed is a user's uid")
        return self._view(acting_user=check_acting_user(uid, "uid"))

    def with_options(
        self,
        *,
        deadline: float | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        headers: Mapping[str, str] | None = None,
        on_behalf_of: str | None = None,
        priority: Priority | None = None,
    ) -> "AsyncSession":
        """A view on other terms; what is None stays as it is, and `headers` are added."""
        scope = self._scope
        check(priority in (None, *PRIORITIES), "priority", priority, ", ".join(PRIORITIES))
        return self._view(
            deadline=scope.deadline if deadline is None else check_seconds("deadline", deadline),
            retry=scope.retry if retry is None else instance("retry", retry, RetryPolicy),
            timeouts=scope.timeouts if timeouts is None else instance("timeouts", timeouts, Timeouts),
            headers={**scope.headers, **check_headers(headers)},
            acting_user=scope.acting_user if on_behalf_of is None else check_acting_user(on_behalf_of),
            priority=scope.priority if priority is None else priority,
        )

    def _view(self, **changes: Any) -> "AsyncSession":
        view = object.__new__(AsyncSession)
        view._scope = structs.replace(self._scope, **changes)
        view._pools, view._engine = self._pools, self._engine
        return view

    # ── collections ──

    @cached_property
    def sender(self) -> Sender:
        """What makes a `Call` of an endpoint: what every collection stands on, and what any other may."""
        return Sender(self._engine, self._pools, self._scope)

    auth_tokens = collection(AuthTokens)
    members = collection(Members)
    messages = collection(Messages)
    users = collection(Users)

    async def request(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        interface: Interface = "chat",
    ) -> Any:
        """Any operation, by hand: the decoded JSON of its reply, None for an empty one.

        `path` is below the base address and begins with `/`; what is not allowed in a path is quoted.
        Protected as every call: GET is repeated, PUT and DELETE are, POST and PATCH only where they surely
        were not processed.
        """
        check(method in _METHODS, "method", method, ", ".join(_METHODS))
        check(interface in ("chat", "calls"), "interface", interface, "chat, calls")
        check(query is None or is_mapping(query), "query", query, "a mapping with text keys, or None")
        quoted = any_path(path)
        template = _template(quoted)
        endpoint: Endpoint[Any] = Endpoint(
            name=f"{method} {template}",
            method=method,
            path=template,
            reply=read_json,
            replay=_BY_METHOD.get(method, "never"),
            acting="optional",
            interface=interface,
        )
        return await self.sender(Call(endpoint, quoted, query, json))


def _template(path: str) -> str:
    """The path as errors and records show it: its first segment alone, for what follows may be a uid, or a key."""
    _, first, *rest = path.split("/")
    if not _WORD.fullmatch(first):
        return "/…"
    return f"/{first}/…" if rest else f"/{first}"


def _checked_app(app: object) -> App:
    check(isinstance(app, App), "app", app, "an App")
    assert isinstance(app, App)
    _ = app.chat_url  # an app without an address is refused here, not at the first call
    return app


def check_verify(verify: object) -> None:
    """True or a context: certificates are always verified."""
    fits = verify is True or isinstance(verify, ssl.SSLContext)
    check(fits, "verify", verify, "True, or an ssl.SSLContext")


def check_timing(clock: Clock, sleep: Sleep, dice: Dice) -> Timing:
    """The time of a session, of functions that can be called."""
    for name, value in (("clock", clock), ("sleep", sleep), ("dice", dice)):
        check(callable(value), name, value, "a function")
    return Timing(clock, sleep)


def _listeners(telemetry: object) -> tuple[Listener, ...]:
    listeners = (telemetry,) if callable(telemetry) else telemetry
    fits = isinstance(listeners, Sequence) and all(map(callable, listeners))
    check(fits, "telemetry", telemetry, "a function of one record, or a list of such")
    assert isinstance(listeners, Sequence)
    return tuple(listeners)
