"""Users that a user has blocked."""

from collections.abc import Sequence
from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import Outcomes, each, many
from ..core.requests.endpoint import Endpoint
from ..models.item_ack import ItemAck
from ..models.user import User
from ..queries.blocked_users import BlockedUids
from ..queries.pages import PageQuery
from ..walk.walk import Walk
from .collection import Collection, Start

_PATH: Final = "/users/{uid}/blockedusers"

LIST: Final = Endpoint("blocked_users.list", "GET", _PATH, many(User), query=PageQuery, paging=BY_PAGE)
BLOCK: Final = Endpoint("blocked_users.block", "POST", _PATH, each(ItemAck), "idempotent", body=BlockedUids)
UNBLOCK: Final = Endpoint(
    "blocked_users.unblock", "DELETE", _PATH, each(ItemAck), "idempotent", body=BlockedUids
)


@final
class BlockedUsers(Collection):
    """The users that users have blocked: `session.blocked_users`."""

    def list(self, uid: str, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """The users that `uid` has blocked, in the service's order. One request a page."""
        return self._walk(LIST, query, cursor, uid=uid)

    async def block(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Let `uid` block users, and give the outcome of each; `outcomes.check()` raises for failures."""
        return await self._call(BLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)

    async def unblock(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Let `uid` unblock users, and give the outcome of each; `outcomes.check()` raises for failures."""
        return await self._call(UNBLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)
