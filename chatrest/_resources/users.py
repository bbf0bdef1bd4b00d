"""Users of an app, their login tokens, their friends, and the users whom they block.

Methods that take a token are plain functions: a coroutine's frame would hold it as long as the call runs.
"""

from collections.abc import Awaitable, Sequence
from typing import Any, Final, final

from .._core.replies.decode import ACK, Ack, Outcomes, each, many, one
from .._core.replies.outcomes import outcomes_of
from .._core.requests.arguments import hides_arguments
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.outcomes import ItemAck
from .._models.users import AuthToken, DeactivatedUsers, ReactivatedUsers, User
from .._parameters.checked import PageQuery
from .._parameters.users import (
    BlockedUids,
    Deactivation,
    Deletion,
    FormerFriends,
    FriendQuery,
    NewFriends,
    NewToken,
    NewUser,
    Reactivation,
    TokenChanges,
    UserChanges,
    UserQuery,
)
from .._walk.walk import Walk
from .collection import Collection, WalkStart, crud_endpoints


def _reactivated(reply: Any) -> dict[str, Any] | None:
    """Return the record for `{success: {uid: {success}}}`, with which some services acknowledge the call."""
    outcomes = outcomes_of(reply).items()
    return {"nonDeactivatedUids": [uid for uid, outcome in outcomes if outcome["success"]]}


USERS_LIST: Final = Endpoint("users.list", "GET", "/users", many(User), query=UserQuery, paging=BY_PAGE)
USERS_GET: Final = Endpoint("users.get", "GET", "/users/{uid}", one(User), acting="optional")
USERS_CREATE: Final = Endpoint(
    "users.create", "POST", "/users", one(User), "never", body=NewUser, rate_class="core"
)
USERS_UPDATE: Final = Endpoint(
    "users.update", "PUT", "/users/{uid}", one(User), "idempotent", body=UserChanges
)
USERS_DELETE: Final = Endpoint(
    "users.delete", "DELETE", "/users/{uid}", ACK, "idempotent", body=Deletion, rate_class="core"
)
USERS_DEACTIVATE: Final = Endpoint(
    "users.deactivate", "DELETE", "/users", one(DeactivatedUsers), "idempotent", body=Deactivation
)
USERS_REACTIVATE: Final = Endpoint(
    "users.reactivate", "PUT", "/users", one(ReactivatedUsers, _reactivated), "idempotent", body=Reactivation
)


@final
class Users(Collection):
    """The users of an app: `session.users`."""

    def list(self, query: UserQuery | None = None, *, cursor: WalkStart = None) -> Walk[User]:
        """The users that `query` selects. One request per page.

        The list has page numbers: a user that is created or deleted meanwhile may move others over the border
        of a page, so that the walk misses or repeats them. A cursor continues only with the same page size.
        """
        return self._walk(USERS_LIST, query, cursor)

    async def get(self, uid: str, *, on_behalf_of: str | None = None) -> User:
        """A user, as the acting user sees it; `NotFoundError` if there is none or it is deactivated."""
        return await self._call(USERS_GET, on_behalf_of=on_behalf_of, uid=uid)

    async def create(self, user: NewUser) -> User:
        """Create a user, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(USERS_CREATE, user)

    async def update(self, uid: str, changes: UserChanges) -> User:
        """Change a user, and return it; `NotFoundError` if there is none."""
        return await self._call(USERS_UPDATE, changes, uid=uid)

    async def delete(self, uid: str, *, permanent: bool | None = None) -> Ack:
        """Deactivate a user, or delete it with `permanent=True`; `NotFoundError` if there is none."""
        return await self._call(USERS_DELETE, Deletion(permanent=permanent), uid=uid)

    async def deactivate(self, uids_to_deactivate: Sequence[str]) -> DeactivatedUsers:
        """Deactivate users, and return the uids of those that were deactivated."""
        return await self._call(USERS_DEACTIVATE, Deactivation(uids_to_deactivate=uids_to_deactivate))

    async def reactivate(self, uids_to_activate: Sequence[str]) -> ReactivatedUsers:
        """Reactivate users, and return the uids of those that are active."""
        return await self._call(USERS_REACTIVATE, Reactivation(uids_to_activate=uids_to_activate))


AUTH_TOKENS: Final = crud_endpoints(
    "auth_tokens.{}", "/users/{uid}/auth_tokens", "authToken", AuthToken, NewToken, TokenChanges,
    list_options={"query": PageQuery, "paging": BY_PAGE},
)  # fmt: skip
AUTH_TOKENS_FLUSH: Final = Endpoint(
    "auth_tokens.flush", "DELETE", "/users/{uid}/auth_tokens", ACK, "idempotent"
)


@final
class AuthTokens(Collection):
    """The login tokens of users: `session.auth_tokens`. No cursor contains a token."""

    def list(self, uid: str, query: PageQuery | None = None, *, cursor: WalkStart = None) -> Walk[AuthToken]:
        """The login tokens of a user. One request per page; `NotFoundError` if there is no such user."""
        return self._walk(AUTH_TOKENS.list, query, cursor, uid=uid)

    @hides_arguments
    def get(self, uid: str, auth_token: str) -> Awaitable[AuthToken]:
        """A login token of a user; `NotFoundError` if there is none."""
        return self._call(AUTH_TOKENS.get, uid=uid, authToken=auth_token)

    async def create(self, uid: str, *, force: bool | None = None) -> AuthToken:
        """Return a login token for a user; `NotFoundError` if there is no such user.

        With `force=True` it is a new one; without it, the service may return one that exists already. Sent
        once: `OutcomeUnknownError` if no reply came and a token may have been created.
        """
        return await self._call(AUTH_TOKENS.create, NewToken(force=force), uid=uid)

    @hides_arguments
    def update(self, uid: str, auth_token: str, changes: TokenChanges) -> Awaitable[AuthToken]:
        """Change the platform and the device of a token, and return it; `NotFoundError` if there is none."""
        return self._call(AUTH_TOKENS.update, changes, uid=uid, authToken=auth_token)

    @hides_arguments
    def delete(self, uid: str, auth_token: str) -> Awaitable[Ack]:
        """Delete a login token, with which no client can log in again; `NotFoundError` if there is none."""
        return self._call(AUTH_TOKENS.delete, uid=uid, authToken=auth_token)

    async def flush(self, uid: str) -> Ack:
        """Delete all login tokens of a user; `NotFoundError` if there is no such user."""
        return await self._call(AUTH_TOKENS_FLUSH, uid=uid)


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

    def list(self, uid: str, query: FriendQuery | None = None, *, cursor: WalkStart = None) -> Walk[User]:
        """The friends of a user. One request per page; `NotFoundError` if there is no such user."""
        return self._walk(FRIENDS_LIST, query, cursor, uid=uid)

    async def add(
        self, uid: str, accepted: Sequence[str], *, add_to_conversations: bool | None = None
    ) -> Outcomes[ItemAck]:
        """Make users friends of `uid`, and return the outcome of each by its uid.

        `add_to_conversations=True` also makes a conversation with each; None leaves it to the service, which
        makes none. `outcomes.check()` raises if one failed; `NotFoundError` if there is no user `uid`.
        """
        body = NewFriends(accepted=accepted, add_to_conversations=add_to_conversations)
        return await self._call(FRIENDS_ADD, body, uid=uid)

    async def remove(self, uid: str, friends: Sequence[str]) -> Ack:
        """End friendships; `NotFoundError` (`ERR_NOT_A_FRIEND`) if one of `friends` is no friend."""
        return await self._call(FRIENDS_REMOVE, FormerFriends(friends=friends), uid=uid)


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
    """The users that users have blocked: `session.blocked_users`; `NotFoundError` for no user `uid`."""

    def list(self, uid: str, query: PageQuery | None = None, *, cursor: WalkStart = None) -> Walk[User]:
        """The users that a user has blocked. One request per page; `NotFoundError` if there is no user."""
        return self._walk(BLOCKED_USERS_LIST, query, cursor, uid=uid)

    async def block(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Block users for `uid`; the outcome of each by its uid: `outcomes.check()` raises if one failed."""
        return await self._call(BLOCKED_USERS_BLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)

    async def unblock(self, uid: str, blocked_uids: Sequence[str]) -> Outcomes[ItemAck]:
        """Unblock users for `uid`; the outcome of each by uid: `outcomes.check()` raises if one failed."""
        return await self._call(BLOCKED_USERS_UNBLOCK, BlockedUids(blocked_uids=blocked_uids), uid=uid)
