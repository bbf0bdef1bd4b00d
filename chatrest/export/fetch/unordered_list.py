"""Reads all of a list whose ids are no positions, in the order in which the service shows it.

Such a list is ordered by something else than ids: by the time of the last change, or with the newest message
first, whatever was asked for. Only its end shows that no lower id follows, so a page covers nothing, and the
end covers all. It is accepted like that of any list: only if its newest messages were shown.
"""

from contextlib import aclosing, suppress
from itertools import pairwise
from typing import Final

from msgspec import Struct, field, structs

from ..._core.paging.order import Affix
from ..._core.replies.rows import UNKNOWN, Row
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ...errors import BadRequestError, CursorError
from ..folder.fetched_page import Coverage
from ..plan.id_set import IdSet
from ..plan.message_ids import PageIds, ids_of, number
from .jobs import ListJob, ListPiece, PieceResult
from .list_end import ListEnds
from .page_queue import PageQueue

MAX_TRIES: Final = 2
"""How often a list is continued, or read again, and shows nothing new, before that is an error."""


class ListTooShortError(CursorError):
    def __init__(self, job: ListJob, last: int, newest: str) -> None:
        super().__init__(f"the list of {job.source} stopped at id {last}, but its newest message is {newest}")


class _Order(Struct, eq=False):
    ids: list[int] = []
    """The first and the last id."""
    times: list[int] = []
    is_up: bool = True
    is_down: bool = True
    is_chronological: bool = True

    def add(self, rows: list[Row]) -> None:
        ids = [*self.ids[1:], *(numbered for row in rows if (numbered := number(row.id)) is not None)]
        times = [*self.times[1:], *(row.sent_at for row in rows)]
        self.is_up &= all(earlier < later for earlier, later in pairwise(ids))
        self.is_down &= all(earlier > later for earlier, later in pairwise(ids))
        self.is_chronological &= UNKNOWN not in times and times == sorted(times)
        self.ids, self.times = _ends(self.ids or ids, ids), _ends(self.times or times, times)


def _ends(first: list[int], last: list[int]) -> list[int]:
    return [first[0], last[-1]] if last else first


class UnorderedListReader:
    def __init__(self, messages: Messages, ends: ListEnds, pages: PageQueue) -> None:
        self._messages = messages
        self._ends = ends
        self._pages = pages

    async def read(self, piece: ListPiece) -> PieceResult:
        """Read all of the list of a piece; raises the errors of a walk, and that of foreign messages."""
        reading = _UnorderedReading(piece.job)
        with suppress(BadRequestError):  # from a service that does not show them
            page = await self._ends.newest_page(piece.job) if piece.is_open else None
            reading.newest = None if page is None else page.items
        await self._read_to_end(reading)
        result = await self._pages.end_piece(
            piece, Coverage(last=reading.ids.last),
            None if reading.order.is_up or reading.order.is_down else "other",
            is_empty=not reading.id_count, highest_id=ids_of(reading.newest or []).numbers.last,
        )  # fmt: skip
        return result._replace(is_all_read=True)

    async def _read_to_end(self, reading: "_UnorderedReading") -> None:
        fruitless_tries, newest = 0, reading.newest or None  # an empty one proves nothing
        while True:
            count = reading.id_count
            if await self._read_all(reading):
                return
            newest_ids, newest = await self._ends.newest_ids(reading.job, newest), None
            unseen = reading.unseen(newest_ids)
            if not unseen:
                return
            fruitless_tries = fruitless_tries + 1 if reading.id_count == count else 0
            if fruitless_tries >= MAX_TRIES:
                raise ListTooShortError(reading.job, reading.ids.last, unseen[0])

    async def _read_all(self, reading: "_UnorderedReading") -> bool:
        """Read the list once, in the direction that it has; return True if its end need not be proven."""
        try:
            return await self._read_in_direction(reading, "append")
        except CursorError as error:
            try:
                return await self._read_in_direction(reading, None)
            except CursorError:
                raise error from None

    async def _read_in_direction(self, reading: "_UnorderedReading", affix: Affix | None) -> bool:
        job, asked, window = reading.job, self._ends.window_of(reading.job), self._pages.check.window
        query = MessageQuery(affix=affix, from_timestamp=asked.since, to_timestamp=asked.until)
        walk = job.source.list(self._messages, query)
        walk = walk.at(structs.replace(walk.cursor, by_id=False)).thorough()
        reading.begin()
        is_first = True
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                ids = reading.add_rows(page.items)
                rows = sorted(page.items, key=lambda row: number(row.id) or 0)
                await self._pages.add_reply(job, page, rows, ids, asked, Coverage())
                # A first page may be the newest one, whatever was asked for; and a list that begins with the
                # newest ends by itself.
                may_end = affix is not None and not is_first
                if may_end and (window.is_past(page.items) or reading.has_shown_newest()):
                    return True
                is_first = False
        return window.until is not None and not reading.id_count  # an empty list


class _UnorderedReading(Struct, eq=False):
    job: ListJob
    newest: list[Row] | None = None
    """The newest messages when the reading began; None if they were not asked for."""
    ids: IdSet = field(default_factory=IdSet)
    """All that any pass has shown."""
    text_ids: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    order: _Order = field(default_factory=_Order)
    """That of the last pass."""
    last_ids: IdSet = field(default_factory=IdSet)
    """Those of the last pass: what an interrupted one has shown proves nothing."""
    last_text_ids: set[str] = field(default_factory=set)

    @property
    def id_count(self) -> int:
        return len(self.ids) + len(self.text_ids)

    def begin(self) -> None:
        self.order, self.last_ids, self.last_text_ids = _Order(), IdSet(), set()

    def add_rows(self, rows: list[Row]) -> PageIds:
        self.order.add(rows)
        ids = ids_of(rows)
        for numbers, text_ids in ((self.ids, self.text_ids), (self.last_ids, self.last_text_ids)):
            numbers.update(ids.numbers)
            text_ids.update(ids.others)
        return ids

    def unseen(self, newest: PageIds) -> list[str]:
        return [*map(str, newest.numbers - self.last_ids), *(newest.others.keys() - self.last_text_ids)]

    def has_shown_newest(self) -> bool:
        """Return whether all newest messages were shown, after older ones."""
        if not self.newest or not self.order.is_chronological or not self.order.times:
            return False
        has_older = self.order.times[0] < min(row.sent_at for row in self.newest)
        return has_older and not self.unseen(ids_of(self.newest))
