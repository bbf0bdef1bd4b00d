"""Following a list: after its end, it is requested at intervals for new items.

The interval is an eighth of the longest at first. It halves after a request that returned new items, and
doubles after one that returned none, between these two. The wait is between three quarters of the interval
and all of it, so that many followers do not ask in step.
"""

from typing import Final, Generic, TypeVar

from msgspec import structs

from .._core.paging.cursor import Cursor
from .._core.paging.order import is_number
from .._core.paging.walk_state import WalkState
from .._core.requests.dialects import Paging
from .._core.requests.endpoint import Pairs
from .._core.send import Send
from .source import PageReader, PendingPage

T = TypeVar("T")

_MIN: Final = 1 / 8
"""The shortest interval, as a share of the longest."""
_POSITION: Final = frozenset({"affix", "id", "sentAt"})


class FollowReader(Generic[T]):
    """The pages of a list that has no last page: after the end, a wait precedes each request."""

    def __init__(self, reader: PageReader[T], longest: float, send: Send) -> None:
        self._reader = reader
        self._sleep, self._dice = send.sleep, send.dice
        self._longest = longest
        self._interval = longest * _MIN
        self._end: WalkState | None = None
        """The state after the last page that was read, where the list had its end."""
        self._delivered: int | None = None
        """The count of items at the last wait; None before the first."""

    async def read(self, state: WalkState) -> PendingPage[T]:
        """Return the page at `state`, which is never the last one; waits first where the list has ended."""
        if state is self._end:
            await self._wait(state.cursor.delivered)
        page = await self._reader.read(state)
        if page.is_end:
            page.is_end = False
            page.after = self._end = WalkState(after_last(page.after.cursor), remaining=page.after.remaining)
        return page

    async def _wait(self, delivered: int) -> None:
        if self._delivered is not None:
            interval = self._interval / 2 if delivered > self._delivered else self._interval * 2
            self._interval = min(max(interval, self._longest * _MIN), self._longest)
        self._delivered = delivered
        await self._sleep(self._interval * (0.75 + self._dice() / 4))


def follow_fault(cursor: Cursor, paging: Paging) -> str | None:
    """Return the reason why a list cannot be followed from `cursor`; None if it can.

    New items must be added after the last one: so it is in a list by id or by the time of change that goes
    `append`. By page numbers they may be on any page, and going `prepend` they are before the first item.
    """
    if not paging.positions:
        return "the service gives it by page numbers or in one reply, so new items may be anywhere in it"
    if "page" in dict(cursor.position):
        return "it is read by page numbers, so new items may be on any page"
    if cursor.direction == "prepend":
        return "it goes from new to old (affix='prepend'); ask with affix='append'"
    if cursor.direction is None:
        return "its direction is the service's choice; ask with affix='append'"
    return None


def after_last(cursor: Cursor) -> Cursor:
    """Return the cursor that asks after its last item, where the list goes by id; any other as it is.

    A walk that ended within a page would ask for that whole page again, each time.
    """
    last, position = cursor.last, dict(cursor.position)
    if last is None or not (cursor.by_id and cursor.is_inside and is_number(last)) or cursor.given_here:
        return cursor
    sizes = tuple(pair for pair in cursor.position if pair[0] in ("perPage", "limit"))
    if position.keys() - _POSITION - dict(sizes).keys() or cursor.direction is None:
        return cursor
    new_position: Pairs = (("affix", cursor.direction), ("id", last))
    if "sentAt" in position:
        if cursor.last_time is None or cursor.last_time <= 0:
            return cursor
        new_position += (("sentAt", str(cursor.last_time)),)
    return structs.replace(cursor, position=(*new_position, *sizes), is_inside=False)
