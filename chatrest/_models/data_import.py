"""The outcomes of importing users, groups, members and messages.

A separate file, as the noun has one in `parameters` and `resources`, too.
"""

from msgspec import UNSET

from .groups import Group, MemberScope
from .messages import NestedMessage, message_of
from .outcomes import ItemOutcome
from .record import Maybe
from .users import User
from .views import views


class UserOutcome(ItemOutcome):
    """The outcome of one user: `data` is the user as stored. One without `success` is a failure."""

    data: Maybe[User] = UNSET


class GroupOutcome(ItemOutcome):
    """The outcome of one group: `data` is the group as stored. One without `success` is a failure."""

    data: Maybe[Group] = UNSET


class MemberOutcome(ItemOutcome):
    """The outcome of one member: `data` has the scope. One without `success` is a failure."""

    data: Maybe[MemberScope] = UNSET


@views(message_of, "data")
class MessageOutcome(ItemOutcome):
    """The outcome of one message: `data` is the message as stored. One without `success` is a failure."""

    data: Maybe[NestedMessage] = UNSET
