"""Members of a group, and the outcomes of adding members."""

from typing import Any, ClassVar, final

from msgspec import UNSET

from .decoding import nested_message
from .message import NestedMessage
from .record import Maybe, Record
from .user import UserFields
from .views import views


@final
class Member(UserFields, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A user as a member of a group, or as one who is banned from it, with the fields of a `User`.

    `scope` is any text: admin, moderator and participant are known. `joined_at` is in the service's unit
    (epoch seconds on services of this kind).
    """

    scope: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET
    guid: Maybe[str] = UNSET
    has_joined: Maybe[bool] = UNSET
    is_banned: Maybe[bool] = UNSET
    banned_at: Maybe[int] = UNSET


@final
class MemberScope(Record, frozen=True, gc=False, rename="camel"):
    """The scope of a member after a change."""

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "uid"

    guid: str
    uid: str
    scope: str
    joined_at: Maybe[int] = UNSET


@final
@views(nested_message, "data")
class AddedMember(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of adding one uid. `data` is the action message to the group.

    An outcome without `success` is a failure.
    """

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[NestedMessage] = UNSET
    error: Maybe[Any] = UNSET
