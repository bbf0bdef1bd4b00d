"""Whether the ids of the service go on where earlier runs have left them, or begin anew: its data are lost.

| the newest message that is known | and what is there now            | then the ids |
|----------------------------------|----------------------------------|--------------|
| is there, as it was              |                                  | go on        |
| has another one under its id     |                                  | begin anew   |
| is gone                          | lower ids alone, one sent later  | begin anew   |
| is gone                          | any other                        | go on        |

In the last case messages were deleted. The same message has its time and its sender. The newest messages of
the app are asked, or where the service does not tell them those of each list.
"""

import asyncio
from typing import Any, Final, final

import msgspec
from msgspec import Struct

from ..core.replies.rows import UNKNOWN, Row
from ..errors import ApiError, ChatRestError, ServerError
from ..resources.messages import Messages
from ..times import timestamp_words
from .archive import Archive
from .file_names import seconds
from .message_ids import number, times

_NEWEST: Final = "newest"
"""In the journal's meta: the newest message that the service is known to have had."""


class IdsBeginAnewError(ChatRestError):
    """The service has lost its data, or is another one: an id stands for two messages."""


class KnownMessage(Struct, frozen=True, array_like=True):
    """The message with the highest id, as it was."""

    id: int
    sent_at: int
    sender: str
    latest: int
    """The latest time of it and those before it: clocks may disagree."""

    def is_same(self, row: Row) -> bool:
        """Return whether a row is this message; what is not told may be any."""
        is_at = UNKNOWN in (row.sent_at, self.sent_at) or seconds(row.sent_at) == seconds(self.sent_at)
        return is_at and (row.sender == self.sender or not row.sender or not self.sender)


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
        """Check the newest messages of the whole app, and note them. Raises `IdsBeginAnewError`."""
        await self.check(rows)
        self._is_sure, self._newest = True, None  # the last ones may have been deleted
        self.see(rows)

    async def check(self, rows: list[Row]) -> None:
        """Check the newest messages of a list; costs a request a run, where the known one is not among them.

        Raises `IdsBeginAnewError`.
        """
        async with self._lock:
            known, by_id = self._known, _by_id(rows)
            if known is None or self._is_sure or not by_id:
                return
            if known.id in by_id:
                self._found = [by_id[known.id]]
            elif self._found is None:
                self._found = await self._message(known.id)
            self._is_sure = bool(self._found) and known.is_same(self._found[0])
            is_later = max(by_id) < known.id and times(rows)[1] > known.latest
            if self._is_sure or not (self._found or is_later):
                return
            self._has_fault = True
            found = self._found[0] if self._found else by_id[max(by_id)]
            raise IdsBeginAnewError(
                "the ids of the app begin anew: the newest message that the export knows is "
                f"{_words(known)}, and the service now has {_words(found)}; "
                "it has lost its data, or is another one: export into a new folder"
            )

    async def _message(self, id: int) -> list[Row]:
        """Return the message that is under an id, where it has left its list, too; none for none."""
        try:
            reply: Any = await self._messages.get(str(id))
        except ServerError:
            raise
        except ApiError:
            return []
        return list(reply.items)

    def see(self, rows: list[Row]) -> None:
        by_id, newest = _by_id(rows), self._newest
        if by_id and (newest is None or max(by_id) >= newest.id):
            row = by_id[max(by_id)]
            latest = max(times(rows)[1], newest.latest if newest is not None else UNKNOWN)
            self._newest = KnownMessage(max(by_id), row.sent_at, row.sender, latest)

    @property
    def is_new(self) -> bool:
        """True if the newest message is sure to continue from the one that is known, and is not noted yet."""
        return self._is_sure and not self._has_fault and self._newest not in (None, self._saved)

    def save(self) -> None:
        """Note the newest message for later runs; in a transaction of the journal."""
        if self._newest is not None and self._newest != self._saved and not self._has_fault:
            self._archive.journal[_NEWEST] = msgspec.json.encode(self._newest).decode()
            self._saved = self._newest


def _by_id(rows: list[Row]) -> dict[int, Row]:
    return {numbered: row for row in rows if (numbered := number(row.id)) is not None}


def _words(message: KnownMessage | Row) -> str:
    by = f" by {message.sender}" if message.sender else ""
    at = f" at {timestamp_words(message.sent_at)}" if message.sent_at != UNKNOWN else ""
    return f"{message.id} (sent{by}{at})"
