"""Filters and bodies of users and of their auth tokens."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from .checked import Body, Filter, Flag, Json, Ordinal, Presence, SearchIn, Size, Stamp, Text, Texts, Uids
from .fields import AnyText, Listed, NewId, ShortText, Tags, Url

Presences: TypeAlias = Annotated[
    Presence | Annotated[Listed[Presence], Meta(min_length=1)],
    Meta(description="'available' or 'offline', or a list of these"),
]
UnsetOfUser: TypeAlias = Listed[Literal["avatar", "link", "metadata"]]


class UserQuery(Filter):
    """The filter of GET /users; a walk starts at `page`.

    Times are epoch seconds, a date or an aware datetime.
    """

    search_key: Text | None = None
    search_in: SearchIn | None = None
    status: Presences | None = None
    count: Flag | None = None
    per_page: Size | None = None
    page: Ordinal | None = None
    role: Text | None = None
    roles: Texts | None = None
    tags: Texts | None = None
    with_tags: Flag | None = None
    only_deactivated: Flag | None = None
    with_deactivated: Flag | None = None
    created_at_from: Stamp | None = field(default=None, name="createdAt[from]")
    created_at_to: Stamp | None = field(default=None, name="createdAt[to]")
    updated_at_from: Stamp | None = field(default=None, name="updatedAt[from]")
    updated_at_to: Stamp | None = field(default=None, name="updatedAt[to]")


class NewUser(Body):
    """A user to make. With `with_auth_token` the reply has a login token in `auth_token`."""

    uid: NewId
    name: ShortText
    avatar: Url | UnsetType = UNSET
    link: Url | UnsetType = UNSET
    role: ShortText | UnsetType = UNSET
    status_message: AnyText | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    with_auth_token: Flag | UnsetType = UNSET


class UserChanges(Body):
    """Changes of a user; what is not given stays, and what `unset` names is removed."""

    name: ShortText | UnsetType = UNSET
    avatar: Url | UnsetType = UNSET
    link: Url | UnsetType = UNSET
    role: ShortText | UnsetType = UNSET
    status_message: AnyText | UnsetType = UNSET
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    unset: UnsetOfUser | UnsetType = UNSET


class Deletion(Body):
    """The way to delete a user: for good where it is `permanent`."""

    permanent: Flag | UnsetType = UNSET


class Deactivation(Body):
    """The users to switch off."""

    uids_to_deactivate: Uids


class Reactivation(Body):
    """The users to switch on."""

    uids_to_activate: Uids


# ── auth tokens ──


class NewToken(Body):
    """The body of a request for an auth token; `force` requests a new one even if the user has one."""

    force: Flag | UnsetType = UNSET


class TokenChanges(Body):
    """The scope of an auth token: the platform and the device that it is for; what is not given stays."""

    platform: AnyText | UnsetType = UNSET
    user_agent: AnyText | UnsetType = UNSET
    app_info: Json | UnsetType = UNSET
