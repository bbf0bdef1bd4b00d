"""Permissions of roles, and of the scopes inside a group."""

from collections.abc import Mapping, Sequence
from typing import Final, final

from msgspec import Struct, structs

from ..core.paging.paging import BY_REPLY_PAGE
from ..core.replies.decode import each, many, one, parse, read_json
from ..core.requests.endpoint import Endpoint
from ..errors import ReplyUnreadableError
from ..models.item_ack import ItemAck
from ..models.raw_json import write_value
from ..models.role import Permission, PermissionMap, PermissionOutcomes
from ..queries.rbac import NewPermissions
from ..walk.walk import Walk
from .collection import Collection, Start


@final
class _PermissionReader(Struct, frozen=True):
    """Reads `{"data": {id: ack, …, "permissions": {id: value}}}`."""

    operation: str = ""

    @property
    def record(self) -> type[ItemAck]:
        """The type of an outcome."""
        return ItemAck

    def of_operation(self, name: str) -> "_PermissionReader":
        """Return the reader for the endpoint of this name."""
        return structs.replace(self, operation=name)

    def __call__(self, body: bytes, /) -> PermissionOutcomes:
        """Return the outcomes and the permissions; `ReplyUnreadableError` where the reply has neither."""
        reply = read_json(body)
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, dict) or not data:
            raise ReplyUnreadableError("data: expected an outcome per permission, got none")
        permissions = parse(PermissionMap, {"permissions": data.get("permissions", {})}).permissions
        acks = {name: ack for name, ack in data.items() if name != "permissions"}
        outcomes: Mapping[str, ItemAck] = each(ItemAck)(write_value({"data": acks})) if acks else {}
        return PermissionOutcomes(outcomes, permissions, body, self.operation)


_OF_ROLE: Final = "/roles/{role}/permissions"
_OF_SCOPE: Final = "/groups/{guid}/scopes/{scope}/permissions"

LIST_ROLE: Final = Endpoint("rbac.list_role", "GET", _OF_ROLE, many(Permission), paging=BY_REPLY_PAGE)
SET_ROLE: Final = Endpoint(
    "rbac.set_role", "PUT", _OF_ROLE, _PermissionReader(), "idempotent", body=NewPermissions
)
UNSET_ROLE: Final = Endpoint(
    "rbac.unset_role", "DELETE", f"{_OF_ROLE}/{{permission}}", one(PermissionMap), "idempotent"
)
LIST_SCOPE: Final = Endpoint("rbac.list_scope", "GET", _OF_SCOPE, many(Permission), paging=BY_REPLY_PAGE)
SET_SCOPE: Final = Endpoint(
    "rbac.set_scope", "PUT", _OF_SCOPE, _PermissionReader(), "idempotent", body=NewPermissions
)
UNSET_SCOPE: Final = Endpoint(
    "rbac.unset_scope", "DELETE", f"{_OF_SCOPE}/{{permission}}", one(PermissionMap), "idempotent"
)


@final
class Rbac(Collection):
    """The permissions of roles and scopes: `session.rbac`."""

    def list_role(self, role: str, *, cursor: Start = None) -> Walk[Permission]:
        """The permissions of a role, in the service's order. One request a page."""
        return self._walk(LIST_ROLE, None, cursor, role=role)

    async def set_role(self, role: str, permissions: Mapping[str, str | Sequence[str]]) -> PermissionOutcomes:
        """Set permissions of a role by id, and give the outcome of each; others stay as they are."""
        return await self._call(SET_ROLE, NewPermissions(permissions=permissions), role=role)

    async def unset_role(self, role: str, permission: str) -> PermissionMap:
        """Give a permission of a role its default again, and return those that are still set."""
        return await self._call(UNSET_ROLE, role=role, permission=permission)

    def list_scope(self, guid: str, scope: str, *, cursor: Start = None) -> Walk[Permission]:
        """The permissions of a scope (admin, moderator, participant) in a group. One request a page."""
        return self._walk(LIST_SCOPE, None, cursor, guid=guid, scope=scope)

    async def set_scope(
        self, guid: str, scope: str, permissions: Mapping[str, str | Sequence[str]]
    ) -> PermissionOutcomes:
        """Set permissions of a scope in a group by id, as `set_role` in all else."""
        return await self._call(SET_SCOPE, NewPermissions(permissions=permissions), guid=guid, scope=scope)

    async def unset_scope(self, guid: str, scope: str, permission: str) -> PermissionMap:
        """Give a permission of a scope its default again, and return those that are still set."""
        return await self._call(UNSET_SCOPE, guid=guid, scope=scope, permission=permission)
