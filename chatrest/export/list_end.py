"""What a list has at its end: the requests that tell whether all up to there was shown.

Services that others wrote order a list by time, then id, and let it be entered by an id alone, or by a time
and an id. There a message may come later with an earlier time than those before it, where clocks disagree:

| asked for                           | and what it proves                                                   |
|-------------------------------------|----------------------------------------------------------------------|
| the newest messages                 | no message that is there now is later than the latest of them        |
| what is behind one of the last ids  | with nothing new there, nothing is new, at whatever time             |
| the latest message up to an id      | with none later than where a reading stands, it has shown all of it  |
"""

from contextlib import aclosing
from typing import Final, final

from msgspec import structs

from ..core.replies.rows import Row
from ..core.requests.endpoint import Pairs
from ..errors import BadRequestError
from ..parameters.messages import MessageQuery
from ..resources.messages import Messages
from ..walk.source import Page
from .jobs import Job, Newest
from .message_ids import ids_of, number
from .page_partition import Window

PROBED: Final = 10
"""Messages of a probe: the newest ones of a list. Fewer are all that it has."""
KNOWN: Final = 3
"""Of the known ids of a list, how many of the last ones are asked for once more with what is new: fewer than
any page has, so that a reply of them alone is not cut off."""


def by_id_alone(position: Pairs) -> Pairs:
    """Return a position without its time: what came later with an earlier time lies behind it, too."""
    return tuple(pair for pair in position if pair[0] != "sentAt")


@final
class EndProbe:
    """Asks for the ends of lists; each of its methods costs one request."""

    def __init__(self, messages: Messages, query: MessageQuery) -> None:
        """`query` is the plan's filter."""
        self._messages = messages
        self._query = query

    async def newest(self, job: Job, window: Window | None = None) -> Newest:
        """Return the newest messages of a list: without a window, as services take its ends in other ways."""
        since, until = window or Window()
        query = structs.replace(self._query, affix="prepend", from_timestamp=since, to_timestamp=until)
        page = await self._first_page(job, query)
        if page is None:
            return Newest([], ids_of([]), is_timed=False, is_by_id=True)
        position = page.meta.cursor or page.meta.next
        is_timed = position is not None and number(str(position.sent_at)) is not None
        return Newest(page.items, ids_of(page.items), is_timed, page.cursor.by_id)

    async def behind(self, job: Job, last: int) -> list[Row]:
        """Return the first messages behind an id."""
        position = {"id": str(last)} if last > 0 else {}
        page = await self._first_page(job, structs.replace(self._query, affix="append", **position))
        return [] if page is None else page.items

    async def up_to(self, job: Job, last: int) -> list[Row]:
        """Return the latest messages up to an id; with those behind it where the service is used to that."""
        query = structs.replace(self._query, affix="prepend", id=str(last + 1))
        try:
            page = await self._first_page(job, query)
        except BadRequestError:  # no service that goes on from an id refuses one
            return []
        return [] if page is None else page.items

    async def _first_page(self, job: Job, query: MessageQuery) -> Page[Row] | None:
        async with aclosing(job.list(self._messages, query).limit(PROBED).pages()) as pages:
            return await anext(pages, None)
