"""From samples to the whole: figures as ranges, with a best guess in each. Pure.

| figure   | least                                     | most                                               |
|----------|-------------------------------------------|----------------------------------------------------|
| messages | what was seen, or counted by the service  | the ids that are left in each list                 |
| written  | the different new ids that were seen      | the ids, or the messages of the app's own list     |
| requests | the pages of the least                    | the pages of the most                              |

The best guess takes the lists that were not sampled for as long as those of their kind that were. Each
message counts for the part of it that falls to one of the lists that hold it.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from math import ceil
from statistics import fmean, median
from typing import Final, NamedTuple, final

from ...core.intervals import LAST
from ...core.paging import LARGEST_PAGE
from ..id_set import IdSet
from ..message_ids import key_of, number
from ..ownership import OwnershipRules, Source
from ..plan import Plan
from .survey import COUNTED, Knowledge, Sample, Task

_END: Final = 2
"""Requests after the last page of a list, for its newest message, before its end is believed."""


_NEWS: Final = 4
"""Requests for the two sources that are asked although the app's own list tells what is new: a page, and
mostly the proof of its end."""


class Range(NamedTuple):
    """A figure between two bounds."""

    least: int
    likely: int
    most: int | None
    """None where nothing bounds it."""

    @classmethod
    def of(cls, least: int, likely: float, most: int | None) -> "Range":
        """Return a range whose figures do not contradict one another."""
        if most is not None:
            most = max(least, most)
            likely = min(likely, most)
        return cls(least, max(least, round(likely)), most)


@final
class Computation:
    """The figures of all tasks, from the samples of some."""

    def __init__(
        self,
        tasks: Sequence[Task],
        samples: Sequence[Sample],
        sources: Sequence[Source],
        seen: IdSet,
        until: int,
        of_app: Sample | None,
        *,
        has_news: bool = False,
        has_checked_end: bool = False,
    ) -> None:
        self.tasks, self.samples, self.sources = tasks, samples, len(sources)
        self._seen, self._until, self._of_app = seen, until, of_app
        self._has_news = has_news
        self._has_checked_end = has_checked_end
        self._rules = OwnershipRules(sources)

    @cached_property
    def known(self) -> Counter[Knowledge]:
        """The count of sources by how they are known, those that were not sampled like the others."""
        known: Counter[Knowledge] = Counter()
        for alike, count in self._kinds:
            of_kind = Counter(sample.known for sample in alike if not sample.error)
            for knowledge, sampled in of_kind.items():
                known[knowledge] += round(sampled * count / len(alike))
        return known

    @cached_property
    def messages(self) -> Range:
        """Messages to be read, from each source that holds them."""
        least = sum(sample.left for sample in self.samples)
        likely = self._extrapolated
        if self._unsampled and self._once:  # what the new ones are is better known
            likely += self.written.likely / self._once - self._new
        return Range.of(least, likely, self._most)

    @cached_property
    def written(self) -> Range:
        """Messages that are new in the export, where each is stored once."""
        new = [sample for sample in self.samples if sample.task.since is None]
        rows = [row for sample in new for row in sample.rows]
        keys = {key_of(row) for row in rows if (number(row.id) or 0) not in self._seen}
        if not self._unsampled and all(sample.known == COUNTED for sample in self.samples):
            return Range(len(keys), len(keys), len(keys))
        likely = self._new * self._once
        if self._of_app is not None:
            likely = self._of_app.likely - len(self._seen)
        return Range.of(len(keys), likely, self._most_written)

    def requests(self, plan: Plan) -> Range:
        """Requests of a run: pages, the proof of each list's end, the newest message, and the users.

        Requests that are repeated are not among them.
        """
        besides, messages, unsampled = self._besides(plan), self.messages, len(self._unsampled)
        pages, ends = sum(map(_pages, self.samples)), sum(map(_most_end, self.samples)) + _END * unsampled
        least = pages + sum(map(self._least_end, self.samples)) + besides
        likely, most = self._pages + ends + besides, None
        if not unsampled and all(sample.known == COUNTED for sample in self.samples):
            most = least
        elif messages.most is not None:
            more_pages = ceil((messages.most - messages.least) / self._page_rows) + unsampled
            most = pages + more_pages + ends + besides
        if self._has_news:  # where the app's own list proves right, few of the sources are asked
            once, listed = 1 + self._listing(plan), ceil(self.written.likely / LARGEST_PAGE)
            least, likely = min(least, once + 1 + _NEWS // 2), min(likely, once + listed + _NEWS)
            most = None if most is None else most + listed + 1  # else all are asked after it
        return Range.of(least, likely, most)

    def _least_end(self, sample: Sample) -> int:
        """Return the requests that prove the end of a list at least: none if it has the newest message."""
        is_certain = sample.known == COUNTED and sample.last_id < self._until
        return _most_end(sample) if is_certain else int(sample.error is not None)

    def seconds(self, requests: int, workers: int, rate: float | None) -> float:
        """Return the time that so many requests take, of which all but those at the ends bring a page."""
        pages = max(0, requests - len(self.tasks))
        busy = requests * self.latency + pages * max(0.0, self.page_latency - self.latency)
        return max(busy / max(1, min(workers, len(self.tasks))), 60 * requests / rate if rate else 0.0)

    @property
    def latency(self) -> float:
        """Seconds that a small request takes."""
        times = [sample.look_seconds or sample.seconds for sample in self.samples if sample.error is None]
        return median(times) if times else 0.0

    @property
    def page_latency(self) -> float:
        """Seconds that a whole page takes."""
        largest = max(self.samples, key=lambda sample: sample.page_rows, default=None)
        return largest.seconds if largest is not None and largest.page_rows else self.latency

    @property
    def bytes(self) -> int:
        """Bytes of the pages with all messages."""
        size = sum(sample.bytes for sample in self.samples)
        count = sum(sample.page_rows for sample in self.samples)
        return round(self.messages.likely * size / count) if count else 0

    # ── parts of these ──

    @cached_property
    def _kinds(self) -> list[tuple[list[Sample], int]]:
        """The samples of each kind of tasks, and how many tasks there are of it."""
        counts = Counter(task.kind for task in self.tasks)
        return [
            ([sample for sample in self.samples if sample.task.kind == kind], count)
            for kind, count in counts.items()
        ]

    @property
    def _extrapolated(self) -> float:
        return sum(fmean(sample.likely for sample in alike) * count for alike, count in self._kinds)

    @property
    def _pages(self) -> float:
        """Pages that bring the likely messages."""
        pages = sum(
            fmean(_pages(each, each.likely) for each in alike) * count for alike, count in self._kinds
        )
        return pages * self.messages.likely / self._extrapolated if self._extrapolated else pages

    @property
    def _new(self) -> float:
        """Messages to be read that are not only read again."""
        return sum(
            fmean(sample.likely for sample in alike) * count
            for alike, count in self._kinds
            if alike[0].task.since is None
        )

    @cached_property
    def _once(self) -> float:
        """The part of the messages that is left where each is stored once, by the lists of the samples."""
        left = sum(sample.left for sample in self.samples if sample.rows)
        return (
            sum(sample.left * self._own(sample) for sample in self.samples if sample.rows) / left
            if left
            else 1.0
        )

    def _own(self, sample: Sample) -> float:
        """Return the part of a list that falls to it, of messages that several lists hold."""
        lists = (self._rules.claimants(row.sender, row.receiver, row.receiver_type) for row in sample.rows)
        return fmean(1 / max(1, len(each)) for each in lists)

    @property
    def _most(self) -> int | None:
        """The messages that are left at most: in the lists that were not sampled as many as there are ids."""
        most = [sample.most for sample in self.samples] + [task.ids for task in self._unsampled]
        return None if None in most else sum(count for count in most if count is not None)

    @property
    def _most_written(self) -> int | None:
        """The new messages at most: no more than ids, and no more than the app has."""
        bounds = [self._most]
        if self._of_app is not None and self._of_app.most is not None:
            bounds.append(self._of_app.most)
        if self._until != LAST:
            befores = [sample.before for sample in self.samples if sample.task.since is None]
            befores += [task.gaps[0].after for task in self._unsampled if task.since is None]
            after = min(befores, default=self._until)
            bounds.append(self._until - after - self._seen.count(after + 1, self._until))
        return min((bound for bound in bounds if bound is not None), default=None)

    @cached_property
    def _unsampled(self) -> list[Task]:
        sampled = {id(sample.task) for sample in self.samples}
        return [task for task in self.tasks if id(task) not in sampled]

    @property
    def _page_rows(self) -> int:
        return max((sample.page_rows for sample in self.samples), default=0) or LARGEST_PAGE

    def _besides(self, plan: Plan) -> int:
        """Requests for the newest message, in a first run for what is behind it, and twice for the users."""
        newest = 1 if self._has_checked_end else 3
        return newest + self._listing(plan) * (2 if self.tasks else 1)

    def _listing(self, plan: Plan) -> int:
        return ceil(self.sources / LARGEST_PAGE) + 1 if plan.all_users else 0


def _most_end(sample: Sample) -> int:
    return _END if sample.page_rows else 1


def _pages(sample: Sample, left: float | None = None) -> int:
    """Return the pages of so many messages, as large as the first one; an empty list is one page, too."""
    left = sample.left if left is None else left
    return max(1, ceil(left / sample.page_rows)) if sample.page_rows else 1
