"""The largest pages that a session was served: a short page is measured by them.

Services cap pages at their own sizes, say "last" on every page, and repeat the size that was asked as
theirs. A page that is smaller than another of the same list, asked in the same way, was not cut off by a cap.
"""

from collections.abc import Hashable


class LargestPage:
    """The count of records of the largest page that one list gave, asked in one way."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: int = 0

    def note(self, count: int) -> None:
        if count > self.count:
            self.count = count


class PageSizes:
    """The largest pages that a session was served, by list."""

    def __init__(self) -> None:
        self._sizes: dict[Hashable, LargestPage] = {}

    def of(self, *key: Hashable) -> LargestPage:
        """The largest page of one list; `key`: the app, the operation, the size's parameter, the size."""
        largest = self._sizes.get(key)
        if largest is None:
            largest = self._sizes[key] = LargestPage()
        return largest
