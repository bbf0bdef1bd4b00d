"""Users that are banned from a group."""

from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many
from ..core.requests.endpoint import Endpoint
from ..models.member import Member
from ..queries.pages import PageQuery
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "banned_users.list", "GET", "/groups/{guid}/bannedusers", many(Member), query=PageQuery, paging=BY_PAGE
)
BAN: Final = Endpoint(
    "banned_users.ban", "POST", "/groups/{guid}/bannedusers/{uid}", ACK, "idempotent", acting="optional"
)
UNBAN: Final = Endpoint(
    "banned_users.unban", "DELETE", "/groups/{guid}/bannedusers/{uid}", ACK, "idempotent", acting="optional"
)


@final
class BannedUsers(Collection):
    """The users that are banned from groups: `session.banned_users`."""

    def list(self, guid: str, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[Member]:
        """The users that are banned from a group, in the service's order.

        `banned_at` where the service shows it. One request a page.
        """
        return self._walk(LIST, query, cursor, guid=guid)

    async def ban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Ban a user, who is no member from then on; `ConflictError` for one that is banned already."""
        return await self._call(BAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)

    async def unban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """End a ban; `NotFoundError` for a user that is not banned (`ERR_NOT_A_BANNED_USER`)."""
        return await self._call(UNBAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)
