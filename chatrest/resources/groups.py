"""Groups of an app."""

from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.endpoint import Endpoint
from ..models.group import Group
from ..queries.groups import GroupChanges, GroupQuery, NewGroup
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "groups.list", "GET", "/groups", many(Group), query=GroupQuery, paging=BY_PAGE, acting="optional"
)
GET: Final = Endpoint("groups.get", "GET", "/groups/{guid}", one(Group), acting="optional")
CREATE: Final = Endpoint(
    "groups.create", "POST", "/groups", one(Group), "never", body=NewGroup,
    acting="optional", rate_class="core",
)  # fmt: skip
UPDATE: Final = Endpoint(
    "groups.update", "PUT", "/groups/{guid}", one(Group), "idempotent", body=GroupChanges, acting="optional"
)
DELETE: Final = Endpoint("groups.delete", "DELETE", "/groups/{guid}", ACK, "idempotent", acting="optional")


@final
class Groups(Collection):
    """The groups of an app: `session.groups`."""

    def list(
        self, query: GroupQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[Group]:
        """The groups, in the service's order. One request a page.

        The list goes by page numbers, also from `updated_at` on: of several groups that changed in one
        second, a list that goes on by that time would lose those behind a page's border.
        """
        return self._walk(LIST, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, guid: str, *, on_behalf_of: str | None = None) -> Group:
        """A group, as the acting user sees it; `NotFoundError` for no such group."""
        return await self._call(GET, on_behalf_of=on_behalf_of, guid=guid)

    async def create(self, group: NewGroup, *, on_behalf_of: str | None = None) -> Group:
        """Make a group and return it; sent once."""
        return await self._call(CREATE, group, on_behalf_of=on_behalf_of)

    async def update(self, guid: str, changes: GroupChanges, *, on_behalf_of: str | None = None) -> Group:
        """Change a group and return it; `NotFoundError` for no such group."""
        return await self._call(UPDATE, changes, on_behalf_of=on_behalf_of, guid=guid)

    async def delete(self, guid: str, *, on_behalf_of: str | None = None) -> Ack:
        """Remove a group; `NotFoundError` for no such group."""
        return await self._call(DELETE, on_behalf_of=on_behalf_of, guid=guid)
