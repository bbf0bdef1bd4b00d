"""Reads a piece of one source's list, page by page, and believes its end only after a proof (`list_end`).

| the reply                              | the reader                                           |
|----------------------------------------|------------------------------------------------------|
| page of messages up to the id n        | covers the ids up to n, and no further; the first    |
|                                        | page of a list only once a second one comes after it |
| page that passes the end of the piece  | covers the ids up to there                           |
| all of an honest head was shown        | ends: what is after it is new                        |
| end of the list                        | asks for its newest messages, if it has no head      |
| … and they show no higher id,          | the end is proven                                    |
|   and no other id that was not seen    |                                                      |
| … and they show such an id             | continues after the last one, and then from the      |
|                                        | start; `CursorError` where that returns nothing      |
| ids in another order                   | reads all of the list (`whole_list`)                 |

Ids that are no numbers have no order: they were seen, or were not. Without a newest message of the app, the
head is the end of the list for this run.
"""

from contextlib import aclosing
from itertools import pairwise
from typing import Final

from msgspec import structs

from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ...errors import CursorError
from ..plan.message_ids import LAST, ids_of, number
from .jobs import Ending, ListPiece, PieceQueue, PieceResult
from .list_end import Head, ListEnds
from .list_reading import ListReading
from .page_queue import PageQueue
from .piece_reader import NotOrderedByIdError, PositionRefusedError, piece_pages
from .whole_list import TRIES, ListTooShortError, WholeListReader

LEAST_PAGES: Final = 12
"""Pages of the smallest part of a list that is divided. A part costs half a request more: with 32 readers 5 %
of a list of 200 pages, 0.8 % of one of 2,000, whose longest chain of requests is 1.04 times the shortest
possible; 4 % and 1.3 times (undivided: 31 times) where 99 % of the ids are in 1 % of their range.
"""


class ListReader:
    def __init__(self, messages: Messages, ends: ListEnds, pages: PageQueue) -> None:
        self._messages = messages
        self._ends = ends
        self._pages = pages
        self._whole = WholeListReader(messages, ends, pages)
        self._refused: set[int] = set()
        """The numbers of sources whose lists cannot be entered at an id that is made up."""

    async def read(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        """Read a piece to its end; a long one is divided while other readers are free.

        Raises the errors of a walk, and that of a source whose list showed messages of others.
        """
        try:
            if piece.of.known.order != "other":
                return await self._read(piece, queue)
        except PositionRefusedError as error:
            self._refused.add(piece.of.number)
            return PieceResult(piece.of.number, Ending.UNCUT if error.is_guess else Ending.REFUSED)
        except ListTooShortError:
            raise
        except (NotOrderedByIdError, CursorError):  # the ids of its list are no positions
            pass
        return await self._whole.read(piece)

    async def _read(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        job = piece.of
        reading = ListReading.of(piece, await self._ends.shown_before(job))
        head = await self._ends.look(reading) if piece.is_open else Head()
        if head.rows is not None:
            reading.look(head.rows)
        if piece.is_open and reading.is_timed and job.purpose == "walk" and not reading.resumed_after:
            reading.enter_by_id()
        if head.has_news:
            is_over = await self._read_to_end(reading, queue)
            if is_over and reading.head is not None:
                newest = ids_of(self._pages.check.held(job, reading.head))
                await self._pages.put_seen(job, reading.late(newest.numbers))
            if reading.is_timed:
                await self._ends.check_times(reading, is_over=is_over)
        is_empty = reading.is_empty and not reading.shown_before
        if is_empty and job.source.kind == "pair" and job.purpose == "walk":
            await self._ends.check_empty_pair(job)
        covered, piece = reading.cover(reading.last), reading.piece
        covered = covered._replace(position=() if reading.is_timed else piece.position)
        return await self._pages.end(
            piece, covered, reading.order, is_empty=reading.is_empty, highest=reading.highest
        )

    async def _read_to_end(self, reading: ListReading, queue: PieceQueue) -> bool:
        """Read pages until the end of the piece is reached, or that of the list is proven.

        Returns False if the list itself has ended.
        """
        tries, is_own_guess, is_over = 0, False, False
        while True:
            piece, count, begin = reading.piece, reading.count, reading.covered
            try:
                is_over = await self._read_pages(reading, queue)
            except PositionRefusedError:
                if not is_own_guess:
                    raise
            is_empty = piece.is_from_start and not reading.count
            if is_over or (is_empty and self._pages.check.window.until is not None):
                return is_over
            unseen = await self._unseen(reading, is_first=tries == 0)
            if unseen is None:
                return is_over
            tries = tries + 1 if reading.count == count else 0
            if tries >= TRIES and reading.is_timed:
                raise NotOrderedByIdError  # a later message has an earlier time
            if tries >= TRIES:
                raise ListTooShortError(reading.job, reading.last, unseen)
            # An id that is no number, and came late, may be anywhere in a list.
            is_anywhere = tries > 0 and number(unseen) is None
            is_from_start = is_own_guess or is_anywhere or (piece.is_from_start and begin > 0)
            reading.piece = reading.continued(from_start=is_from_start)
            is_own_guess = reading.piece.is_guess

    async def _unseen(self, reading: ListReading, *, is_first: bool) -> str | None:
        """Return an id that the list should have shown, by its newest messages, but has not; None if it
        has shown all of them.
        """
        job = reading.job
        newest = await self._ends.newest_ids(job, reading.head if is_first else None)
        if newest.numbers.last > reading.covered:
            return str(newest.numbers.last)
        keys = newest.others.keys() - reading.keys if reading.piece.until >= job.until else set[str]()
        if job.purpose == "walk":  # other pieces of the list may have shown them
            keys = await self._ends.never_seen(job, keys)
        if keys:
            return min(keys)
        await self._pages.put_seen(job, reading.late(newest.numbers))
        return None

    async def _read_pages(self, reading: ListReading, queue: PieceQueue) -> bool:
        """Read pages up to the end of the piece, and return True; False at the end of the list."""
        job, is_first, leads = reading.job, reading.piece.is_from_start, None
        asked, window = self._ends.window_of(job), self._pages.check.window
        walk = job.source.list(
            self._messages, MessageQuery(from_timestamp=asked.since, to_timestamp=asked.until)
        )
        async with aclosing(piece_pages(walk, reading.piece)) as parts:
            while True:
                async with self._pages.fetching():
                    if (part := await anext(parts, None)) is None:
                        break
                    before, (rows, ids) = reading.covered, reading.take(part, reading.end)
                    is_over = reading.covered >= reading.end
                    if job.until == LAST and reading.piece.is_open:
                        is_over = is_over or reading.has_passed_head()
                    is_ascending = not is_first or (part.leads == "append" and is_over)
                    covered = reading.cover(reading.covered if is_ascending else 0)
                    await self._pages.put(job, part.page, rows, ids, asked, covered, reading.order)
                leads, is_first = part.leads if is_first else None, False
                if window.is_past(part.items) or (is_over and is_ascending):
                    return True
                # The ids of a list may begin far above the id at which it is entered.
                ids_a_page = reading.covered - max(before, ids.numbers.first - 1)
                if await self._is_divided(reading, ids_a_page, queue):
                    break
        if part is not None:
            return await self._read_pages(reading, queue)
        if leads == "prepend":
            raise CursorError(
                f"the list of {job.source} ended early: the position of its last page is before its end"
            )
        return False

    async def _is_divided(self, reading: ListReading, ids_a_page: int, queue: PieceQueue) -> bool:
        """Give parts of a long piece to free readers; return True if one is left that ends earlier.

        A part whose ids are denser than those before it is divided again.
        """
        piece, covered = reading.piece, reading.covered
        if not (queue.has_free_reader and piece.may_be_divided) or reading.job.until == LAST:
            return False
        if reading.is_timed or reading.job.number in self._refused:
            return False
        least = max(2, ids_a_page * LEAST_PAGES)
        if reading.end - covered < 2 * least:
            return False
        if piece.is_open and not reading.newest_id:  # the frozen end is the app's, and may be far above
            head = await self._ends.newest(reading.job) if reading.head is None else reading.head
            reading.newest_id = ids_of(head).numbers.last
        left = min(reading.end, reading.newest_id or LAST) - covered
        if (count := min(queue.readers, left // least)) < 2:
            return False
        begins = [covered + left * part // count for part in range(1, count)]
        for after, until in pairwise([*begins, piece.until]):
            queue.give(structs.replace(piece, after=after, until=until, position=(), is_guess=True))
        position = reading.position
        reading.piece = structs.replace(
            piece, after=covered, until=begins[0], position=position, is_guess=not position
        )
        return True
