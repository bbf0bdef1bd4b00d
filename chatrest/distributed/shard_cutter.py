"""Cuts the gaps of an export into shards, and what these leave into further ones. Pure.

| gaps                                               | become                                             |
|----------------------------------------------------|----------------------------------------------------|
| of sources that nobody has read in this run        | a shard with those of many other sources, not cut  |
| left by a shard that was lost                      | the same, in front of those that nobody has read   |
| left by any other, where the source's density and  | pieces of some pages, of one source or several, as |
| newest id are known                                | many as a shard reads at the same time             |
| … where one of the two is unknown                  | as those of a shard that was lost                  |
| … that cannot be entered at an id of our own       | the same, and never cut                            |
| of one source alone                                | a shard with a small budget: it learns the density |
| left by a shard that got nowhere                   | the coordinator's: it reads them in the usual way  |

A shard has a few dozens of lists or pieces at least, where there are enough for all slots: a list is read
page after page, and so a shard of few lists leaves its worker idle. It has as many as let each slot have
several shards, where there are more, and not many more than shards of the same run have managed. Estimates
may be wrong: a shard ends with its budget, and the rest of it is cut again.
"""

from collections import deque
from collections.abc import Container, Iterable, Iterator
from typing import Final, final

from msgspec import Struct, structs

from ..export.plan.intervals import Gap, gaps as gaps_between
from .shard import Budget, Shard, ShardResult, ShardSource, SourceResult

MOST_SOURCES: Final = 250  # of one shard: each costs a request at least, usually two
CONCURRENCY: Final = 64  # requests of one shard at the same time
_SHARDS_A_SLOT: Final = 4  # of many sources
_LEAST_PAGES: Final = 16  # below which a shard is not cut
_PIECE_PAGES: Final = 8  # below which a gap is not cut: a cut costs about a page that is read twice
_FIRST_REQUESTS: Final = 12  # of a shard that is to find out how long a list is
_LAST_REQUESTS: Final = 256  # at least, of a shard with the last lists: long ones are divided then
_FULL: Final = 0.8  # the part of its budget that a cut shard is expected to use
_ROUNDED: Final = 1.25  # times too large for a shard: such a gap is not cut
_LISTS: Final = 32  # that a shard has at least: the other requests divide those that are long
_WELL_FILLED: Final = 128  # short lists with which a shard's requests are nearly always in use
_IDLE: Final = 8  # requests under way below which a shard of many lists ends, where there is more to read
_TRIED: Final = 8  # requests that each list of a shard should have, where a budget is small


class LongSource(Struct):
    """A source that a shard could not read to its end, and of which it is known how it is to be cut."""

    number: int
    newest: int
    ids_a_page: float
    """From the first to the last message of a page."""
    gaps: list[Gap] = []

    @property
    def pages(self) -> float:
        return sum(map(self.size, self.gaps)) / self.ids_a_page

    def size(self, gap: Gap) -> int:
        return max(1, min(gap.until, self.newest) - gap.after)

    def cut(self, pages: float) -> list[Gap]:
        """Take gaps away that have about so many pages."""
        ids, taken, rest = max(1, int(pages * self.ids_a_page)), list[Gap](), deque(self.gaps)
        while rest and ids > 0:
            gap = rest.popleft()
            size = self.size(gap)
            if size <= ids * _ROUNDED:  # an open gap has nothing but its end after the newest id
                taken.append(gap)
            else:
                taken.append(Gap(gap.after, gap.after + ids, gap.position))
                rest.appendleft(Gap(gap.after + ids, gap.until))
            ids -= size
        self.gaps = list(rest)
        return taken

    def pieces(self, gaps: Iterable[Gap], pages: float) -> Iterator[Gap]:
        """Yield gaps in pieces of about so many pages."""
        for gap in gaps:
            size = self.size(gap)
            count = max(1, int(size / (pages * self.ids_a_page)))
            borders = [gap.after + size * each // count for each in range(count)]
            for after, until in zip(borders, [*borders[1:], gap.until], strict=True):
                if after < until:
                    yield Gap(after, until, gap.position if after == gap.after else ())


@final
class ListCounts:
    """The number of lists of the shards to come, by what those before have managed."""

    def __init__(self, width: int) -> None:
        self.most: int = MOST_SOURCES
        self._width = width
        self._least = width

    def of_next(self, waiting: int, slots: int, free: int) -> int:
        """Return the number for the next shard, at least 1.

        `waiting` lists are to be read in `slots` shards at a time, of which `free` have nothing yet.
        """
        least = min(self._least, max(self._width, -(-waiting // slots)), -(-waiting // free))
        return max(1, min(self.most, max(least, -(-waiting // (slots * _SHARDS_A_SLOT)))))

    def learn(self, count: int, left: int) -> None:
        """Note that a shard of so many lists has left `left` of them."""
        if left:
            self.most, self._least = max(self._width, (count - left) * 3 // 2), self._width
        else:
            self.most = self.most * 2
            self._least = min(_WELL_FILLED, max(self._least, count * 2))
        self.most = min(MOST_SOURCES, self.most)


@final
class ShardCutter:
    """The gaps of a run that no worker reads yet."""

    def __init__(
        self, sources: Iterable[ShardSource], *, until: int, job: str, count: int,
        budget: Budget | None = None,
    ) -> None:  # fmt: skip
        """`sources` have a gap or more each, and are taken when it is their turn; `count` is their number."""
        self._name, self._until, self._budget = job, until, budget or Budget()
        self._unread, self._unread_count = iter(sources), count
        self._returned: deque[ShardSource] = deque()
        self._long: dict[int, LongSource] = {}  # that have gaps
        self._uncut: set[int] = set()  # that the service does not let be entered at an id of our own
        self._width = max(1, min(_LISTS, self._budget.requests // _TRIED))
        """Lists that a shard has at least, where there are enough."""
        self._counts = ListCounts(self._width)
        self._serial = 0

    def __len__(self) -> int:
        """The number of sources that wait, about."""
        return self._unread_count + len(self._returned) + len(self._long)

    def next(self, slots: int, under_way: int = 0) -> Shard | None:
        """Return the next shard, or None if no gap is left.

        The workers read `slots` shards at the same time; `under_way` have been handed out by now.
        """
        pieces = list(self._take_pieces(slots))
        waiting = self._unread_count + len(self._returned)
        count = self._counts.of_next(waiting, slots, slots - under_way % slots)
        if pieces:
            count = min(count, self._width - sum(len(piece.gaps) for piece in pieces))
        lists = list(self._take_lists(count))
        if not pieces and not lists:
            return None
        requests = self._budget.requests
        if not pieces and not len(self) and slots > 1 and lists[0].number not in self._uncut:
            requests = _FIRST_REQUESTS if len(lists) == 1 else max(_LAST_REQUESTS, len(lists) * _TRIED)
        return self._shard([*pieces, *lists], requests, slots)

    def _take_pieces(self, slots: int) -> Iterator[ShardSource]:
        most = self._budget.requests * _FULL
        pages = max(_LEAST_PAGES, min(most, self._long_pages(most * slots) / slots))
        each = max(_PIECE_PAGES, pages / _LISTS)
        while self._long and pages >= 1:
            number, source = next(iter(self._long.items()))
            before = source.pages
            yield ShardSource(number, list(source.pieces(source.cut(pages), each)))
            if not source.gaps:
                del self._long[number]
            pages -= max(1.0, before - source.pages)

    def _long_pages(self, enough: float) -> float:
        """Return the pages of the long sources, or a number above `enough`."""
        pages = 0.0
        for source in self._long.values():
            pages += source.pages
            if pages > enough:
                break
        return pages

    def _take_lists(self, count: int) -> Iterator[ShardSource]:
        for _ in range(count):
            if self._returned:
                yield self._returned.popleft()
            elif (source := next(self._unread, None)) is not None:
                self._unread_count = max(0, self._unread_count - 1)
                yield source
            else:
                self._unread_count = 0
                return

    def _shard(self, sources: list[ShardSource], requests: int, slots: int) -> Shard:
        self._serial += 1
        gaps: dict[int, list[Gap]] = {}
        for source in sources:  # two parts of one source may come together again
            gaps.setdefault(source.number, []).extend(source.gaps)
        has_others = len(sources) >= 2 * _LISTS and len(self) >= slots * _LISTS
        requests, idle = min(requests, self._budget.requests), _IDLE if has_others else 0
        parts = [ShardSource(number, sorted(own)) for number, own in gaps.items()]
        budget = structs.replace(self._budget, requests=requests, idle=idle)
        return Shard(self._serial, self._name, self._until, parts, budget, CONCURRENCY)

    # ── what has arrived of it ──

    def give_back(self, shard: Shard) -> None:
        """Take the gaps of a shard that was lost."""
        self._returned.extendleft(reversed(shard.sources))

    def divide(self, shard: Shard, result: ShardResult, failed: Container[int] = ()) -> list[tuple[int, int]]:
        """Take what a shard has left; return the number of ids that each source has done by it.

        Of sources that have `failed`, nothing is to be read any more.
        """
        results = {each.number: each for each in result.sources}
        done: list[tuple[int, int]] = []
        left: list[ShardSource] = []
        for source in shard.sources:
            own = results.get(source.number) or SourceResult(source.number, [])
            is_over = own.is_left or own.number in failed
            gaps = [] if is_over else gaps_left(source.gaps, own, shard.until)
            done.append((source.number, _size(source.gaps) - _size(gaps)))
            if gaps and own.trouble:
                self._returned.append(ShardSource(source.number, gaps))  # after those that no one waits for
            elif gaps:
                left.append(ShardSource(source.number, gaps))
        self._counts.learn(len(shard.sources), len(left))
        if left != shard.sources:
            for source in reversed(left):
                own = results.get(source.number) or SourceResult(source.number, [])
                self._keep(source, own, result.page_items)
        elif result.is_held:
            self._returned.extend(left)
        elif len(left) > 1:  # one of them may be in the way of the others
            self._counts.most = 1
            self._returned.extendleft(reversed(left))
        return done

    def _keep(self, left: ShardSource, result: SourceResult, page_items: int) -> None:
        """Take what is left of one source: it is cut where it is known how, and where it may be."""
        number, gaps = left.number, left.gaps
        if not result.may_be_cut:
            self._uncut.add(number)
        if number in self._uncut:  # what cannot be entered is left to the coordinator
            if gaps := [gap for gap in gaps if gap.position or gap.after == 0]:
                self._returned.appendleft(ShardSource(number, gaps))
            return
        covered = sum(each.last - each.first + 1 for each in result.intervals)
        ids_a_page = covered / result.shown * page_items if result.shown else 0.0
        source = self._long.get(number)
        if source is None and (not result.newest or not ids_a_page):
            self._returned.appendleft(left)
            return
        if source is None:
            source = self._long[number] = LongSource(number, result.newest, ids_a_page)
        source.newest = max(source.newest, result.newest)
        source.ids_a_page = ids_a_page or source.ids_a_page
        source.gaps = sorted([*source.gaps, *gaps])


def gaps_left(gaps: Iterable[Gap], result: SourceResult, until: int) -> list[Gap]:
    """Return what a shard has left of the gaps of a source; nothing after an end that was proven."""
    left: list[Gap] = []
    for gap in gaps:
        for each in gaps_between(result.intervals, gap.until, gap.after):
            if each.until >= until and result.is_proven:
                continue
            left.append(each._replace(position=gap.position) if each.after == gap.after else each)
    return left


def _size(gaps: Iterable[Gap]) -> int:
    return sum(gap.until - gap.after for gap in gaps)
