"""Users of an app."""

from typing import Any, Final, final

from ..core.cursor import Cursor
from ..core.decode import USER, Many
from ..core.endpoint import Endpoint, Send
from ..models.user import User
from ..queries.users import UserQuery
from ..walk import Walk
from .listing import check_query, walk

LIST: Final = Endpoint(name="users.list", method="GET", path="/users", reply=Many(USER))
ENDPOINTS: Final[tuple[Endpoint[Any], ...]] = (LIST,)


@final
class Users:
    """The users of an app: `session.users`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def list(self, query: UserQuery | None = None, *, cursor: Cursor | str | None = None) -> Walk[User]:
        """GET /users: the users, in the service's order.

        The list goes by page numbers: a user that is made or removed meanwhile may shift others over a
        page's border. A cursor goes on only with the same page size.
        """
        check_query(query, UserQuery)
        call = LIST(query=query)
        return walk(self._send, call, key="uid", size_name="perPage", cursor=cursor, marks=False, pages=True)
