"""Bodies of roles, of their permissions, and of the features that they restrict."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Bool, Json, Texts, struct_type
from .fields import Description, ListOf, ShortText, StructOrMapping

Reach: TypeAlias = Literal["all", "friendsOnly"]


class NewRoleSettings(Body, forbid_unknown_fields=True):
    """The rights of a role: whom its users see in lists, and to whom they may send messages."""

    list_users: Reach | UnsetType = UNSET
    """Whom users of the role see."""
    send_messages_to: Reach | UnsetType = UNSET
    """To whom users of the role write."""


Settings: TypeAlias = Annotated[
    StructOrMapping[NewRoleSettings],
    Meta(description="a NewRoleSettings, or a mapping with listUsers and sendMessagesTo"),
]


class _RoleFields(Body):
    description: Description | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    """Whom users of the role see and write to."""


class NewRole(_RoleFields):
    """A role to create; `role` is its id."""

    role: ShortText
    name: ShortText


class RoleChanges(_RoleFields):
    """Changes of a role; what is not given stays, and what `unset` names is removed."""

    name: ShortText | UnsetType = UNSET
    unset: ListOf[Literal["settings", "description", "metadata"]] | UnsetType = UNSET


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


NewPermissions: Final = struct_type("NewPermissions", Body, permissions=PermissionValues)
Restriction: Final = struct_type("Restriction", Body, features_to_restrict=Texts)
Allowance: Final = struct_type(
    "Allowance", Body, features_to_allow=Texts | UnsetType, allow_all=Bool | UnsetType
)
