"""The outcomes of importing users, groups, members and messages.

A file of its own, as the noun has one in `parameters` and `resources`, too.
"""

from typing import Any, final

from msgspec import UNSET

from .groups import Group, MemberScope
from .messages import NestedMessage, message_of
from .record import Maybe, Record
from .users import User
from .views import views


@final
class UserOutcome(Record):
    """The outcome of one user: `data` is the user as stored. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[User] = UNSET
    error: Maybe[Any] = UNSET


@final
class GroupOutcome(Record):
    """The outcome of one group: `data` is the group as stored. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Group] = UNSET
    error: Maybe[Any] = UNSET


@final
class MemberOutcome(Record):
    """The outcome of one member: `data` has the scope. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[MemberScope] = UNSET
    error: Maybe[Any] = UNSET


@final
@views(message_of, "data")
class MessageOutcome(Record):
    """The outcome of one message: `data` is the message as stored. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[NestedMessage] = UNSET
    error: Maybe[Any] = UNSET
