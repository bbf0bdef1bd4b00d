"""The ids that a list has shown while a piece of it is read, and what they prove. Pure.

A piece covers the ids up to the last one that was shown. A list whose positions name times may get a message
later that has an earlier time than those before it, if clocks disagree. So it is covered no further than the
newest message that it had when its reading began.

The newest messages of a list are reliable if they are the whole list, or if the list has shown an older
message: a service that cannot read backwards shows the oldest messages as the newest.
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

NEWEST: Final = 10
"""How many of a list's newest messages are asked for."""


class ListReading(Struct, eq=False):
    piece: ListPiece
    """With the end that it has now: it may be divided while it is read."""
    earlier_ids: IdSet
    """The ids that the list has shown to earlier runs."""
    began_after: int
    """The id after which the piece began."""
    covered: int
    """The id up to which all was shown."""
    journaled: int
    """The id up to which the journal is to note so: a first page proves nothing before a second one."""
    position: Pairs
    """Where the list continues after the last page, as the service named it."""
    is_by_time: bool
    """True if the service's positions name times."""
    newest: list[Row] | None = None
    """The newest messages when the reading began; None if they were not asked for."""
    newest_id: int = 0
    """The highest id of the newest messages, once they were asked for to divide the piece."""
    ids: IdSet = field(default_factory=IdSet)
    text_ids: set[str] = field(default_factory=set)
    """The ids that are no numbers."""
    highest_id: int = 0
    """The highest id that was shown, after the end of the piece, too."""

    @classmethod
    def begin(cls, piece: ListPiece, earlier_ids: IdSet) -> "ListReading":
        is_by_time = piece.job.state.order == "times" or names_time(piece.position)
        after = piece.after
        return cls(piece, earlier_ids, after, after, after, piece.position, is_by_time)

    @property
    def job(self) -> ListJob:
        return self.piece.job

    @property
    def order(self) -> ListOrder | None:
        return "times" if self.is_by_time and self.job.state.order != "times" else None

    @property
    def end(self) -> int:
        return min(self.piece.until, self.job.until)

    @property
    def last_id(self) -> int:
        return max(self.covered, self.ids.last)

    @property
    def id_count(self) -> int:
        return len(self.ids) + len(self.text_ids)

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.text_ids or self.covered)

    @property
    def resumed_after(self) -> int:
        """The id at which an interrupted run left a list by time; 0 if it did not.

        Messages that have a lower time, and were added since, may have been left out.
        """
        return self.began_after if self.is_by_time and self.began_after > self.job.proven else 0

    def forget_entry_time(self) -> None:
        """Enter the list at an id alone: messages added later with an earlier time are after it, too."""
        position = tuple(pair for pair in self.piece.position if pair[0] != "sentAt")
        self.piece, self.position = structs.replace(self.piece, position=position), ()

    def add_page(self, page: PiecePage) -> tuple[list[Row], PageIds]:
        """Note what a page shows; return its rows up to the end of the piece, and their ids."""
        rows, last = page.items, last_id(page.items)
        self.is_by_time |= names_time(page.page.cursor.position)
        self.highest_id = max(self.highest_id, last)
        if page.passes_end or last > self.end:
            last = self.end
            rows = [row for row in rows if (number(row.id) or 0) <= last]
        elif page.position:
            self.position = page.position
        self.covered = max(self.covered, last)
        ids = ids_of(rows)
        self.ids.update(ids.numbers)
        self.text_ids.update(ids.others)
        return rows, ids

    def add_coverage(self, last: int) -> Coverage:
        """Note that the list is covered up to `last`, and return what of it is new for the journal."""
        after, self.journaled = self.journaled, max(self.journaled, min(last, self.coverage_limit))
        if not self.is_by_time:
            return Coverage(after, self.journaled, self.position)
        # A last page repeats the requested position, and the limit may be before the page's.
        is_of_last = names_time(self.position) and (number(dict(self.position)["id"]) or 0) <= self.journaled
        return Coverage(after, self.journaled, self.position if is_of_last else ())

    def remaining_piece(self, *, from_start: bool) -> ListPiece:
        """Return the rest of the piece, entered after its last id, or read from the start of the list."""
        is_guess = self.covered > 0 and not from_start
        return structs.replace(self.piece, after=self.covered, position=(), is_guess=is_guess)

    @property
    def coverage_limit(self) -> int:
        """The id up to which a list by time may be covered: the highest of reliable newest messages.

        Messages added during the reading have higher ids, and may have a time that was passed. `LAST`
        for any other list.
        """
        if not self.is_by_time or not self.newest or self.job.until != LAST:
            return LAST
        ids = ids_of(self.newest)
        return ids.numbers.last if not ids.others and self._is_reliable(ids) else LAST

    def has_shown_newest(self) -> bool:
        """Return whether all of reliable newest messages were shown: later ones were added since."""
        if not self.newest or (newest := ids_of(self.newest)).others:
            return False
        new = newest.numbers.between(self.began_after + 1, LAST)
        return bool(new) and new <= self.ids and self._is_reliable(newest)

    def _is_reliable(self, newest: PageIds) -> bool:
        is_whole_list = self.newest is not None and len(self.newest) < NEWEST
        return is_whole_list or 0 < (self.ids | self.earlier_ids).first < newest.numbers.first

    def covered_unseen(self, ids: IdSet) -> IdSet:
        """Return those of the ids that are covered, and were not shown: they were added late, and are
        missing. For a walk: a recheck reads again what is known.
        """
        if self.job.purpose != "walk":
            return IdSet()
        return ids.between(1, self.covered) - self.earlier_ids - self.ids


def names_time(position: Pairs) -> bool:
    return "sentAt" in dict(position)
