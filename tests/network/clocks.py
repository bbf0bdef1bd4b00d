"""The session's time in tests: virtual, of the running loop, or set by hand."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from chatrest._network.timing import Timing
from tests.support.virtual_time import run

T = TypeVar("T")


def virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in virtual time and return its result; it must leave no task behind."""

    async def checked() -> T:
        result = await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return result

    return run(checked())


def timing() -> Timing:
    return Timing(asyncio.get_running_loop().time, asyncio.sleep)


class Clock:
    """A clock that is set by hand, and a sleep that returns at once."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
