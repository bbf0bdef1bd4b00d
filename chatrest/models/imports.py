"""The outcomes of importing users, groups, members and messages (operations table, data_import)."""

from typing import Any, final

from msgspec import UNSET

from .group import Group
from .member import MemberScope
from .record import Json, Maybe, Record
from .user import User


@final
class UserOutcome(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one user: `data` is the user as stored. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[User] = UNSET
    error: Maybe[Any] = UNSET


@final
class GroupOutcome(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one group: `data` is the group as stored. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Group] = UNSET
    error: Maybe[Any] = UNSET


@final
class MemberOutcome(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one member: `data` has the scope. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[MemberScope] = UNSET
    error: Maybe[Any] = UNSET


@final
class MessageOutcome(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one message: `data` is the message as JSON, for `chatrest.parse(Message, …)`.

    One without `success` is a failure.
    """

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Json] = UNSET
    error: Maybe[Any] = UNSET
