"""Imports of users, groups, members and messages with their own times, up to 50 records a request."""

from typing import Final, final

from .._core.replies.decode import Outcomes, each
from .._core.requests.endpoint import Endpoint
from .._models.groups import GroupOutcome, MemberOutcome
from .._models.messages import MessageOutcome
from .._models.users import UserOutcome
from .._parameters.data_import import (
    GroupEntries,
    Groups,
    MemberEntries,
    Members,
    MessageEntries,
    Messages,
    UserEntries,
    Users,
)
from .collection import Collection

IMPORT_USERS: Final = Endpoint(
    "data_import.import_users", "POST", "/data_import/users", each(UserOutcome), "never",
    body=UserEntries, rate_class="import",
)  # fmt: skip
IMPORT_GROUPS: Final = Endpoint(
    "data_import.import_groups", "POST", "/data_import/groups", each(GroupOutcome), "never",
    body=GroupEntries, rate_class="import",
)  # fmt: skip
IMPORT_MEMBERS: Final = Endpoint(
    "data_import.import_members", "POST", "/data_import/members", each(MemberOutcome), "never",
    body=MemberEntries, rate_class="import",
)  # fmt: skip
IMPORT_MESSAGES: Final = Endpoint(
    "data_import.import_messages", "POST", "/data_import/messages", each(MessageOutcome), "never",
    body=MessageEntries, rate_class="import",
)  # fmt: skip


@final
class DataImport(Collection):
    """Imports of existing data: `session.data_import`.

    Each call is one request of 1 to 50 records (60 requests a minute), and gives an
    outcome for each record: `outcomes.check()` raises for failures. Sent once: where no reply came,
    `OutcomeUnknownError`.
    """

    async def import_users(self, users: Users) -> Outcomes[UserOutcome]:
        """Import users, and give the outcome of each by uid."""
        return await self._call(IMPORT_USERS, UserEntries(users=users))

    async def import_groups(self, groups: Groups) -> Outcomes[GroupOutcome]:
        """Import groups, and give the outcome of each by guid."""
        return await self._call(IMPORT_GROUPS, GroupEntries(groups=groups))

    async def import_members(self, members: Members) -> Outcomes[MemberOutcome]:
        """Import members of groups, and give the outcome of each by its `member_id`."""
        return await self._call(IMPORT_MEMBERS, MemberEntries(members=members))

    async def import_messages(self, messages: Messages) -> Outcomes[MessageOutcome]:
        """Import messages, and give the outcome of each by muid.

        A muid that was used already is refused with `ERR_IMPORT_MUID_ALREADY_EXISTS`: a repeat adds nothing.
        """
        return await self._call(IMPORT_MESSAGES, MessageEntries(messages=messages))
