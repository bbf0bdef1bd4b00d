"""The session: the collections of one app, as one user, on one set of options."""

from typing import Self, Unpack, final

from .core.arguments import check_unquoted, hides_arguments
from .core.endpoint import check_acting_user
from .core.hosts import App
from .core.wire import Headers
from .errors import RequestInvalidError
from .network.options import ClientOptions, Destination
from .network.view import ClientView
from .resources.auth_tokens import AuthTokens
from .resources.collection import collection
from .resources.members import Members
from .resources.messages import Messages
from .resources.users import Users


@final
class AsyncSession(ClientView):
    """Calls to the chat service. Use it with `async with`: leaving it closes every connection.

    - `concurrency` (100): how many requests run at once, per region.
    - `timeouts` bound one attempt, `deadline` a call as a whole, in seconds.
    - `retry`: how a failed attempt is repeated; `pace`: how fast calls go.
    - `priority="bulk"` lets interactive calls go first.
    - `headers` go with every request, and their values are secrets like the key; `max_reply_bytes` (64 MiB)
      caps a reply, before and after decompression.
    - `telemetry`: a listener, or several; see `chatrest.telemetry`.
    - `arrays` ("comma"): how lists travel in a query, `comma`, `repeat` or `brackets`.
    - `verify`: True, or an `ssl.SSLContext`; `proxy`: an address (the environment is not read).
    - `cursor_key`: bytes that sign the tokens of cursors (32 random ones are best); other tokens are refused.
    - `clock`, `sleep`, `dice`: time.monotonic, asyncio.sleep, random.random, for tests to replace.

    A session belongs to the event loop that it was opened in. Raises `RequestInvalidError` where an argument
    is wrong.
    """

    @hides_arguments
    def __init__(self, app: App, **options: Unpack[ClientOptions]) -> None:
        super().__init__(_destination(app), options)

    def __repr__(self) -> str:
        if "_client" not in vars(self):  # a traceback shows what was never finished, too
            return "<AsyncSession, not made>"
        acting_user = f" as {self._options.acting_user}" if self._options.acting_user is not None else ""
        return f"<AsyncSession of {self.app.app_id}{acting_user}: {list(self.pools.values())}>"

    @property
    def app(self) -> App:
        """The app that calls go to."""
        app = self._options.destination.app
        assert app is not None
        return app

    @hides_arguments
    def for_app(self, app: App) -> Self:
        """Return a view that calls another app, in its own region's pool."""
        return self._view(destination=_destination(app))

    @hides_arguments
    def as_user(self, uid: str) -> Self:
        """Return a view whose calls act as `uid`: the header `onBehalfOf` (Authentication 8)."""
        if uid is None:
            raise RequestInvalidError("uid = None: allowed is a user's uid")
        return self._view(acting_user=check_acting_user(uid, "uid"))

    auth_tokens = collection(AuthTokens)
    members = collection(Members)
    messages = collection(Messages)
    users = collection(Users)


def _destination(app: object) -> Destination:
    check_unquoted(isinstance(app, App), "app", app, "an App")
    assert isinstance(app, App)
    return Destination(
        app_id=app.app_id,
        region=app.region,
        addresses={"chat": app.chat_url, "calls": app.calls_url},  # an app without an address is refused here
        keys=Headers(apikey=app.api_key),
        app=app,
    )
