"""The check that the service's ids continue, and do not begin again because its data are lost.

The message that has the highest id of the export, or the newest one where the service shows lower ids alone,
must not be later than all messages of the export. Messages that are only gone look like deleted ones here.
"""

import asyncio
from typing import Any

from ..._core.replies.rows import Row
from ..._resources.messages import Messages
from ...errors import ApiError, ChatRestError, NotFoundError, ServerError
from ...times import timestamp_words
from ..plan.file_names import seconds
from ..plan.message_ids import numbers_in
from .journal import Journal


class IdsBeginAgainError(ChatRestError):
    """An id stands for two messages: the service has lost its data, or is another one."""


class IdContinuity:
    """The check of a run; what is found once holds for all of its lists."""

    def __init__(self, messages: Messages, highest: int, journal: Journal) -> None:
        """`highest` is the highest id of the export, of which `journal` is."""
        self._messages = messages
        self._highest, self._latest = highest, seconds(journal.latest())
        self._lock = asyncio.Lock()
        self._is_sure = not highest
        self._is_asked = self._is_gone = False
        self.has_fault: bool = False

    async def check(self, rows: list[Row]) -> None:
        """Check the newest messages of the app or of a list, before any page is committed.

        Costs one request, in all, if the highest known id is not among them. Raises `IdsBeginAgainError`.
        """
        by_id = {key: row for key, row in zip(numbers_in(rows), rows, strict=True) if key}
        async with self._lock:
            if self._is_sure or not by_id:
                return
            known = by_id.get(self._highest) or await self._message()
            now = known or by_id[max(by_id)]
            is_below = known is not None or max(by_id) < self._highest
            if is_below and seconds(now.sent_at) > self._latest > 0:
                self.has_fault = True
                until, at = map(timestamp_words, (self._latest, now.sent_at))
                raise IdsBeginAgainError(
                    f"the ids of the app begin again: the newest message of the export is {self._highest}, "
                    f"sent at {until} or earlier, and the service now has {now.id}, sent at {at}; if "
                    "it has lost its data, or is another one, export into a new folder"
                )
            self._is_sure = known is not None

    async def _message(self) -> Row | None:
        """Return the message that has the highest known id now, also one that left its list; asks once."""
        if self._is_asked:
            return None
        self._is_asked = True
        try:
            reply: Any = await self._messages.get(str(self._highest))
        except ServerError:
            raise
        except ApiError as error:
            # A service that does not serve this, or refuses the key, says nothing of the message.
            self._is_gone = isinstance(error, NotFoundError) and not error.is_unserved
            return None
        return next(iter(reply.items), None)

    def may_hide_newer(self, key: int) -> bool:
        """Return whether a message after this id is known, and not known to be gone."""
        return not self._is_gone and self._highest > key
