"""Windows of a fan-out: which items of a stream may begin, with one window for each group of items.

| state                                           | an item may begin | an item may be added                 |
|-------------------------------------------------|-------------------|--------------------------------------|
| no groups, fewer than `size` run                | yes               | yes                                  |
| no groups, `size` run                           | no                | no                                   |
| groups, fewer than `size` of its group run      | yes, in turn      | while fewer than `MOST_WAITING` wait |
| groups, `size` of its group run                 | no: it waits      | while fewer than `MOST_WAITING` wait |

A group whose items never end holds its own window and nothing of any other's. Only the order of the input can
make others wait for it: `MOST_WAITING` items of the group that come one after another.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from ..errors import RequestInvalidError

T = TypeVar("T")

MOST_WAITING: Final = 10_000
"""Items that wait for their group's window, all groups together."""
MOST_GROUPS: Final = 100
"""Groups with items that run or wait at the same time."""


class _Window(Generic[T]):
    """The items of one group: how many run, and those that wait."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.running = 0
        self.waiting: deque[T] = deque()


class Admission(NamedTuple, Generic[T]):
    """An item that may begin, and its group, which `release` takes back."""

    group: Hashable
    item: T


class GroupWindows(Generic[T]):
    """The windows of all groups; of one, where `group` is None."""

    def __init__(self, size: int, group: Callable[[T], Hashable] | None = None) -> None:
        self.size: Final = size
        self.waiting: int = 0
        """The number of items that were added and did not begin."""
        self.running: int = 0
        """The number of items that began and were not released."""
        self._group = group
        self._windows: dict[Hashable, _Window[T]] = {}
        self._ready: dict[Hashable, None] = {}  # groups with an item that may begin, in turn

    @property
    def has_room(self) -> bool:
        """True if an item may be added."""
        if self._group is None:
            return not self.waiting and self.running < self.size
        return self.waiting < MOST_WAITING

    def add(self, item: T) -> None:
        """Add an item after the others of its group.

        Raises `RequestInvalidError` for one group more than `MOST_GROUPS`, and what the group's function
        raises.
        """
        name = None if self._group is None else self._group(item)
        window = self._windows.get(name)
        if window is None:
            if len(self._windows) == MOST_GROUPS:
                raise RequestInvalidError(
                    f"group: more than {MOST_GROUPS} groups at the same time; each has its own window, "
                    "so expected few, such as one for each app"
                )
            window = self._windows[name] = _Window()
        window.waiting.append(item)
        self.waiting += 1
        if window.running < self.size:
            self._ready[name] = None

    def take(self) -> Admission[T] | None:
        """Return an item that begins now; None if none may. The groups take turns."""
        if not self._ready:
            return None
        name = next(iter(self._ready))
        window = self._windows[name]
        item = window.waiting.popleft()
        window.running += 1
        self.running += 1
        self.waiting -= 1
        del self._ready[name]
        if window.waiting and window.running < self.size:
            self._ready[name] = None
        return Admission(name, item)

    def release(self, group: Hashable) -> None:
        """Note that an item of `group`, which had begun, has ended."""
        window = self._windows[group]
        window.running -= 1
        self.running -= 1
        if window.waiting:
            self._ready[group] = None
        elif not window.running:
            del self._windows[group]

    def clear(self) -> None:
        self.waiting = 0
        self._ready.clear()
        for window in self._windows.values():
            window.waiting.clear()
