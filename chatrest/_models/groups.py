"""Groups, and their members."""

from typing import ClassVar

from msgspec import UNSET

from .messages import NestedMessage, message_of
from .outcomes import ItemOutcome
from .record import NO_TEXT, Json, Maybe, Record, views
from .users import UserFields


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


@views(message_of, "data")
class AddedMember(ItemOutcome):
    """The outcome of adding one uid; `data` is the action message. Without `success` it is a failure."""

    data: Maybe[NestedMessage] = UNSET


class GroupOutcome(ItemOutcome):
    """The outcome of importing a group: `data` is the group as stored."""

    data: Maybe[Group] = UNSET


class MemberOutcome(ItemOutcome):
    """The outcome of importing a member: `data` has the scope. One without `success` is a failure."""

    data: Maybe[MemberScope] = UNSET
