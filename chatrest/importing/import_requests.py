"""The requests of an import: which records of a batch one request takes, and what it replies of each.

| records                                | request                                  | takes                  |
|----------------------------------------|------------------------------------------|------------------------|
| users, groups, members, messages, bans | POST /data_import/…                      | the whole batch        |
| friends, blocks                        | POST /users/{uid}/friends, /blockedusers | 50 users of one user   |
| reactions                              | POST /messages/{id}/reactions/{reaction} | one, on behalf of whom |

Records of one user, or of one message, are sent in their order; those of several at once. A ban is imported
as a member, as then the group gets no message about it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

from .._core.replies.acting_user import is_reaction_of_other
from .._models.outcomes import Ack
from .._parameters.messages import MessageQuery
from ..errors import (
    ActingUserIgnoredError,
    ApiError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
)
from ..session import AsyncSession
from .entities import CopiedMessage, Kind, ReactionImport, Reading
from .import_journal import ImportJournal

CONCURRENCY: Final = 16
"""Users or messages whose records are sent at once."""
_TOO_LARGE: Final = 413
_NOT_FOUND: Final = frozenset({"ERR_UID_NOT_FOUND", "ERR_GUID_NOT_FOUND", "ERR_ROLE_NOT_FOUND"})
_MOST_IDS: Final = 10_000
Replies: TypeAlias = Mapping[str, Any]
"""By the keys of the records: an outcome with `success`, an error, or the reason of a failure as a text."""


class _Grouping(NamedTuple):
    member: str
    """All records of a request have the same value of this."""
    most: int
    """Records of a request."""


GROUPINGS: Final[Mapping[Kind, _Grouping]] = {
    "reactions": _Grouping("message_id", 1),
    "friends": _Grouping("friend_of", 50),
    "blocks": _Grouping("blocked_by", 50),
}
"""The kinds that an import of data does not take."""


def rounds(kind: Kind, records: Sequence[Reading]) -> Iterator[list[list[Sequence[Reading]]]]:
    """Yield the records of each request, in lists of requests that are sent one after another.

    The lists of a round are sent at once. A friendship from its other side is in another round. The
    reactions to one message come before all others: a service may show that it makes them for another user.
    """
    if kind not in GROUPINGS:
        yield [[records]]
        return
    member, most = GROUPINGS[kind]
    first, second, pairs = dict[str, list[Reading]](), dict[str, list[Reading]](), set[frozenset[str]]()
    for each in records:
        owner, uid = getattr(each.record, member), getattr(each.record, "uid", "")
        pair = frozenset((owner, uid))
        is_another = bool(first) and owner not in first
        is_second = pair in pairs if kind == "friends" else is_another and kind == "reactions"
        (second if is_second else first).setdefault(owner, []).append(each)
        pairs.add(pair)
    for groups in (first, second):
        yield [[group[at : at + most] for at in range(0, len(group), most)] for group in groups.values()]


def is_about_records(error: ApiError, kind: Kind) -> bool:
    """Return True for an error that other records might not get; after any other one the import stops."""
    if kind in GROUPINGS and isinstance(error, PermissionDeniedError | NotFoundError):
        return True
    is_refusal = isinstance(error, BadRequestError | ConflictError) or error.code in _NOT_FOUND
    return is_refusal or error.status == _TOO_LARGE


def not_taken(error: Exception, kind: Kind) -> str | None:
    """Return in words that a service takes no record of a kind at all; None for any other error.

    An independent service may not serve the operation, or want a login token of each user.
    """
    if isinstance(error, ActingUserIgnoredError):
        return f"{kind} (the service makes them for another user)"
    if kind not in GROUPINGS or not isinstance(error, ApiError):
        return None
    if not getattr(error, "is_unserved", False) and error.code != "ERR_NO_AUTH":
        return None
    return f"{kind} (the service refuses {error.operation}: {error.status} {error.code or ''})"


@final
class Requests:
    """The requests of one run."""

    def __init__(self, session: AsyncSession, journal: ImportJournal) -> None:
        self._session = session
        self._journal = journal
        data = session.data_import
        self._imports: Mapping[Kind, Any] = {
            "users": data.import_users, "groups": data.import_groups, "members": data.import_members,
            "bans": data.import_members, "messages": data.import_messages,
        }  # fmt: skip
        self._relations: Mapping[Kind, Any] = {
            "friends": session.friends.add, "blocks": session.blocked_users.block
        }  # fmt: skip
        self._ids: dict[str, str | None] = {}
        """The messages that were looked for, by their keys."""

    async def send(self, kind: Kind, records: Sequence[Reading], *, again: bool) -> Replies:
        """Send one request; `again` if it may have been sent before."""
        if kind in self._imports:
            return await self._imports[kind]([each.record for each in records])  # type: ignore[no-any-return]
        if kind == "reactions":
            return {each.key: await self._react(each, again=again) for each in records}
        owner = getattr(records[0].record, GROUPINGS[kind].member)
        uids = {each.key: str(getattr(each.record, "uid", "")) for each in records}
        outcomes = await self._relations[kind](owner, [*uids.values()])
        return {key: outcomes.get(uid) for key, uid in uids.items()}

    async def _react(self, reading: Reading, *, again: bool) -> Ack | str:
        """Add a reaction; one that may have been added is looked at before: a service may toggle it."""
        record, messages = reading.record, self._session.messages
        assert isinstance(record, ReactionImport)
        copy = reading.message
        message_id = record.message_id if copy is None else await self._id_of(copy)
        if message_id is None:
            return "the app does not have its message"
        if again:
            message = await messages.get(message_id, on_behalf_of=record.uid)
            counts = getattr(message.data, "reactions", None) or ()
            if any(each.reaction == record.reaction and each.reacted_by_me is True for each in counts):
                return Ack()
        message = await messages.add_reaction(message_id, record.reaction, on_behalf_of=record.uid)
        if is_reaction_of_other(message, record.uid):
            raise ActingUserIgnoredError("messages.add_reaction: the reply shows another user")
        return Ack()

    async def _id_of(self, message: CopiedMessage) -> str | None:
        """Return the id of a message in the app: from the reply to its import, or from a list by its time."""
        if (known := self._journal.message_id(message.key)) is not None:
            return known
        if message.key not in self._ids:
            if len(self._ids) == _MOST_IDS:
                self._ids.clear()
            around = (max(message.sent_at - 1, 0), message.sent_at + 1)  # services differ at the edges
            query = MessageQuery(sender=message.sender, from_timestamp=around[0], to_timestamp=around[1])
            ids = [each.id async for each in self._session.messages.list(query) if each.muid == message.muid]
            self._ids[message.key] = ids[0] if ids else None
        return self._ids[message.key]
