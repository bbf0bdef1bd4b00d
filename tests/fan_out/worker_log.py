"""Shared parts of the tests of the fan-out: a session that sends nothing, and a log of workers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chatrest import App, AsyncSession

T = TypeVar("T")

SESSION_APP = App("app-1", "k3y-0f-th3-app", "eu", service_domain="chat.example.com")


def session() -> AsyncSession:
    """Return a session with the clock of the running loop; workers of these tests send nothing."""
    return AsyncSession(SESSION_APP, clock=asyncio.get_running_loop().time)


async def numbers(until: int) -> AsyncIterator[int]:
    """Yield the numbers from 0."""
    for number in range(until):
        yield number


@dataclass
class Log:
    """A worker that sleeps as long as its item says, and the items that it has begun, ended and lost."""

    seconds: Callable[[Any], float] = lambda _: 1.0
    fails: Callable[[Any], bool] = lambda _: False
    begun: list[Any] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)
    cancelled: list[Any] = field(default_factory=list)
    running: int = 0
    most: int = 0
    """The largest number of workers at once."""

    async def work(self, item: Any) -> Any:
        self.begun.append(item)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.seconds(item))
        except asyncio.CancelledError:
            self.cancelled.append(item)
            raise
        finally:
            self.running -= 1
        self.ended.append(item)
        if self.fails(item):
            raise ValueError(f"item {item}")
        return item


async def settle(steps: int = 20) -> None:
    """Let everything run that waits for no timer."""
    for _ in range(steps):
        await asyncio.sleep(0)


def tasks_left() -> set["asyncio.Task[Any]"]:
    """Return the tasks of the loop beside the present one."""
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


async def read_into(items: AsyncIterator[T], into: list[T]) -> None:
    """Read all items; those before an error are in the list."""
    async for item in items:
        into.append(item)
