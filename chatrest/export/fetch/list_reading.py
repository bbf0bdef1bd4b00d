"""The ids that a list in the order of ids has shown to the reader of a piece, and what they prove. Pure.

A list whose positions tell times is one of these, too: it can be entered at an id, and its ids ascend, but a
message may be added later with an earlier time than those before it, if clocks disagree. So it is covered
no further than the newest message that it had when its reading began.

The head of a list are its newest messages. A head is honest if it is the whole list, or the list has shown
something older: a service that cannot go backwards shows the oldest messages as the newest.
"""

from typing import Final

from msgspec import Struct, field, structs

from ..._core.replies.rows import Row
from ..._core.requests.endpoint import Pairs
from ..folder.fetched_page import Coverage, ListOrder
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, PageIds, ids_of, number
from .jobs import ListJob, ListPiece
from .page_check import last_id
from .piece_reader import PiecePage

HEAD: Final = 10
"""How many of a list's newest messages are asked for."""


class ListReading(Struct, eq=False):
    piece: ListPiece
    """With the end that it has now: it may be divided after its first page."""
    shown_before: IdSet
    """The ids that the list has shown to earlier runs."""
    begun_after: int
    """The id after which the piece began."""
    covered: int
    """The id up to which all was shown."""
    noted: int
    """The id up to which the journal is to know so: a first page proves nothing before a second one."""
    position: Pairs
    """Where the list continues after the last page, as the service named it."""
    is_timed: bool
    """True if the service's positions tell times."""
    head: list[Row] | None = None
    """The newest messages when the reading began; None if they were not asked for."""
    ids: IdSet = field(default_factory=IdSet)
    keys: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    newest_id: int = 0
    """The highest id of its newest messages, once they were asked for to divide the piece."""
    highest: int = 0
    """The highest id that it has shown, after the end of the piece, too."""

    @classmethod
    def of(cls, piece: ListPiece, shown_before: IdSet) -> "ListReading":
        is_timed = piece.of.known.order == "times" or tells_time(piece.position)
        after = piece.after
        return cls(piece, shown_before, after, after, after, piece.position, is_timed)

    @property
    def job(self) -> ListJob:
        return self.piece.of

    @property
    def order(self) -> ListOrder | None:
        return "times" if self.is_timed else None

    @property
    def end(self) -> int:
        return min(self.piece.until, self.job.until)

    @property
    def last(self) -> int:
        return max(self.covered, self.ids.last)

    @property
    def count(self) -> int:
        return len(self.ids) + len(self.keys)

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.keys or self.covered)

    @property
    def resumed_after(self) -> int:
        """The id at which an interrupted run left a list by time; 0 if it did not.

        Messages that have a lower time, and were added since, may have been left out.
        """
        return self.begun_after if self.is_timed and self.begun_after > self.job.proven else 0

    def look(self, head: list[Row]) -> None:
        self.head, self.highest = head, ids_of(head).numbers.last

    def enter_by_id(self) -> None:
        """Enter the list at an id alone: messages added later with an earlier time are after it, too."""
        position = tuple(pair for pair in self.piece.position if pair[0] != "sentAt")
        self.piece, self.position = structs.replace(self.piece, position=position), ()

    def take(self, page: PiecePage, until: int) -> tuple[list[Row], PageIds]:
        """Note what a page shows; return its rows up to the end of the piece, and their ids."""
        rows, last = page.items, last_id(page.items)
        self.is_timed |= tells_time(page.page.cursor.position)
        self.highest = max(self.highest, last)
        if page.passes_end or last > until:
            rows, last = [row for row in rows if (number(row.id) or 0) <= until], until
        elif page.position:
            self.position = page.position
        self.covered = max(self.covered, last)
        ids = ids_of(rows)
        self.ids.update(ids.numbers)
        self.keys.update(ids.others)
        return rows, ids

    def cover(self, last: int) -> Coverage:
        after, self.noted = self.noted, max(self.noted, min(last, self.head_end))
        if not self.is_timed:
            return Coverage(after, self.noted, self.position)
        # A last page repeats the requested position, and a head may end before the page's.
        is_of_last = tells_time(self.position) and (number(dict(self.position)["id"]) or 0) <= self.noted
        return Coverage(after, self.noted, self.position if is_of_last else ())

    def continued(self, *, from_start: bool) -> ListPiece:
        """Return the rest of the piece, entered after its last id, or read from the start of the list."""
        is_guess = self.covered > 0 and not from_start
        return structs.replace(self.piece, after=self.covered, position=(), is_guess=is_guess)

    @property
    def head_end(self) -> int:
        """The id up to which a list by time may be covered: the highest of an honest head.

        Messages added during the reading have higher ids, and may have a time that was passed. `LAST`
        for any other list.
        """
        if not self.is_timed or not self.head or (ids := ids_of(self.head)).others or self.job.until != LAST:
            return LAST
        return ids.numbers.last if self._is_honest(ids) else LAST

    def _is_honest(self, head: PageIds) -> bool:
        is_whole = self.head is not None and len(self.head) < HEAD
        return is_whole or 0 < (self.ids | self.shown_before).first < head.numbers.first

    def has_passed_head(self) -> bool:
        """Return whether all of an honest head was shown: later messages are newer."""
        if not self.head or (head := ids_of(self.head)).others:
            return False
        new = head.numbers.between(self.begun_after + 1, LAST)
        return bool(new) and new <= self.ids and self._is_honest(head)

    def late(self, ids: IdSet) -> IdSet:
        """Return the ids that are covered and were not seen: they were added late and are missing."""
        is_walk = self.job.purpose == "walk"
        return ids.between(1, self.covered) - self.shown_before - self.ids if is_walk else IdSet()


def tells_time(position: Pairs) -> bool:
    return "sentAt" in dict(position)
