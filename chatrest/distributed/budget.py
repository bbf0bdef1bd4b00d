"""The budget of a shard, kept where its requests are sent: when it is used up, no further one goes.

So a shard ends at a page's border, and nothing that was fetched is thrown away.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, final

from ..core.cursor_key import CursorKey
from ..core.endpoint import Call, Send
from ..core.paging import PageSizes
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
        self.sleep: Callable[[float], Awaitable[None]] = send.sleep
        self.dice: Callable[[], float] = send.dice
        self.sent: int = 0
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send
        self._budget = budget
        self._clock = clock
        self._end = clock() + budget.seconds

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Make a call; `BudgetUsedError` where the budget is used up."""
        is_late = self.sent >= _LEAST and self._clock() >= self._end
        if is_late or self.sent >= self._budget.requests:
            raise BudgetUsedError("the budget of the shard is used up")
        self.sent += 1
        return self._send(call)


@final
class BudgetedSession:
    """The part of a session that the readers of lists use."""

    def __init__(self, sender: BudgetedSender) -> None:
        self.sender: BudgetedSender = sender
