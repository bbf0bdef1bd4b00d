"""Users of an app."""

from typing import Final, final

from ..core.decode import many
from ..core.endpoint import Endpoint
from ..core.paging import BY_PAGE
from ..models.user import User
from ..queries.users import UserQuery
from ..walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint("users.list", "GET", "/users", many(User), query=UserQuery, paging=BY_PAGE)


@final
class Users(Collection):
    """The users of an app: `session.users`."""

    def list(self, query: UserQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """GET /users: the users, in the service's order. One request a page.

        The list goes by page numbers: a user that is made or removed meanwhile may shift others over a page's
        border. A cursor goes on only with the same page size.
        """
        return self._walk(LIST, query, cursor)
