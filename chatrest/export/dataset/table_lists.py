"""The lists of the service that become tables, read page by page, as the exact bytes of their records.

Members are read group by group, and conversations user by user, a bounded number of them at once. The ids of
the groups and users are read first: a list by page numbers that stayed open meanwhile would skip whoever
moves over a page's border.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, final

from ...core.rows import AsRows
from ...errors import AuthenticationError, ChatRestError, FanOutError, NotFoundError
from ...queries.conversations import ConversationQuery
from ...queries.groups import GroupQuery
from ...queries.users import UserQuery
from ...resources.conversations import Conversations
from ...resources.groups import Groups
from ...resources.members import Members
from ...resources.users import Users
from ...session import AsyncSession
from ...walk import Walk
from ..report import Failure
from .tables import Table, record_of, with_member

WriteRecords: TypeAlias = Callable[[list[bytes]], Awaitable[None]]
"""Writes records; the reader of a list waits until it has."""

CONCURRENCY: Final = 16
"""Groups or users that are read at once."""
MOST_FAILURES: Final = 20
"""Groups or users that may fail before the rest of a table is given up: it will not be whole."""
_PARENTS: Final[dict[Table, Table]] = {"members": "groups", "conversations": "users"}
_KEYS: Final[dict[Table, tuple[str, ...]]] = {
    "users": ("uid",), "groups": ("guid",), "members": ("guid", "uid"),
    "conversations": ("onBehalfOf", "conversationId"),
}  # fmt: skip


@final
class TableLists:
    """The lists of the tables, read one after another."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        rows: Any = AsRows(session.sender)
        self._users, self._groups = Users(rows), Groups(rows)
        self._members, self._conversations = Members(rows), Conversations(rows)
        self._ids: dict[Table, list[str]] = {}

    async def read(self, table: Table, write: WriteRecords) -> list[Failure]:
        """Hand over all records of a table, each once, and return what failed: then it is not whole.

        Raises `AuthenticationError`, after which nothing else would fare better, and what `write` raises.
        """
        if (parent := _PARENTS.get(table)) is None:
            return await self._read_own(table, write)
        if parent not in self._ids:
            failures = await self._read_own(parent, _drop)
            if failures:
                return failures
        return await self._read_each(table, self._ids[parent], write)

    async def _read_own(self, table: Table, write: WriteRecords) -> list[Failure]:
        """Read the list of users or of groups, and keep the ids."""
        walk: Walk[Any] = (
            self._users.list(UserQuery(with_deactivated=True, with_tags=True))
            if table == "users"
            else self._groups.list(GroupQuery(with_tags=True))
        )
        ids: dict[str, None] = {}
        try:
            async for page in walk.pages():
                await write(_new_records(table, _raws(page), ids))
        except AuthenticationError:
            raise
        except ChatRestError as error:
            return [Failure(table, str(error))]
        self._ids[table] = list(ids)
        return []

    async def _read_each(self, table: Table, parents: list[str], write: WriteRecords) -> list[Failure]:
        """Read the list of each group or user."""

        async def read(parent: str) -> bool:
            return await self._read_one(table, parent, write)

        failures, is_any_there = list[Failure](), not parents
        fan_out = self._session.fan_out(parents, read, concurrency=CONCURRENCY, stop_after=MOST_FAILURES)
        try:
            async with fan_out as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome.error, AuthenticationError):
                        raise outcome.error
                    if isinstance(outcome.error, ChatRestError):
                        failures.append(Failure(_source(table, outcome.item), str(outcome.error)))
                    elif outcome.error is not None:
                        raise outcome.error
                    is_any_there = is_any_there or outcome.value is not False
        except FanOutError:
            rest = f"the rest was not read after {len(failures)} failures"
            failures.append(Failure(table, rest))
        if not is_any_there:  # they cannot all have been removed a moment ago
            failures.append(Failure(table, f"the service has none of {len(parents):,} lists (404)"))
        return failures

    async def _read_one(self, table: Table, parent: str, write: WriteRecords) -> bool:
        """Read the list of one group or user; False where it does not exist any more, and so has nothing."""
        walk: Walk[Any]
        if table == "members":
            name, walk = "guid", self._members.list(parent)
        else:
            query = ConversationQuery(with_tags=True)
            name, walk = "onBehalfOf", self._conversations.list(query, on_behalf_of=parent)
        keys: dict[str, None] = {}
        try:
            async for page in walk.pages():
                raws = [with_member(raw, name, parent) for raw in _raws(page)]
                await write(_new_records(table, raws, keys))
        except NotFoundError:
            return False
        return True


def _raws(page: Any) -> list[bytes]:
    """Return the records of a page, byte for byte."""
    return [bytes(row.raw) for row in page.items]


def _new_records(table: Table, raws: list[bytes], keys: dict[str, None]) -> list[bytes]:
    """Return the records whose key is not among `keys`, and add theirs; one without a key is always new."""
    records = []
    for raw in raws:
        record = record_of(raw)
        parts = [record.get(name) for name in _KEYS[table]]
        key = "\0".join(str(part) for part in parts) if all(parts) else ""
        if key not in keys:
            records.append(raw)
        if key:
            keys[key] = None
    return records


def _source(table: Table, parent: str) -> str:
    return f"members of group {parent}" if table == "members" else f"conversations of user {parent}"


async def _drop(records: list[bytes]) -> None:
    """WriteRecords records of which only the ids are needed."""
