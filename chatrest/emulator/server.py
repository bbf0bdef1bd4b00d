"""The emulator: the documented service on 127.0.0.1 over real HTTP.

Rules:
- The rules of the service are in `service`, which knows no socket; here are sockets and nothing else.
- Every request is noted, keys hidden, the last `KEPT_REQUESTS` of them.
- What the network does to a request, such as faults and delays, belongs in `_handle`, around `answer`.
"""

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from os import PathLike
from typing import Any, Final, Literal, Self, TypeAlias, final
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web
from msgspec import Struct

from ..core.hosts import App, check_key
from ..errors import RequestInvalidError
from .data import EPOCH, fill
from .reading import DIALECTS, PAGE_ORDERS, Dialect, Look, PageOrder
from .refusals import Refusal
from .service import Keys, Reply, Request, Service
from .store import Store

Dialects: TypeAlias = Literal["documented", "cursor", "next"]

KEPT_REQUESTS: Final = 10_000
_HIDDEN: Final = "[hidden]"
_SECRET_HEADERS: Final = frozenset({"apikey", "key", "secret", "authorization"})
_DOCUMENTED: Final[tuple[Dialect, Dialect]] = ("cursor", "next")
_TOO_LARGE: Final = Reply(413, Refusal(413, "ERR_BAD_REQUEST", "The body is too large.").body)


class Received(Struct, frozen=True):
    """A request that the emulator has answered."""

    method: str
    path: str
    """As sent, percent-encoded, with the base address's own path, without the query."""
    query: str
    """As sent, percent-encoded; `pairs` are read from it."""
    headers: dict[str, str]
    """Names in lower case; the values of keys are hidden."""
    status: int

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query's names and values, decoded, in the order in which they were sent."""
        return parse_qsl(self.query, keep_blank_values=True)


_KEYS: Final = Keys(
    "emulated-full-access-key",
    "emulated-auth-only-key",
    "emulated-management-key",
    "emulated-management-secret",
)


@final
class Emulator:
    """The documented service on 127.0.0.1, for tests and benchmarks.

    `async with Emulator(users=50, messages=1000, seed=0) as emulator:` makes data from the seed (the same
    arguments give the same bytes; 100,000 messages take two or three seconds, in which the event loop
    stands still) and listens on `port`, 0 for a free one. `emulator.app` is what a session needs.

    - `database`: the path of a file that keeps everything. One that is filled already is served as it
      is, and no data is made. One emulator at a time can have it open.
    - `dialect`: which of the two envelopes message lists use. "documented": `meta.cursor` for
      GET /users/{uid}/messages and `meta.next` for the other three; "cursor" or "next": that one for all.
    - `page_order`: how messages are ordered inside a page; the specification does not say.
    - `clock`: epoch seconds, for what is created while the emulator runs.

    Raises `RequestInvalidError` for a wrong argument, and OSError for a port that is taken.
    """

    def __init__(
        self,
        users: int = 50,
        messages: int = 1000,
        seed: int = 0,
        *,
        groups: int = 5,
        database: str | PathLike[str] | None = None,
        port: int = 0,
        app_id: str = "emulated",
        api_key: str = _KEYS.full_access,
        auth_only_key: str = _KEYS.auth_only,
        management_key: str = _KEYS.management,
        management_secret: str = _KEYS.secret,
        clock: Callable[[], float] = time.time,
        dialect: Dialects = "documented",
        page_order: PageOrder = "ascending",
    ) -> None:
        self._made = _Made(
            users=_whole("users", users, 10**6),
            messages=_whole("messages", messages, 10**8),
            seed=_whole("seed", seed, 2**63),
            groups=_whole("groups", groups, 10**5),
        )
        if messages and users < 2:
            raise RequestInvalidError(
                f"users = {users}: messages need 2 users at least; give messages=0 for none"
            )
        self._port = _whole("port", port, 65_535)
        self._database = _path(database)
        names = ("api_key", "auth_only_key", "management_key", "management_secret")
        keys = (api_key, auth_only_key, management_key, management_secret)
        self._keys = Keys(*(check_key(name, key) for name, key in zip(names, keys, strict=True)))
        if api_key == auth_only_key:
            raise RequestInvalidError("auth_only_key: allowed is any key but api_key")
        self._app_id = App(app_id, api_key).app_id
        if not callable(clock):
            raise RequestInvalidError(f"clock = {clock!r}: allowed is a function that gives epoch seconds")
        self._clock = clock
        _one_of("dialect", dialect, DIALECTS)
        _one_of("page_order", page_order, PAGE_ORDERS)
        self._looks = [
            Look(preset if dialect == "documented" else dialect, page_order) for preset in _DOCUMENTED
        ]
        self._running: _Running | None = None
        self.requests: deque[Received] = deque(maxlen=KEPT_REQUESTS)
        """What was asked, the oldest first; the last `KEPT_REQUESTS` are kept."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Makes or opens the data and listens; a cancel or an error leaves nothing open."""
        if self._running is not None:
            raise RequestInvalidError("the emulator is started already")
        store = Store(self._database)
        service = self._service(store)
        runner = web.ServerRunner(
            web.Server(partial(self._handle, service), access_log=None), shutdown_timeout=1.0
        )
        try:
            if store.is_empty():
                fill(store, **msgspec.structs.asdict(self._made))
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
        except BaseException:
            await runner.cleanup()
            store.close()
            raise
        self._running = _Running(service, runner, runner.addresses[0][1])

    def _service(self, store: Store) -> Service:
        user_lists, other_lists = self._looks
        return Service(
            store,
            self._keys,
            self._app_record(),
            user_lists=user_lists,
            other_lists=other_lists,
            clock=self._clock,
        )

    async def close(self) -> None:
        """Stops listening and closes the store; twice is fine. What was in memory is gone."""
        if (running := self._running) is None:
            return
        try:
            await running.runner.cleanup()
        finally:
            running.service.store.close()
            self._running = None

    @property
    def app(self) -> App:
        """The app with the key of scope `fullAccess`, for a session."""
        return App(self._app_id, self._keys.full_access, base_url=self.base_url)

    @property
    def auth_only_app(self) -> App:
        """The same app with the key of scope `authOnly`: only users and auth tokens can be created."""
        return App(self._app_id, self._keys.auth_only, base_url=self.base_url)

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v3`."""
        return f"http://127.0.0.1:{self.port}/v3"

    @property
    def management_url(self) -> str:
        """`http://127.0.0.1:PORT/management`."""
        return f"http://127.0.0.1:{self.port}/management"

    @property
    def management_key(self) -> str:
        """What the management interface wants in the header `key`."""
        return self._keys.management

    @property
    def management_secret(self) -> str:
        """What the management interface wants in the header `secret`."""
        return self._keys.secret

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._started().port

    @property
    def store(self) -> Store:
        """What the service knows: to compare with, and to add to while it runs."""
        return self._started().service.store

    def _started(self) -> "_Running":
        if self._running is None:
            raise RequestInvalidError("the emulator is not started: use `async with`, or await start()")
        return self._running

    def __repr__(self) -> str:
        state = "closed" if self._running is None else f"{self.base_url}, {len(self.requests)} requests"
        return f"<Emulator {self._app_id}: {state}>"

    def _app_record(self) -> dict[str, Any]:
        return {
            "id": self._app_id,
            "name": "Emulated app",
            "plan": "free",
            "region": "us",
            "state": "active",
            "owner": 1,
            "createdAt": EPOCH,
        }

    async def _handle(self, service: Service, request: web.BaseRequest) -> web.Response:
        path, _, query = request.raw_path.partition("?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            reply = _TOO_LARGE
        else:
            reply = service.answer(Request(request.method, path, query, headers, body))
        shown = {name: _HIDDEN if name in _SECRET_HEADERS else value for name, value in headers.items()}
        self.requests.append(Received(request.method, path, query, shown, reply.status))
        return web.Response(status=reply.status, body=reply.body, content_type="application/json")


class _Made(Struct, frozen=True):
    """Sizes and seed of the made data."""

    users: int
    messages: int
    seed: int
    groups: int


class _Running(Struct, frozen=True):
    """What there is between start and close."""

    service: Service
    runner: web.ServerRunner
    port: int


def _whole(name: str, value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise RequestInvalidError(f"{name} = {value!r}: allowed is a whole number from 0 to {most}")
    return value


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RequestInvalidError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")


def _path(database: object) -> str | PathLike[str] | None:
    if database is None or isinstance(database, PathLike) or (isinstance(database, str) and database):
        return database
    raise RequestInvalidError(f"database = {database!r}: allowed is the path of a file, or None")
