"""Members of a group, and the outcomes of those that were added (operations table, members)."""

from typing import Any, ClassVar, final

from msgspec import UNSET

from .record import Json, Maybe, Record
from .user import UserFields


@final
class Member(UserFields, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A user as a member of a group: the fields of a `User`, and these.

    `scope` is open: admin, moderator and participant occur. `joined_at` is in the service's unit (epoch
    seconds on services of this kind).
    """

    scope: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET


@final
class MemberScope(Record, frozen=True, gc=False, rename="camel"):
    """A member's scope, as it is after a change."""

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "uid"

    guid: str
    uid: str
    scope: str
    joined_at: Maybe[int] = UNSET


@final
class AddedMember(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one uid that was to be added: `data` is the action message that tells the group, as
    JSON. One that does not say `success` has failed.
    """

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Json] = UNSET
    error: Maybe[Any] = UNSET
