"""Work that waits: for the disk in a thread, for many items several at a time, for another loop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Return the result of `work`. Cancelling waits for the thread, which cannot be stopped.

    Where the result is lost to a cancel, `undo` gets it.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # cancelled again, perhaps
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if undo is not None and task.exception() is None:
            undo(task.result())
        raise


async def for_each(items: Sequence[T], work: Callable[[T], Awaitable[object]], at_once: int) -> None:
    """Do the work for each item, `at_once` at a time; the first error ends the others, and is raised."""
    queue = iter(items)

    async def take() -> None:
        for item in queue:
            await work(item)

    tasks = [asyncio.create_task(take()) for _ in range(min(at_once, len(items)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, for a caller with a running event loop or without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
