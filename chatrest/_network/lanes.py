"""The calls that wait for something: a queue for each priority, in the order of arrival."""

import asyncio
from collections import OrderedDict
from typing import Final, Literal, TypeAlias

Priority: TypeAlias = Literal["interactive", "bulk"]
PRIORITIES: Final[tuple[Priority, ...]] = ("interactive", "bulk")


class Waiter:
    """A waiting call: it is woken when it is served or becomes the leader of its lane."""

    __slots__ = ("is_gone", "joined", "lane", "served", "woken")

    def __init__(self, lane: Priority) -> None:
        loop = asyncio.get_running_loop()
        self.lane = lane
        self.joined: float = loop.time()
        """When it began to wait, in seconds of the event loop's clock."""
        self.served: bool = False
        self.is_gone: bool = False
        """True once it does not wait any more, served or not."""
        self.woken: asyncio.Future[None] = loop.create_future()

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


_NO_WAITERS: Final[OrderedDict[Waiter, None]] = OrderedDict()
"""The queue of every lane that no call has waited in: most apps have no other."""


class LaneQueues:
    """The waiting calls of each lane, in the order of arrival."""

    __slots__ = ("bulk", "interactive")

    # Ordered dictionaries, as a cancelled call may leave from anywhere, and the first of thousands must be
    # found at once: a dictionary searches for it among those that left.
    def __init__(self) -> None:
        self.interactive = self.bulk = _NO_WAITERS

    def __len__(self) -> int:
        return len(self.interactive) + len(self.bulk)

    def queue(self, lane: Priority) -> OrderedDict[Waiter, None]:
        return self.interactive if lane == "interactive" else self.bulk

    def join(self, lane: Priority) -> Waiter:
        waiter, queue = Waiter(lane), self.queue(lane)
        if queue is _NO_WAITERS:
            queue = OrderedDict()
            setattr(self, lane, queue)
        queue[waiter] = None
        return waiter

    def serve(self, waiter: Waiter) -> None:
        waiter.served = True
        self.drop(waiter)
        waiter.wake()

    def drop(self, waiter: Waiter) -> None:
        waiter.is_gone = True
        self.queue(waiter.lane).pop(waiter, None)

    def first(self, lane: Priority) -> Waiter | None:
        return next(iter(self.queue(lane)), None)
