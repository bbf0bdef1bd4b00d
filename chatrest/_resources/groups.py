"""Groups of an app, and their members."""

from typing import Any, Final, final

from msgspec import structs

from .._core.replies.decode import ACK, Ack, Outcomes, each, many, one
from .._core.replies.outcomes import outcomes_of
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.groups import AddedMember, Group, Member, MemberScope
from .._parameters.groups import (
    GroupChanges,
    GroupQuery,
    MemberQuery,
    NewGroup,
    NewMembers,
    NewScope,
    ScopeName,
)
from .._walk.walk import Walk
from .collection import Collection, Start

GROUPS_LIST: Final = Endpoint(
    "groups.list", "GET", "/groups", many(Group), query=GroupQuery, paging=BY_PAGE, acting="optional"
)
GROUPS_GET: Final = Endpoint("groups.get", "GET", "/groups/{guid}", one(Group), acting="optional")
GROUPS_CREATE: Final = Endpoint(
    "groups.create", "POST", "/groups", one(Group), "never", body=NewGroup,
    acting="optional", rate_class="core",
)  # fmt: skip
GROUPS_UPDATE: Final = Endpoint(
    "groups.update", "PUT", "/groups/{guid}", one(Group), "idempotent", body=GroupChanges, acting="optional"
)
GROUPS_DELETE: Final = Endpoint(
    "groups.delete", "DELETE", "/groups/{guid}", ACK, "idempotent", acting="optional"
)


@final
class Groups(Collection):
    """The groups of an app: `session.groups`."""

    def list(
        self, query: GroupQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[Group]:
        """The groups, in the service's order. One request per page.

        Uses page numbers, also from `updated_at` on: paging by time could skip groups changed in the same
        second.
        """
        return self._walk(GROUPS_LIST, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, guid: str, *, on_behalf_of: str | None = None) -> Group:
        """A group, as the acting user sees it; `NotFoundError` for no such group."""
        return await self._call(GROUPS_GET, on_behalf_of=on_behalf_of, guid=guid)

    async def create(self, group: NewGroup, *, on_behalf_of: str | None = None) -> Group:
        """Make a group and return it; sent once."""
        return await self._call(GROUPS_CREATE, group, on_behalf_of=on_behalf_of)

    async def update(self, guid: str, changes: GroupChanges, *, on_behalf_of: str | None = None) -> Group:
        """Change a group and return it; `NotFoundError` for no such group."""
        return await self._call(GROUPS_UPDATE, changes, on_behalf_of=on_behalf_of, guid=guid)

    async def delete(self, guid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Remove a group; `NotFoundError` for no such group."""
        return await self._call(GROUPS_DELETE, on_behalf_of=on_behalf_of, guid=guid)


def _acknowledged_scope(reply: Any) -> dict[str, Any] | None:
    """The record, without its scope, for `{group, success: {uid: {success}}}`, as some services answer."""
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
    "members.change_scope", "PUT", "/groups/{guid}/members/{uid}", one(MemberScope, _acknowledged_scope),
    "idempotent", body=NewScope, acting="optional",
)  # fmt: skip
MEMBERS_KICK: Final = Endpoint(
    "members.kick", "DELETE", "/groups/{guid}/members/{uid}", ACK, "idempotent", acting="optional"
)


@final
class Members(Collection):
    """The members of groups, each with a scope: `session.members`."""

    def list(self, guid: str, query: MemberQuery | None = None, *, cursor: Start = None) -> Walk[Member]:
        """The members of a group. One request per page; `NotFoundError` for no such group."""
        return self._walk(MEMBERS_LIST, query, cursor, guid=guid)

    async def add(
        self, guid: str, members: NewMembers, *, on_behalf_of: str | None = None
    ) -> Outcomes[AddedMember]:
        """Add users to a group; the outcome of each by uid: `outcomes.check()` raises. Sent once."""
        return await self._call(MEMBERS_ADD, members, on_behalf_of=on_behalf_of, guid=guid)

    async def change_scope(
        self, guid: str, uid: str, scope: ScopeName, *, on_behalf_of: str | None = None
    ) -> MemberScope:
        """Give a member another scope; `ConflictError` where it is the same (`ERR_SAME_SCOPE`).

        A service that only acknowledges the change has given the scope that was asked for.
        """
        changed = await self._call(
            MEMBERS_CHANGE_SCOPE, NewScope(scope=scope), on_behalf_of=on_behalf_of, guid=guid, uid=uid
        )
        return structs.replace(changed, guid=changed.guid or guid, scope=changed.scope or scope)

    async def kick(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Remove a member; `PermissionDeniedError` (`ERR_NOT_A_MEMBER`) where the user is not in it."""
        return await self._call(MEMBERS_KICK, on_behalf_of=on_behalf_of, guid=guid, uid=uid)
