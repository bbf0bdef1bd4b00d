"""Users of an app."""

from collections.abc import Sequence
from typing import Any, Final, final

from msgspec import UNSET

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.replies.outcomes import outcomes_of
from ..core.requests.endpoint import Endpoint
from ..models.user import DeactivatedUsers, ReactivatedUsers, User
from ..queries.users import Deactivation, Deletion, NewUser, Reactivation, UserChanges, UserQuery
from ..walk.walk import Walk
from .collection import Collection, Start


def _reactivated(reply: Any) -> dict[str, Any] | None:
    """The record for `{success: {uid: {success}}}`, as some services acknowledge it."""
    outcomes = outcomes_of(reply).items()
    return {"nonDeactivatedUids": [uid for uid, outcome in outcomes if outcome["success"]]}


LIST: Final = Endpoint("users.list", "GET", "/users", many(User), query=UserQuery, paging=BY_PAGE)
GET: Final = Endpoint("users.get", "GET", "/users/{uid}", one(User), acting="optional")
CREATE: Final = Endpoint(
    "users.create", "POST", "/users", one(User), "never", body=NewUser, rate_class="core"
)
UPDATE: Final = Endpoint("users.update", "PUT", "/users/{uid}", one(User), "idempotent", body=UserChanges)
DELETE: Final = Endpoint(
    "users.delete", "DELETE", "/users/{uid}", ACK, "idempotent", body=Deletion, rate_class="core"
)
DEACTIVATE: Final = Endpoint(
    "users.deactivate", "DELETE", "/users", one(DeactivatedUsers), "idempotent", body=Deactivation
)
REACTIVATE: Final = Endpoint(
    "users.reactivate", "PUT", "/users", one(ReactivatedUsers, _reactivated), "idempotent", body=Reactivation
)


@final
class Users(Collection):
    """The users of an app: `session.users`."""

    def list(self, query: UserQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """GET /users: the users, in the service's order. One request a page.

        The list goes by page numbers: a user that is made or removed meanwhile may shift others over a page's
        border. A cursor goes on only with the same page size.
        """
        return self._walk(LIST, query, cursor)

    async def get(self, uid: str, *, on_behalf_of: str | None = None) -> User:
        """A user, as the acting user sees it; `NotFoundError` for one that is switched off, too."""
        return await self._call(GET, on_behalf_of=on_behalf_of, uid=uid)

    async def create(self, user: NewUser) -> User:
        """Make a user and return it, with a login token where the body asks for one.

        Sent once: where no reply came and the user may have been made, `OutcomeUnknownError`.
        """
        return await self._call(CREATE, user)

    async def update(self, uid: str, changes: UserChanges) -> User:
        """Change a user and return it; `NotFoundError` for no such user."""
        return await self._call(UPDATE, changes, uid=uid)

    async def delete(self, uid: str, *, permanent: bool | None = None) -> Ack:
        """Delete a user: switch it off, or remove it for good with `permanent=True`."""
        return await self._call(
            DELETE, Deletion(permanent=UNSET if permanent is None else permanent), uid=uid
        )

    async def deactivate(self, uids_to_deactivate: Sequence[str]) -> DeactivatedUsers:
        """Switch users off, and return the uids of those that were."""
        return await self._call(DEACTIVATE, Deactivation(uids_to_deactivate=uids_to_deactivate))

    async def reactivate(self, uids_to_activate: Sequence[str]) -> ReactivatedUsers:
        """Switch users on, and return the uids of those that are."""
        return await self._call(REACTIVATE, Reactivation(uids_to_activate=uids_to_activate))
