"""Cutting gaps into shards: every id is in one shard at a time, and none is left out."""

import itertools
from collections.abc import Iterable, Iterator
from random import Random

from hypothesis import given, strategies as st

from chatrest.distributed.shard import Budget, Shard, ShardResult, ShardSource, SourceResult
from chatrest.distributed.shard_cutter import CONCURRENCY, MOST_SOURCES, ShardCutter, gaps_left
from chatrest.export.plan.intervals import LAST, Gap, Interval, gaps, merge

UNTIL = 20_000


def ids_of(shard: Shard) -> set[tuple[int, Gap]]:
    return {(source.number, gap) for source in shard.sources for gap in source.gaps}


class Service:
    """Lists with ids at a regular distance; workers that read them page by page."""

    def __init__(self, dice: Random, steps: dict[int, int], newest: dict[int, int]) -> None:
        self.dice, self.steps, self.newest = dice, steps, newest
        self.covered: dict[int, list[Interval]] = {number: [] for number in steps}
        self.proven: set[int] = set()
        self.uncut = {number for number in steps if dice.random() < 0.2}

    def gaps(self, number: int) -> list[Gap]:
        left = gaps(self.covered[number], UNTIL)
        return [gap for gap in left if gap.until < UNTIL or number not in self.proven]

    def read(self, shard: Shard) -> ShardResult:
        """Read as a worker does: some pages of each gap, until the budget is used up."""
        left, results = shard.budget.requests, []
        for source in shard.sources:
            number, covered, shown, proven = source.number, list[Interval](), 0, False
            is_refused = False
            step, newest = self.steps[number], self.newest[number]
            for gap in source.gaps:
                at = gap.after
                if at and not gap.position and number in self.uncut:
                    is_refused, left = True, max(0, left - 1)
                    continue
                while left and at < gap.until and not proven:
                    last = min(at + 100 * step, gap.until)
                    left -= 1
                    shown += max(0, min(last, newest) - at) // step
                    if last >= newest and gap.until == UNTIL:
                        proven, last = True, max(at, newest)
                    covered.append(Interval(at + 1, last, (("id", str(last)),)))
                    at = last
            self.covered[number] = merge([*self.covered[number], *covered])
            self.proven |= {number} if proven else set()
            results.append(
                SourceResult(
                    number, merge(covered), shown, newest if self.dice.random() < 0.8 else 0, proven,
                    not is_refused,
                )
            )  # fmt: skip
        return ShardResult(shard.id, None, results, shard.budget.requests - left, page_items=100)


def lists(numbers: Iterable[int], service: Service | None = None) -> Iterator[ShardSource]:
    for number in numbers:
        if own := service.gaps(number) if service else [Gap(0, UNTIL)]:
            yield ShardSource(number, own)


@given(st.randoms(use_true_random=False), st.integers(1, 12), st.integers(1, 6), st.integers(1, 30))
def test_all_is_read_whatever_is_lost(dice: Random, count: int, slots: int, requests: int) -> None:
    steps = {number: dice.choice((1, 7, 900, 15_000)) for number in range(1, count + 1)}
    service = Service(dice, steps, {number: dice.choice((0, 90, 5_000, UNTIL)) for number in steps})
    budget = Budget(requests, 60.0)
    cutter = ShardCutter(lists(steps, service), until=UNTIL, job="job-1", count=count, budget=budget)
    under_way: list[Shard] = []
    lost = 0
    while (shard := cutter.next(slots) if len(under_way) < slots * 2 else None) is not None or under_way:
        if shard is not None:
            assert 0 < len(shard.sources) <= MOST_SOURCES
            assert shard.budget.requests <= requests
            busy = {(number, gap) for other in under_way for number, gap in ids_of(other)}
            for number, gap in ids_of(shard):
                assert gap.after < gap.until
                assert not any(n == number and gap.after < g.until and g.after < gap.until for n, g in busy)
            under_way.append(shard)
            continue
        done = under_way.pop(dice.randrange(len(under_way)))
        if lost < 20 and dice.random() < 0.2:
            lost += 1
            cutter.give_back(done)
        else:
            cutter.divide(done, service.read(done))
    left = {number for number in steps if service.gaps(number)}
    assert left <= service.uncut, "only what cannot be entered in the middle is the coordinator's"
    assert len(cutter) == 0


def test_a_list_whose_length_is_known_is_divided_among_the_workers() -> None:
    service = Service(Random(1), {1: 1}, {1: UNTIL})
    service.uncut.clear()
    cutter = ShardCutter(lists([1], service), until=UNTIL, job="job-1", count=1, budget=Budget())
    first = cutter.next(4)
    assert first is not None
    assert cutter.next(4) is None, "the first shard finds out how long it is"
    result = service.read(first)
    own = SourceResult(1, result.sources[0].intervals, 100 * first.budget.requests, UNTIL)
    cutter.divide(first, ShardResult(1, None, [own], page_items=100))
    shards = [cutter.next(4) for _ in range(4)]
    gaps = [[gap for _, gap in sorted(ids_of(shard))] for shard in shards if shard]
    sizes = [own[-1].until - own[0].after for own in gaps]
    assert len(sizes) == 4
    assert 3_500 < sizes[0] < 5_500
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(own) >= 2 for own in gaps), "several requests at the same time from the start"


def test_a_shard_has_as_many_lists_as_it_reads_at_the_same_time() -> None:
    cutter = ShardCutter(lists(range(1, 61)), until=UNTIL, job="job-1", count=60)
    shards = [cutter.next(2, under_way) for under_way in range(2)]
    assert [len(shard.sources) for shard in shards if shard] == [30, 30]
    assert cutter.next(2) is None


def test_short_lists_are_not_cut_into_shards_that_cannot_fill_their_requests() -> None:
    cutter = ShardCutter(lists(range(1, 1001)), until=UNTIL, job="job", count=1000)
    sizes, turns = [], itertools.count()
    while shard := cutter.next(4, next(turns)):
        sizes.append(len(shard.sources))
        read = [SourceResult(each.number, [Interval(1, UNTIL)], is_proven=True) for each in shard.sources]
        cutter.divide(shard, ShardResult(shard.id, None, read))
    assert sum(sizes) == 1000
    assert min(sizes[:-4]) >= CONCURRENCY // 2
    assert len(sizes) < 24


def test_a_source_that_has_to_be_read_by_the_coordinator_comes_in_no_shard_again() -> None:
    cutter = ShardCutter(lists([1, 2]), until=UNTIL, job="job-1", count=2)
    shard = cutter.next(1)
    assert shard is not None
    done = cutter.divide(shard, ShardResult(1, None, [SourceResult(1, [], is_left=True)], 1))
    assert done == [(1, UNTIL), (2, 0)]
    second = cutter.next(1)
    assert second is not None
    assert [source.number for source in second.sources] == [2]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 8))), st.booleans())
def test_what_is_left_is_what_is_not_covered(read: list[tuple[int, int]], is_proven: bool) -> None:
    shard_gaps = [Gap(2, 9, (("id", "2"),)), Gap(12, 20), Gap(25, LAST)]
    covered = merge(Interval(first, first + more, (("id", str(first + more)),)) for first, more in read)
    left = gaps_left(shard_gaps, SourceResult(1, covered, is_proven=is_proven), LAST)
    wanted = {each for gap in shard_gaps for each in range(gap.after + 1, min(gap.until, 60) + 1)}
    wanted -= {number for each in covered for number in range(each.first, each.last + 1)}
    ids = {each for gap in left for each in range(gap.after + 1, min(gap.until, 60) + 1)}
    if is_proven:
        end = max([25, *(each.last for each in covered)])
        wanted = {each for each in wanted if each <= end}
    assert ids == wanted
    for gap in left:
        assert gap.position in ((), (("id", str(gap.after)),))
        assert gap.position or any(gap.after == each.after for each in shard_gaps)
