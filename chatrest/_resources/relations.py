"""Relations of users: friends, blocked users, and users who are banned from groups."""

from collections.abc import Sequence
from typing import Final, final

from msgspec import UNSET

from .._core.replies.decode import ACK, Ack, Outcomes, each, many
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.groups import Member
from .._models.outcomes import ItemAck
from .._models.users import User
from .._parameters.checked import PageQuery
from .._parameters.relations import BlockedUids, FormerFriends, FriendQuery, NewFriends
from .._walk.walk import Walk
from .collection import Collection, Start

FRIENDS_LIST: Final = Endpoint(
    "friends.list", "GET", "/users/{uid}/friends", many(User), query=FriendQuery, paging=BY_PAGE
)
FRIENDS_ADD: Final = Endpoint(
    "friends.add", "POST", "/users/{uid}/friends", each(ItemAck), "idempotent", body=NewFriends
)
FRIENDS_REMOVE: Final = Endpoint(
    "friends.remove", "DELETE", "/users/{uid}/friends", ACK, "idempotent", body=FormerFriends
)


@final
class Friends(Collection):
    """The friends of users: `session.friends`."""

    def list(self, uid: str, query: FriendQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """The friends of a user, in the service's order. One request per page."""
        return self._walk(FRIENDS_LIST, query, cursor, uid=uid)

    async def add(
        self, uid: str, accepted: Sequence[str], *, add_to_conversations: bool | None = None
    ) -> Outcomes[ItemAck]:
        """Make users friends of `uid`, and give the outcome of each by uid."""
        wish = UNSET if add_to_conversations is None else add_to_conversations
        return await self._call(
            FRIENDS_ADD, NewFriends(accepted=accepted, add_to_conversations=wish), uid=uid
        )

    async def remove(self, uid: str, friends: Sequence[str]) -> Ack:
        """End friendships; `NotFoundError` where one of the users is no friend (`ERR_NOT_A_FRIEND`)."""
        return await self._call(FRIENDS_REMOVE, FormerFriends(friends=friends), uid=uid)


# ── blocked users ──

_BLOCKED: Final = "/users/{uid}/blockedusers"

BLOCKED_USERS_LIST: Final = Endpoint(
    "blocked_users.list", "GET", _BLOCKED, many(User), query=PageQuery, paging=BY_PAGE
)
BLOCKED_USERS_BLOCK: Final = Endpoint(
    "blocked_users.block", "POST", _BLOCKED, each(ItemAck), "idempotent", body=BlockedUids
)
BLOCKED_USERS_UNBLOCK: Final = Endpoint(
    "blocked_users.unblock", "DELETE", _BLOCKED, each(ItemAck), "idempotent", body=BlockedUids
)


@final
class BlockedUsers(Collection):
    """The users that users have blocked: `session.blocked_users`."""

    def list(self, uid: str, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[User]:
        """The users that `uid` has blocked, in the service's order. One request per page."""
        return self._walk(BLOCKED_USERS_LIST, query, cursor, uid=uid)

    async def block(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Let `uid` block users, and give the outcome of each; `outcomes.check()` raises for failures."""
        return await self._call(BLOCKED_USERS_BLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)

    async def unblock(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Let `uid` unblock users, and give the outcome of each; `outcomes.check()` raises for failures."""
        return await self._call(BLOCKED_USERS_UNBLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)


# ── banned users ──

BANNED_USERS_LIST: Final = Endpoint(
    "banned_users.list", "GET", "/groups/{guid}/bannedusers", many(Member), query=PageQuery, paging=BY_PAGE
)
BANNED_USERS_BAN: Final = Endpoint(
    "banned_users.ban", "POST", "/groups/{guid}/bannedusers/{uid}", ACK, "idempotent", acting="optional"
)
BANNED_USERS_UNBAN: Final = Endpoint(
    "banned_users.unban", "DELETE", "/groups/{guid}/bannedusers/{uid}", ACK, "idempotent", acting="optional"
)


@final
class BannedUsers(Collection):
    """The users that are banned from groups: `session.banned_users`."""

    def list(self, guid: str, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[Member]:
        """The users that are banned from a group, in the service's order.

        `banned_at` where the service shows it. One request per page.
        """
        return self._walk(BANNED_USERS_LIST, query, cursor, guid=guid)

    async def ban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Ban a user, who is no member from then on; `ConflictError` for one that is banned already."""
        return await self._call(BANNED_USERS_BAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)

    async def unban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """End a ban; `NotFoundError` for a user that is not banned (`ERR_NOT_A_BANNED_USER`)."""
        return await self._call(BANNED_USERS_UNBAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)
