"""Applications of an account, on the management interface."""

from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import many, one
from ..core.requests.endpoint import Endpoint
from ..models.app import AppInfo
from ..queries.apps import AppQuery, NewApp
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "apps.list", "GET", "/apps", many(AppInfo), query=AppQuery, paging=BY_PAGE, interface="management"
)
CREATE: Final = Endpoint(
    "apps.create", "POST", "/apps", one(AppInfo), "never", body=NewApp, interface="management"
)


@final
class Apps(Collection):
    """The applications of an account: `management.apps`."""

    def list(self, query: AppQuery | None = None, *, cursor: Start = None) -> Walk[AppInfo]:
        """GET {management_base_url}/apps: the applications, in the service's order. One request a page."""
        return self._walk(LIST, query, cursor)

    async def create(self, app: NewApp) -> AppInfo:
        """Make an application, and return it with its keys. Sent once."""
        return await self._call(CREATE, app)
