"""Roles, the features that they restrict, and their permissions."""

from collections.abc import Mapping
from typing import TypeAlias, final

from msgspec import UNSET

from .outcomes import ItemAck, Outcomes
from .record import NO_TEXT, Json, Maybe, Record

PermissionValues: TypeAlias = dict[str, str | tuple[str, ...]]
"""The values of permissions by id: a word, or a list of texts."""


class RoleSettings(Record):
    """The rights of a role; each is `all` or `friendsOnly`."""

    list_users: Maybe[str] = UNSET
    send_messages_to: Maybe[str] = UNSET


class Role(Record):
    """A role of users: a named set of rights. Times are in the service's unit."""

    role: str
    name: str = NO_TEXT
    description: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    metadata: Maybe[Json] = UNSET
    settings: Maybe[RoleSettings] = UNSET


class Feature(Record):
    """A feature that a role may not use; `key` names it, such as `u.listUsers`."""

    key: str
    title: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    path: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET


class Permission(Record):
    """A permission of a role, or of a scope inside a group, with the values that it may have."""

    id: str
    type: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    data_type: Maybe[str] = UNSET
    available_values: Maybe[tuple[str, ...]] = UNSET
    default_value: Maybe[str | tuple[str, ...]] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class PermissionMap(Record):
    """The permissions that are set."""

    permissions: PermissionValues


@final
class PermissionOutcomes(Outcomes[ItemAck]):
    """The outcome of each permission that was to be set, by id, and all permissions that are set now."""

    __slots__ = ("permissions",)

    def __init__(
        self, by_key: Mapping[str, ItemAck], permissions: PermissionValues, raw: bytes, operation: str
    ) -> None:
        super().__init__(by_key, raw, operation)
        self.permissions: PermissionValues = permissions
        """The permissions that are set, by id."""
