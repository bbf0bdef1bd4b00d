"""Friends of users."""

from collections.abc import Sequence
from typing import Final, final

from msgspec import UNSET

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, Outcomes, each, many
from ..core.requests.endpoint import Endpoint
from ..models.item_ack import ItemAck
from ..models.user import User
from ..queries.friends import FormerFriends, FriendQuery, NewFriends
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "friends.list", "GET", "/users/{uid}/friends", many(User), query=FriendQuery, paging=BY_PAGE
)
ADD: Final = Endpoint(
    "friends.add", "POST", "/users/{uid}/friends", each(ItemAck), "idempotent", body=NewFriends
)
REMOVE: Final = Endpoint(
    "friends.remove", "DELETE", "/users/{uid}/friends", ACK, "idempotent", body=FormerFriends
)


@final
class Friends(Collection):
    """The friends of users: `session.friends`."""

    def list(self, uid: str, query: FriendQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """The friends of a user, in the service's order. One request a page."""
        return self._walk(LIST, query, cursor, uid=uid)

    async def add(
        self, uid: str, accepted: Sequence[str], *, add_to_conversations: bool | None = None
    ) -> Outcomes[ItemAck]:
        """Make users friends of `uid`, and give the outcome of each by uid."""
        wish = UNSET if add_to_conversations is None else add_to_conversations
        return await self._call(ADD, NewFriends(accepted=accepted, add_to_conversations=wish), uid=uid)

    async def remove(self, uid: str, friends: Sequence[str]) -> Ack:
        """End friendships; `NotFoundError` where one of the users is no friend (`ERR_NOT_A_FRIEND`)."""
        return await self._call(REMOVE, FormerFriends(friends=friends), uid=uid)
