"""Groups of an app, their members, and the users who are banned from them."""

from typing import Any, Final, final

from msgspec import structs

from .._core.replies.decode import ACK, Ack, Outcomes, each, many, one
from .._core.replies.outcomes import outcomes_of
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.messages import AddedMember
from .._models.users import Group, Member, MemberScope
from .._parameters.checked import PageQuery
from .._parameters.users import (
    GroupChanges,
    GroupQuery,
    MemberQuery,
    NewGroup,
    NewMembers,
    NewScope,
    ScopeName,
)
from .._walk.walk import Walk
from .collection import Collection, WalkStart, crud_endpoints

GROUPS: Final = crud_endpoints(
    "groups.{}", "/groups", "guid", Group, NewGroup, GroupChanges, acting="optional",
    list_options={"query": GroupQuery, "paging": BY_PAGE}, create_options={"rate_class": "core"},
)  # fmt: skip


@final
class Groups(Collection):
    """The groups of an app: `session.groups`."""

    def list(
        self, query: GroupQuery | None = None, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[Group]:
        """The groups that `query` selects. One request per page.

        The list has page numbers, also from `updated_at` on: positions by time could miss groups that were
        changed in the same second.
        """
        return self._walk(GROUPS.list, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, guid: str, *, on_behalf_of: str | None = None) -> Group:
        """A group, as the acting user sees it; `NotFoundError` if there is none."""
        return await self._call(GROUPS.get, on_behalf_of=on_behalf_of, guid=guid)

    async def create(self, group: NewGroup, *, on_behalf_of: str | None = None) -> Group:
        """Create a group, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(GROUPS.create, group, on_behalf_of=on_behalf_of)

    async def update(self, guid: str, changes: GroupChanges, *, on_behalf_of: str | None = None) -> Group:
        """Change a group, and return it; `NotFoundError` if there is none."""
        return await self._call(GROUPS.update, changes, on_behalf_of=on_behalf_of, guid=guid)

    async def delete(self, guid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Delete a group; `NotFoundError` if there is none."""
        return await self._call(GROUPS.delete, on_behalf_of=on_behalf_of, guid=guid)


def _scope_of_ack(reply: Any) -> dict[str, Any] | None:
    """Return the record, without a scope, for `{group, success: {uid: {success}}}`, as services may reply."""
    (uid, outcome), *others = outcomes_of(reply).items()
    return None if others or not outcome["success"] else {"guid": "", "uid": uid, "scope": ""}


MEMBERS_LIST: Final = Endpoint(
    "members.list", "GET", "/groups/{guid}/members", many(Member), query=MemberQuery, paging=BY_PAGE
)
MEMBERS_ADD: Final = Endpoint(
    "members.add", "POST", "/groups/{guid}/members", each(AddedMember), "never",
    body=NewMembers, acting="optional",
)  # fmt: skip
MEMBERS_CHANGE_SCOPE: Final = Endpoint(
    "members.change_scope", "PUT", "/groups/{guid}/members/{uid}", one(MemberScope, _scope_of_ack),
    "idempotent", body=NewScope, acting="optional",
)  # fmt: skip
MEMBERS_KICK: Final = Endpoint(
    "members.kick", "DELETE", "/groups/{guid}/members/{uid}", ACK, "idempotent", acting="optional"
)


@final
class Members(Collection):
    """The members of groups, each with a scope: `session.members`; `NotFoundError` for no such group."""

    def list(self, guid: str, query: MemberQuery | None = None, *, cursor: WalkStart = None) -> Walk[Member]:
        """The members of a group. One request per page; `NotFoundError` if there is no such group."""
        return self._walk(MEMBERS_LIST, query, cursor, guid=guid)

    async def add(
        self, guid: str, members: NewMembers, *, on_behalf_of: str | None = None
    ) -> Outcomes[AddedMember]:
        """Add users to a group by scope, ban others, and return the outcome of each by its uid.

        `outcomes.check()` raises if one failed; `NotFoundError` if there is no such group. Sent once:
        `OutcomeUnknownError` if no reply came.
        """
        return await self._call(MEMBERS_ADD, members, on_behalf_of=on_behalf_of, guid=guid)

    async def change_scope(
        self, guid: str, uid: str, scope: ScopeName, *, on_behalf_of: str | None = None
    ) -> MemberScope:
        """Give a member another scope, and return it; `ConflictError` (`ERR_SAME_SCOPE`) for the same one."""
        changed = await self._call(
            MEMBERS_CHANGE_SCOPE, NewScope(scope=scope), on_behalf_of=on_behalf_of, guid=guid, uid=uid
        )
        return structs.replace(changed, guid=changed.guid or guid, scope=changed.scope or scope)

    async def kick(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Remove a member; `PermissionDeniedError` (`ERR_NOT_A_MEMBER`) if the user is not in the group."""
        return await self._call(MEMBERS_KICK, on_behalf_of=on_behalf_of, guid=guid, uid=uid)


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
    """The users that are banned from groups: `session.banned_users`; `NotFoundError` for no such group."""

    def list(self, guid: str, query: PageQuery | None = None, *, cursor: WalkStart = None) -> Walk[Member]:
        """The users banned from a group. One request per page; `NotFoundError` if there is no such group."""
        return self._walk(BANNED_USERS_LIST, query, cursor, guid=guid)

    async def ban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Ban a user from a group, whose membership ends; `ConflictError` if the user is banned already."""
        return await self._call(BANNED_USERS_BAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)

    async def unban(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """End the ban of a user; `NotFoundError` (`ERR_NOT_A_BANNED_USER`) if the user is not banned."""
        return await self._call(BANNED_USERS_UNBAN, on_behalf_of=on_behalf_of, guid=guid, uid=uid)
