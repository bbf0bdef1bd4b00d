"""The two entrances to the service: the collections of one app, and those of an account that has apps."""

from typing import TYPE_CHECKING, Any, Final, Self, Unpack, final

from ._core.requests.arguments import check_unquoted, hides_arguments
from ._core.requests.endpoint import check_acting_user
from ._core.requests.wire import Headers
from ._fan_out.stream import fan_out as _fan_out
from ._network.session_options import ClientOptions, Destination
from ._network.view import ClientView
from ._resources import LazyCollection
from .app import App, check_key, check_url
from .errors import RequestInvalidError

if TYPE_CHECKING:  # a collection's module is loaded when its attribute is first used
    from ._resources.agents import Agents
    from ._resources.apps import ApiKeys, Apps, Metrics
    from ._resources.calls import Calls
    from ._resources.conversations import Conversations
    from ._resources.data_import import DataImport
    from ._resources.groups import BannedUsers, Groups, Members
    from ._resources.messages import Messages
    from ._resources.moderation import Moderation
    from ._resources.notifications import Notifications
    from ._resources.roles import Rbac, RestrictedFeatures, Roles
    from ._resources.users import AuthTokens, BlockedUsers, Friends, Users
    from ._resources.webhooks import Triggers, Webhooks


@final
class AsyncSession(ClientView):
    """Calls to the chat service as one app, used with `async with`; leaving the block closes all connections.

    The options are keyword arguments, here with their defaults:

    - `concurrency` (100): the number of requests at the same time, per region. Further calls wait for a
      place, as long as their deadline allows.
    - `deadline` (None, no limit): seconds for a whole call, with all of its waits and attempts. After them
      it is a `DeadlineExceededError`; so is a call, at once, that would have to wait for longer than it has.
    - `timeouts` (`Timeouts()`, 10 s to connect and 60 s in all): seconds for one attempt. A late one has
      failed with a `ConnectError` or `RequestTimeoutError`, and is repeated as `retry` says.
    - `retry` (`RetryPolicy()`, 5 attempts): which failed attempts are repeated, and after which pause.
    - `pace` (`Pace()`): the rate of requests. By default the limit of each app is learnt from its replies;
      calls beyond it wait.
    - `priority` ("interactive"): "bulk" lets interactive calls go first, and leaves them a tenth of the
      places.
    - `headers` (None): sent with every request; their values are hidden like the key.
    - `max_reply_bytes` (64 MiB): the size of a reply, before and after decompression. A larger one is a
      `ReplyUnreadableError`.
    - `telemetry` (none): a listener or several of them, see the page `telemetry` of the guide.
    - `verify` (True): True, or an `ssl.SSLContext`.
    - `proxy` (None): the http or https URL of a proxy; the environment is not read. A request to an http
      address goes through one on loopback only.
    - `cursor_key` (None): bytes that sign cursor tokens, best 32 random ones. With a key, any other token is
      a `CursorError`.
    - `check_acting_user` (True): a list that shows that the service ignored `onBehalfOf` is an
      `ActingUserIgnoredError`. False makes it a warning.
    - `clock`, `sleep`, `dice` (`time.monotonic`, `asyncio.sleep`, `random.random`): tests replace them. A
      clock that is given is the time of exports, too: it returns epoch seconds.

    A session belongs to the event loop that opened it: each loop, thread and process needs its own. Raises
    `RequestInvalidError` if an argument is wrong, and `TypeError` for an option that does not exist.
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
        """Return a view for another app, which uses the pool of that app's region.

        Raises `RequestInvalidError` for an `app` that is no `App`, or that has no address.
        """
        return self._view(destination=_destination(app))

    def as_user(self, uid: str) -> Self:
        """Return a view whose calls act on behalf of `uid`: the header `onBehalfOf` (Authentication 8).

        Operations without an acting user are sent without it. Raises `RequestInvalidError` for a wrong `uid`.
        """
        if uid is None:
            raise RequestInvalidError("uid = None: expected a user's uid")
        return self._view(acting_user=check_acting_user(uid, "uid"))

    fan_out = _fan_out

    # One attribute per collection, in alphabetical order.
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

    `url` is https, or http to loopback; with `allow_http` http to any host. The options are those of
    `AsyncSession`, with the same defaults but for `concurrency`, which is 10. Raises `RequestInvalidError` if
    an argument is wrong, and `TypeError` for an option that does not exist. Errors and reprs never contain a
    key.
    """

    @hides_arguments
    def __init__(
        self, url: str, *, key: str, secret: str, allow_http: bool = False, **options: Unpack[ClientOptions]
    ) -> None:
        keys = Headers(key=check_key("key", key), secret=check_key("secret", secret))
        address = check_url("url", url, allow_http=allow_http, secrets=(key, secret))
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
