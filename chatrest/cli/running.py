"""From a command's coroutine to its result, with both signals that end a command."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work`; Ctrl-C ends it with KeyboardInterrupt, SIGTERM with CancelledError, after its cleanup."""
    return asyncio.run(_until_told(work))


async def _until_told(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # a platform without signals in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work
