"""The management interface: calls with an account's address and keys (Authentication 6)."""

from typing import TYPE_CHECKING, Any, Final, Self, Unpack, final

from ._core.requests.arguments import hides_arguments
from ._core.requests.wire import Headers
from ._fan_out.stream import fan_out as _fan_out
from ._network.options import ClientOptions, Destination
from ._network.view import ClientView
from ._resources import LazyCollection
from .app import check_key, check_url
from .errors import RequestInvalidError

if TYPE_CHECKING:  # a collection's module is loaded when its attribute is first used
    from ._resources.apps import Apps, Triggers, Webhooks

NAME: Final = "management"
"""The name of the pool, and the app id in telemetry and cursors."""
_CONCURRENCY: Final = 10


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
        options.setdefault("concurrency", _CONCURRENCY)
        super().__init__(
            Destination(app_id=NAME, region=NAME, addresses={"management": address}, keys=keys), options
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

    # One attribute per collection, in the order of the alphabet; it has the name of its module.
    apps: "LazyCollection[Apps]" = LazyCollection()
    """Apps of the account: list, make."""
    triggers: "LazyCollection[Triggers]" = LazyCollection()
    """Events that a webhook receives."""
    webhooks: "LazyCollection[Webhooks]" = LazyCollection()
    """Webhooks of an app: list, make, change, delete."""
