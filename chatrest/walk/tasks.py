"""The end of tasks: whoever owns some returns only when they have ended."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when they have ended, also if cancelled meanwhile.

    Their errors are dropped: they were raised to the consumer, or are of no use any more.
    """
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    interrupt: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            interrupt = error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asyncio would log an error that no one has looked at
    if interrupt is not None:
        raise interrupt
