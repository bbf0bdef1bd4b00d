"""The check that the service's ids continue, and do not begin again because its data are lost.

| of the newest messages that are known | and what is there now                      | then the ids         |
|---------------------------------------|--------------------------------------------|----------------------|
| the newest is there, as it was        |                                            | continue             |
| one has another one under its id      |                                            | begin again          |
| the newest is gone, or not shown      | a higher id, or another one as it was      | continue             |
| the newest is gone, or not shown      | lower ids alone, one of them sent later    | may have begun again |
|                                       | than all that was ever seen                |                      |
| the newest is gone, or not shown      | lower ids alone, none of them sent later   | continue             |

Where they continue, messages were deleted. Lower ids with a later time are one witness alone: the clocks of a
service may disagree. The same message has its time and its sender. The newest messages of the app are asked,
or, if the service does not show them, those of each list.
"""

import asyncio
from typing import Any, Final, final

import msgspec
from msgspec import Struct

from ..._core.replies.rows import UNKNOWN, Row
from ..._resources.messages import Messages
from ...errors import ApiError, ChatRestError, NotFoundError, ServerError
from ...times import timestamp_words
from ..plan.file_names import seconds
from ..plan.message_ids import number, numbers_in, times
from .journal import Journal

_NEWEST: Final = "newest"
"""In the journal's meta: the newest messages that the service is known to have had."""
_KNOWN: Final = 10


class IdsBeginAnewError(ChatRestError):
    """The service has lost its data, or is another one: an id stands for two messages."""


class KnownMessage(Struct, frozen=True, array_like=True):
    """One of the messages with the highest ids, as it was."""

    id: int
    sent_at: int
    sender: str

    def is_same(self, row: Row) -> bool:
        """Return whether a row is this message; what is unknown may be any."""
        is_at = row.sent_at == self.sent_at or UNKNOWN in (row.sent_at, self.sent_at)
        is_at = is_at or seconds(row.sent_at) == seconds(self.sent_at)
        return is_at and (row.sender == self.sender or not row.sender or not self.sender)


@final
class IdContinuity:
    """The check of a run; what is found once holds for all of its lists."""

    def __init__(self, messages: Messages, journal: Journal) -> None:
        self._messages = messages
        self._journal = journal
        noted = journal[_NEWEST]
        known = [] if noted is None else msgspec.json.decode(noted, type=list[KnownMessage])
        self._known: dict[int, KnownMessage] = {each.id: each for each in known}
        self._newest = self._known
        self._is_sure = not known
        self._matches: list[Row] | None = None
        """The newest known message as it is now; nothing if it is gone, or cannot be asked for."""
        self._is_gone = False
        """True if the service has said that it does not have that message."""
        self._has_fault = False
        self._lock = asyncio.Lock()

    @property
    def has_fault(self) -> bool:
        """True if the service was found to have lost its data, or to be another one."""
        return self._has_fault

    async def check_app(self, rows: list[Row]) -> None:
        """Check the newest messages of the whole app, and note them. Raises `IdsBeginAnewError`."""
        await self.check(rows)
        self._is_sure, self._newest = True, {}  # the last ones may have been deleted
        self.see(rows)

    async def check(self, rows: list[Row]) -> None:
        """Check the newest messages of a list; costs one request where the known one is not there.

        Raises `IdsBeginAnewError`.
        """
        async with self._lock:
            by_id = _by_id(rows)
            if self._is_sure or not by_id:
                return
            known = self._known[max(self._known)]
            if known.id in by_id:
                self._matches = [by_id[known.id]]
            elif self._matches is None:
                self._matches = await self._message(known.id)
            now = by_id if not self._matches else by_id | {known.id: self._matches[0]}
            for _, each in sorted(self._known.items(), reverse=True):
                if each.id in now and not each.is_same(now[each.id]):
                    raise self._fault("begin again", each, now[each.id])
            self._is_sure = bool(self._matches)
            if self._is_sure or max(by_id) > known.id or not self._known.keys().isdisjoint(now):
                return
            if times(rows)[1] > self._latest():
                raise self._fault("may have begun again", known, by_id[max(by_id)])

    def _latest(self) -> int:
        """Return the latest time of all that was seen: clocks may disagree."""
        known = max(each.sent_at for each in self._known.values())
        return max(known, self._journal.latest())

    def _fault(self, words: str, known: KnownMessage, row: Row) -> IdsBeginAnewError:
        self._has_fault = True
        is_known = "newest message that the export knows" if known.id == max(self._known) else "known message"
        return IdsBeginAnewError(
            f"the ids of the app {words}: the {is_known} is {_words(known)}, and the service now has "
            f"{_words(row)}; if it has lost its data, or is another one, export into a new folder"
        )

    def may_hide_newer(self, row: Row) -> bool:
        """Return whether a message of a higher id is known, and not known to be gone."""
        return bool(self._known) and not self._is_gone and max(self._known) > (number(row.id) or 0)

    async def _message(self, id: int) -> list[Row]:
        """Return the message that is under an id, where it has left its list, too; none for none."""
        try:
            reply: Any = await self._messages.get(str(id))
        except ServerError:
            raise
        except ApiError as error:
            # A service that does not serve this, or refuses the key, says nothing of the message.
            self._is_gone = isinstance(error, NotFoundError) and not error.is_unserved
            return []
        return list(reply.items)

    def see(self, rows: list[Row]) -> None:
        messages = {key: KnownMessage(key, row.sent_at, row.sender) for key, row in _by_id(rows).items()}
        newest = sorted((self._newest | messages).items())[-_KNOWN:]
        self._newest = dict(newest)

    def meta(self, *, at_end: bool = False) -> dict[str, str]:
        """Return what the journal is to know of the newest messages: by each commit of messages that are sure
        to continue from those that are known, so that a run that is killed has a witness, and at its end.
        """
        if not self._newest or self._has_fault or not (self._is_sure or at_end):
            return {}
        return {_NEWEST: msgspec.json.encode([*self._newest.values()]).decode()}


def _by_id(rows: list[Row]) -> dict[int, Row]:
    return {numbered: row for numbered, row in zip(numbers_in(rows), rows, strict=True) if numbered}


def _words(message: KnownMessage | Row) -> str:
    by = f" by {message.sender}" if message.sender else ""
    at = f" at {timestamp_words(message.sent_at)}" if message.sent_at != UNKNOWN else ""
    return f"{message.id} (sent{by}{at})"
