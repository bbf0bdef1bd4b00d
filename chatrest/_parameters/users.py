"""Filters and bodies of users, of their auth tokens, and of friends and blocked users."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from .checked import (
    Body,
    Flag,
    Json,
    PageQuery,
    Presence,
    SearchIn,
    TaggedQuery,
    Text,
    Texts,
    Uids,
    struct_type,
)
from .fields import AnyText, Listed, NewId, ShortText, Tags, Url

Presences: TypeAlias = Annotated[
    Presence | Annotated[Listed[Presence], Meta(min_length=1)],
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
    count: Flag | None = None
    """Count instead of listing."""
    role: Text | None = None
    """Only users with this role."""
    roles: Texts | None = None
    """Only users with one of these roles."""
    only_deactivated: Flag | None = None
    """Only users who are switched off."""
    with_deactivated: Flag | None = None
    """Include users who are switched off."""


class _UserFields(Body):
    avatar: Url | UnsetType = UNSET
    link: Url | UnsetType = UNSET
    role: ShortText | UnsetType = UNSET
    status_message: AnyText | UnsetType = UNSET
    """What the user says of himself."""
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET


class NewUser(_UserFields):
    """A user to make."""

    uid: NewId
    name: ShortText
    with_auth_token: Flag | UnsetType = UNSET
    """Make a login token, too: it is in `auth_token` of the reply."""


class UserChanges(_UserFields):
    """Changes of a user; what is not given stays, `tags` are all tags from now on, and `unset` removes."""

    name: ShortText | UnsetType = UNSET
    unset: Listed[Literal["avatar", "link", "metadata"]] | UnsetType = UNSET


Deletion: Final = struct_type("Deletion", Body, permanent=Flag | UnsetType)
Deactivation: Final = struct_type("Deactivation", Body, uids_to_deactivate=Uids)
Reactivation: Final = struct_type("Reactivation", Body, uids_to_activate=Uids)
NewToken: Final = struct_type("NewToken", Body, force=Flag | UnsetType)


class TokenChanges(Body):
    """The scope of an auth token: the platform and the device that it is for; what is not given stays."""

    platform: AnyText | UnsetType = UNSET
    user_agent: AnyText | UnsetType = UNSET
    app_info: Json | UnsetType = UNSET
    """Any facts about the client application."""


MOST: Final = 1000
"""Friends of one user."""

FriendUids: TypeAlias = Annotated[
    Uids,
    Meta(
        max_length=MOST,
        description=f"a list of 1 to {MOST} uids, none of them empty, without commas and control characters",
    ),
]


class FriendQuery(PageQuery):
    """The filter of GET /users/{uid}/friends; a walk starts at `page`."""

    search_key: Text | None = None
    """Only friends with this text in their uid or name."""


NewFriends: Final = struct_type(
    "NewFriends", Body, accepted=FriendUids, add_to_conversations=Flag | UnsetType
)
FormerFriends: Final = struct_type("FormerFriends", Body, friends=Uids)
BlockedUids: Final = struct_type("BlockedUids", Body, blocked_uids=Uids)
