"""Where a list stands that is read from many positions at once: the cursor after every item. Pure."""

from typing import Any, final

from msgspec import Struct, structs

from ...core.paging.cursor import Cursor
from ...core.paging.intervals import LAST, Gap, Interval, first_rank, gaps, merge, rank_of, subtract
from ...core.paging.order import Affix
from .piece_reader import PiecePage


@final
class Progress(Struct, frozen=True):
    """The items of a list that were delivered: all up to a rank, and those of intervals ahead."""

    begin: Cursor
    """Where the list goes on after the rank; without the intervals."""
    rank: int
    done: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, cursor: Cursor, direction: Affix) -> "Progress":
        """Return the progress that a cursor tells."""
        begin = dict(cursor.position).get("id", "") if cursor.last is None else cursor.last
        rank = rank_of(begin, direction)
        rank = first_rank(direction) if rank is None else rank
        return cls(structs.replace(cursor, done=(), direction=direction), rank, cursor.done)

    @property
    def cursor(self) -> Cursor:
        """The cursor for a walk, or for another split."""
        return structs.replace(self.begin, done=self.done)

    @property
    def gaps(self) -> list[Gap]:
        """The ranks that are to be read, up to the open end of the list."""
        first, *others = gaps(self.done, LAST, self.rank)
        position = self.begin.position if first.after == self.rank else first.position
        return [first._replace(position=position), *others]

    def after(self, page: PiecePage[Any], count: int) -> "Progress":
        """Return the progress once the first `count` items of a page are delivered."""
        is_whole = count == len(page.items)
        rank = page.covered
        if not is_whole:
            last = rank_of(page.items[count - 1].id, self.begin.direction or "append") if count else None
            rank = page.after if last is None else last
        if rank <= page.after:
            return self
        if page.after > self.rank:
            position = page.position if is_whole else ()
            done = merge([*self.done, Interval(page.after + 1, rank, position)])
            begin = structs.replace(self.begin, delivered=self.begin.delivered + count)
            return Progress(begin, self.rank, tuple(done))
        begin = self._begin_after(page, count, is_whole=is_whole)
        done = [interval for interval in self.done if interval.last > rank]
        if done and done[0].first <= rank + 1:  # the first interval ahead is reached
            reached = done.pop(0)
            begin, rank = _behind(begin, reached), reached.last
        return Progress(begin, rank, tuple(done))

    def without(self, first: int, last: int) -> "Progress":
        """Return the progress without the ranks from `first` to `last`, where they lie in an interval."""
        return structs.replace(self, done=tuple(subtract(self.done, first, last)))

    def without_positions(self) -> "Progress":
        """Return the progress without the positions of intervals, where the service takes them no more."""
        return structs.replace(self, done=tuple(each._replace(position=()) for each in self.done))

    def _begin_after(self, page: PiecePage[Any], count: int, *, is_whole: bool) -> Cursor:
        begin = structs.replace(self.begin, delivered=self.begin.delivered + count)
        if not count:
            return begin
        last = page.items[count - 1]
        is_named = is_whole and bool(page.position)
        # Behind the last item, ranks may be covered that were delivered before: they must not come again.
        return structs.replace(
            begin,
            # Where no position is known after the page, the page itself is asked for again.
            position=page.position if is_named else page.start.position,
            inside=not is_named,
            last=str(abs(page.covered)) if is_named else last.id,
            time=getattr(last, "sent_at", None),
            skip=0,
        )


def _behind(begin: Cursor, interval: Interval) -> Cursor:
    """Return the cursor that goes on behind an interval."""
    last, direction = str(abs(interval.last)), begin.direction or "append"
    position = interval.position or (("affix", direction), ("id", last))
    return structs.replace(begin, position=position, last=last, time=None, inside=True, skip=0)
