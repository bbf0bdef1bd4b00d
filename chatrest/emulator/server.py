"""The emulator: the sockets around `service`, which has the service's rules, and around `middleware`."""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Annotated, Any, ClassVar, Final, Self, final

from aiohttp import ClientSession, ClientTimeout, encode_basic_auth, web
from msgspec import Meta, Raw, Struct
from msgspec.json import encode
from yarl import URL

from ..app import App, is_loopback
from ..errors import RequestInvalidError
from .faults import Fault
from .limits import CheckedArguments, LimitCounter, RateLimit
from .media import PATH as MEDIA_PATH
from .middleware import LAST_REQUESTS, LoggedRequest, Middleware
from .service.dispatch import Keys, Service
from .service.handler_input import Context
from .store import Store
from .store.generated_data import EPOCH, fill
from .weather import Weather

AUTH_ONLY_KEY: Final = "emulated-auth-only-key"
MANAGEMENT_KEY: Final = "emulated-management-key"
MANAGEMENT_SECRET: Final = "emulated-management-secret"  # noqa: S105


def _count_to(largest: int) -> Meta:
    return Meta(ge=0, le=largest, description=f"a whole number from 0 to {largest}")


class EmulatorSettings(CheckedArguments):
    """The arguments of an emulator, but for those that can change while it runs."""

    subject: ClassVar[str | None] = ""

    users: Annotated[int, _count_to(10**6)]
    messages: Annotated[int, _count_to(10**8)]
    seed: Annotated[int, _count_to(2**63 - 1)]
    groups: Annotated[int, _count_to(10**5)]
    host: Annotated[
        str, Meta(pattern=r"\A[0-9A-Za-z.:-]+\Z", description="a name or an address, such as 0.0.0.0")
    ]
    port: Annotated[int, _count_to(65_535)]
    only_app: str | None
    api_key: str
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.messages and self.users < 2:
            raise RequestInvalidError(
                f"users = {self.users}: messages need at least 2 users; give messages=0 for none"
            )
        App(self.app_id, self.api_key)

    @property
    def app_id(self) -> str:
        return "emulated" if self.only_app is None else self.only_app


@final
class Emulator:
    """The documented service on 127.0.0.1, for tests and benchmarks.

    `async with Emulator(users=50, messages=1000, seed=0) as emulator:` generates data, listens, and stops at
    the end of the block. `emulator.app` is what a session needs, `emulator.store` the data, and
    `emulator.requests` what was requested. The module's docstring has an example.

    - `users`, `messages`, `groups`: how many are generated (at most 10**6, 10**8 and 10**5). The users are
      `user-001`, `user-002` and so on, the groups `group-01` and so on; messages need at least 2 users.
      100,000 messages take two or three seconds, in which the event loop does nothing else. Attachments of
      generated messages are small files that the emulator serves itself, without a key.
    - `seed`: the same counts and seed give the same data, byte by byte, and the same dice of the weather.
    - `host`, `port`: where it listens; port 0 takes a free one.
    - `app_id`: the one app that it serves; a request that names another one is answered 401. With None the
      app is called "emulated", and requests of every app are served.
    - `api_key`: the app's key of scope `fullAccess`.
    - `weather`: faults, in the order in which they are tried; more can be added while it runs.
    - `limit`: a rate limit that it enforces on all clients together; None for no limit. It can be replaced
      while it runs: `emulator.limit = RateLimit(…)`.
    - `clock`: a function that returns epoch seconds: for the times of new records, for limits, and for the
      header `Date`. `sleep`: an async function of seconds, awaited before a late reply. Give both to a test
      that must not wait.

    Webhooks of the service get no events by themselves: `post_event()` sends an event to yours.

    Raises `RequestInvalidError` for a wrong argument, and OSError for a port that is in use.
    """

    management_key: Final = MANAGEMENT_KEY
    """The management interface's key, for the header `key`."""
    management_secret: Final = MANAGEMENT_SECRET
    """The management interface's secret, for the header `secret`."""

    def __init__(
        self,
        users: int = 50,
        messages: int = 1000,
        seed: int = 0,
        *,
        groups: int = 5,
        host: str = "127.0.0.1",
        port: int = 0,
        app_id: str | None = None,
        api_key: str = "emulated-full-access-key",
        weather: Iterable[Fault] = (),
        limit: RateLimit | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = EmulatorSettings(
            users, messages, seed, groups, host, port, app_id, api_key, clock, sleep
        )
        self._running: _RunningServer | None = None
        self.requests: deque[LoggedRequest] = deque(maxlen=LAST_REQUESTS)
        """The last 10,000 requests, the oldest first."""
        self.weather: Weather = Weather(weather, seed)
        """The faults: more can be added, and all removed, while it runs."""
        self.limited: LimitCounter = LimitCounter(limit)
        """How many requests the rate limit has allowed, and how many it has refused."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Generate the data, and listen; `async with` does it. A cancel or an error leaves nothing open.

        Raises `RequestInvalidError` if it is started already, and OSError for a port that is in use.
        """
        if self._running is not None:
            raise RequestInvalidError("the emulator is started already")
        settings = self._settings
        app = {"id": settings.app_id, "name": "Emulated app", "region": "us", "createdAt": EPOCH}
        async with AsyncExitStack() as resources:
            store = Store()
            listener = _listen(settings.host, settings.port)
            resources.callback(listener.close)
            context = Context(store, app, settings.clock)
            keys = Keys(settings.api_key, AUTH_ONLY_KEY, MANAGEMENT_KEY, MANAGEMENT_SECRET)
            service = Service(context, keys, only_app=settings.only_app)
            middleware = Middleware(
                service, self.weather, self.limited, self.requests, settings.clock, settings.sleep
            )
            # A client that hangs up ends its request's handler: a late or half-open one would outlive it.
            server = web.Server(middleware.handle, access_log=None, handler_cancellation=True)
            runner = web.ServerRunner(server, shutdown_timeout=0.1)
            resources.callback(self.weather.release)  # an event belongs to its loop; the next may be another
            resources.push_async_callback(runner.cleanup)
            port = listener.getsockname()[1]
            media_url = f"{_origin(settings.host, port)}{MEDIA_PATH}"
            counts = settings.users, settings.messages, settings.groups
            fill(store, *counts, seed=settings.seed, media_url=media_url)
            await runner.setup()
            await web.SockSite(runner, listener).start()
            self._running = _RunningServer(store, port, resources.pop_all())

    async def close(self) -> None:
        """Stop listening, and drop the data; nothing is done if it is not started."""
        if self._running is not None:
            try:
                await self._running.resources.aclose()
            finally:
                self._running = None

    @property
    def app(self) -> App:
        """The app with the key of scope `fullAccess`, for a session."""
        return App(self._settings.app_id, self._settings.api_key, base_url=self.base_url)

    @property
    def limit(self) -> RateLimit | None:
        """The rate limit that is enforced, for all clients together; None for none.

        It can be replaced while the emulator runs: `emulator.limit = RateLimit(per_window=100)`. The next
        request is the first to use the new one; the counts in `limited` continue.
        """
        return self.limited.limit

    @limit.setter
    def limit(self, limit: RateLimit | None) -> None:
        self.limited.enforce(limit)

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v3`, or with the host that it listens on."""
        return f"{_origin(self._settings.host, self.port)}/v3"

    @property
    def management_url(self) -> str:
        """`http://127.0.0.1:PORT/management`, or with the host that it listens on."""
        return f"{_origin(self._settings.host, self.port)}/management"

    @property
    def port(self) -> int:
        """The port that it listens on; `RequestInvalidError` before `start` and after `close`."""
        return self._started().port

    @property
    def store(self) -> Store:
        """The service's data: to compare with, and to add to while it runs.

        Raises `RequestInvalidError` before `start` and after `close`.
        """
        return self._started().store

    def lose_data(self) -> None:
        """Remove all messages, as if the service had lost its database: ids begin at 1 again.

        Users, groups and keys stay.
        """
        self.store.lose_messages()

    async def post_event(
        self,
        url: str,
        trigger: str = "message_sent",
        data: dict[str, Any] | None = None,
        *,
        username: str = "",
        password: str = "",
    ) -> int:
        """Post an event to a webhook on this machine, once; return the status of the answer.

        `data` is the event's; None sends the record of the newest message, as `{"message": …}`. With a
        username the request has basic authentication.

        Raises `RequestInvalidError` for an address that is not of this machine, and for `data=None` if there
        is no message; `aiohttp.ClientError` or `TimeoutError` if no answer arrives within 2 s.
        """
        if URL(url).scheme not in ("http", "https") or not is_loopback(URL(url).host or ""):
            raise RequestInvalidError(f"url = {url!r}: expected an address of this machine, with http://")
        if data is None:
            if not self.store.last_id:
                raise RequestInvalidError("data = None: there is no message: expected the data of an event")
            [record] = self.store.records([self.store.last_id])
            data = {"message": Raw(record)}
        app = self._settings.app_id
        event = {"trigger": trigger, "data": data, "appId": app, "region": "us", "webhook": "emulated"}
        headers = {"Content-Type": "application/json"}
        if username:
            headers["Authorization"] = encode_basic_auth(username, password)
        async with (
            ClientSession(timeout=ClientTimeout(total=2.0)) as client,
            client.post(url, data=encode(event), headers=headers, allow_redirects=False) as response,
        ):
            return response.status

    def _started(self) -> "_RunningServer":
        if self._running is None:
            raise RequestInvalidError("the emulator is not started: use `async with`, or await start()")
        return self._running

    def __repr__(self) -> str:
        state = "closed" if self._running is None else f"{self.base_url}, {len(self.requests)} requests"
        return f"<Emulator {self._settings.app_id}: {state}>"


class _RunningServer(Struct, frozen=True):
    store: Store
    port: int
    resources: AsyncExitStack


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before there is data: its port is in the addresses of files."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _origin(host: str, port: int) -> str:
    """Return the address for clients on this machine; `0.0.0.0` and `::` listen everywhere."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
