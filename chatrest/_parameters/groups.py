"""Filters and bodies of groups and of their members."""

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from ..errors import RequestInvalidError
from .checked import (
    Affix,
    Body,
    Filter,
    Flag,
    Json,
    Ordinal,
    Presence,
    ScopeName as ScopeName,
    Scopes,
    Size,
    Stamp,
    Text,
    Texts,
    Uid,
    Uids,
)
from .fields import Count, Description, Given, Listed, NewId, ShortText, Tags

# ── members ──


class MemberQuery(Filter):
    """The filter of GET /groups/{guid}/members; a walk starts at `page`."""

    per_page: Size | None = None
    page: Ordinal | None = None
    status: Presence | None = None
    scopes: Scopes | None = None


class NewMembers(Body, forbid_unknown_fields=True):
    """The uids to add to a group by scope, and the uids to ban from it.

    Raises `RequestInvalidError` without any uid.
    """

    admins: Uids | UnsetType = UNSET
    moderators: Uids | UnsetType = UNSET
    participants: Uids | UnsetType = UNSET
    users_to_ban: Uids | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if all(getattr(self, name) is UNSET for name in self.__struct_fields__):
            raise RequestInvalidError(
                f"members: one uid at least is needed, in {', '.join(self.__struct_fields__)}"
            )


class NewScope(Body):
    """The new scope of a member."""

    scope: ScopeName


# ── groups ──

GroupType: TypeAlias = Literal["public", "password", "private"]
ListedType: TypeAlias = Annotated[
    Literal["public", "private", "protected", "password"],
    Meta(description="'public', 'private', 'protected' or 'password' (which of the last two: by service)"),
]
GroupSort: TypeAlias = Literal["name", "guid", "createdAt"]
SortOrder: TypeAlias = Literal["asc", "desc"]
FirstMembers: TypeAlias = Annotated[
    Given[NewMembers],
    Meta(description="a NewMembers, or a mapping with admins, moderators, participants, usersToBan"),
]
UnsetOfGroup: TypeAlias = Listed[Literal["icon", "description", "metadata"]]
if TYPE_CHECKING:
    SearchGroupsIn: TypeAlias = Listed[Literal["name", "guid"]]
else:
    SearchGroupsIn: TypeAlias = Texts


class GroupQuery(Filter):
    """The filter of GET /groups; a walk starts at `page`.

    With `updated_at` and `affix` the service lists the groups that were changed after (`append`) or before
    (`prepend`) that time. `search_in` has `name`, `guid` or both. `has_joined` is about the acting user.
    Times are epoch seconds, a date or an aware datetime.
    """

    search_key: Text | None = None
    search_in: SearchGroupsIn | None = None
    sort_by: GroupSort | None = None
    sort_order: SortOrder | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
    affix: Affix | None = None
    updated_at: Stamp | None = None
    with_tags: Flag | None = None
    tags: Texts | None = None
    type: ListedType | None = None
    types: Texts | None = None
    has_joined: Flag | None = None
    guid: Uid | None = None
    guids: Uids | None = None
    created_at_from: Stamp | None = field(default=None, name="createdAt[from]")
    created_at_to: Stamp | None = field(default=None, name="createdAt[to]")
    updated_at_from: Stamp | None = field(default=None, name="updatedAt[from]")
    updated_at_to: Stamp | None = field(default=None, name="updatedAt[to]")
    members_count_gt: Count | None = field(default=None, name="membersCount[gt]")
    members_count_gte: Count | None = field(default=None, name="membersCount[gte]")
    members_count_lt: Count | None = field(default=None, name="membersCount[lt]")
    members_count_lte: Count | None = field(default=None, name="membersCount[lte]")
    members_count_eq: Count | None = field(default=None, name="membersCount[eq]")


class NewGroup(Body):
    """A group to make. One of the type `password` needs a `password`; `owner` is a uid."""

    guid: NewId
    name: ShortText
    type: GroupType
    password: ShortText | UnsetType = UNSET
    icon: Text | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    owner: Uid | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    members: FirstMembers | UnsetType = UNSET


class GroupChanges(Body):
    """Changes of a group; what is not given stays, and what `unset` names is removed.

    The service ignores `owner` where a user acts.
    """

    name: ShortText | UnsetType = UNSET
    type: GroupType | UnsetType = UNSET
    password: ShortText | UnsetType = UNSET
    icon: Text | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    owner: Uid | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    unset: UnsetOfGroup | UnsetType = UNSET
