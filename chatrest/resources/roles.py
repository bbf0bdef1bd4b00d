"""Roles of users."""

from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.endpoint import Endpoint
from ..models.role import Role
from ..queries.pages import PageQuery
from ..queries.roles import NewRole, RoleChanges
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint("roles.list", "GET", "/roles", many(Role), query=PageQuery, paging=BY_PAGE)
GET: Final = Endpoint("roles.get", "GET", "/roles/{role}", one(Role))
CREATE: Final = Endpoint("roles.create", "POST", "/roles", one(Role), "never", body=NewRole)
UPDATE: Final = Endpoint("roles.update", "PUT", "/roles/{role}", one(Role), "idempotent", body=RoleChanges)
DELETE: Final = Endpoint("roles.delete", "DELETE", "/roles/{role}", ACK, "idempotent")


@final
class Roles(Collection):
    """The roles of an app's users: `session.roles`."""

    def list(self, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[Role]:
        """The roles, in the service's order. One request a page."""
        return self._walk(LIST, query, cursor)

    async def get(self, role: str) -> Role:
        """A role by its id; `NotFoundError` for no such role."""
        return await self._call(GET, role=role)

    async def create(self, new_role: NewRole) -> Role:
        """Make a role and return it; sent once. An app may have 25."""
        return await self._call(CREATE, new_role)

    async def update(self, role: str, changes: RoleChanges) -> Role:
        """Change a role and return it; `NotFoundError` for no such role."""
        return await self._call(UPDATE, changes, role=role)

    async def delete(self, role: str) -> Ack:
        """Remove a role; `PermissionDeniedError` for the default role, which stays."""
        return await self._call(DELETE, role=role)
