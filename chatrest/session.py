"""The two doors to the service: the collections of one app, and those of an account that has apps."""

from typing import TYPE_CHECKING, Any, Final, Self, Unpack, final

from ._core.requests.arguments import check_unquoted, hides_arguments
from ._core.requests.endpoint import check_acting_user
from ._core.requests.wire import Headers
from ._fan_out.stream import fan_out as _fan_out
from ._network.options import ClientOptions, Destination
from ._network.view import ClientView
from ._resources import LazyCollection
from .app import App, check_key, check_url
from .errors import RequestInvalidError

if TYPE_CHECKING:  # a collection's module is loaded when its attribute is first used
    from ._resources.agents import Agents
    from ._resources.apps import ApiKeys, Apps, DataImport, Metrics, Triggers, Webhooks
    from ._resources.conversations import Calls, Conversations
    from ._resources.groups import BannedUsers, Groups, Members
    from ._resources.messages import Messages
    from ._resources.moderation import Moderation
    from ._resources.notifications import Notifications
    from ._resources.roles import Rbac, RestrictedFeatures, Roles
    from ._resources.users import AuthTokens, BlockedUsers, Friends, Users


@final
class AsyncSession(ClientView):
    """Calls to the chat service, used with `async with`, whose end closes all connections.

    - `concurrency` (100): the number of requests at the same time, per region.
    - `timeouts` limit one attempt, `deadline` a whole call, in seconds.
    - `retry`: the policy for failed attempts; `pace`: the rate of calls.
    - `priority`: "interactive" (the default) or "bulk", which lets interactive calls go first.
    - `headers` are sent with every request, and their values are secrets like the key; `max_reply_bytes` (64
      MiB) limits the size of a reply, before and after decompression.
    - `telemetry`: one listener or several, see the page `telemetry` of the guide.
    - `verify`: True, or an `ssl.SSLContext`; `proxy`: the URL of a proxy, https or http (the environment is
      not read). A request to an http address goes through one on loopback only.
    - `cursor_key`: bytes that sign cursor tokens (32 random ones are best); other tokens are an error.
    - `check_acting_user` (True): a list that shows that the service ignored `onBehalfOf` is an
      `ActingUserIgnoredError`; False: a warning.
    - `clock`, `sleep`, `dice`: by default time.monotonic, asyncio.sleep and random.random; tests replace
      them. A clock that is given is the time of exports, too: it gives epoch seconds.

    A session belongs to the event loop that opened it. Raises `RequestInvalidError` if an argument is wrong.
    """

    @hides_arguments
    def __init__(self, app: App, **options: Unpack[ClientOptions]) -> None:
        super().__init__(_destination(app), options)

    def __repr__(self) -> str:
        if "_client" not in vars(self):  # a traceback shows what was never finished, too
            return "<AsyncSession, not made>"
        acting_user = f" as {self._options.acting_user}" if self._options.acting_user is not None else ""
        pools = ", ".join(map(repr, self.pools.values()))
        return f"<AsyncSession of {self.app.app_id}{acting_user}{f': {pools}' if pools else ''}>"

    @property
    def app(self) -> App:
        """The app of all calls of this view."""
        app = self._options.destination.app
        assert app is not None
        return app

    @hides_arguments
    def for_app(self, app: App) -> Self:
        """Return a view for another app, which uses the pool of that app's region."""
        return self._view(destination=_destination(app))

    def as_user(self, uid: str) -> Self:
        """Return a view whose calls act on behalf of `uid`: the header `onBehalfOf` (Authentication 8)."""
        if uid is None:
            raise RequestInvalidError("uid = None: expected a user's uid")
        return self._view(acting_user=check_acting_user(uid, "uid"))

    fan_out = _fan_out

    # One attribute per collection, in the order of the alphabet; it has the name of its module.
    agents: "LazyCollection[Agents]" = LazyCollection()
    """Agents of the app, their tools and what they know."""
    api_keys: "LazyCollection[ApiKeys]" = LazyCollection()
    """Keys of the app's interface: list, make, change, delete."""
    auth_tokens: "LazyCollection[AuthTokens]" = LazyCollection()
    """Login tokens of end users."""
    banned_users: "LazyCollection[BannedUsers]" = LazyCollection()
    """Users who are banned from a group."""
    blocked_users: "LazyCollection[BlockedUsers]" = LazyCollection()
    """Users whom a user blocks."""
    calls: "LazyCollection[Calls]" = LazyCollection()
    """Audio and video calls that were made."""
    conversations: "LazyCollection[Conversations]" = LazyCollection()
    """Conversations of the acting user: list, count unread, mark as read or delivered, pin, tag."""
    data_import: "LazyCollection[DataImport]" = LazyCollection()
    """Users, groups, members and messages of another system, in bulk."""
    friends: "LazyCollection[Friends]" = LazyCollection()
    """Friends of a user."""
    groups: "LazyCollection[Groups]" = LazyCollection()
    """Groups: list, make, change, delete."""
    members: "LazyCollection[Members]" = LazyCollection()
    """Members of a group, and their scopes."""
    messages: "LazyCollection[Messages]" = LazyCollection()
    """Messages: list, search, send, edit, delete, react, pin, save."""
    metrics: "LazyCollection[Metrics]" = LazyCollection()
    """Figures of the app's use."""
    moderation: "LazyCollection[Moderation]" = LazyCollection()
    """Rules and keyword lists, and messages that are blocked or flagged."""
    notifications: "LazyCollection[Notifications]" = LazyCollection()
    """Push, e-mail and SMS: providers, preferences, tokens of devices, log."""
    rbac: "LazyCollection[Rbac]" = LazyCollection()
    """Permissions of roles."""
    restricted_features: "LazyCollection[RestrictedFeatures]" = LazyCollection()
    """Features of the app that are switched off."""
    roles: "LazyCollection[Roles]" = LazyCollection()
    """Roles of users."""
    users: "LazyCollection[Users]" = LazyCollection()
    """Users: list, make, change, delete, switch off and on."""


def _destination(app: object) -> Destination:
    check_unquoted(isinstance(app, App), "app", app, "an App")
    assert isinstance(app, App)
    return Destination(
        app_id=app.app_id,
        region=app.region,
        addresses={"chat": app.chat_url, "calls": app.calls_url},  # raises for an app without an address
        keys=Headers(apikey=app.api_key),
        app=app,
    )


_MANAGEMENT: Final = "management"
"""The name of the pool, and the app id in telemetry and cursors."""


@final
class AsyncManagement(ClientView):
    """Calls to the management interface at `url` with its two keys, used with `async with`.

    `url` is https, or http to loopback; with `allow_http` to any host, as that of `App`. The other arguments
    are those of `AsyncSession`; `concurrency` is 10 by default. Raises `RequestInvalidError` if an argument
    is wrong; errors and reprs never contain a key.
    """

    @hides_arguments
    def __init__(
        self, url: str, *, key: str, secret: str, allow_http: bool = False, **options: Unpack[ClientOptions]
    ) -> None:
        address = check_url("url", url, allow_http=allow_http)
        keys = Headers(key=check_key("key", key), secret=check_key("secret", secret))
        options.setdefault("concurrency", 10)
        super().__init__(
            Destination(app_id=_MANAGEMENT, region=_MANAGEMENT, addresses={"management": address}, keys=keys),
            options,
        )

    def __repr__(self) -> str:
        if "_client" not in vars(self):  # a traceback shows what was never finished, too
            return "<AsyncManagement, not made>"
        return f"<AsyncManagement at {self._options.destination.addresses['management']}>"

    fan_out = _fan_out

    def _view(self, **changes: Any) -> Self:
        if changes.get("acting_user") is not None:
            raise RequestInvalidError("on_behalf_of: the management interface has no acting users")
        return super()._view(**changes)

    apps: "LazyCollection[Apps]" = LazyCollection()
    """Apps of the account: list, make."""
    triggers: "LazyCollection[Triggers]" = LazyCollection()
    """Events that a webhook receives."""
    webhooks: "LazyCollection[Webhooks]" = LazyCollection()
    """Webhooks of an app: list, make, change, delete."""
