"""Applications of an account, on the management interface."""

from typing import Any, Final, final

from ..core.cursor import Cursor
from ..core.decode import APP_INFO, Many
from ..core.endpoint import Endpoint, Send
from ..models.app import AppInfo
from ..queries.apps import AppQuery
from ..walk import Walk
from .listing import check_query, walk

LIST: Final = Endpoint(
    name="apps.list", method="GET", path="/apps", reply=Many(APP_INFO), interface="management"
)
ENDPOINTS: Final[tuple[Endpoint[Any], ...]] = (LIST,)


@final
class Apps:
    """The applications of an account: `management.apps`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def list(self, query: AppQuery | None = None, *, cursor: Cursor | str | None = None) -> Walk[AppInfo]:
        """GET {management_base_url}/apps: the applications, in the service's order."""
        check_query(query, AppQuery)
        call = LIST(query=query)
        return walk(self._send, call, key="id", size_name="perPage", cursor=cursor, marks=False, pages=True)
