"""The density of a list: how many ranks its next items are expected to take, by its pages so far. Pure.

The ids of a list are those of the whole app, of which it holds some: all of them, every tenth, or many in one
hour and none in the next. So the estimate follows the pages, and knows by how much they differ from it.
"""

from collections.abc import Sequence
from typing import Final, final

from msgspec import Struct

_WEIGHT: Final = 0.2
"""The weight of a page in the estimate."""
_MARGIN: Final = 2.5
"""Deviations by which a piece is kept smaller than the pages that are to hold it."""
_SMALLEST: Final = 0.5
"""The smallest part of its pages that a piece is kept down to."""


@final
class Density(Struct, frozen=True):
    """An estimate for the items that come next."""

    ranks_per_item: float
    deviation: float
    """How much pages differ from it on the average, as a part of it."""
    page_items: int
    """The items of the largest page so far."""

    @classmethod
    def of(cls, ranks: Sequence[int]) -> "Density":
        """Return the estimate after a first page, whose ranks ascend; at least one."""
        middle = len(ranks) // 2
        halves = [_spacing(half) for half in (ranks[: middle + 1], ranks[middle:])]
        spacing = _spacing(ranks)
        return cls(spacing, abs(halves[0] - halves[1]) / (2 * spacing), len(ranks))

    def after(self, first: int, last: int, count: int) -> "Density":
        """Return the estimate after a page of `count` items with ranks from `first` to `last`."""
        if count < 2:
            return self
        spacing = max(1.0, (last - first) / (count - 1))
        spread = abs(spacing - self.ranks_per_item) / self.ranks_per_item
        return Density(
            self.ranks_per_item + _WEIGHT * (spacing - self.ranks_per_item),
            self.deviation + _WEIGHT * (min(spread, 1.0) - self.deviation),
            max(self.page_items, count),
        )

    @property
    def ranks_per_page(self) -> float:
        """The ranks that a page is expected to take."""
        return self.ranks_per_item * self.page_items

    def ranks_of_pages(self, count: int) -> int:
        """Return the ranks of a piece that `count` pages are likely to hold.

        The pages show one item more than the piece has: the one before it.
        """
        margin = max(_SMALLEST, 1 - _MARGIN * self.deviation / count**0.5)
        return max(1, int(self.ranks_per_item * (count * self.page_items - 1) * margin))


def _spacing(ranks: Sequence[int]) -> float:
    return max(1.0, (ranks[-1] - ranks[0]) / max(1, len(ranks) - 1))
