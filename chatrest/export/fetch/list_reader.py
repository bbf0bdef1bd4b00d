"""Reads one piece of a source's list, page by page, and accepts its end only after a proof (`list_end`).

| the reply                                  | the reader                                                    |
|--------------------------------------------|---------------------------------------------------------------|
| page of messages up to the id n            | covers the ids up to n; the first page of a list covers none  |
|                                            | before a second one has come after it                         |
| page that passes the end of the piece      | covers the ids up to that end, and stops                      |
| page after which all reliable newest       | stops: later messages were added since                        |
| messages were shown                        |                                                               |
| page, while other readers are free         | divides the piece, if it has 24 more pages of this density    |
| end of the list                            | asks for its newest messages, unless it knows them            |
| – they show nothing that was not seen      | the end is proven                                             |
| – they show an id that was not seen        | continues after the last id, and then from the start; raises  |
|                                            | `ListTooShortError` where both show nothing new               |
| refused position                           | returns `Ending.ID_REFUSED` or `Ending.POSITION_REFUSED`      |
| ids in another order                       | reads all of the list (`unordered_list`)                      |

Ids that are no numbers have no order: they were seen, or were not. Without a newest message of the app, the
newest messages of the list are its end for this run.
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
from .list_end import ListEnds, Newest
from .list_reading import ListReading
from .page_queue import PageQueue
from .piece_reader import NotOrderedByIdError, PositionRefusedError, piece_pages
from .unordered_list import MAX_TRIES, ListTooShortError, UnorderedListReader

MIN_PAGES: Final = 12
"""Pages of the smallest part of a list that is divided. A part costs half a request more: with 32 readers 5 %
of a list of 200 pages, 0.8 % of one of 2,000, whose longest chain of requests is 1.04 times the shortest."""


class ListReader:
    def __init__(self, messages: Messages, ends: ListEnds, pages: PageQueue) -> None:
        self._messages = messages
        self._ends = ends
        self._pages = pages
        self._unordered = UnorderedListReader(messages, ends, pages)
        self._refused: set[int] = set()
        """The numbers of sources whose lists cannot be entered at an id that is made up."""

    async def read(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        """Read a piece to its end; a long one is divided while other readers are free.

        Raises the errors of a walk, and that of a source whose list showed messages of others.
        """
        try:
            if piece.job.state.order != "other":
                return await self._read_in_order(piece, queue)
        except PositionRefusedError as error:
            self._refused.add(piece.job.number)
            ending = Ending.ID_REFUSED if error.is_guess else Ending.POSITION_REFUSED
            return PieceResult(piece.job.number, ending)
        except ListTooShortError:
            raise
        except (NotOrderedByIdError, CursorError):  # the ids of its list are no positions
            pass
        return await self._unordered.read(piece)

    async def _read_in_order(self, piece: ListPiece, queue: PieceQueue) -> PieceResult:
        job = piece.job
        reading = ListReading.begin(piece, await self._ends.earlier_ids(job))
        newest = await self._ends.ask_newest(reading) if piece.is_open else Newest()
        if newest.rows is not None:
            reading.newest, reading.highest_id = newest.rows, ids_of(newest.rows).numbers.last
        if piece.is_open and reading.is_by_time and job.purpose == "walk" and not reading.resumed_after:
            reading.forget_entry_time()
        if newest.may_be_unseen:
            await self._read_and_check(reading, queue)
        is_empty = reading.is_empty and not reading.earlier_ids
        if is_empty and job.source.kind == "pair" and job.purpose == "walk":
            await self._ends.check_empty_pair(job)
        covered, piece = reading.add_coverage(reading.last_id), reading.piece
        covered = covered._replace(position=() if reading.is_by_time else piece.position)
        return await self._pages.end_piece(
            piece, covered, reading.order, is_empty=reading.is_empty, highest_id=reading.highest_id
        )

    async def _read_and_check(self, reading: ListReading, queue: PieceQueue) -> None:
        reaches_end = await self._read_to_end(reading, queue)
        if reaches_end and reading.newest is not None:
            newest = ids_of(self._pages.check.held(reading.job, reading.newest))
            await self._pages.add_unread_ids(reading.job, reading.covered_unseen(newest.numbers))
        if reading.is_by_time:
            await self._ends.check_times(reading, reaches_end=reaches_end)

    async def _read_to_end(self, reading: ListReading, queue: PieceQueue) -> bool:
        """Read pages, and again where the list ended too early; return True if the end of the piece was
        reached, and False if that of the list was, and is proven.
        """
        fruitless_tries, is_own_guess, reaches_end = 0, False, False
        while True:
            piece, count, begin = reading.piece, reading.id_count, reading.covered
            try:
                reaches_end = await self._read_pages(reading, queue)
            except PositionRefusedError:
                if not is_own_guess:
                    raise
            is_empty = piece.is_from_start and not reading.id_count
            if reaches_end or (is_empty and self._pages.check.window.until is not None):
                return reaches_end
            unseen = await self._newest_unseen(reading, is_first=fruitless_tries == 0)
            if unseen is None:
                return False
            fruitless_tries = fruitless_tries + 1 if reading.id_count == count else 0
            if fruitless_tries >= MAX_TRIES and reading.is_by_time:
                raise NotOrderedByIdError  # a later message has an earlier time
            if fruitless_tries >= MAX_TRIES:
                raise ListTooShortError(reading.job, reading.last_id, unseen)
            # An id that is no number, and came late, may be anywhere in a list.
            is_anywhere = fruitless_tries > 0 and number(unseen) is None
            is_from_start = is_own_guess or is_anywhere or (piece.is_from_start and begin > 0)
            reading.piece = reading.remaining_piece(from_start=is_from_start)
            is_own_guess = reading.piece.is_guess

    async def _newest_unseen(self, reading: ListReading, *, is_first: bool) -> str | None:
        """Return an id of the list's newest messages that it has not shown; None if it has shown all."""
        job = reading.job
        newest = await self._ends.newest_ids(job, reading.newest if is_first else None)
        if newest.numbers.last > reading.covered:
            return str(newest.numbers.last)
        is_last_piece = reading.piece.until >= job.until
        unseen = newest.others.keys() - reading.text_ids if is_last_piece else set[str]()
        if job.purpose == "walk":  # other pieces of the list may have shown them
            unseen = await self._ends.unseen_text_ids(job, unseen)
        if unseen:
            return min(unseen)
        await self._pages.add_unread_ids(job, reading.covered_unseen(newest.numbers))
        return None

    async def _read_pages(self, reading: ListReading, queue: PieceQueue) -> bool:
        """Read pages up to the end of the piece, and return True; False at the end of the list."""
        while (reaches_end := await self._read_until_divided(reading, queue)) is None:
            pass
        return reaches_end

    async def _read_until_divided(self, reading: ListReading, queue: PieceQueue) -> bool | None:
        """Read pages as `_read_pages`; None once the piece was divided, and what is left of it is to be
        read.
        """
        job, is_first, direction = reading.job, reading.piece.is_from_start, None
        asked, window = self._ends.window_of(job), self._pages.check.window
        query = MessageQuery(from_timestamp=asked.since, to_timestamp=asked.until)
        walk = job.source.list(self._messages, query)
        async with aclosing(piece_pages(walk, reading.piece)) as pages:
            while True:
                async with self._pages.fetching():
                    if (page := await anext(pages, None)) is None:
                        break
                    before, (rows, ids) = reading.covered, reading.add_page(page)
                    reaches_end = reading.covered >= reading.end
                    if job.until == LAST and reading.piece.is_open:
                        reaches_end = reaches_end or reading.has_shown_newest()
                    is_ascending = not is_first or (page.direction == "append" and reaches_end)
                    covered = reading.add_coverage(reading.covered if is_ascending else 0)
                    await self._pages.add_reply(job, page.page, rows, ids, asked, covered, reading.order)
                direction, is_first = page.direction if is_first else None, False
                if window.is_past(page.items) or (reaches_end and is_ascending):
                    return True
                # The ids of a list may begin far above the id at which it is entered.
                ids_a_page = reading.covered - max(before, ids.numbers.first - 1)
                if await self._divide(reading, ids_a_page, queue):
                    return None
        if direction == "prepend":
            raise CursorError(
                f"the list of {job.source} ended early: the position of its last page is before its end"
            )
        return False

    async def _divide(self, reading: ListReading, ids_a_page: int, queue: PieceQueue) -> bool:
        """Give parts of a long piece to free readers; return True if a shorter piece is left.

        A part whose ids are denser than those before it is divided again.
        """
        piece, covered = reading.piece, reading.covered
        if not (queue.has_free_reader and piece.may_be_divided) or reading.job.until == LAST:
            return False
        if reading.is_by_time or reading.job.number in self._refused:
            return False
        least = max(2, ids_a_page * MIN_PAGES)
        if reading.end - covered < 2 * least:
            return False
        if piece.is_open and not reading.newest_id:  # the frozen end is the app's, and may be far above
            rows = await self._ends.newest_rows(reading.job) if reading.newest is None else reading.newest
            reading.newest_id = ids_of(rows).numbers.last
        remaining = min(reading.end, reading.newest_id or LAST) - covered
        if (count := min(queue.readers, remaining // least)) < 2:
            return False
        begins = [covered + remaining * part // count for part in range(1, count)]
        for after, until in pairwise([*begins, piece.until]):
            queue.add(structs.replace(piece, after=after, until=until, position=(), is_guess=True))
        position = reading.position
        reading.piece = structs.replace(
            piece, after=covered, until=begins[0], position=position, is_guess=not position
        )
        return True
