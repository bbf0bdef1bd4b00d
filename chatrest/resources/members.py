"""Members of groups."""

from typing import Any, Final, final

from msgspec import structs

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, Outcomes, each, many, one
from ..core.replies.outcomes import outcomes_of
from ..core.requests.endpoint import Endpoint
from ..models.member import AddedMember, Member, MemberScope
from ..queries.members import MemberQuery, NewMembers, NewScope, ScopeName
from ..walk.walk import Walk
from .collection import Collection, Start


def _acknowledged_scope(reply: Any) -> dict[str, Any] | None:
    """The record for `{group, success: {uid: {success}}}`, as some services acknowledge a change.

    The scope itself is not in it.
    """
    (uid, outcome), *others = outcomes_of(reply).items()
    return None if others or not outcome["success"] else {"guid": "", "uid": uid, "scope": ""}


LIST: Final = Endpoint(
    "members.list", "GET", "/groups/{guid}/members", many(Member), query=MemberQuery, paging=BY_PAGE
)
ADD: Final = Endpoint(
    "members.add", "POST", "/groups/{guid}/members", each(AddedMember), "never",
    body=NewMembers, acting="optional",
)  # fmt: skip
CHANGE_SCOPE: Final = Endpoint(
    "members.change_scope", "PUT", "/groups/{guid}/members/{uid}", one(MemberScope, _acknowledged_scope),
    "idempotent", body=NewScope, acting="optional",
)  # fmt: skip
KICK: Final = Endpoint(
    "members.kick", "DELETE", "/groups/{guid}/members/{uid}", ACK, "idempotent", acting="optional"
)


@final
class Members(Collection):
    """The members of groups, each with a scope: `session.members`."""

    def list(self, guid: str, query: MemberQuery | None = None, *, cursor: Start = None) -> Walk[Member]:
        """The members of a group, in the service's order.

        One request a page; `NotFoundError` for no such group.
        """
        return self._walk(LIST, query, cursor, guid=guid)

    async def add(
        self, guid: str, members: NewMembers, *, on_behalf_of: str | None = None
    ) -> Outcomes[AddedMember]:
        """Add users to a group, and give the outcome of each by uid.

        Sent once; `outcomes.check()` raises for failures.
        """
        return await self._call(ADD, members, on_behalf_of=on_behalf_of, guid=guid)

    async def change_scope(
        self, guid: str, uid: str, scope: ScopeName, *, on_behalf_of: str | None = None
    ) -> MemberScope:
        """Give a member another scope; `ConflictError` where it is the same (`ERR_SAME_SCOPE`).

        A service that only acknowledges the change has given the scope that was asked for.
        """
        changed = await self._call(
            CHANGE_SCOPE, NewScope(scope=scope), on_behalf_of=on_behalf_of, guid=guid, uid=uid
        )
        return structs.replace(changed, guid=changed.guid or guid, scope=changed.scope or scope)

    async def kick(self, guid: str, uid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Remove a member; `PermissionDeniedError` (`ERR_NOT_A_MEMBER`) where the user is not in it."""
        return await self._call(KICK, on_behalf_of=on_behalf_of, guid=guid, uid=uid)
