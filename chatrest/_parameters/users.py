"""Filters and bodies of users, their auth tokens, friends and blocked users, and of groups and members."""

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from ..errors import RequestInvalidError
from .checked import (
    Body,
    Bool,
    Direction,
    Json,
    PageQuery,
    Presence,
    ScopeName as ScopeName,
    Scopes,
    SearchIn,
    Stamp,
    TaggedQuery,
    Text,
    Texts,
    Uid,
    Uids,
    struct_type,
)
from .fields import AnyText, Description, ListOf, Natural, NewId, ShortText, StructOrMapping, Tags, Url

Presences: TypeAlias = Annotated[
    Presence | Annotated[ListOf[Presence], Meta(min_length=1)],
    Meta(description="'available' or 'offline', or a list of these"),
]


class UserQuery(TaggedQuery):
    """The filter of GET /users; a walk starts at `page`."""

    search_key: Text | None = None
    """The text that the name or uid begins with."""
    search_in: SearchIn | None = None
    """The fields to look in: name, uid or both."""
    status: Presences | None = None
    """Only those who are available, or offline."""
    count: Bool | None = None
    """Count instead of listing."""
    role: Text | None = None
    """Only users with this role."""
    roles: Texts | None = None
    """Only users with one of these roles."""
    only_deactivated: Bool | None = None
    """Only deactivated users."""
    with_deactivated: Bool | None = None
    """Include deactivated users."""


class _UserFields(Body):
    avatar: Url | UnsetType = UNSET
    link: Url | UnsetType = UNSET
    role: ShortText | UnsetType = UNSET
    status_message: AnyText | UnsetType = UNSET
    """The status text that the user shows."""
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET


class NewUser(_UserFields):
    """A user to create."""

    uid: NewId
    name: ShortText
    with_auth_token: Bool | UnsetType = UNSET
    """Make a login token, too: it is in `auth_token` of the reply."""


class UserChanges(_UserFields):
    """Changes of a user; what is not given stays, `tags` are all tags from now on, and `unset` removes."""

    name: ShortText | UnsetType = UNSET
    unset: ListOf[Literal["avatar", "link", "metadata"]] | UnsetType = UNSET


Deletion: Final = struct_type("Deletion", Body, permanent=Bool | UnsetType)
Deactivation: Final = struct_type("Deactivation", Body, uids_to_deactivate=Uids)
Reactivation: Final = struct_type("Reactivation", Body, uids_to_activate=Uids)
NewToken: Final = struct_type("NewToken", Body, force=Bool | UnsetType)


class TokenChanges(Body):
    """The scope of an auth token: the platform and the device that it is for; what is not given stays."""

    platform: AnyText | UnsetType = UNSET
    user_agent: AnyText | UnsetType = UNSET
    app_info: Json | UnsetType = UNSET
    """Data about the client application, which the service only stores."""


MAX_FRIENDS: Final = 1000
"""Friends of one user."""

FriendUids: TypeAlias = Annotated[
    Uids,
    Meta(
        max_length=MAX_FRIENDS,
        description=f"a list of 1 to {MAX_FRIENDS} uids, none of them empty, without commas "
        "and control characters",
    ),
]


class FriendQuery(PageQuery):
    """The filter of GET /users/{uid}/friends; a walk starts at `page`."""

    search_key: Text | None = None
    """Only friends with this text in their uid or name."""


NewFriends: Final = struct_type(
    "NewFriends", Body, accepted=FriendUids, add_to_conversations=Bool | UnsetType
)
FormerFriends: Final = struct_type("FormerFriends", Body, friends=Uids)
BlockedUids: Final = struct_type("BlockedUids", Body, blocked_uids=Uids)


class MemberQuery(PageQuery):
    """The filter of GET /groups/{guid}/members; a walk starts at `page`."""

    status: Presence | None = None
    scopes: Scopes | None = None
    """Only members with one of these scopes."""


class NewMembers(Body, forbid_unknown_fields=True):
    """The uids to add to a group by scope, and to ban from it; `RequestInvalidError` without any."""

    admins: Uids | UnsetType = UNSET
    """Uids of the members with the scope admin."""
    moderators: Uids | UnsetType = UNSET
    """Uids of the members with the scope moderator."""
    participants: Uids | UnsetType = UNSET
    """Uids of the members with the scope participant."""
    users_to_ban: Uids | UnsetType = UNSET
    """Uids of the users to ban from the group."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if all(getattr(self, name) is UNSET for name in self.__struct_fields__):
            raise RequestInvalidError(f"expected at least one uid, in {', '.join(self.__struct_fields__)}")


NewScope: Final = struct_type("NewScope", Body, scope=ScopeName)
GroupType: TypeAlias = Literal["public", "password", "private"]
ListedType: TypeAlias = Annotated[
    Literal["public", "private", "protected", "password"],
    Meta(description="'public', 'private', 'protected' or 'password' (which of the last two: by service)"),
]
FirstMembers: TypeAlias = Annotated[
    StructOrMapping[NewMembers],
    Meta(description="a NewMembers, or a mapping with admins, moderators, participants, usersToBan"),
]
if TYPE_CHECKING:
    SearchGroupsIn: TypeAlias = ListOf[Literal["name", "guid"]]
else:
    SearchGroupsIn: TypeAlias = Texts


class GroupQuery(TaggedQuery):
    """The filter of GET /groups; a walk starts at `page`.

    With `updated_at` and `affix` the service lists the groups that were changed after (`append`) or before
    (`prepend`) that time.
    """

    search_key: Text | None = None
    """Words to look for."""
    search_in: SearchGroupsIn | None = None
    """The fields to look in: name, guid or both."""
    sort_by: Literal["name", "guid", "createdAt"] | None = None
    """The field that orders the list."""
    sort_order: Literal["asc", "desc"] | None = None
    """The order of `sort_by`: asc or desc."""
    affix: Direction | None = None
    updated_at: Stamp | None = None
    """The time from which the list continues, see `affix`."""
    type: ListedType | None = None
    types: Texts | None = None
    has_joined: Bool | None = None
    """Only groups that the acting user has joined."""
    guid: Uid | None = None
    guids: Uids | None = None
    members_count_gt: Natural | None = field(default=None, name="membersCount[gt]")
    """Groups with more members."""
    members_count_gte: Natural | None = field(default=None, name="membersCount[gte]")
    """Groups with so many members or more."""
    members_count_lt: Natural | None = field(default=None, name="membersCount[lt]")
    """Groups with fewer members."""
    members_count_lte: Natural | None = field(default=None, name="membersCount[lte]")
    """Groups with so many members or fewer."""
    members_count_eq: Natural | None = field(default=None, name="membersCount[eq]")
    """Groups with exactly so many members."""


class _GroupFields(Body):
    password: ShortText | UnsetType = UNSET
    icon: Text | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    owner: Uid | UnsetType = UNSET
    """The uid of the group's owner; a change with an acting user ignores it."""
    tags: Tags | UnsetType = UNSET


class NewGroup(_GroupFields):
    """A group to create."""

    guid: NewId
    name: ShortText
    type: GroupType
    """Who may join: public, private, password (which needs a `password`)."""
    members: FirstMembers | UnsetType = UNSET
    """The first members, by scope."""


class GroupChanges(_GroupFields):
    """Changes of a group; what is not given stays, `tags` are all from now on, `unset` removes."""

    name: ShortText | UnsetType = UNSET
    type: GroupType | UnsetType = UNSET
    """Who may join: public, private, password (which needs a `password`)."""
    unset: ListOf[Literal["icon", "description", "metadata"]] | UnsetType = UNSET
