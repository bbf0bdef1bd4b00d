"""Imports of users, groups, members and messages."""

from typing import Final, TypeVar, final

from msgspec import Struct

from .._core.replies.decode import Outcomes, each
from .._core.requests.endpoint import Endpoint
from .._models.messages import MessageOutcome
from .._models.users import GroupOutcome, MemberOutcome, UserOutcome
from .._parameters.data_import import (
    GroupEntries,
    GroupImports,
    MemberEntries,
    MemberImports,
    MessageEntries,
    MessageImports,
    UserEntries,
    UserImports,
)
from .collection import Collection

T = TypeVar("T")


def _import_endpoint(kind: str, outcome: type[T], body: type[Struct]) -> Endpoint[Outcomes[T]]:
    path = f"/data_import/{kind}"
    reply = each(outcome)
    return Endpoint(
        f"data_import.import_{kind}", "POST", path, reply, "never", body=body, rate_class="import"
    )


IMPORT_USERS: Final = _import_endpoint("users", UserOutcome, UserEntries)
IMPORT_GROUPS: Final = _import_endpoint("groups", GroupOutcome, GroupEntries)
IMPORT_MEMBERS: Final = _import_endpoint("members", MemberOutcome, MemberEntries)
IMPORT_MESSAGES: Final = _import_endpoint("messages", MessageOutcome, MessageEntries)


@final
class DataImport(Collection):
    """Imports of users, groups, members and messages with their own times: `session.data_import`.

    Each call is one request, of which the service takes 60 a minute, and gives an outcome for each record:
    `outcomes.check()` raises if one failed.
    """

    async def import_users(self, users: UserImports) -> Outcomes[UserOutcome]:
        """Import 1 to 50 users: outcomes by uid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_USERS, UserEntries(users=users))

    async def import_groups(self, groups: GroupImports) -> Outcomes[GroupOutcome]:
        """Import 1 to 50 groups: outcomes by guid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_GROUPS, GroupEntries(groups=groups))

    async def import_members(self, members: MemberImports) -> Outcomes[MemberOutcome]:
        """Import 1 to 50 members: outcomes by uid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_MEMBERS, MemberEntries(members=members))

    async def import_messages(self, messages: MessageImports) -> Outcomes[MessageOutcome]:
        """Import 1 to 50 messages: outcomes by muid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_MESSAGES, MessageEntries(messages=messages))
