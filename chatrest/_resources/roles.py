"""Roles, their permissions, and the features that they restrict."""

from collections.abc import Mapping, Sequence
from typing import Final, final

from msgspec import Struct, structs

from .._core.replies.decode import ACK, Ack, Outcomes, each, many, one
from .._core.replies.one_record import parse
from .._core.replies.scanner import read_json
from .._core.requests.dialects import BY_PAGE, BY_REPLY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.outcomes import ItemAck
from .._models.raw_json import write_value
from .._models.roles import Feature, Permission, PermissionMap, PermissionOutcomes, Role
from .._parameters.checked import PageQuery
from .._parameters.roles import Allowance, NewPermissions, NewRole, Restriction, RoleChanges
from .._walk.walk import Walk
from ..errors import ReplyUnreadableError
from .collection import Collection, WalkStart, crud_endpoints

ROLES: Final = crud_endpoints(
    "roles.{}", "/roles", "role", Role, NewRole, RoleChanges,
    list_options={"query": PageQuery, "paging": BY_PAGE},
)  # fmt: skip


@final
class Roles(Collection):
    """The roles of an app's users, 25 at most: `session.roles`."""

    def list(self, query: PageQuery | None = None, *, cursor: WalkStart = None) -> Walk[Role]:
        """The roles. One request per page."""
        return self._walk(ROLES.list, query, cursor)

    async def get(self, role: str) -> Role:
        """A role; `NotFoundError` if there is none."""
        return await self._call(ROLES.get, role=role)

    async def create(self, new_role: NewRole) -> Role:
        """Create a role, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(ROLES.create, new_role)

    async def update(self, role: str, changes: RoleChanges) -> Role:
        """Change a role, and return it; `NotFoundError` if there is none."""
        return await self._call(ROLES.update, changes, role=role)

    async def delete(self, role: str) -> Ack:
        """Delete a role; `NotFoundError` if there is none, `PermissionDeniedError` for the default role."""
        return await self._call(ROLES.delete, role=role)


class _PermissionReader(Struct, frozen=True):
    """The reader of the outcomes and permissions in `{"data": {id: ack, …, "permissions": {id: value}}}`."""

    operation: str = ""

    @property
    def record(self) -> type[ItemAck]:
        return ItemAck

    def of_operation(self, name: str) -> "_PermissionReader":
        return structs.replace(self, operation=name)

    def __call__(self, body: bytes, /) -> PermissionOutcomes:
        reply = read_json(body)
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, dict) or not data:
            raise ReplyUnreadableError("data: expected an outcome per permission, got none")
        permissions = parse(PermissionMap, {"permissions": data.get("permissions", {})}).permissions
        acks = {name: ack for name, ack in data.items() if name != "permissions"}
        outcomes: Mapping[str, ItemAck] = each(ItemAck)(write_value({"data": acks})) if acks else {}
        return PermissionOutcomes(outcomes, permissions, body, self.operation)


_ROLE_PATH: Final = "/roles/{role}/permissions"
_SCOPE_PATH: Final = "/groups/{guid}/scopes/{scope}/permissions"

RBAC_LIST_ROLE: Final = Endpoint("rbac.list_role", "GET", _ROLE_PATH, many(Permission), paging=BY_REPLY_PAGE)
RBAC_SET_ROLE: Final = Endpoint(
    "rbac.set_role", "PUT", _ROLE_PATH, _PermissionReader(), "idempotent", body=NewPermissions
)
RBAC_UNSET_ROLE: Final = Endpoint(
    "rbac.unset_role", "DELETE", f"{_ROLE_PATH}/{{permission}}", one(PermissionMap), "idempotent"
)
RBAC_LIST_SCOPE: Final = Endpoint(
    "rbac.list_scope", "GET", _SCOPE_PATH, many(Permission), paging=BY_REPLY_PAGE
)
RBAC_SET_SCOPE: Final = Endpoint(
    "rbac.set_scope", "PUT", _SCOPE_PATH, _PermissionReader(), "idempotent", body=NewPermissions
)
RBAC_UNSET_SCOPE: Final = Endpoint(
    "rbac.unset_scope", "DELETE", f"{_SCOPE_PATH}/{{permission}}", one(PermissionMap), "idempotent"
)


@final
class Rbac(Collection):
    """The permissions of roles and scopes: `session.rbac`; `NotFoundError` for no such role or group."""

    def list_role(self, role: str, *, cursor: WalkStart = None) -> Walk[Permission]:
        """The permissions of a role. One request per page; `NotFoundError` if there is no such role."""
        return self._walk(RBAC_LIST_ROLE, None, cursor, role=role)

    async def set_role(self, role: str, permissions: Mapping[str, str | Sequence[str]]) -> PermissionOutcomes:
        """Set permissions of a role, and return the outcome of each, with all that are set now.

        Permissions that are not named stay as they are. `outcomes.check()` raises if one failed.
        """
        return await self._call(RBAC_SET_ROLE, NewPermissions(permissions=permissions), role=role)

    async def unset_role(self, role: str, permission: str) -> PermissionMap:
        """Reset a permission of a role to its default, and return those that are still set."""
        return await self._call(RBAC_UNSET_ROLE, role=role, permission=permission)

    def list_scope(self, guid: str, scope: str, *, cursor: WalkStart = None) -> Walk[Permission]:
        """The permissions of a scope (admin, moderator, participant) in a group. One request per page."""
        return self._walk(RBAC_LIST_SCOPE, None, cursor, guid=guid, scope=scope)

    async def set_scope(
        self, guid: str, scope: str, permissions: Mapping[str, str | Sequence[str]]
    ) -> PermissionOutcomes:
        """Set permissions of a scope, and return the outcome of each, with all that are set now.

        Permissions that are not named stay as they are. `outcomes.check()` raises if one failed.
        """
        body = NewPermissions(permissions=permissions)
        return await self._call(RBAC_SET_SCOPE, body, guid=guid, scope=scope)

    async def unset_scope(self, guid: str, scope: str, permission: str) -> PermissionMap:
        """Reset a permission of a scope to its default, and return those that are still set."""
        return await self._call(RBAC_UNSET_SCOPE, guid=guid, scope=scope, permission=permission)


_FEATURES: Final = "/roles/{role}/restrictedfeatures"

RESTRICTED_FEATURES_LIST: Final = Endpoint(
    "restricted_features.list", "GET", _FEATURES, many(Feature), paging=BY_REPLY_PAGE
)
RESTRICTED_FEATURES_RESTRICT: Final = Endpoint(
    "restricted_features.restrict", "POST", _FEATURES, each(ItemAck), "idempotent", body=Restriction
)
RESTRICTED_FEATURES_ALLOW: Final = Endpoint(
    "restricted_features.allow", "DELETE", _FEATURES, ACK, "idempotent", body=Allowance
)


@final
class RestrictedFeatures(Collection):
    """The features that roles may not use: `session.restricted_features`; `NotFoundError` for no role."""

    def list(self, role: str, *, cursor: WalkStart = None) -> Walk[Feature]:
        """The features that a role may not use. One request per page; `NotFoundError` if there is no role."""
        return self._walk(RESTRICTED_FEATURES_LIST, None, cursor, role=role)

    async def restrict(self, role: str, features_to_restrict: Sequence[str]) -> Outcomes[ItemAck]:
        """Switch features off; the outcome of each by its key: `outcomes.check()` raises if one failed."""
        body = Restriction(features_to_restrict=features_to_restrict)
        return await self._call(RESTRICTED_FEATURES_RESTRICT, body, role=role)

    async def allow(
        self, role: str, features_to_allow: Sequence[str] | None = None, *, allow_all: bool | None = None
    ) -> Ack:
        """Switch features on again for a role: `features_to_allow`, or all with `allow_all=True`."""
        body = Allowance(features_to_allow=features_to_allow, allow_all=allow_all)
        return await self._call(RESTRICTED_FEATURES_ALLOW, body, role=role)
