"""Cuts the gaps of an export into shards, and what these leave into further ones. Pure.

| gaps                                               | become                                             |
|----------------------------------------------------|----------------------------------------------------|
| of sources that nobody has read in this run        | a shard with those of many other sources, not cut  |
| left by a shard of many sources, or by a lost one  | the same, in front of those that nobody has read   |
| left by a shard of one source                      | are cut by ids, by its density and its newest id   |
| … where one of the two is unknown                  | a shard of their own, not cut, with a small budget |
| … that cannot be entered at an id of our own       | a shard of their own, not cut                      |
| left by a shard that got nowhere                   | the coordinator's: it reads them in the usual way  |

A shard holds as many sources as let each worker have several shards, not more than shards of the same run
have managed, and, where these have left nothing, enough for its requests at the same time: the replies of a
list come one after another, and with fewer lists a worker waits. Estimates may be wrong: a shard ends with
its budget, and what is left of it comes here again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, final

from msgspec import Struct

from ..core.intervals import Gap, gaps as gaps_between
from .shard import Budget, Shard, ShardResult, ShardSource, SourceResult

MOST_SOURCES: Final = 250
"""Sources of one shard: each costs a request at least, mostly two."""
_SHARDS_A_SLOT: Final = 4
"""Shards of many sources that each slot of a worker should have."""
_LEAST_PAGES: Final = 16
"""Pages below which a gap is not cut: a cut costs about a page that is read twice."""
_FIRST_REQUESTS: Final = 64
"""The budget of a shard that is to find out how long a list is."""
_FULL: Final = 0.8
"""The part of its budget that a cut shard is expected to use."""
_ROUNDED: Final = 1.25
"""A gap that is at most so many times too large for a shard is not cut."""
CONCURRENCY: Final = 32
"""Requests of one shard at the same time."""
_WELL_FILLED: Final = 4 * CONCURRENCY
"""Short lists with which a shard's requests at the same time are nearly always in use."""


@final
class LongSource(Struct):
    """A source that a shard of its own could not read to its end."""

    number: int
    gaps: list[Gap] = []
    newest: int = 0
    """The highest id of its list; 0 where that is unknown."""
    ids_a_page: float = 0.0
    """The ids between the first and the last message of a page; 0 where that is unknown."""
    may_be_cut: bool = True

    @property
    def is_known(self) -> bool:
        """True where it is known how it is to be cut."""
        return self.may_be_cut and self.newest > 0 and self.ids_a_page > 0

    def size(self, gap: Gap) -> int:
        """Return how many ids of a gap may be used."""
        return max(1, min(gap.until, self.newest) - gap.after)

    def learn(self, result: SourceResult, ids_a_page: float) -> None:
        """Take over what a shard has found out."""
        self.newest = max(self.newest, result.newest)
        self.ids_a_page = ids_a_page or self.ids_a_page
        self.may_be_cut = self.may_be_cut and result.may_be_cut

    def cut(self, pages: float) -> list[Gap]:
        """Take gaps away that have about so many pages."""
        ids, taken, rest = max(1, int(pages * self.ids_a_page)), list[Gap](), deque(self.gaps)
        while rest and ids > 0:
            gap = rest.popleft()
            size = self.size(gap)
            if size <= ids * _ROUNDED:  # an open gap has nothing but its end behind the newest id
                taken.append(gap)
            else:
                taken.append(Gap(gap.after, gap.after + ids, gap.position))
                rest.appendleft(Gap(gap.after + ids, gap.until))
            ids -= size
        self.gaps = list(rest)
        return taken


@final
class SourceCounts:
    """The number of sources of the shards to come, by what those before have managed."""

    def __init__(self) -> None:
        self.most: int = MOST_SOURCES
        self._least = 1

    def of_next(self, waiting: int, slots: int) -> int:
        """Return the number for the next shard, at least 1, where so many sources wait."""
        least = min(self._least, max(CONCURRENCY, -(-waiting // slots)))
        return min(self.most, max(least, -(-waiting // (slots * _SHARDS_A_SLOT))))

    def learn(self, count: int, left: int) -> None:
        """Note that a shard of so many sources has left `left` of them."""
        if left:
            self.most, self._least = max(1, (count - left) * 3 // 2), 1
        else:
            self.most = min(MOST_SOURCES, self.most * 2)
            self._least = min(_WELL_FILLED, max(self._least, count * 2))


@final
class ShardCutter:
    """The gaps of a run that no worker reads yet."""

    def __init__(
        self,
        sources: Iterable[int],
        gaps: Callable[[int], list[Gap]],
        *,
        until: int,
        job: str,
        count: int,
        budget: Budget | None = None,
    ) -> None:
        """`gaps` gives those of a source when it is its turn; `count` is the number of the sources."""
        self._job = (job, until, budget or Budget())
        self._unread: Iterator[ShardSource] = (
            ShardSource(number, own) for number in sources if (own := gaps(number))
        )
        self._unread_count = count
        self._returned: deque[ShardSource] = deque()
        self._long: dict[int, LongSource] = {}
        self._waiting: deque[int] = deque()
        """The long sources that have gaps, each once."""
        self._counts = SourceCounts()
        self._serial = 0

    def __len__(self) -> int:
        """How many sources wait, about."""
        return self._unread_count + len(self._returned) + len(self._waiting)

    def next(self, slots: int) -> Shard | None:
        """Return the next shard, where `slots` of them can be under way; None where no gap is left."""
        _, _, budget = self._job
        if self._waiting:
            source = self._long[self._waiting.popleft()]
            if not source.is_known:
                gaps, source.gaps = source.gaps, []
                requests = _FIRST_REQUESTS if source.may_be_cut else budget.requests
                return self._shard([ShardSource(source.number, gaps)], requests)
            pages = sum(map(source.size, source.gaps)) / source.ids_a_page
            gaps = source.cut(max(_LEAST_PAGES, min(budget.requests * _FULL, pages / slots)))
            if source.gaps:
                self._waiting.appendleft(source.number)
            return self._shard([ShardSource(source.number, gaps)], budget.requests)
        waiting = self._unread_count + len(self._returned)
        sources = list(self._take(self._counts.of_next(waiting, slots)))
        is_alone = len(sources) == 1 and slots > 1
        return self._shard(sources, _FIRST_REQUESTS if is_alone else budget.requests) if sources else None

    def _take(self, count: int) -> Iterator[ShardSource]:
        """Take gaps of so many sources, not cut."""
        for _ in range(count):
            if self._returned:
                yield self._returned.popleft()
            elif (source := next(self._unread, None)) is not None:
                self._unread_count = max(0, self._unread_count - 1)
                yield source
            else:
                self._unread_count = 0
                return

    def _shard(self, sources: list[ShardSource], requests: int) -> Shard:
        self._serial += 1
        job, until, budget = self._job
        return Shard(
            id=self._serial,
            job=job,
            until=until,
            sources=sources,
            budget=Budget(min(requests, budget.requests), budget.seconds),
            concurrency=CONCURRENCY,
        )

    # ── what has come of it ──

    def give_back(self, shard: Shard) -> None:
        """Take the gaps of a shard that was lost."""
        self._returned.extendleft(reversed(shard.sources))

    def divide(self, shard: Shard, result: ShardResult) -> list[tuple[int, int]]:
        """Take what a shard has left; return the number of ids that each source has done by it."""
        results = {each.number: each for each in result.sources}
        done: list[tuple[int, int]] = []
        left: list[ShardSource] = []
        for source in shard.sources:
            own = results.get(source.number) or SourceResult(source.number, [])
            gaps = [] if own.is_left else gaps_left(source.gaps, own, shard.until)
            done.append((source.number, _size(source.gaps) - _size(gaps)))
            if gaps:
                left.append(ShardSource(source.number, gaps))
        self._counts.learn(len(shard.sources), len(left))
        if left == shard.sources:
            if len(left) > 1:  # one of them may be in the way of the others
                self._counts.most = 1
                self._returned.extendleft(reversed(left))
        elif len(shard.sources) > 1:
            self._returned.extendleft(reversed(left))
        elif left:
            self._keep_long(left[0], results[left[0].number], result.requests)
        return done

    def _keep_long(self, left: ShardSource, result: SourceResult, requests: int) -> None:
        source = self._long.setdefault(left.number, LongSource(left.number))
        items_a_page = max(1.0, result.shown / max(1, requests))
        covered = sum(each.last - each.first + 1 for each in result.intervals)
        source.learn(result, covered / result.shown * items_a_page if result.shown else 0.0)
        gaps = left.gaps
        if not source.may_be_cut:  # what cannot be entered is left to the coordinator
            gaps = [gap for gap in gaps if gap.position or gap.after == 0]
        if gaps and not source.gaps:
            self._waiting.append(source.number)
        source.gaps = sorted([*source.gaps, *gaps])


def gaps_left(gaps: Iterable[Gap], result: SourceResult, until: int) -> list[Gap]:
    """Return what a shard has left of the gaps of a source; nothing behind an end that was proven."""
    left: list[Gap] = []
    for gap in gaps:
        for each in gaps_between(result.intervals, gap.until, gap.after):
            if each.until >= until and result.is_proven:
                continue
            left.append(each._replace(position=gap.position) if each.after == gap.after else each)
    return left


def _size(gaps: Iterable[Gap]) -> int:
    return sum(gap.until - gap.after for gap in gaps)
