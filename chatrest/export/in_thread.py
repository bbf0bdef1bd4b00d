"""Work that waits for the disk, in a thread."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Return the result of `work`. A cancel waits for its end: a thread cannot be stopped, nor be left alone.

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
