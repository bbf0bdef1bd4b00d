"""Bodies of roles, of their permissions, and of the features that they restrict."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Flag, Json, Texts
from .fields import Description, Given, Listed, Omitted, ShortText

Reach: TypeAlias = Literal["all", "friendsOnly"]


class NewRoleSettings(Body, forbid_unknown_fields=True):
    """The rights of a role: whom its users see in lists, and to whom they may send messages."""

    list_users: Reach | UnsetType = UNSET
    """Whom users of the role see."""
    send_messages_to: Reach | UnsetType = UNSET
    """To whom users of the role write."""


Settings: TypeAlias = Annotated[
    Given[NewRoleSettings],
    Meta(description="a NewRoleSettings, or a mapping with listUsers and sendMessagesTo"),
]
UnsetOfRole: TypeAlias = Listed[Literal["settings", "description", "metadata"]]


class _RoleFields(Body):
    description: Description | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    """Whom users of the role see and write to."""


class NewRole(_RoleFields):
    """A role to make; `role` is its id."""

    role: ShortText
    name: ShortText


class RoleChanges(_RoleFields):
    """Changes of a role; what is not given stays, and what `unset` names is removed."""

    name: ShortText | UnsetType = UNSET
    unset: UnsetOfRole | UnsetType = UNSET


if TYPE_CHECKING:
    PermissionValues: TypeAlias = Mapping[str, str | Sequence[str]]
else:
    PermissionValues: TypeAlias = Annotated[
        dict[Annotated[str, Meta(min_length=1)], str | tuple[str, ...]],
        Meta(
            min_length=1,
            description="a mapping from permission ids to 'allow', 'deny', another word, or a list of words",
        ),
    ]


class NewPermissions(Body):
    """The values of permissions by id: `allow`, `deny`, a mode, or a list of texts."""

    permissions: PermissionValues


class Restriction(Body):
    """The keys of the features to switch off, such as `u.listUsers`."""

    features_to_restrict: Texts
    """Keys of the features to switch off, such as u.listUsers."""


class Allowance(Body):
    """The keys of the features to switch on again, or all of them."""

    features_to_allow: Omitted[Texts] = UNSET
    """Keys of the features to allow again, such as u.listUsers."""
    allow_all: Omitted[Flag] = UNSET
    """Allow all features."""
