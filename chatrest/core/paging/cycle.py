"""Recognises a position or a page that comes back, however long the cycle is."""

from collections.abc import Hashable
from typing import final

from msgspec import Struct


@final
class CycleGuard(Struct, frozen=True):
    """A set that grows by returning a new one: `guard.having(item)`.

    Its members lie in sets whose sizes double, as the digits of a binary counter do, so adding n members one
    after another copies n · log n of them, and not n · n.
    """

    levels: tuple[frozenset[Hashable], ...] = ()

    def __contains__(self, item: Hashable) -> bool:
        return any(item in level for level in self.levels)

    def having(self, item: Hashable) -> "CycleGuard":
        """The set with `item` in it."""
        if item in self:
            return self
        levels, new = list(self.levels), frozenset((item,))
        while levels and len(levels[-1]) <= len(new):
            new |= levels.pop()
        return CycleGuard((*levels, new))
