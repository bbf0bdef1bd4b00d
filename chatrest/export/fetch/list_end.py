"""The requests that show whether a list has ended: a list may end too early, and a page may be wrong.

| request                         | what the reply proves                                                    |
|---------------------------------|--------------------------------------------------------------------------|
| the newest messages             | if all were seen, and they are reliable, nothing is new; an end of the   |
|                                 | list is accepted if they have no higher id than it has shown             |
| messages before the last known  | if they have higher ids, the list has another order, and new messages    |
| id, unless the newest reach it  | may be before that id                                                    |
| messages after the last ids     | if they are known ones alone, the list has nothing new, at whatever time |
| the latest messages up to an id | if all were seen, the reading has left nothing out                       |

Each costs one request. The last two are for lists whose positions name times (`list_reading`).
"""

from contextlib import aclosing
from typing import Any, Final, NamedTuple

from ..._core.replies.rows import UNKNOWN, Row
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._threads import in_thread
from ..._walk.source import Page
from ...errors import BadRequestError, ChatRestError
from ..folder.export_folder import ExportFolder
from ..folder.id_continuity import IdContinuity
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds, ids_of, number
from ..plan.ownership import Source
from .jobs import ListJob
from .list_reading import NEWEST, ListReading, names_time
from .page_check import PageCheck, Window, as_served, falls
from .piece_reader import NotOrderedByIdError

_KNOWN: Final = 3
"""Of the known ids, how many are asked for again with what is new: fewer than any page has, so that a reply
of them alone is not cut off."""
_EVER: Final = Window()


class Newest(NamedTuple):
    rows: list[Row] | None = None
    """None if they were not asked for."""
    may_be_unseen: bool = True
    """False if the list is empty, or has nothing new."""


class ListEnds:
    def __init__(self, messages: Messages, export: ExportFolder, check: PageCheck, ids: IdContinuity) -> None:
        self._messages = messages
        self._export = export
        self._check = check
        self._ids = ids
        self.window: Window = check.window
        """The times to ask the service for, in its unit."""

    def use_unit_of(self, timestamp: int | None) -> None:
        """Ask for times in the unit of a timestamp of the service; None if no message shows one."""
        self.window = self.window.in_unit_of(timestamp)

    def window_of(self, job: ListJob) -> Window:
        if job.purpose == "confirm":  # it must not depend on how the service treats times
            return Window()
        return self.window.asked(job.since if job.purpose == "recheck" else None)

    async def earlier_ids(self, job: ListJob) -> IdSet:
        return await in_thread(lambda: self._export.journal.seen(job.number))

    async def ask_newest(self, reading: ListReading) -> Newest:
        """Ask whether a list is empty, or has nothing new: a request, or two, or none.

        Raises `NotOrderedByIdError` if the newest messages show another order.
        """
        piece, job = reading.piece, reading.job
        if job.purpose != "walk":
            return Newest()
        is_continued = not piece.is_from_start
        is_complete = is_continued and reading.is_by_time and not reading.resumed_after
        if is_complete and await self._has_nothing_after(reading):
            return Newest(may_be_unseen=False)
        # One that has the app's newest message is not empty; and a window with an end is asked for in the
        # list's own direction alone, as services take it in other ways.
        may_be_empty = not (piece.after or job.has_newest) and self.window.until is None
        if not (job.until == LAST or may_be_empty or (is_continued and not reading.is_by_time)):
            return Newest()
        try:
            page = await self.newest_page(job)
        except BadRequestError:  # the pages decide
            return Newest()
        if page is None or not page.items:
            # A list that has shown something, or has the app's newest message, is not empty.
            return Newest(may_be_unseen=bool(piece.after or reading.earlier_ids or job.has_newest))
        served = as_served(page)
        reading.is_by_time |= names_time(page.cursor.position)
        if not (reading.is_by_time or falls(served) or falls(served[::-1])):
            raise NotOrderedByIdError
        if not is_continued or reading.is_by_time:
            return Newest(page.items)
        if await self._has_shown_all(reading, page.items):
            return Newest(page.items, may_be_unseen=False)
        if ids_of(page.items).numbers.first > piece.after:  # else they have shown the order there
            await self._check_order_before(job, piece.after)
        return Newest(page.items)

    async def newest_page(self, job: ListJob) -> Page[Row] | None:
        """Return a page of the newest messages of a list, once its ids are known to continue; None if the
        list is empty.

        Raises `BadRequestError` from a service that does not show them.
        """
        page = await self._page(job, affix="prepend")
        if page is not None:
            await self._ids.check(page.items)
        return page

    async def _has_nothing_after(self, reading: ListReading) -> bool:
        job, after = reading.job, reading.piece.after
        first = min(filter(None, (reading.earlier_ids.from_last(_KNOWN), after)))
        from_known = {"id": str(first - 1)} if first > 1 else {}
        page = await self._page(job, affix="append", **from_known)
        rows = [] if page is None else page.items
        await self._ids.check(rows)
        ids = ids_of(self._check.held(job, rows))
        is_whole = len(rows) <= _KNOWN and any(number(row.id) == after for row in rows)
        pagination = None if page is None else page.meta.pagination
        if pagination is not None:  # a service may give as few a page
            is_whole = is_whole and (pagination.current_page or 0) >= (pagination.total_pages or 0)
        if not (is_whole and ids.numbers <= reading.earlier_ids):
            return False
        return not await self.unseen_text_ids(job, {*ids.others})

    async def _has_shown_all(self, reading: ListReading, newest: list[Row]) -> bool:
        """Return whether the newest messages of a list by id have all been seen: then nothing in it is new.

        If they are not the whole list, they must reach what is covered, and more than these must have been
        seen: a service that cannot go backwards shows the oldest ones.
        """
        shown, ids = reading.earlier_ids, ids_of(self._check.held(reading.job, newest))
        if not ids.numbers:
            return False
        reaches_covered = ids.numbers.first <= reading.piece.after and len(shown) > len(ids.numbers)
        is_dense = shown.count(ids.numbers.first, shown.last) == len(ids.numbers)
        if not (is_dense and ids.numbers <= shown and (reaches_covered or len(newest) < NEWEST)):
            return False
        return not await self.unseen_text_ids(reading.job, {*ids.others})

    async def _check_order_before(self, job: ListJob, after: int) -> None:
        """Raise `NotOrderedByIdError` if the list shows higher ids before the one that it continues after.

        In a list in the order of the last change, that one may have moved beyond messages that are new.
        """
        try:
            page = await self._page(job, affix="prepend", id=str(after))
        except BadRequestError:  # it was deleted
            return
        if page is not None and ids_of(page.items).numbers.last > after:
            raise NotOrderedByIdError

    async def unseen_text_ids(self, job: ListJob, text_ids: set[str]) -> set[str]:
        """Return those of ids that are no numbers which a list has not shown to this or an earlier run."""
        if not text_ids:
            return text_ids
        return await in_thread(lambda: self._export.unseen_keys(job.number, text_ids))

    async def newest_ids(self, job: ListJob, newest: list[Row] | None) -> PageIds:
        """Return the ids of the newest messages of a list; `newest` is not asked for again where it is known.

        They are requested without a window, unless it has an end, because newer ones are after that end. A
        recheck requests them with it: its confirmation checks how the service treats times.
        """
        window = self._check.window
        if newest is None or window.until is not None:
            is_asked = window.until is not None or job.purpose == "recheck"
            newest = await self.newest_rows(job, self.window_of(job) if is_asked else _EVER)
        held = Window(job.since or None).within(self._check.held(job, newest))
        if job.since or window != _EVER:
            held = [row for row in held if row.sent_at != UNKNOWN]
        return ids_of(held)

    async def check_times(self, reading: ListReading, *, reaches_end: bool) -> None:
        """Raise `NotOrderedByIdError` if the list shows messages up to the last id that the reading of a
        list by time has left out: the latest of them, or those after the id after which it was resumed.

        `reaches_end` is False if the list itself has ended.
        """
        job, until = reading.job, min(reading.last_id, reading.end)
        asked = [{"affix": "append", "id": str(reading.resumed_after)}] if reading.resumed_after else []
        # Also of a list that has shown the app's newest message: the app's own list may go by id, and a
        # message with a lower id have a later time.
        if reading.coverage_limit == LAST and reaches_end:
            asked.append({"affix": "prepend", "id": str(until + 1)})
        for query in asked:
            try:  # a service may show those after the id as well
                page = await self._page(job, **query)
            except BadRequestError:  # no service that continues from an id refuses one
                continue
            rows = [] if page is None else self._check.window.within(page.items)
            ids = ids_of(Window(job.since or None).within(rows)).numbers.between(1, until)
            if ids - reading.ids - reading.earlier_ids:
                raise NotOrderedByIdError

    async def check_empty_pair(self, job: ListJob) -> None:
        """Check that the list of a pair is empty from its other side, too: costs a request.

        A service that ignores the acting user shows what the owner of its login token has with the user in
        the path, which may be nothing. Raises `ActingUserIgnoredError` for messages of others, and
        `ChatRestError` for those of the pair.
        """
        first, second = job.source.names
        walk = Source("pair", (second, first)).list(self._messages, MessageQuery(affix="prepend"))
        if self._check.held(job, await walk.limit(NEWEST).collect()):
            raise ChatRestError(
                f"the list of {first} on behalf of {second} is empty, and that of {second} on behalf of "
                f"{first} is not: the service ignores the acting user"
            )

    async def newest_rows(self, job: ListJob, window: Window = _EVER) -> list[Row]:
        """Return the newest messages of a list: without a window, as services take its ends in other ways."""
        times = {"from_timestamp": window.since, "to_timestamp": window.until}
        page = await self._page(job, affix="prepend", **times)
        return [] if page is None else page.items

    async def _page(self, job: ListJob, **query: Any) -> Page[Row] | None:
        walk = job.source.list(self._messages, MessageQuery(**query))
        async with aclosing(walk.limit(NEWEST).pages()) as pages:
            return await anext(pages, None)
