"""Blocking work in a thread, several items at a time, the end of tasks, and coroutines without a loop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Return the result of `work`, which runs in a thread.

    A cancel waits for the thread, which cannot be stopped, and gives its result to `undo`.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):  # a second cancel does not end the wait
            await wait_for_end([task])
        if undo is not None and task.exception() is None:
            undo(task.result())
        raise


async def for_each(items: Sequence[T], work: Callable[[T], Awaitable[object]], at_once: int) -> None:
    """Do the work for each item, `at_once` at a time. The first error cancels the others and is raised."""
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


async def wait_for_end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Return when all tasks have ended; a cancel is raised only then."""
    running, interrupt = set(tasks), None
    while running:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            interrupt = error
        running = {task for task in running if not task.done()}
    if interrupt is not None:
        raise interrupt


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, for a caller with a running event loop or without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
