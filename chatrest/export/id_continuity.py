"""Whether the ids of the service go on where earlier runs have left them, or begin anew: its data are lost.

| the newest message that is known | and what is there now                           | then the ids  |
|----------------------------------|-------------------------------------------------|---------------|
| is there, as it was              |                                                 | go on         |
| has another one under its id     |                                                 | begin anew    |
| is gone                          | a higher id                                     | go on         |
| is gone                          | one that the export holds, as it was            | go on         |
| is gone                          | an id that the export holds, of another message | begin anew    |
| is gone                          | lower ids, none of them held, sent later        | begin anew    |

In any other case the last messages were deleted. The same message has its time and its sender.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, final

import msgspec
from msgspec import Struct

from ..core.paging.intervals import LAST
from ..core.replies.rows import UNKNOWN, Row
from ..errors import ApiError, ChatRestError, ServerError
from ..resources.messages import Messages
from ..times import timestamp_words
from .archive import Archive
from .file_names import seconds
from .in_thread import in_thread
from .message_ids import number, times

_NEWEST: Final = "newest"
"""In the journal's meta: the newest message that the service is known to have had."""


class IdsBeginAnewError(ChatRestError):
    """The service has lost its data, or is another one: an id stands for two messages."""

    def __init__(self, name: str, known: str, found: str) -> None:
        """`name` is whose ids they are; `found` cannot be, beside what is `known`."""
        super().__init__(
            f"the ids of {name} begin anew: the newest message that the export knows is {known}, and the "
            f"service now has {found}; it has lost its data, or is another one: export into a new folder"
        )


class KnownMessage(Struct, frozen=True, array_like=True):
    """The message with the highest id, as it was."""

    id: int
    sent_at: int
    sender: str
    latest: int
    """The latest time of it and those before it: clocks may disagree."""

    def __str__(self) -> str:
        return message_words(self.id, self.sent_at, self.sender)


@final
class IdContinuity:
    """The check of a run; what is found once holds for all of its lists."""

    def __init__(self, messages: Messages, archive: Archive) -> None:
        self._messages = messages
        self._archive = archive
        noted = archive.journal[_NEWEST]
        self._known = None if noted is None else msgspec.json.decode(noted, type=KnownMessage)
        self._newest = self._saved = self._known
        self._is_sure = self._known is None
        self._found: list[Row] | None = None
        self._has_fault = False
        self._lock = asyncio.Lock()

    async def check_app(self, rows: list[Row]) -> None:
        """Check the newest messages of the whole app. Costs a request where the known one is not among them,
        nor between them. Raises `IdsBeginAnewError`.
        """
        by_id = _by_id(rows)
        if self._known is not None and by_id:
            is_between = min(by_id) < self._known.id < max(by_id)
            if self._known.id in by_id or not is_between:
                await self.check(rows)
        self._is_sure, self._newest = True, None  # the last ones may have been deleted
        self.see(rows)

    async def check_later(self, rows: list[Row]) -> None:
        """Check rows that contradict what is known: sent later, and with lower ids. Raises
        `IdsBeginAnewError`.
        """
        known = self._known
        if self._is_sure or known is None or times(rows)[1] <= known.latest:
            return
        if any(row.sent_at > known.latest and (number(row.id) or known.id) < known.id for row in rows):
            await self.check(rows)

    def is_behind(self, rows: list[Row]) -> bool:
        """Return whether the newest messages of a list were not sent after the one that is known."""
        return self._known is not None and min(_by_id(rows), default=LAST) <= self._known.id

    async def check(self, rows: list[Row]) -> None:
        """Check what is there now; costs a request a run, where the known one is not among it. Raises
        `IdsBeginAnewError`.
        """
        async with self._lock:
            if self._known is None or self._is_sure:
                return
            if (shown := _by_id(rows).get(self._known.id)) is not None:
                self._found = [shown]
            elif self._found is None:
                self._found = await self.message(self._known.id)
            if self._found:
                if not is_same(self._found[0], self._known.sent_at, self._known.sender):
                    raise self.fault("the app", str(self._known), _words(self._found[0]))
                self._is_sure = True
            else:
                await self.check_held(rows)

    async def check_held(self, rows: list[Row]) -> None:
        """Check the newest messages where those that are known are gone, against what is on the disk. Raises
        `IdsBeginAnewError`.
        """
        by_id, known = _by_id(rows), self._known
        if self._is_sure or known is None or not by_id or max(by_id) > known.id:
            return
        held = await in_thread(lambda: self._held(by_id))
        if any(is_same(by_id[each], row.sent_at, row.sender) for each, row in held.items()):
            self._is_sure = True  # the last ones were deleted
        elif held:
            raise self.fault("the app", str(known), _words(by_id[max(held)]))
        elif times(rows)[1] > known.latest:
            raise self.fault("the app", str(known), _words(by_id[max(by_id)]))

    async def message(self, id: int) -> list[Row]:
        """Return the message that stands under an id, where it has left its list, too; none for none."""
        try:
            reply: Any = await self._messages.get(str(id))
        except ServerError:
            raise
        except ApiError:
            return []
        return list(reply.items)

    def see(self, rows: list[Row]) -> None:
        """Note the newest messages of a list."""
        by_id, newest = _by_id(rows), self._newest
        if by_id and (newest is None or max(by_id) >= newest.id):
            row = by_id[max(by_id)]
            latest = max(times(rows)[1], newest.latest if newest is not None else UNKNOWN)
            self._newest = KnownMessage(max(by_id), row.sent_at, row.sender, latest)

    def fault(self, name: str, known: str, found: str) -> IdsBeginAnewError:
        """Return the error of ids that begin anew; what this run has seen as the newest is not noted then."""
        self._has_fault = True
        return IdsBeginAnewError(name, known, found)

    @property
    def is_new(self) -> bool:
        """True where the newest message is sure to go on from the one that is known, and is not noted yet."""
        return self._is_sure and not self._has_fault and self._newest not in (None, self._saved)

    def save(self) -> None:
        """Note the newest message for later runs; in a transaction of the journal."""
        if self._newest is not None and self._newest != self._saved and not self._has_fault:
            self._archive.journal[_NEWEST] = msgspec.json.encode(self._newest).decode()
            self._saved = self._newest

    def _held(self, by_id: dict[int, Row]) -> dict[int, Row]:
        """Return those on the disk that have one of these ids; not those that tell no time."""
        scan = self._archive.scan
        held = self._archive.at_rest(
            lambda: _by_id(row for row in scan(min(by_id), max(by_id)) if number(row.id) in by_id)
        )
        return {each: row for each, row in held.items() if UNKNOWN not in (row.sent_at, by_id[each].sent_at)}


def message_words(id: int, sent_at: int, sender: str = "") -> str:
    by = f" by {sender}" if sender else ""
    at = f" at {timestamp_words(sent_at)}" if sent_at != UNKNOWN else ""
    return f"{id} (sent{by}{at})" if by or at else str(id)


def is_same(row: Row, sent_at: int, sender: str = "") -> bool:
    """Return whether a row is the message with this time and sender; what is not told may be any."""
    is_at = UNKNOWN in (row.sent_at, sent_at) or seconds(row.sent_at) == seconds(sent_at)
    return is_at and (row.sender == sender or not row.sender or not sender)


def _by_id(rows: Iterable[Row]) -> dict[int, Row]:
    return {numbered: row for row in rows if (numbered := number(row.id)) is not None}


def _words(row: Row) -> str:
    return message_words(number(row.id) or 0, row.sent_at, row.sender)
