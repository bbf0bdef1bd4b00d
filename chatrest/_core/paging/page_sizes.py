"""The largest pages that a session was served: a short page is measured by them.

Services cap pages at their own sizes, say "last" on every page, and repeat the size that was asked as
theirs. A page that is smaller than another of the same list, asked in the same way, was not cut off by a cap.
"""

from collections.abc import Hashable
from typing import final


@final
class LargestPage:
    """The count of records of the largest page that one list gave, asked in one way."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: int = 0

    def note(self, count: int) -> None:
        """Remember a page of `count` records."""
        if count > self.count:
            self.count = count


@final
class OtherSize:
    """Another parameter for a page's size, for services that ignore the documented one.

    It is tried where a full page echoes another size than was asked for, and kept if its page is larger. A
    page that was asked for by it is measured by such pages alone.
    """

    __slots__ = ("_is_settled", "is_used", "largest", "name")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.largest: LargestPage = LargestPage()
        self.is_used = False
        self._is_settled = False

    def note(self, count: int, echoed: int | None, asked: int, documented: LargestPage) -> None:
        """Note a page of `count` records, and the size that it says; `documented` are the other pages."""
        if self._is_settled:
            return
        if not self.is_used:
            self.is_used = 0 < count < asked and echoed == count
            return
        self.is_used = count > documented.count
        self._is_settled = True


@final
class PageSizes:
    """The largest pages that a session was served, by list."""

    def __init__(self) -> None:
        self._sizes: dict[Hashable, tuple[LargestPage, OtherSize | None]] = {}

    def of(self, other: str | None, *key: Hashable) -> tuple[LargestPage, OtherSize | None]:
        """The largest page of one list, and its other parameter for a page's size, which is called `other`.

        `key`: the app, the operation, the size's parameter, the size.
        """
        sizes = self._sizes.get((other, key))
        if sizes is None:
            sizes = self._sizes[other, key] = LargestPage(), None if other is None else OtherSize(other)
        return sizes
