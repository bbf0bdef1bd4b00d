"""Users with their login tokens and groups with their members; both also as they are inside messages."""

from typing import ClassVar, Generic, TypeVar

from msgspec import UNSET

from .outcomes import ItemOutcome
from .record import NO_TEXT, Json, Maybe, Record, digest

E = TypeVar("E")


class UserFields(Record):
    """The fields of a user, which a group member and a login token have, too."""

    uid: str
    name: str = NO_TEXT
    status: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    avatar: Maybe[str] = UNSET
    link: Maybe[str] = UNSET
    status_message: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    updated_at: Maybe[int] = UNSET
    last_active_at: Maybe[int] = UNSET
    deactivated_at: Maybe[int] = UNSET
    conversation_id: Maybe[str] = UNSET
    auth_token: Maybe[str] = UNSET
    blocked_by_me: Maybe[bool] = UNSET
    blocked_by_me_at: Maybe[int] = UNSET
    blocked_at: Maybe[int] = UNSET
    has_blocked_me: Maybe[bool] = UNSET


class User(UserFields):
    """A user of the app. Times of records are in the service's unit (`chatrest guide service`)."""


class WsChannel(Record):
    """The call's socket channel. `secret` is a credential: the attribute shows it, the repr does not."""

    identity: Maybe[str] = UNSET
    service: Maybe[str] = UNSET
    secret: Maybe[str] = UNSET


class AuthToken(UserFields, kw_only=True):
    """A login token of one user, for the user's client library.

    `auth_token`, `jwt`, `fat` and the secret of `ws_channel` are credentials: the attributes show them, the
    repr does not. Some services answer with the whole user, whose fields are here too, and with `settings`.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"jwt", "fat", "settings"})

    auth_token: str
    platform: Maybe[str] = UNSET
    user_agent: Maybe[str] = UNSET
    app_info: Maybe[str | Json] = UNSET
    jwt: Maybe[str] = UNSET
    fat: Maybe[str] = UNSET
    ws_channel: Maybe[WsChannel] = UNSET
    settings: Maybe[Json] = UNSET

    @property
    def identity(self) -> str:
        """The digest of the token, which represents it in a cursor."""
        return digest(self.auth_token)


class DeactivatedUsers(Record):
    """The uids of the users that were deactivated."""

    deactivated_uids: tuple[str, ...]


class ReactivatedUsers(Record):
    """The uids of the users that are active."""

    non_deactivated_uids: tuple[str, ...]


class UserOutcome(ItemOutcome):
    """The outcome of importing a user: `data` is the user as stored."""

    data: Maybe[User] = UNSET


class Group(Record):
    """A group of the app. `scope`, `joined_at` and `has_joined` are the acting user's."""

    guid: str
    name: str = NO_TEXT
    type: Maybe[str] = UNSET
    owner: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    members_count: Maybe[int] = UNSET
    conversation_id: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    updated_at: Maybe[int] = UNSET
    updated_by: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET
    has_joined: Maybe[bool] = UNSET
    online_members_count: Maybe[int] = UNSET


class Member(UserFields):
    """A user as a member of a group, or as one who is banned from it, with the fields of a `User`."""

    scope: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET
    guid: Maybe[str] = UNSET
    has_joined: Maybe[bool] = UNSET
    is_banned: Maybe[bool] = UNSET
    banned_at: Maybe[int] = UNSET


class MemberScope(Record):
    """The scope of a member after a change."""

    identified_by: ClassVar[str] = "uid"

    guid: str
    uid: str
    scope: str
    joined_at: Maybe[int] = UNSET


class GroupOutcome(ItemOutcome):
    """The outcome of importing a group: `data` is the group as stored."""

    data: Maybe[Group] = UNSET


class MemberOutcome(ItemOutcome):
    """The outcome of importing a member: `data` has the scope. One without `success` is a failure."""

    data: Maybe[MemberScope] = UNSET


class EntityWrapper(Record, Generic[E]):
    """An `entity` with its `entity_type`, such as user or call."""

    entity: E
    entity_type: str = NO_TEXT


class Entity(Record):
    """A user or a group inside a message: a user has `uid`, a group has `guid`."""

    # In the order in which the service writes them, as msgspec decodes that order fastest: 3 % of a page.

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    avatar: Maybe[str] = UNSET
    conversation_id: Maybe[str] = UNSET
    link: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    updated_by: Maybe[str] = UNSET
    last_active_at: Maybe[int] = UNSET
    guid: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    owner: Maybe[str] = UNSET
    members_count: Maybe[int] = UNSET
    icon: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    metadata: Maybe[Json] = UNSET
    has_joined: Maybe[bool] = UNSET
    status_message: Maybe[str] = UNSET


class Parties(Record):
    """The sender and the receiver of a message or a call: `data.entities`."""

    sender: Maybe[EntityWrapper[Entity]] = UNSET
    receiver: Maybe[EntityWrapper[Entity]] = UNSET
