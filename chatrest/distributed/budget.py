"""The budget of a shard, kept where its requests are sent: when it is used up, no further one goes.

So a shard ends at a page's border, and nothing that was fetched is thrown away.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, final

from ..core.paging.cursor_key import CursorKey
from ..core.paging.paging import PageSizes
from ..core.replies.decode import Listing
from ..core.requests.endpoint import Call, Send
from ..errors import ChatRestError
from .shard import Budget

R = TypeVar("R")

_LEAST: Final = 8
"""Requests that a shard may send however long they wait: each attempt gets on."""


class BudgetUsedError(ChatRestError):
    """The budget of the shard is used up; what is left is read by another one."""


@final
class BudgetedSender:
    """A `Send` that sends as many requests as a budget allows."""

    def __init__(self, send: Send, budget: Budget, clock: Callable[[], float]) -> None:
        self.app_id: str = send.app_id
        self.acting_user: str | None = send.acting_user
        self.page_sizes: PageSizes = send.page_sizes
        self.cursor_key: CursorKey | None = send.cursor_key
        self.check_acting_user: bool = send.check_acting_user
        self.sleep: Callable[[float], Awaitable[None]] = send.sleep
        self.dice: Callable[[], float] = send.dice
        self.sent: int = 0
        self.page_items: int = 0
        """The items of the largest list that came."""
        self._under_way = 0
        self._is_busy = False
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send
        self._budget = budget
        self._clock = clock
        self._end = clock() + budget.seconds

    async def __call__(self, call: Call[R], /) -> R:
        """Make a call; `BudgetUsedError` where the budget is used up."""
        self._check()
        self.sent += 1
        self._under_way += 1
        self._is_busy |= self._under_way >= 2 * self._budget.idle
        try:
            reply: R = await self._send(call)
        finally:
            self._under_way -= 1
        if isinstance(reply, Listing):
            self.page_items = max(self.page_items, len(reply.items))
        return reply

    def _check(self) -> None:
        is_late = self.sent >= _LEAST and self._clock() >= self._end
        is_idle = self._is_busy and self._under_way + 1 < self._budget.idle
        if is_late or is_idle or self.sent >= self._budget.requests:
            raise BudgetUsedError("the budget of the shard is used up")


@final
class BudgetedSession:
    """The part of a session that the readers of lists use."""

    def __init__(self, sender: BudgetedSender) -> None:
        self.sender: BudgetedSender = sender
